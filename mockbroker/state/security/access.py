"""Who may do what, as the rest of the cluster asks it; judging is for the part that brings access control."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from mockbroker.parts import provided
from mockbroker.state.security.operations import DESCRIBE

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

AUTHORIZER: Final = "authorizer.class.name"
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Access(Protocol):
    """What one principal may do from one address, by the numbers of ``operations.py``."""

    def may(self, operation: int, resource_type: int, name: str) -> bool:
        """Whether it may do something with a resource."""

    def may_cluster(self, operation: int) -> bool:
        """Whether it may do something with the cluster."""

    def may_topic(self, operation: int, name: str | None) -> bool:
        """Whether it may do something with a topic."""


def access_of(cluster: Cluster, principal: str, address: str) -> Access | None:
    """What a principal may do; None where everybody may do everything."""
    if AUTHORIZER not in cluster.settings.given_names:
        return None
    find = provided("access_of")
    access: Access | None = None if find is None else find(cluster, principal, address)
    return access


def may_see_of(cluster: Cluster, principal: str, address: str) -> Callable[[str], bool] | None:
    """Whether a principal may describe a topic; None where everybody may."""
    access = access_of(cluster, principal, address)
    return None if access is None else partial(access.may_topic, DESCRIBE)


def authorizing(settings: Mapping[str, Any], users: Iterable[str]) -> dict[str, Any]:
    """The settings with access control; the first user may do everything unless they name somebody.

    >>> authorizing({}, ["alice", "bob"])["super.users"]
    'User:alice'
    """
    name = next(iter(users), None)
    first = {} if name is None else {"super.users": f"User:{name}"}
    return {AUTHORIZER: STANDARD_AUTHORIZER, **first, **settings}
