"""Makes the methods of a cluster's objects callable from other threads than the cluster's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from mockbroker.adapters.blocking import BlockingCluster
    from mockbroker.adapters.served_cluster import ServedCluster

Target = TypeVar("Target")
Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")


class ThreadView(Generic[Target]):
    """An object of a cluster that runs in a thread of its own; each look at it blocks until the cluster rests.

    Args:
        target: finds the object, in the cluster's thread.
    """

    def __init__(self, cluster: BlockingCluster[ServedCluster], target: Callable[[ServedCluster], Target]) -> None:
        self._cluster, self._target = cluster, target

    def _look(self, look: Callable[[Target], Result]) -> Result:
        return self._cluster.run(lambda cluster: look(self._target(cluster)))


def in_thread(
    method: Callable[Concatenate[Target, Parameters], Result],
) -> Callable[Concatenate[ThreadView[Target], Parameters], Result]:
    """The same method for a ``ThreadView``."""

    @wraps(method)
    def call(view: ThreadView[Target], /, *args: Any, **kwargs: Any) -> Result:
        return view._look(lambda target: method(target, *args, **kwargs))

    return call
