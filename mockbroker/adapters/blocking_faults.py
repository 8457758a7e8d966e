"""The faults of a cluster that runs in a thread of its own, for all other threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from mockbroker.adapters.in_thread import ThreadView, in_thread
from mockbroker.core.faults.fault import Fault
from mockbroker.core.faults.faults import FaultHandle, Faults

if TYPE_CHECKING:
    from mockbroker.adapters.blocking import BlockingCluster
    from mockbroker.adapters.served_cluster import ServedCluster


class BlockingFaultHandle(ThreadView[FaultHandle]):
    """A fault that was set, as ``FaultHandle``."""

    def __init__(self, cluster: BlockingCluster[ServedCluster], handle: FaultHandle) -> None:
        super().__init__(cluster, lambda _: handle)
        self._handle = handle

    remove = in_thread(FaultHandle.remove)
    explain = in_thread(FaultHandle.explain)
    to_json = in_thread(FaultHandle.to_json)

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
        """The number of matching calls."""
        return self._look(lambda handle: handle.matched)

    @property
    def fired(self) -> int:
        """The number of calls on which it acted."""
        return self._look(lambda handle: handle.fired)

    @property
    def is_active(self) -> bool:
        return self._look(lambda handle: handle.is_active)


class BlockingFaults(ThreadView[Faults]):
    """The faults to inject, as ``Faults`` has them; each change has taken effect when its command returns."""

    remove = in_thread(Faults.remove)
    clear = in_thread(Faults.clear)
    to_json = in_thread(Faults.to_json)
    __len__ = in_thread(Faults.__len__)
    __contains__ = in_thread(Faults.__contains__)

    def __iter__(self) -> Iterator[BlockingFaultHandle]:
        return iter(self._wrapped(self._look(list)))

    def __getitem__(self, fault_id: str) -> BlockingFaultHandle:
        """The fault of this id. Raises KeyError: none is set."""
        return self._wrapped([self._look(lambda faults: faults[fault_id])])[0]

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
        """Set a fault, whole or by its parts. Raises FaultError."""
        handle = self._look(lambda faults: faults.add(fault, id=id, match=match, link=link, effect=effect, when=when))
        return BlockingFaultHandle(self._cluster, handle)

    def add_all(self, faults: Iterable[Mapping[str, Any] | Fault]) -> list[BlockingFaultHandle]:
        """Set several faults, or none if one of them is invalid. Raises FaultError."""
        several = list(faults)
        return self._wrapped(self._look(lambda known: known.add_all(several)))

    def never_fired(self) -> list[BlockingFaultHandle]:
        """The faults that were set since the last ``clear``, removed ones too, and acted on no call."""
        return self._wrapped(self._look(Faults.never_fired))

    def _wrapped(self, handles: list[FaultHandle]) -> list[BlockingFaultHandle]:
        return [BlockingFaultHandle(self._cluster, handle) for handle in handles]
