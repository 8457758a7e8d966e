"""The authorizer: the operations that a principal may do, from the access control entries.

Source: KIP-11, KIP-679, KIP-801; StandardAuthorizer and Authorizer.authorizeByResourceType, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.access_control.acls import (
    DENY,
    LITERAL,
    PREFIXED,
    WILDCARD,
    Entry,
    applies,
    concerns,
    entries_of,
    is_allowed,
)
from mockbroker.state.security.access import AUTHORIZER, Access

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

ANY_NAME: Final = "hardcode"
"""The resource name that Kafka checks first if an operation on any resource is enough."""


class PrincipalAccess(Access):
    """The operations that one principal may do from one address."""

    __slots__ = ("acls", "address", "default", "is_super", "principal")

    def __init__(self, cluster: Cluster, principal: str, address: str) -> None:
        self.acls = entries_of(cluster.image).values()
        self.principal, self.address = principal, address
        self.default = bool(cluster.settings["allow.everyone.if.no.acl.found"])
        self.is_super = principal in {one.strip() for one in cluster.settings["super.users"].split(";")}

    def may(self, operation: int, resource_type: int, name: str) -> bool:
        """True if the principal may do an operation on a resource."""
        if self.is_super:
            return True
        acls = (acl for acl in self.acls if acl.resource_type == resource_type and concerns(acl, name))
        return is_allowed(acls, self.principal, self.address, operation, default=self.default)

    def may_any(self, operation: int, resource_type: int) -> bool:
        """True if the principal may do an operation on at least one resource, existing or not (KIP-679)."""
        if self.may(operation, resource_type, ANY_NAME):
            return True
        allowed: list[Entry] = []
        denied: set[tuple[int, str]] = set()
        for acl in self.acls:
            if acl.resource_type != resource_type or not applies(acl, self.principal, self.address, operation):
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


def is_dominated(acl: Entry, denied: set[tuple[int, str]]) -> bool:
    """True if another entry, for the same name or a prefix of it, denies all that an entry allows."""
    name = acl.resource_name
    if acl.pattern_type == LITERAL and (LITERAL, name) in denied:
        return True
    return any((PREFIXED, name[:length]) in denied for length in range(1, len(name) + 1))


def access_of(cluster: Cluster, principal: str, address: str) -> PrincipalAccess | None:
    """The operations that a principal may do; None without an authorizer, which allows all."""
    has_authorizer = AUTHORIZER in cluster.settings.given_names and cluster.configs.broker(None, AUTHORIZER)
    return PrincipalAccess(cluster, principal, address) if has_authorizer else None
