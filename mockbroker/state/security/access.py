"""The interface of access control for the rest of the cluster; an optional part implements it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from mockbroker.parts import provided
from mockbroker.state.security.operations import Operation

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

AUTHORIZER: Final = "authorizer.class.name"
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Access(Protocol):
    """The permissions of one principal from one address, by the numbers of ``operations.py``."""

    def may(self, operation: int, resource_type: int, name: str) -> bool:
        """True if the operation on a resource is allowed."""

    def may_cluster(self, operation: int) -> bool:
        """True if the operation on the cluster is allowed."""

    def may_topic(self, operation: int, name: str | None) -> bool:
        """True if the operation on a topic is allowed."""


def access_of(cluster: Cluster, principal: str, address: str) -> Access | None:
    """The permissions of a principal; None without access control."""
    if AUTHORIZER not in cluster.settings.given_names:
        return None
    find = provided("access_of")
    access: Access | None = None if find is None else find(cluster, principal, address)
    return access


def may_see_of(cluster: Cluster, principal: str, address: str) -> Callable[[str], bool] | None:
    """Returns a test of whether a principal may describe a topic; None without access control."""
    access = access_of(cluster, principal, address)
    return None if access is None else partial(access.may_topic, Operation.DESCRIBE)


def authorizing(settings: Mapping[str, Any], users: Iterable[str]) -> dict[str, Any]:
    """The settings with access control; the first user is a super user unless ``super.users`` is set.

    >>> authorizing({}, ["alice", "bob"])["super.users"]
    'User:alice'
    """
    name = next(iter(users), None)
    first = {} if name is None else {"super.users": f"User:{name}"}
    return {AUTHORIZER: STANDARD_AUTHORIZER, **first, **settings}
