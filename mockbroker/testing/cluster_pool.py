"""The clusters of a test run: one for each set of options, seeded once, and forked for each test.

A proxy before a real cluster is shared by the tests that have the same options.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from mockbroker.adapters.options import ClusterOptions, check_names
from mockbroker.testing.marker import (
    CLUSTER_ARGUMENTS,
    Marked,
    ProxyOptions,
    cluster_options,
    marked,
    proxy_marked,
)

if TYPE_CHECKING:
    from types import TracebackType

    from mockbroker.adapters.blocking import BlockingCluster, BlockingMockCluster, LoopThread
    from mockbroker.adapters.served_cluster import ServedCluster
    from mockbroker.core.faults.faults import FaultHandle
    from mockbroker.proxy.adapters.blocking import BlockingKafkaProxy
    from mockbroker.proxy.adapters.upstream import UpstreamSettings
    from mockbroker.testing.pytest_plugin import Seed

USED = pytest.StashKey["list[UsedCluster]"]()
SUMMARY = "kafka-rack: summary of the cluster"
INSIDE = frozenset({"mockbroker", "asyncio", "concurrent"})
FACTORY = "kafka_cluster_factory"
V = TypeVar("V")
NO_CLUSTER = (
    "kafka_proxy: expected to be told of a real cluster, by --kafka-proxy-bootstrap HOST:PORT, "
    "KAFKA_RACK_PROXY_BOOTSTRAP, the setting kafka_proxy_bootstrap, @pytest.mark.kafka_proxy(bootstrap=...) or a "
    "fixture kafka_proxy_upstream; got none (docs/testing.md)"
)


@dataclass(slots=True, eq=False)
class UsedCluster:
    """A cluster that a test uses, the mark of its journal when the test began, and faults of other tests, if any."""

    cluster: BlockingCluster[ServedCluster]
    mark: int = 0
    others_faults: frozenset[FaultHandle] = frozenset()

    def was_called(self) -> bool:
        """True if the cluster had a call since the test began."""
        return self.cluster.journal.mark() > self.mark

    def unfired(self) -> list[FaultHandle]:
        """The test's faults that never fired."""
        return [handle for handle in self.cluster.faults.never_fired() if handle not in self.others_faults]


class ClusterPool:
    """All clusters of one process of the run; it is a plugin of its own, for what is to be done around each test."""

    def __init__(self) -> None:
        self._stack = ExitStack()  # clusters, of which all others are forks, proxies, and their thread
        self._made: dict[Hashable, Any] = {}
        self._long_lived: dict[BlockingMockCluster, None] = {}  # made by fixtures, with the factory
        self._owners: list[pytest.Item | pytest.FixtureRequest] = []  # the test, and fixtures that are being set up

    def close(self) -> None:
        """End all proxies and clusters."""
        self._stack.close()

    @cached_property
    def thread(self) -> LoopThread:
        """The thread in which all of them run."""
        from mockbroker.adapters.blocking import LoopThread

        thread = LoopThread()
        self._stack.callback(thread.end)
        return thread

    # clusters

    def proxy_for(self, item: pytest.Item, upstream: UpstreamSettings | str | None) -> BlockingKafkaProxy:
        """The proxy that a test has by its markers: nothing goes wrong there yet, and nobody has called."""
        options = proxy_marked(item)
        wanted = options.bootstrap or upstream
        if not wanted:
            pytest.fail(NO_CLUSTER, pytrace=False)
        try:
            proxy = self._once(repr((wanted, options)), lambda: self._make_proxy(wanted, options))
        except Exception as error:  # noqa: BLE001 - a failure in one line
            pytest.fail(f"kafka_proxy: {error}", pytrace=False)
        proxy.journal.clear()
        proxy.traffic.clear()
        item.addfinalizer(lambda: put_right(proxy))
        item.stash.setdefault(USED, []).append(UsedCluster(proxy))
        return proxy

    def _make_proxy(self, upstream: UpstreamSettings | str, options: ProxyOptions) -> BlockingKafkaProxy:
        from mockbroker.proxy.adapters.blocking import BlockingKafkaProxy
        from mockbroker.proxy.adapters.server import KafkaProxy

        proxy = KafkaProxy(upstream, racks=options.racks, listener_per_rack=options.listener_per_rack)
        return self._stack.enter_context(BlockingKafkaProxy(proxy, self.thread))

    def cluster_for(self, item: pytest.Item, seed: Seed | None) -> BlockingMockCluster:
        """The cluster that a test has by its markers."""
        asked = marked(item)
        with failing_in_a_sentence(asked):
            if asked.scope == "function":
                cluster = self.seeded(asked.cluster, seed).fork()
                item.addfinalizer(cluster.close)
            else:
                cluster = self._shared_cluster(item, asked, seed)
                item.addfinalizer(cluster.faults.clear)
        item.stash.setdefault(USED, []).append(UsedCluster(cluster))
        return cluster

    def _shared_cluster(self, item: pytest.Item, asked: Marked, seed: Seed | None) -> BlockingMockCluster:
        files = [node for node in item.listchain() if isinstance(node, pytest.File) and asked.scope == "module"]
        file = files[-1] if files else None
        key = (asked.cluster.key(), seed, item.session.nodeid if file is None else file.nodeid)

        def make() -> BlockingMockCluster:
            cluster = self.seeded(asked.cluster, seed).fork()
            if file is not None:
                file.addfinalizer(lambda: self._made.pop(key).close())
            return cluster

        cluster = self._once(key, make)
        cluster.journal.clear()
        return cluster

    def seeded(self, options: ClusterOptions, seed: Seed | None) -> BlockingMockCluster:
        """The cluster that others with these options are forks of. Raises what its seed raised, each time."""
        return self._once((options.key(), seed), lambda: self._make(options, seed))

    def _make(self, options: ClusterOptions, seed: Seed | None) -> BlockingMockCluster:
        from mockbroker.adapters.blocking import BlockingMockCluster
        from mockbroker.adapters.server import MockCluster

        cluster = self._stack.enter_context(BlockingMockCluster(MockCluster.of(options), self.thread))
        if seed is None:
            return cluster
        run_seed(seed, cluster)
        return cluster.fork()  # which clients of the seed do not know

    def _once(self, key: Hashable, make: Callable[[], V]) -> V:
        """The result of ``make``, which is called once for a key. Raises what it raised, each time."""
        if key not in self._made:
            try:
                self._made[key] = make()
            except Exception as error:  # noqa: BLE001 - for all tests that ask for it
                self._made[key] = error
        found: V | Exception = self._made[key]
        if isinstance(found, Exception):
            raise found
        return found

    def make(self, **options: Any) -> BlockingMockCluster:
        """Make a cluster beside ``kafka_cluster``; it ends with the fixture that is being set up, or with the test.

        Raises TypeError, ValueError, ApiError: what cannot be, in a sentence.
        """
        check_names(FACTORY, options, CLUSTER_ARGUMENTS)
        cluster = self.seeded(cluster_options(options), None).fork()
        owner = self._owners[-1]
        owner.addfinalizer(cluster.close)
        if isinstance(owner, pytest.FixtureRequest) and owner.scope != "function":
            self._long_lived[cluster] = None
            owner.addfinalizer(lambda: self._long_lived.pop(cluster))
        else:
            node: pytest.Item = owner.node if isinstance(owner, pytest.FixtureRequest) else owner
            node.stash.setdefault(USED, []).append(UsedCluster(cluster))
        return cluster

    # around each test

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Remember whose clusters are made now."""
        self._owners = [item]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: pytest.FixtureRequest) -> Iterator[None]:
        """Remember which fixture makes clusters now."""
        self._owners.append(request)
        yield
        self._owners.pop()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Fail a test that passed although a fault of its own never fired."""
        used = item.stash.setdefault(USED, [])
        for cluster in self._long_lived:
            others = frozenset(cluster.faults.never_fired())
            used.append(UsedCluster(cluster, cluster.journal.mark(), others))
        outcome: Any = yield
        if outcome.excinfo is not None:
            end_at_the_test(*outcome.excinfo[1:])
            return
        unfired = [handle for one in used for handle in one.unfired()]
        if unfired and marked(item).unfired_faults != "allow":
            outcome.force_exception(pytest.fail.Exception(unfired_in_words(unfired), pytrace=False))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Add a summary of the clusters to the report of a test that failed."""
        outcome: Any = yield
        report: pytest.TestReport = outcome.get_result()
        used = item.stash.get(USED, [])
        if not report.failed or not used or report.when == "teardown":
            return
        from mockbroker.testing.summary import summary_of

        told = [one for one in used if one.cluster not in self._long_lived or one.was_called()]
        for one in told or used:
            report.sections.append((SUMMARY, summary_of(one.cluster, one.mark)))


def put_right(proxy: BlockingKafkaProxy) -> None:
    """Take back what a test has had go wrong."""
    proxy.faults.clear()
    for broker_id in proxy.run(
        lambda running: [one.id for one in running.state.brokers.values() if not one.is_running]
    ):
        proxy.start_broker(broker_id)


@contextmanager
def failing_in_a_sentence(asked: Marked) -> Iterator[None]:
    """Have what Kafka or we refuse fail the test without a traceback through kafka-rack."""
    from mockbroker.state.errors import ApiError

    try:
        yield
    except (ApiError, ValueError, OSError) as error:
        pytest.fail(f"{type(error).__name__}: {error}\nof the cluster {asked.cluster.in_words()}", pytrace=False)


def run_seed(seed: Seed, cluster: BlockingMockCluster) -> None:
    """Call a seed; a coroutine function runs in a thread, beside the loop of tests. Raises what it raises."""
    import asyncio
    import inspect
    from concurrent.futures import ThreadPoolExecutor

    if not inspect.iscoroutinefunction(seed):
        seed(cluster)
        return
    with ThreadPoolExecutor(1, "kafka-rack seed") as thread:
        thread.submit(asyncio.run, seed(cluster)).result()


def end_at_the_test(error: BaseException, trace: TracebackType | None) -> None:
    """Cut the traceback of a claim that fails, or of a command that is refused, at the test's own line."""
    if not (isinstance(error, AssertionError) or type(error).__module__.startswith("mockbroker.")):
        return
    last = None
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in INSIDE:
            last = trace
        trace = trace.tb_next
    if last is not None:
        last.tb_next = None


def unfired_in_words(handles: list[FaultHandle]) -> str:
    count = "a fault was" if len(handles) == 1 else f"{len(handles)} faults were"
    return "\n".join(
        [
            f"kafka-rack: {count} set and never fired, so this test shows nothing of what it would do",
            *(handle.explain() for handle in handles),
            "If that is meant: @pytest.mark.kafka(unfired_faults='allow')",
        ]
    )
