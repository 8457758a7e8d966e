"""A cluster that runs in a thread of its own, and its commands for all other threads, which wait for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from mockbroker.adapters.event_loops import new_event_loop
from mockbroker.core.journal import Entry
from mockbroker.state.topics.topic import Topic

if TYPE_CHECKING:
    from mockbroker.adapters.server import MockCluster

Result = TypeVar("Result")


class BlockingMockCluster:
    """What ``with MockCluster(...) as cluster:`` gives: the commands of ``MockCluster``, for any thread but its own.

    Each command returns when it has taken effect and raises what it raises there; RuntimeError once the cluster has
    ended. ``journal`` and ``run`` stay readable then.
    """

    def __init__(self, cluster: MockCluster) -> None:
        self._cluster = cluster
        self._loop = new_event_loop()
        self._ended = asyncio.Event()
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._serve, name="kafka-rack cluster", daemon=True)
        self._thread.start()
        try:
            self._started.result()
        except BaseException:  # of the start, or Ctrl-C while waiting for it
            self.close()
            raise

    def close(self) -> None:
        """Stop accepting, close every connection and end the thread."""
        if self._thread.is_alive():
            with suppress(RuntimeError):  # after a start that failed its loop ends by itself
                self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join()

    # what a test asks

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of every broker, with commas between. Raises RuntimeError: the cluster does not run."""
        return self.run(lambda cluster: cluster.bootstrap_servers)

    def bootstrap_servers_for(self, rack: str) -> str:
        """The same for clients of one rack: its own listeners where there is one listener per rack."""
        return self.run(lambda cluster: cluster.bootstrap_servers_for(rack))

    @property
    def settings_without_effect(self) -> tuple[str, ...]:
        """The settings that were given, that Kafka has, and that change nothing here; sorted."""
        return self._cluster.settings_without_effect

    @property
    def journal(self) -> BlockingJournal:
        """The last calls, as in ``MockCluster.journal``."""
        return BlockingJournal(self)

    def now_ms(self) -> int:
        """The time of journal entries, in ms since 1970, that never goes back."""
        return self._cluster.now_ms()

    def run(self, function: Callable[[MockCluster], Result]) -> Result:
        """What ``function(cluster)`` gives, called in the cluster's thread, so that nothing changes meanwhile.

        This is the way to look at ``cluster.state``. No request is served until it returns, so give back values.
        """
        if not self._thread.is_alive():
            return function(self._cluster)

        async def call() -> Result:
            return function(self._cluster)

        return self._wait_for(call())

    def metadata_propagated(self) -> None:
        """In ZooKeeper mode wait until the controller has told its brokers all there is."""
        self._wait_for(self._cluster.metadata_propagated())

    # commands

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        *,
        diskless: bool = False,
        configs: Mapping[str, Any] | None = None,
    ) -> Topic:
        """Create a topic, as ``Cluster.create_topic`` does. Raises ApiError."""
        return self.run(
            lambda cluster: cluster.create_topic(
                name, partitions, replication_factor, diskless=diskless, configs=configs
            )
        )

    def set_follower_lag(self, broker_id: int, records: int) -> None:
        """Have the followers on a broker be so many records behind, 0 ends it. Raises KeyError, ValueError."""
        self.run(lambda cluster: cluster.set_follower_lag(broker_id, records))

    def configure_broker(self, broker_id: int, *, emulate: str | None = None, protocol: str | None = None) -> None:
        """In ZooKeeper mode change what a broker runs from its next start on. Raises ValueError."""
        self.run(lambda cluster: cluster.configure_broker(broker_id, emulate=emulate, protocol=protocol))

    def stop_broker(self, broker_id: int) -> bool:
        """Stop a broker: its partitions have new leaders and its connections are closed. False if it was down."""
        return self._wait_for(self._cluster.stop_broker(broker_id))

    def start_broker(self, broker_id: int) -> bool:
        """Start a broker on its old port. False if it was up."""
        return self._wait_for(self._cluster.start_broker(broker_id))

    def stop_rack(self, rack: str) -> list[int]:
        """Stop every broker of a rack; gives the ids of those that were up. Raises KeyError: no such rack."""
        return self._wait_for(self._cluster.stop_rack(rack))

    def start_rack(self, rack: str) -> list[int]:
        """Start every broker of a rack; gives the ids of those that were down. Raises KeyError: no such rack."""
        return self._wait_for(self._cluster.start_rack(rack))

    def _wait_for(self, command: Coroutine[Any, Any, Result]) -> Result:
        """What a coroutine gives that runs in the cluster's thread."""
        if not self._thread.is_alive() or threading.current_thread() is self._thread:
            command.close()
            ended = "the cluster has ended" if not self._thread.is_alive() else "this is the cluster's own thread"
            raise RuntimeError(f"expected a running cluster and another thread than its own, but {ended}")
        done = asyncio.run_coroutine_threadsafe(command, self._loop)
        try:
            return done.result()
        except BaseException:  # Ctrl-C, say
            done.cancel()
            raise

    # its thread

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._live())

    async def _live(self) -> None:
        try:
            async with self._cluster:
                self._started.set_result(None)
                await self._ended.wait()
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)


class BlockingJournal:
    """The last calls, oldest first, as ``Journal`` has them; each method looks while the cluster serves nobody."""

    def __init__(self, cluster: BlockingMockCluster) -> None:
        self._cluster = cluster

    @property
    def dropped(self) -> int:
        """How many entries no longer fitted."""
        return self._cluster.run(lambda cluster: cluster.journal.dropped)

    def __len__(self) -> int:
        return self._cluster.run(lambda cluster: len(cluster.journal))

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._cluster.run(lambda cluster: list(cluster.journal)))

    def since(self, mark: int) -> list[Entry]:
        """The entries after a mark that ``mark()`` gave earlier, as far as they are still kept."""
        return self._cluster.run(lambda cluster: cluster.journal.since(mark))

    def mark(self) -> int:
        """How many entries there were so far, for ``since``."""
        return self._cluster.run(lambda cluster: cluster.journal.mark())

    def clear(self) -> None:
        """Forget all entries."""
        self._cluster.run(lambda cluster: cluster.journal.clear())
