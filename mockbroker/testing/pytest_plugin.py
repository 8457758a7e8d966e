"""The pytest plugin: a cluster for each test, by fixture and by marker. docs/testing.md shows how it is used.

Every suite that has kafka-rack installed loads this module, so it imports nothing of the cluster; what does is loaded
once a test is collected that asks for one.

    @pytest.mark.kafka(racks="a,b,c", topics={"orders": 6})
    def test_orders_are_read_in_their_rack(kafka_cluster, kafka_journal): ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mockbroker.adapters.blocking import BlockingMockCluster
    from mockbroker.adapters.blocking_faults import BlockingFaults
    from mockbroker.adapters.blocking_journal import BlockingJournal
    from mockbroker.proxy.adapters.blocking import BlockingKafkaProxy
    from mockbroker.proxy.adapters.upstream import UpstreamSettings
    from mockbroker.testing.cluster_pool import ClusterFactory, ClusterPool
    from mockbroker.testing.topic_names import KafkaTopic

MARKER, PROXY_MARKER = "kafka", "kafka_proxy"
PROXY_BOOTSTRAP = "kafka_proxy_bootstrap"
PROXY_ENVIRONMENT = "KAFKA_RACK_PROXY_BOOTSTRAP"
FIXTURES = frozenset(
    {
        "kafka_bootstrap_servers",
        "kafka_cluster",
        "kafka_cluster_factory",
        "kafka_faults",
        "kafka_journal",
        "kafka_proxy",
        "kafka_topic",
    }
)
Seed = Callable[["BlockingMockCluster"], Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which real cluster ``kafka_proxy`` stands before."""
    meaning = f"the real cluster that the proxies of kafka_proxy stand before, HOST:PORT,...; or {PROXY_ENVIRONMENT}"
    parser.getgroup("kafka-rack").addoption("--kafka-proxy-bootstrap", metavar="HOST:PORT", help=meaning)
    parser.addini(PROXY_BOOTSTRAP, meaning, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest of the markers."""
    config.addinivalue_line(
        "markers",
        f"{PROXY_MARKER}(bootstrap='HOST:PORT', racks={{}}, listener_per_rack=False): the proxy that kafka_proxy gives "
        "(kafka-rack)",
    )
    config.addinivalue_line(
        "markers",
        f"{MARKER}(brokers=3, racks='a,b,c', topics={{}}, diskless_topics={{}}, settings={{}}, users={{}}, "
        "authorize=False, scope='function', unfired_faults='fail', topic={}): the Kafka cluster that kafka_cluster "
        "gives (kafka-rack)",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Load what is needed if any test needs it, and check the markers of those that do."""
    asking = [item for item in items if not FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))]
    if not asking:
        return
    from mockbroker.testing.marker import MarkerError, marked, proxy_marked

    wrong = []
    for item in asking:
        try:
            marked(item)
            if "kafka_proxy" in getattr(item, "fixturenames", ()):
                proxy_marked(item)
        except MarkerError as error:
            wrong.append(f"{item.nodeid}: {error}")
    if wrong:
        raise pytest.UsageError("\n".join(wrong))
    pool_of(config).load()


def pool_of(config: pytest.Config) -> ClusterPool:
    """The clusters of this run, or of this process of it."""
    from mockbroker.testing.cluster_pool import POOL, ClusterPool

    pool = config.stash.get(POOL, None)
    if pool is None:
        pool = config.stash[POOL] = ClusterPool()
        config.pluginmanager.register(pool, "kafka_rack_clusters")
    return pool


@pytest.fixture(scope="session")
def _kafka_cluster_pool(pytestconfig: pytest.Config) -> Iterator[ClusterPool]:
    pool = pool_of(pytestconfig)
    yield pool
    pool.close()


@pytest.fixture(scope="session")
def kafka_cluster_seed() -> Seed | None:
    """What each cluster begins with: redefine it to return ``seed(cluster)``, which runs once for equal clusters.

    It makes topics, writes records and commits offsets; every test has a fork of what it left. It may be a coroutine
    function.
    """
    return None


@pytest.fixture
def kafka_cluster(
    request: pytest.FixtureRequest, _kafka_cluster_pool: ClusterPool, kafka_cluster_seed: Seed | None
) -> BlockingMockCluster:
    """A Kafka cluster of this test's own, as ``@pytest.mark.kafka(...)`` says; without it three brokers in three racks.

    With ``scope="module"`` or ``scope="session"`` the tests of a file, or all that ask for an equal one, share it.
    """
    return _kafka_cluster_pool.cluster_for(request.node, kafka_cluster_seed)


@pytest.fixture(scope="session")
def kafka_cluster_factory(_kafka_cluster_pool: ClusterPool) -> ClusterFactory:
    """Makes further clusters: ``kafka_cluster_factory(brokers=6, racks="a,b")``, with whatever the marker takes.

    They are closed with the fixture in which they were made, or at the end of the test.
    """
    return _kafka_cluster_pool.factory


@pytest.fixture(scope="session")
def kafka_proxy_upstream(pytestconfig: pytest.Config) -> UpstreamSettings | str | None:
    """Where the real cluster is, as bootstrap.servers: redefine it for one that a fixture starts.

    It may return ``UpstreamSettings`` as well, where brokers ask for TLS or a login.
    """
    import os

    given: str | None = pytestconfig.getoption("kafka_proxy_bootstrap", None)
    return given or os.environ.get(PROXY_ENVIRONMENT) or pytestconfig.getini(PROXY_BOOTSTRAP) or None


@pytest.fixture
def kafka_proxy(
    request: pytest.FixtureRequest,
    _kafka_cluster_pool: ClusterPool,
    kafka_proxy_upstream: UpstreamSettings | str | None,
) -> BlockingKafkaProxy:
    """A proxy before a real cluster, as ``@pytest.mark.kafka_proxy(...)`` and ``kafka_proxy_upstream`` say.

    Tests that ask for an equal one share it; its journal, its faults and racks that are stopped are each test's own.
    """
    return _kafka_cluster_pool.proxy_for(request.node, kafka_proxy_upstream)


@pytest.fixture
def kafka_bootstrap_servers(kafka_cluster: BlockingMockCluster) -> str:
    """``host:port`` of every broker of ``kafka_cluster``, with commas between."""
    return kafka_cluster.bootstrap_servers


@pytest.fixture
def kafka_topic(request: pytest.FixtureRequest, kafka_cluster: BlockingMockCluster) -> KafkaTopic:
    """The name of a topic that no other test has; ``kafka_topic(partitions=6)`` makes another and gives its name."""
    from mockbroker.testing.marker import marked
    from mockbroker.testing.topic_names import KafkaTopic

    return KafkaTopic.made(kafka_cluster, request.node.name, marked(request.node).topic)


@pytest.fixture
def kafka_faults(kafka_cluster: BlockingMockCluster) -> BlockingFaults:
    """What goes wrong in ``kafka_cluster``; a fault that is set and never fires fails the test."""
    return kafka_cluster.faults


@pytest.fixture
def kafka_journal(kafka_cluster: BlockingMockCluster) -> BlockingJournal:
    """The calls that ``kafka_cluster`` has had in this test, and what can be claimed of them."""
    return kafka_cluster.journal
