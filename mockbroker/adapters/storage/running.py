"""What a running cluster keeps in a data directory: opened before the cluster is built, looked after while it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mockbroker.adapters.storage.data_directory import DataDirectory
from mockbroker.adapters.storage.disk_store import DiskLogStore
from mockbroker.adapters.storage.files import Files, StorageError
from mockbroker.adapters.storage.kept_metadata import KeptMetadata
from mockbroker.adapters.storage.opening import ALWAYS, BY_SYSTEM
from mockbroker.adapters.storage.segment_files import Done, FlushJob, at_once
from mockbroker.core.disk_syncs import DiskSyncs

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster

log = logging.getLogger("mockbroker.storage")

TICK_S = 1.0
FLUSH_THREADS = 4


class Storage:
    """A data directory and the logs in it.

    Args:
        fsync: ``os`` or ``always``; docs/durability.md.

    ``summary`` says in a line what a cluster began with.

    Raises: DataDirectoryError, OSError.
    """

    def __init__(self, path: Path | str, *, fsync: str = BY_SYSTEM, files: Files | None = None) -> None:
        self.data = DataDirectory.open(path, files=files)
        self._timer: asyncio.TimerHandle | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._has_failed_flush = False
        self._metadata: KeptMetadata | None = None
        self._fsync = fsync
        self.summary = ""
        try:
            self.store = DiskLogStore(self.data, fsync=fsync)
        except BaseException:
            self.data.close(clean=False)
            raise

    @property
    def is_new(self) -> bool:
        """Whether there was nothing in it yet."""
        return self.data.is_new

    def durable(self, brokers: Sequence[Broker], settings: Mapping[str, Any] | None, seed: int) -> dict[str, Any]:
        """What ``Cluster.create`` is given for these brokers to go on from here.

        Raises: DataDirectoryError: what is there cannot be gone on from. StorageError, OSError.
        """
        self._metadata = KeptMetadata(self.data, brokers, settings, seed, sync=self._fsync == ALWAYS)
        return {"log_store": self.store, **self._metadata.durable()}

    def went_on(self, cluster: Cluster) -> None:
        """The cluster has been built."""
        assert self._metadata is not None
        self.summary = self._metadata.watch(cluster)

    def start(self, now_ms: Callable[[], int], settle: Callable[[], None], syncs: DiskSyncs) -> None:
        """Flush in threads from now on, and look after files every second.

        Args:
            settle: lets calls go on that waited for a flush.
            syncs: what answers wait for.
        """
        assert self._metadata is not None
        self._threads = ThreadPoolExecutor(FLUSH_THREADS, "kafka-rack flush")
        self.store.run_flush = self._metadata.record_log.run_flush = self._run_flush
        self.store.on_flushed = self._metadata.record_log.on_flushed = settle
        self.store.syncs = self._metadata.record_log.syncs = syncs
        syncs.is_deferred = self._fsync == ALWAYS
        self._tick(now_ms)

    def close(self, *, clean: bool = True) -> None:
        """Write what is to be found at the next opening, and give the directory back."""
        if self._timer is not None:
            self._timer.cancel()
        self.store.syncs.is_deferred = False
        self.store.run_flush, self.store.on_flushed = at_once, lambda: None
        if self._threads is not None:
            self._threads.shutdown()
        if self._metadata is not None:
            self._metadata.record_log.run_flush = at_once
            try:
                self._metadata.close()
            except StorageError as error:
                log.error("%s", error.message)  # noqa: TRY400 - a line says it all
                clean = False
        self.store.close(clean=clean and not self._has_failed_flush)

    def _tick(self, now_ms: Callable[[], int]) -> None:
        self._timer = asyncio.get_running_loop().call_later(TICK_S, self._tick, now_ms)
        self.store.tick(now_ms())

    def _run_flush(self, job: FlushJob, done: Done) -> None:
        assert self._threads is not None
        loop = asyncio.get_running_loop()

        def ended(future: Any) -> None:
            error = future.exception()
            self._has_failed_flush = self._has_failed_flush or error is not None
            if not loop.is_closed():
                loop.call_soon_threadsafe(done, error)

        self._threads.submit(job.run).add_done_callback(ended)
