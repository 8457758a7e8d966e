"""The faults of a cluster that runs in a thread of its own, for all other threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from mockbroker.core.faults.fault import Fault
from mockbroker.core.faults.faults import FaultHandle

if TYPE_CHECKING:
    from mockbroker.adapters.blocking import BlockingCluster
    from mockbroker.adapters.served_cluster import ServedCluster


class BlockingFaultHandle:
    """A fault that was set, as ``FaultHandle``; each look at it is one at a moment in which the cluster rests."""

    def __init__(self, cluster: BlockingCluster[ServedCluster], handle: FaultHandle) -> None:
        self._cluster, self._handle = cluster, handle

    def __repr__(self) -> str:
        return repr(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockingFaultHandle) and other._handle is self._handle

    def __hash__(self) -> int:
        return hash(self._handle)

    @property
    def id(self) -> str:
        return self._handle.id

    @property
    def fault(self) -> Fault:
        return self._handle.fault

    @property
    def matched(self) -> int:
        """How many calls it means."""
        return self._cluster.run(lambda _: self._handle.matched)

    @property
    def fired(self) -> int:
        """On how many of them it acted."""
        return self._cluster.run(lambda _: self._handle.fired)

    @property
    def is_active(self) -> bool:
        return self._cluster.run(lambda _: self._handle.is_active)

    def remove(self) -> None:
        """Take the fault back; nothing happens if it was already."""
        self._cluster.run(lambda _: self._handle.remove())

    def explain(self) -> str:
        """How often it acted; of one that never did, why not."""
        return self._cluster.run(lambda _: self._handle.explain())

    def to_json(self) -> dict[str, Any]:
        """The fault's own JSON form, its counts, and the explanation if it has not fired."""
        return self._cluster.run(lambda _: self._handle.to_json())


class BlockingFaults:
    """The faults to inject, as ``Faults`` has them; each change has taken effect when its command returns."""

    def __init__(self, cluster: BlockingCluster[ServedCluster]) -> None:
        self._cluster = cluster

    def __iter__(self) -> Iterator[BlockingFaultHandle]:
        return iter(self._wrapped(self._cluster.run(lambda cluster: list(cluster.faults))))

    def __len__(self) -> int:
        return self._cluster.run(lambda cluster: len(cluster.faults))

    def __contains__(self, fault_id: object) -> bool:
        return self._cluster.run(lambda cluster: fault_id in cluster.faults)

    def __getitem__(self, fault_id: str) -> BlockingFaultHandle:
        """The fault of this id. Raises KeyError: none is set."""
        return self.get(fault_id)

    def get(self, fault_id: str) -> BlockingFaultHandle:
        """The fault of this id. Raises KeyError: none is set."""
        return self._wrapped([self._cluster.run(lambda cluster: cluster.faults.get(fault_id))])[0]

    def add(
        self,
        fault: Mapping[str, Any] | Fault | None = None,
        *,
        id: str | None = None,
        match: Mapping[str, Any] | None = None,
        link: Mapping[str, Any] | None = None,
        effect: Mapping[str, Any] | None = None,
        when: Mapping[str, Any] | None = None,
    ) -> BlockingFaultHandle:
        """Set a fault, given whole or by its parts. Raises FaultError."""
        handle = self._cluster.run(
            lambda cluster: cluster.faults.add(fault, id=id, match=match, link=link, effect=effect, when=when)
        )
        return BlockingFaultHandle(self._cluster, handle)

    def add_all(self, faults: Iterable[Mapping[str, Any] | Fault]) -> list[BlockingFaultHandle]:
        """Set several faults, or none where one of them cannot be. Raises FaultError."""
        given = list(faults)
        return self._wrapped(self._cluster.run(lambda cluster: cluster.faults.add_all(given)))

    def remove(self, fault_id: str) -> None:
        """Take a fault back. Raises KeyError: none of this id is set."""
        self._cluster.run(lambda cluster: cluster.faults.remove(fault_id))

    def clear(self) -> None:
        """Take all faults back, and forget those that were set before."""
        self._cluster.run(lambda cluster: cluster.faults.clear())

    def to_json(self) -> list[dict[str, Any]]:
        """Each fault that is set, with its counts."""
        return self._cluster.run(lambda cluster: cluster.faults.to_json())

    def never_fired(self) -> list[BlockingFaultHandle]:
        """The faults that were set since the last ``clear``, removed ones too, and acted on no call."""
        return self._wrapped(self._cluster.run(lambda cluster: cluster.faults.never_fired()))

    def _wrapped(self, handles: list[FaultHandle]) -> list[BlockingFaultHandle]:
        return [BlockingFaultHandle(self._cluster, handle) for handle in handles]
