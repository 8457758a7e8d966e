"""The journal and the traffic of a cluster that runs in a thread of its own, for all other threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mockbroker.core.journal import JournalEntry
from mockbroker.core.journal.journal import Assertions

if TYPE_CHECKING:
    from kafka_rack.locality.prices import Prices
    from mockbroker.adapters.blocking import BlockingCluster
    from mockbroker.adapters.served_cluster import ServedCluster


class BlockingJournal(Assertions):
    """The last calls, oldest first, as ``Journal`` has them; each method looks while the cluster serves nobody."""

    def __init__(self, cluster: BlockingCluster[ServedCluster]) -> None:
        self._cluster = cluster

    @property
    def dropped(self) -> int:
        """How many entries no longer fitted."""
        return self._cluster.run(lambda cluster: cluster.journal.dropped)

    @property
    def size_bytes(self) -> int:
        """About how much memory the entries take."""
        return self._cluster.run(lambda cluster: cluster.journal.size_bytes)

    def __len__(self) -> int:
        return self._cluster.run(lambda cluster: len(cluster.journal))

    def __iter__(self) -> Iterator[JournalEntry]:
        return iter(self._cluster.run(lambda cluster: list(cluster.journal)))

    def since(self, mark: int) -> list[JournalEntry]:
        """The entries after a mark that ``mark()`` gave earlier, as far as they are still kept."""
        return self._cluster.run(lambda cluster: cluster.journal.since(mark))

    def mark(self) -> int:
        """The sequence of the last entry so far, for ``since``."""
        return self._cluster.run(lambda cluster: cluster.journal.mark())

    def clear(self) -> None:
        """Forget all entries."""
        self._cluster.run(lambda cluster: cluster.journal.clear())

    def watch_history(self) -> None:
        """Look into each batch from now on, as ``Journal.watch_history`` does."""
        self._cluster.run(lambda cluster: cluster.journal.watch_history())

    def find(self, *, limit: int | None = None, **filters: Any) -> list[JournalEntry]:
        """The entries that match every filter, as ``Journal.find`` has them. Raises FilterError."""
        return self._cluster.run(lambda cluster: cluster.journal.find(limit=limit, **filters))

    def count(self, *, limit: int | None = None, **filters: Any) -> int:
        """How many entries match, with the filters of ``find``. Raises FilterError."""
        return self._cluster.run(lambda cluster: cluster.journal.count(limit=limit, **filters))

    def counts(self, by: str, **filters: Any) -> dict[str, int]:
        """How many of the entries that match have each value of a field, most frequent first. Raises FilterError."""
        return self._cluster.run(lambda cluster: cluster.journal.counts(by, **filters))

    def _check(self, name: str, arguments: Mapping[str, Any]) -> None:
        from mockbroker.core.journal.assertions import check

        self._cluster.run(lambda cluster: check(name, arguments, cluster.journal))


class BlockingTraffic:
    """The traffic between racks, as ``Traffic`` has it."""

    def __init__(self, cluster: BlockingCluster[ServedCluster]) -> None:
        self._cluster = cluster

    def snapshot(self, prices: Prices | None = None, now_ms: int | None = None) -> dict[str, Any]:
        """All of it as JSON has it, as ``Traffic.snapshot``."""
        return self._cluster.run(lambda cluster: cluster.traffic.snapshot(prices, now_ms))

    def clear(self) -> None:
        """Begin anew."""
        self._cluster.run(lambda cluster: cluster.traffic.clear())
