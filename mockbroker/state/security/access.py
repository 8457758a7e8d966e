"""The interface of access control for the rest of the cluster; an optional part implements it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from mockbroker.parts import provided
from mockbroker.state.security.operations import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

AUTHORIZER: Final = "authorizer.class.name"
EXISTING = {ResourceType.TOPIC: 3576, ResourceType.GROUP: 3400, ResourceType.CLUSTER: 8096}
"""All operations on each kind of resource, as bits."""
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Access:
    """The permissions of one principal from one address, by the numbers of ``operations.py``.

    Without access control everything is allowed.
    """

    __slots__ = ()

    def may(self, operation: int, resource_type: int, name: str) -> bool:
        """True if the operation on a resource is allowed."""
        return True

    def may_cluster(self, operation: int) -> bool:
        """True if the operation on the cluster is allowed."""
        return self.may(operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def may_topic(self, operation: int, name: str | None) -> bool:
        """True if the operation on a topic is allowed."""
        return self.may(operation, ResourceType.TOPIC, name or "")

    def may_group(self, operation: int, name: str) -> bool:
        """True if the operation on a group is allowed."""
        return self.may(operation, ResourceType.GROUP, name)

    def may_transactional_id(self, operation: int, name: str | None) -> bool:
        """True if the operation on a transactional id is allowed."""
        return self.may(operation, ResourceType.TRANSACTIONAL_ID, name or "")

    def permitted(self, resource_type: ResourceType, name: str) -> int:
        """The allowed operations on a resource, as bits; none without Describe."""
        if not self.may(Operation.DESCRIBE, resource_type, name):
            return 0
        existing = EXISTING[resource_type]
        return sum(1 << one for one in Operation if existing >> one & 1 and self.may(one, resource_type, name))


EVERYTHING = Access()


def access_of(cluster: Cluster, principal: str, address: str) -> Access:
    """The permissions of a principal."""
    find = provided("access_of") if AUTHORIZER in cluster.settings.given_names else None
    access: Access | None = None if find is None else find(cluster, principal, address)
    return access or EVERYTHING


def authorizing(settings: Mapping[str, Any], users: Iterable[str]) -> dict[str, Any]:
    """The settings with access control; the first user is a super user unless ``super.users`` is set.

    >>> authorizing({}, ["alice", "bob"])["super.users"]
    'User:alice'
    """
    name = next(iter(users), None)
    first = {} if name is None else {"super.users": f"User:{name}"}
    return {AUTHORIZER: STANDARD_AUTHORIZER, **first, **settings}
