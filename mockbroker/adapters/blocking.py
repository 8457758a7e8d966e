"""A cluster that runs in its own thread, with blocking commands for all other threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from mockbroker.adapters.served_cluster import FINISH_S, ServedCluster
from mockbroker.core.commands import Result, StateCommands

if TYPE_CHECKING:
    from mockbroker.adapters.server import MockCluster
    from mockbroker.adapters.tls.material import TlsMaterial
    from mockbroker.core.faults.faults import Faults
    from mockbroker.core.journal import Journal
    from mockbroker.core.traffic import Traffic
    from mockbroker.state.cluster import Cluster

Served_co = TypeVar("Served_co", bound=ServedCluster, covariant=True)
Parameters = ParamSpec("Parameters")

NOT_RUNNING = "expected a running cluster and another thread than its own, but {}"


class LoopThread:
    """A thread with an event loop that runs until ``end``."""

    def __init__(self) -> None:
        self._loop = new_event_loop()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, name="kafka-rack cluster", daemon=True)
        self._thread.start()

    def is_alive(self) -> bool:
        """True if the loop runs."""
        return self._thread.is_alive()

    def is_current(self) -> bool:
        """True if it is the caller's thread."""
        return threading.current_thread() is self._thread

    def end(self) -> None:
        """End the loop, and wait until the thread has gone."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join()

    def wait_for(self, command: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the loop, and return its result."""
        if not self._thread.is_alive() or self.is_current():
            command.close()
            ended = "the cluster has ended" if not self._thread.is_alive() else "this is the cluster's own thread"
            raise RuntimeError(NOT_RUNNING.format(ended))
        done = asyncio.run_coroutine_threadsafe(command, self._loop)
        try:
            return done.result()
        except BaseException:  # Ctrl-C, say
            done.cancel()
            raise

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._live())

    async def _live(self) -> None:
        await self._ended.wait()
        await asyncio.sleep(0)  # completes the last closes


def waiting(
    command: Callable[Concatenate[ServedCluster, Parameters], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[BlockingCluster[Any], Parameters], Result]:
    """The blocking form of a command, for a ``BlockingCluster``; it returns when the command has taken effect."""

    @wraps(command, updated=())  # abstract there, not here
    def wait(blocking: BlockingCluster[Any], /, *args: Any, **kwargs: Any) -> Result:
        result: Result = blocking._wait_for(getattr(blocking._cluster, command.__name__)(*args, **kwargs))
        return result

    return wait


class BlockingCluster(StateCommands, Generic[Served_co]):
    """A cluster with sockets, ours or a proxy, that runs in its own thread, with commands for any other thread.

    Each command returns when it has taken effect, and raises its exceptions in the caller's thread; RuntimeError once
    the cluster has ended. ``journal`` and ``run`` still work then.
    """

    def __init__(self, cluster: Served_co, thread: LoopThread | None = None) -> None:
        self._cluster = cluster
        self._owns_thread = thread is None
        self._is_closed = False
        self._thread = LoopThread() if thread is None else thread
        cluster._run_by(lambda work: work() if self._thread.is_current() else self._in_its_thread(work))
        try:
            self._thread.wait_for(cluster.start())
        except BaseException:  # of the start, or Ctrl-C while waiting for it
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def finish(self, within_s: float = FINISH_S) -> None:
        """Before ``close``: read no more requests, and answer those received, within ``within_s`` seconds."""
        if self._thread.is_alive():
            self._wait_for(self._cluster.finish(within_s))

    def close(self) -> None:
        """Stop accepting, close every connection, end its forks and, unless it is a fork, the thread."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._thread.is_alive():
            self._thread.wait_for(self._cluster.close())
            if self._owns_thread:
                self._thread.end()

    # what a test asks

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of every broker, with commas between. Raises RuntimeError: the cluster does not run."""
        return self._in_its_thread(lambda: self._cluster.bootstrap_servers)

    def bootstrap_servers_for(self, rack: str) -> str:
        """The same for clients of one rack: its own listeners if each rack has a listener."""
        return self._in_its_thread(lambda: self._cluster.bootstrap_servers_for(rack))

    @property
    def journal(self) -> Journal:
        """The last calls, and assertions about them; docs/journal.md."""
        return self._cluster.journal

    @property
    def traffic(self) -> Traffic:
        """The traffic between racks."""
        return self._cluster.traffic

    @property
    def faults(self) -> Faults:
        """The faults to inject; docs/faults.md."""
        return self._in_its_thread(lambda: self._cluster.faults)

    def now_ms(self) -> int:
        """The time of journal entries, in ms since 1970, monotonic."""
        return self._cluster.now_ms()

    def run(self, function: Callable[[Served_co], Result]) -> Result:
        """Return ``function(cluster)``, called in the cluster's thread, so that nothing changes meanwhile.

        Use it to read ``cluster.state``. No request is served until it returns, so return plain values.
        """
        return self._in_its_thread(lambda: function(self._cluster))

    def _in_its_thread(self, work: Callable[[], Result]) -> Result:
        if self._is_closed or not self._thread.is_alive():
            return work()

        async def call() -> Result:
            return work()

        return self._wait_for(call())

    @property
    def tls(self) -> TlsMaterial | None:
        """The test certificates, if any: ``tls.client_context()`` is for clients."""
        return self._cluster.tls

    # commands

    stop_broker = waiting(ServedCluster.stop_broker)
    start_broker = waiting(ServedCluster.start_broker)
    restart_broker = waiting(ServedCluster.restart_broker)
    crash_broker = waiting(ServedCluster.crash_broker)
    stop_rack = waiting(ServedCluster.stop_rack)
    start_rack = waiting(ServedCluster.start_rack)
    restart_rack = waiting(ServedCluster.restart_rack)
    reset = waiting(ServedCluster.reset)
    metadata_propagated = waiting(ServedCluster.metadata_propagated)

    def _change(self, command: Callable[[Cluster, int], Result]) -> Result:
        async def change() -> Result:
            return self._cluster._change(command)

        return self._wait_for(change())

    def _wait_for(self, command: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the cluster's thread. Raises RuntimeError once the cluster has ended."""
        if self._is_closed:
            command.close()
            raise RuntimeError(NOT_RUNNING.format("the cluster has ended"))
        return self._thread.wait_for(command)


class BlockingMockCluster(BlockingCluster["MockCluster"]):
    """The cluster of ``with MockCluster(...) as cluster:``: its commands, for any thread but its own."""

    _cluster: MockCluster

    # forks

    def fork(self) -> BlockingMockCluster:
        """A new, started cluster with the current topics, records, committed offsets and configs.

        It runs in the same thread on free ports, with all brokers up, an empty journal and no faults; groups have
        their offsets but no members. ``close`` or ``with`` ends it; it ends with this one, if not before.
        """
        return BlockingMockCluster(self.run(lambda cluster: cluster.fork()), self._thread)

    # what a test asks

    def client_settings(
        self, client: str = "confluent", *, user: str | None = None, mechanism: str | None = None
    ) -> dict[str, Any]:
        """The settings for a client to connect and log in, as ``MockCluster.client_settings``."""
        return self.run(lambda cluster: cluster.client_settings(client, user=user, mechanism=mechanism))

    @property
    def kept(self) -> str | None:
        """The contents of the data directory when the cluster was built, as ``MockCluster.kept``."""
        return self._cluster.kept

    @property
    def settings_without_effect(self) -> tuple[str, ...]:
        """Kafka's settings that have no effect here; sorted."""
        return self._cluster.settings_without_effect

    # commands

    def configure_broker(self, broker_id: int, *, emulate: str | None = None, protocol: str | None = None) -> None:
        """In ZooKeeper mode change a broker's release or protocol from its next start on. Raises ValueError."""
        self.run(lambda cluster: cluster.configure_broker(broker_id, emulate=emulate, protocol=protocol))


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A loop of uvloop where that is installed (not on Windows, nor on PyPy), else one of asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
