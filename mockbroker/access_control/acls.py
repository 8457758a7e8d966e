"""Access control entries: their filters, the decision on an operation, and commands to create and delete them.

The numbers are those of Kafka's enums ResourceType, PatternType, AclOperation and AclPermissionType.

Source: KIP-140, KIP-290, KIP-801; AclControlManager, StandardAuthorizerData, ResourcePatternFilter,
AccessControlEntryFilter, MetadataImage.write, AclsDelta and CidrUtils, Apache Kafka 4.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mockbroker.state.errors import ApiError
from mockbroker.state.security.operations import (
    ALL,
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CLUSTER_NAME,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    READ,
    TOPIC,
    TWO_PHASE_COMMIT,
    USER,
    WRITE,
)
from mockbroker.state.topics.topic import random_uuid
from protocol.embedded.metadata_acls import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.image import Apply, Image, ImageWriter

UNKNOWN, ANY = 0, 1  # of all four kinds of numbers
MATCH, LITERAL, PREFIXED = 2, 3, 4
DENY, ALLOW = 2, 3

RESOURCE_TYPES = range(TOPIC, USER + 1)
PATTERN_TYPES = range(LITERAL, PREFIXED + 1)
OPERATIONS = range(ALL, TWO_PHASE_COMMIT + 1)
PERMISSIONS = range(DENY, ALLOW + 1)

WILDCARD = "*"
WILDCARD_PRINCIPAL = "User:*"
IMPLY_DESCRIBE = frozenset({DESCRIBE, READ, WRITE, DELETE, ALTER})
IMPLY_DESCRIBE_CONFIGS = frozenset({DESCRIBE_CONFIGS, ALTER_CONFIGS})
IPV4_NETWORK = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}/\d{1,2}")


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

    def is_known(self) -> bool:
        """True if Kafka defines each of its numbers."""
        return (
            (self.resource_type == ANY or self.resource_type in RESOURCE_TYPES)
            and (self.pattern_type in (ANY, MATCH) or self.pattern_type in PATTERN_TYPES)
            and (self.operation == ANY or self.operation in OPERATIONS)
            and (self.permission_type == ANY or self.permission_type in PERMISSIONS)
        )

    def matches(self, acl: Acl) -> bool:
        """True if the filter matches an entry.

        >>> orders = Acl(TOPIC, "ord", PREFIXED, "User:a", "*", READ, ALLOW)
        >>> AclFilter(resource_name="orders", pattern_type=MATCH).matches(orders)
        True
        >>> AclFilter(resource_name="orders").matches(orders)
        False
        """
        return (
            self.resource_type in (ANY, acl.resource_type)
            and self.pattern_type in (ANY, MATCH, acl.pattern_type)
            and self._matches_name(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission_type in (ANY, acl.permission_type)
        )

    def _matches_name(self, acl: Acl) -> bool:
        if self.resource_name is None:
            return True
        if self.pattern_type == MATCH:
            return concerns(acl, self.resource_name)
        return self.resource_name == acl.resource_name


def concerns(acl: Acl, name: str) -> bool:
    """True if an entry's pattern covers a resource of this name."""
    if acl.pattern_type == PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (name, WILDCARD)


def is_allowed(acls: Iterable[Acl], principal: str, host: str, operation: int, *, default: bool = False) -> bool:
    """True if a principal may do an operation: no entry denies it, and one allows it.

    Args:
        acls: the entries that cover the resource.
        default: the answer without any, ``allow.everyone.if.no.acl.found``.

    >>> read = Acl(TOPIC, "orders", LITERAL, "User:a", "*", READ, ALLOW)
    >>> is_allowed([read], "User:a", "10.0.0.1", DESCRIBE)
    True
    >>> is_allowed([read], "User:a", "10.0.0.1", WRITE, default=True)
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


def applies(acl: Acl, principal: str, host: str, operation: int) -> bool:
    """True if an entry applies to an operation of a principal; allowed ones may imply Describe and DescribeConfigs."""
    if acl.principal not in (principal, WILDCARD_PRINCIPAL) or not is_from(host, acl.host):
        return False
    if acl.operation in (ALL, operation):
        return True
    if acl.permission_type != ALLOW:
        return False
    if operation == DESCRIBE:
        return acl.operation in IMPLY_DESCRIBE
    return operation == DESCRIBE_CONFIGS and acl.operation in IMPLY_DESCRIBE_CONFIGS


def is_from(host: str, pattern: str) -> bool:
    """True if a host equals a pattern, or is in its network.

    >>> is_from("10.1.2.3", "10.1.0.0/16"), is_from("10.2.2.3", "10.1.0.0/16"), is_from("::1", "*")
    (True, False, True)
    """
    if pattern in (WILDCARD, host):
        return True
    if "/" not in pattern or not is_network(pattern):
        return False
    try:
        return ip_address(host) in ip_network(pattern, strict=False)
    except ValueError:
        return False


def is_network(pattern: str) -> bool:
    """True if a text is a network: an address and the length of its prefix."""
    if ":" not in pattern and not IPV4_NETWORK.fullmatch(pattern):
        return False
    try:
        ip_network(pattern, strict=False)
    except ValueError:
        return False
    return True


# the entries in the image, which a restart restores


class AclEntries(dict[bytes, AccessControlEntryRecord]):
    """Records by the entry's id; the authorizer's form of them is cached until a change."""

    cached: list[Acl] | None = None

    def acls(self) -> list[Acl]:
        if self.cached is None:
            self.cached = list(map(acl_of, self.values()))
        return self.cached

    def copy(self) -> AclEntries:
        return AclEntries(self)


NO_ENTRIES: Final = AclEntries()


def entries_of(image: Image) -> AclEntries:
    """The entries of an image, read-only."""
    entries = image.extensions.get(NAME, NO_ENTRIES)
    assert isinstance(entries, AclEntries)
    return entries


def add_entry(image: Image, record: AccessControlEntryRecord) -> None:
    entries: Any = image.extensions.setdefault(NAME, AclEntries())
    entries[record.id] = record
    entries.cached = None


def remove_entry(image: Image, record: RemoveAccessControlEntryRecord) -> None:
    entries = entries_of(image)
    if entries.pop(record.id, None) is None:
        return
    entries.cached = None
    if not entries:
        del image.extensions[NAME]


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
    return sorted(filter(filter_.matches, entries_of(image).acls()))


def create_acls(writer: ImageWriter, rng: Random, acls: Iterable[Acl]) -> list[ApiError | None]:
    """Add entries; returns the error of each, None if it exists now. Existing entries stay as they are."""
    present = set(entries_of(writer.image).acls())
    records: list[AccessControlEntryRecord] = []
    results: list[ApiError | None] = []
    for acl in acls:
        problem = problem_with(acl)
        results.append(problem)
        if problem is None and acl not in present:
            present.add(acl)
            records.append(AccessControlEntryRecord(id=new_id(writer.image, rng), **acl._asdict()))
    writer.commit(records)
    return results


def delete_acls(writer: ImageWriter, filters: Iterable[AclFilter]) -> list[list[Acl] | ApiError]:
    """Remove the entries that match any filter; returns the entries of each filter, or its error."""
    gone: dict[bytes, None] = {}
    results: list[list[Acl] | ApiError] = []
    for filter_ in filters:
        if not filter_.is_known():
            results.append(
                ApiError(ErrorCode.INVALID_REQUEST, f"expected a filter of known numbers, got {tuple(filter_)}")
            )
            continue
        matched = {id_: acl_of(record) for id_, record in entries_of(writer.image).items()}
        matched = {id_: acl for id_, acl in matched.items() if filter_.matches(acl)}
        gone.update(dict.fromkeys(matched))
        results.append(sorted(matched.values()))
    writer.commit([RemoveAccessControlEntryRecord(id=id_) for id_ in gone])
    return results


def problem_with(acl: Acl) -> ApiError | None:
    """The error of an invalid entry, in the order of Kafka's checks; None if it is valid."""
    problem = None
    if acl.resource_type == CLUSTER and acl.resource_name != CLUSTER_NAME:
        problem = f"expected the name {CLUSTER_NAME} for the cluster, got {acl.resource_name!r}"
    elif not acl.resource_name:
        problem = "expected the name of a resource, got ''"
    elif acl.resource_type not in RESOURCE_TYPES:
        problem = f"expected a resource type from 2 to 7, got {acl.resource_type}"
    elif acl.pattern_type not in PATTERN_TYPES:
        problem = f"expected pattern type 3 or 4, got {acl.pattern_type}"
    elif acl.operation not in OPERATIONS:
        problem = f"expected an operation from 2 to 15, got {acl.operation}"
    elif acl.permission_type not in PERMISSIONS:
        problem = f"expected permission type 2 or 3, got {acl.permission_type}"
    elif ":" not in acl.principal:
        problem = f"expected a principal as User:name, got {acl.principal!r}"
    elif not acl.host:
        problem = "expected a host, a network or '*', got ''"
    elif "/" in acl.host and not is_network(acl.host):
        problem = f"expected a network as 10.0.0.0/8, got {acl.host!r}"
    return None if problem is None else ApiError(ErrorCode.INVALID_REQUEST, problem)


def new_id(image: Image, rng: Random) -> bytes:
    """A new id, unique among the entries."""
    while (id_ := random_uuid(rng)) in entries_of(image):
        pass
    return id_
