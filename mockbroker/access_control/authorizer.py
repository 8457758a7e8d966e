"""The authorizer: an index of access control entries by resource, and the operations that a principal may do.

Source: KIP-11, KIP-679, KIP-801; StandardAuthorizer and Authorizer.authorizeByResourceType, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from mockbroker.access_control.acls import (
    DENY,
    LITERAL,
    PREFIXED,
    WILDCARD,
    Acl,
    acl_of,
    applies,
    entries_of,
    is_allowed,
)
from mockbroker.state.security.access import AUTHORIZER
from mockbroker.state.security.operations import CLUSTER, CLUSTER_NAME, TOPIC

if TYPE_CHECKING:
    from mockbroker.access_control.acls import AclEntries
    from mockbroker.state.cluster import Cluster

ANY_NAME: Final = "hardcode"
"""The resource name that Kafka checks first if an operation on any resource is enough."""


class AclIndex:
    """Entries by resource type and pattern, so that a lookup reads few of them.

    >>> index = AclIndex(
    ...     [Acl(TOPIC, "ord", PREFIXED, "User:a", "*", 3, 3), Acl(TOPIC, "x", LITERAL, "User:a", "*", 3, 3)]
    ... )
    >>> [acl.resource_name for acl in index.concerning(TOPIC, "orders")]
    ['ord']
    """

    __slots__ = ("_by_pattern", "_longest")

    def __init__(self, acls: Iterable[Acl]) -> None:
        self._by_pattern: dict[tuple[int, int, str], list[Acl]] = {}
        self._longest = 0
        for acl in acls:
            self._by_pattern.setdefault((acl.resource_type, acl.pattern_type, acl.resource_name), []).append(acl)
            if acl.pattern_type == PREFIXED:
                self._longest = max(self._longest, len(acl.resource_name))

    def concerning(self, resource_type: int, name: str) -> Iterator[Acl]:
        """The entries whose patterns cover a resource."""
        found = self._by_pattern
        yield from found.get((resource_type, LITERAL, name), ())
        if name != WILDCARD:
            yield from found.get((resource_type, LITERAL, WILDCARD), ())
        for length in range(1, min(len(name), self._longest) + 1):
            yield from found.get((resource_type, PREFIXED, name[:length]), ())

    def of_type(self, resource_type: int) -> Iterator[Acl]:
        """The entries of one type."""
        for (kind, _, _), acls in self._by_pattern.items():
            if kind == resource_type:
                yield from acls


def index_of(entries: AclEntries) -> AclIndex:
    """The index of the image's entries; built when first needed after a change."""
    if entries.index is None:
        entries.index = AclIndex(map(acl_of, entries.values()))
    return entries.index


class PrincipalAccess:
    """The operations that one principal may do from one address."""

    __slots__ = ("address", "default", "index", "is_super", "principal")

    def __init__(self, cluster: Cluster, principal: str, address: str) -> None:
        self.index = index_of(entries_of(cluster.image))
        self.principal, self.address = principal, address
        self.default = bool(cluster.settings["allow.everyone.if.no.acl.found"])
        self.is_super = principal in {one.strip() for one in cluster.settings["super.users"].split(";")}

    def may(self, operation: int, resource_type: int, name: str) -> bool:
        """True if the principal may do an operation on a resource."""
        if self.is_super:
            return True
        acls = self.index.concerning(resource_type, name)
        return is_allowed(acls, self.principal, self.address, operation, default=self.default)

    def may_cluster(self, operation: int) -> bool:
        """True if the principal may do an operation on the cluster."""
        return self.may(operation, CLUSTER, CLUSTER_NAME)

    def may_topic(self, operation: int, name: str | None) -> bool:
        """True if the principal may do an operation on a topic."""
        return self.may(operation, TOPIC, name or "")

    def may_any(self, operation: int, resource_type: int) -> bool:
        """True if the principal may do an operation on at least one resource, existing or not (KIP-679)."""
        if self.may(operation, resource_type, ANY_NAME):
            return True
        allowed: list[Acl] = []
        denied: set[tuple[int, str]] = set()
        for acl in self.index.of_type(resource_type):
            if not applies(acl, self.principal, self.address, operation):
                continue
            if acl.permission_type == DENY:
                denied.add((acl.pattern_type, acl.resource_name))
            else:
                allowed.append(acl)
        if (LITERAL, WILDCARD) in denied:
            return False
        return any(
            (acl.pattern_type, acl.resource_name) == (LITERAL, WILDCARD) or not is_dominated(acl, denied)
            for acl in allowed
        )

    def operations(self, among: Iterable[int], resource_type: int, name: str) -> int:
        """The operations that the principal may do on a resource, as bits."""
        return sum(1 << one for one in among if self.may(one, resource_type, name))


def is_dominated(acl: Acl, denied: set[tuple[int, str]]) -> bool:
    """True if another entry, for the same name or a prefix of it, denies all that an entry allows."""
    name = acl.resource_name
    if acl.pattern_type == LITERAL and (LITERAL, name) in denied:
        return True
    return any((PREFIXED, name[:length]) in denied for length in range(1, len(name) + 1))


def access_of(cluster: Cluster, principal: str, address: str) -> PrincipalAccess | None:
    """The operations that a principal may do; None without an authorizer, which allows all."""
    has_authorizer = AUTHORIZER in cluster.settings.given_names and cluster.configs.broker(None, AUTHORIZER)
    return PrincipalAccess(cluster, principal, address) if has_authorizer else None
