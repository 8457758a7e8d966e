"""Access control entries: their filters, the decision on an operation, and commands to create and delete them.

The numbers are those of Kafka's enums ResourceType, PatternType, AclOperation and AclPermissionType.

Source: KIP-140, KIP-290, KIP-801; AclControlManager, StandardAuthorizerData, ResourcePatternFilter,
AccessControlEntryFilter, MetadataImage.write, AclsDelta and CidrUtils, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.state.errors import invalid_request
from mockbroker.state.security.operations import CLUSTER_NAME, Operation, ResourceType
from mockbroker.state.topics.topic import random_uuid
from protocol.embedded.metadata_acls import AccessControlEntryRecord, RemoveAccessControlEntryRecord

if TYPE_CHECKING:
    from mockbroker.state.image import Apply, Image, ImageWriter

UNKNOWN, ANY = 0, 1  # of all four kinds of numbers
MATCH, LITERAL, PREFIXED = 2, 3, 4
DENY, ALLOW = 2, 3

NUMBERS: tuple[tuple[str, frozenset[int], str], ...] = (
    ("resource_type", frozenset(ResourceType), "a resource type from 2 to 7"),
    ("pattern_type", frozenset({LITERAL, PREFIXED}), "pattern type 3 or 4"),
    ("operation", frozenset(Operation), "an operation from 2 to 15"),
    ("permission_type", frozenset({DENY, ALLOW}), "permission type 2 or 3"),
)
"""The fields of an entry that are numbers, with those that Kafka defines, in the order of Kafka's checks."""
WILDCARD = "*"
WILDCARD_PRINCIPAL = "User:*"
IMPLY_DESCRIBE = frozenset({Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER})
IMPLY_DESCRIBE_CONFIGS = frozenset({Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS})


NAME: Final = "acls"


class Acl(NamedTuple):
    """An entry: allows or denies a principal an operation, from a host, on the resources that match a pattern."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


Entry = Acl | AccessControlEntryRecord
"""An entry, or its record in the image, which has the same fields."""


class AclFilter(NamedTuple):
    """A filter whose fields match equal values; None and 1 match anything.

    Pattern type 2, "match", selects the entries that cover a resource of this name, with any pattern type.
    """

    resource_type: int = ANY
    resource_name: str | None = None
    pattern_type: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission_type: int = ANY

    def check(self) -> None:
        """Raises ApiError: INVALID_REQUEST, unless Kafka defines each of its numbers."""
        for field, known, _ in NUMBERS:
            number = getattr(self, field)
            if number not in {ANY, *known} and (field, number) != ("pattern_type", MATCH):
                raise invalid_request(f"expected a filter of known numbers, got {tuple(self)}")

    def matches(self, acl: Entry) -> bool:
        """True if the filter matches an entry.

        >>> orders = Acl(ResourceType.TOPIC, "ord", PREFIXED, "User:a", "*", Operation.READ, ALLOW)
        >>> AclFilter(resource_name="orders", pattern_type=MATCH).matches(orders)
        True
        >>> AclFilter(resource_name="orders").matches(orders)
        False
        """
        exact = self
        if self.pattern_type == MATCH:
            if self.resource_name is not None and not concerns(acl, self.resource_name):
                return False
            exact = self._replace(resource_name=None, pattern_type=ANY)
        return all(value in (None, ANY, getattr(acl, field)) for field, value in exact._asdict().items())


def concerns(acl: Entry, name: str) -> bool:
    """True if an entry's pattern covers a resource of this name."""
    if acl.pattern_type == PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (name, WILDCARD)


def is_allowed(acls: Iterable[Entry], principal: str, host: str, operation: int, *, default: bool = False) -> bool:
    """True if a principal may do an operation: no entry denies it, and one allows it.

    Args:
        acls: the entries that cover the resource.
        default: the answer without any, ``allow.everyone.if.no.acl.found``.

    >>> read = Acl(ResourceType.TOPIC, "orders", LITERAL, "User:a", "*", Operation.READ, ALLOW)
    >>> is_allowed([read], "User:a", "10.0.0.1", Operation.DESCRIBE)
    True
    >>> is_allowed([read], "User:a", "10.0.0.1", Operation.WRITE, default=True)
    False
    """
    found = allowed = False
    for acl in acls:
        found = True
        if applies(acl, principal, host, operation):
            if acl.permission_type == DENY:
                return False
            allowed = True
    return allowed if found else default


def applies(acl: Entry, principal: str, host: str, operation: int) -> bool:
    """True if an entry applies to an operation of a principal; allowed ones may imply Describe and DescribeConfigs."""
    if acl.principal not in (principal, WILDCARD_PRINCIPAL) or not is_from(host, acl.host):
        return False
    if acl.operation in (Operation.ALL, operation):
        return True
    if acl.permission_type != ALLOW:
        return False
    if operation == Operation.DESCRIBE:
        return acl.operation in IMPLY_DESCRIBE
    return operation == Operation.DESCRIBE_CONFIGS and acl.operation in IMPLY_DESCRIBE_CONFIGS


def is_from(host: str, pattern: str) -> bool:
    """True if a host equals a pattern, or is in its network.

    >>> is_from("10.1.2.3", "10.1.0.0/16"), is_from("10.2.2.3", "10.1.0.0/16"), is_from("::1", "*")
    (True, False, True)
    """
    if pattern in (WILDCARD, host):
        return True
    network = network_of(pattern)
    try:
        return network is not None and ip_address(host) in network
    except ValueError:
        return False


def network_of(pattern: str) -> IPv4Network | IPv6Network | None:
    """The network that a text is: an address and the length of its prefix; None if it is none.

    >>> network_of("10.0.0.0/8"), network_of("10.0.0.0/255.0.0.0")
    (IPv4Network('10.0.0.0/8'), None)
    """
    try:
        return ip_network(pattern, strict=False) if pattern.rpartition("/")[2].isdecimal() else None
    except ValueError:
        return None


# the entries in the image, which a restart restores


def entries_of(image: Image) -> Mapping[bytes, AccessControlEntryRecord]:
    """The records of the entries of an image, by the entry's id."""
    return image.extensions.get(NAME, {})


def add_entry(image: Image, record: AccessControlEntryRecord) -> None:
    image.extensions.setdefault(NAME, {})[record.id] = record


def remove_entry(image: Image, record: RemoveAccessControlEntryRecord) -> None:
    entries = image.extensions.get(NAME, {})
    entries.pop(record.id, None)
    if not entries:
        image.extensions.pop(NAME, None)


APPLY: dict[type, Apply] = {
    AccessControlEntryRecord: add_entry,
    RemoveAccessControlEntryRecord: remove_entry,
}


# the commands


def acl_of(record: AccessControlEntryRecord) -> Acl:
    """The entry of a record."""
    return Acl(*(getattr(record, name) for name in Acl._fields))


def find_acls(image: Image, filter_: AclFilter) -> list[Acl]:
    """The entries that match a filter, sorted."""
    return sorted(acl_of(record) for record in entries_of(image).values() if filter_.matches(record))


def create_acls(writer: ImageWriter, rng: Random, acls: Iterable[Acl]) -> None:
    """Add valid entries. Existing entries stay as they are."""
    present = set(map(acl_of, entries_of(writer.image).values()))
    new = [acl for acl in dict.fromkeys(acls) if acl not in present]
    writer.commit([AccessControlEntryRecord(id=new_id(writer.image, rng), **acl._asdict()) for acl in new])


def delete_acls(writer: ImageWriter, filters: Sequence[AclFilter]) -> None:
    """Remove the entries that match any filter."""
    entries = entries_of(writer.image).items()
    gone = [id_ for id_, record in entries if any(filter_.matches(record) for filter_ in filters)]
    writer.commit([RemoveAccessControlEntryRecord(id=id_) for id_ in gone])


def check_acl(acl: Acl) -> None:
    """Check an entry, in the order of Kafka's checks. Raises ApiError: INVALID_REQUEST."""
    if acl.resource_type == ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        raise invalid_request(f"expected the name {CLUSTER_NAME} for the cluster, got {acl.resource_name!r}")
    if not acl.resource_name:
        raise invalid_request("expected the name of a resource, got ''")
    for field, known, words in NUMBERS:
        if getattr(acl, field) not in known:
            raise invalid_request(f"expected {words}, got {getattr(acl, field)}")
    if ":" not in acl.principal:
        raise invalid_request(f"expected a principal as User:name, got {acl.principal!r}")
    if not acl.host:
        raise invalid_request("expected a host, a network or '*', got ''")
    if "/" in acl.host and network_of(acl.host) is None:
        raise invalid_request(f"expected a network as 10.0.0.0/8, got {acl.host!r}")


def new_id(image: Image, rng: Random) -> bytes:
    """A new id, unique among the entries."""
    while (id_ := random_uuid(rng)) in entries_of(image):
        pass
    return id_
