"""The pytest plugin: a Kafka cluster for each test, by fixture and marker (docs/testing.md).

Every suite of an environment with kafka-rack loads this module, so it imports no cluster until a collected test uses
one. `pytest --fixtures` lists the fixtures, `pytest --markers` the markers.

    @pytest.mark.kafka(racks="a,b,c", topics={"orders": 6})
    def test_orders_are_read_in_their_rack(kafka_cluster, kafka_journal): ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mockbroker.adapters.blocking import BlockingMockCluster
    from mockbroker.core.faults.faults import Faults
    from mockbroker.core.journal import Journal
    from mockbroker.proxy.adapters.blocking import BlockingKafkaProxy
    from mockbroker.proxy.adapters.upstream import UpstreamSettings
    from mockbroker.testing.cluster_pool import ClusterPool
    from mockbroker.testing.topic_names import KafkaTopic

MARKER, PROXY_MARKER = "kafka", "kafka_proxy"
PROXY_BOOTSTRAP = "kafka_proxy_bootstrap"
PROXY_ENVIRONMENT = "KAFKA_RACK_PROXY_BOOTSTRAP"
POOL_FIXTURE, POOL_PLUGIN = "_kafka_cluster_pool", "kafka_rack_clusters"
Seed = Callable[["BlockingMockCluster"], Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the ini setting for the real cluster of ``kafka_proxy``."""
    meaning = f"bootstrap servers of the real cluster of kafka_proxy, HOST:PORT,... (environment: {PROXY_ENVIRONMENT})"
    parser.getgroup("kafka-rack").addoption("--kafka-proxy-bootstrap", metavar="HOST:PORT", help=meaning)
    parser.addini(PROXY_BOOTSTRAP, meaning, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Describe the markers. pytest ends a marker's signature at the line's first colon."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(brokers=3, racks='a,b,c', topics={{}}, diskless_topics={{}}, diskless_as=None, "
        "settings={}, follower_fetching=False, users={}, authorize=False, tls=False, listener_per_rack=False, seed=0, "
        "emulate=None, "
        "scope='function', unfired_faults='fail', topic={}): set up the cluster of kafka_cluster (kafka-rack).",
    )
    config.addinivalue_line(
        "markers",
        f"{PROXY_MARKER}(bootstrap=None, racks={{}}, listener_per_rack=False): set up the proxy of kafka_proxy "
        "(kafka-rack).",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """If any test uses a cluster, check the markers of those tests and import the cluster."""
    asking = [item for item in items if POOL_FIXTURE in getattr(item, "fixturenames", ())]
    if not asking:
        return
    from mockbroker.testing.marker import marked, proxy_marked

    wrong = []
    for item in asking:
        try:
            marked(item)
            if "kafka_proxy" in getattr(item, "fixturenames", ()):
                proxy_marked(item)
        except (TypeError, ValueError) as error:
            wrong.append(f"{item.nodeid}: {error}")
    if wrong:
        raise pytest.UsageError("\n".join(wrong))
    pool_of(config)


def pool_of(config: pytest.Config) -> ClusterPool:
    """The clusters of this process."""
    from mockbroker.testing.cluster_pool import ClusterPool

    pool: ClusterPool | None = config.pluginmanager.get_plugin(POOL_PLUGIN)
    if pool is None:
        pool = ClusterPool()
        config.pluginmanager.register(pool, POOL_PLUGIN)
    return pool


@pytest.fixture(scope="session")
def _kafka_cluster_pool(pytestconfig: pytest.Config) -> Iterator[ClusterPool]:
    pool = pool_of(pytestconfig)
    yield pool
    pool.close()


@pytest.fixture(scope="session")
def kafka_cluster_seed() -> Seed | None:
    """Fill each cluster before its tests: redefine it to return a function ``seed(cluster)``, plain or ``async``.

    It runs once for equal clusters, to create topics, write records or commit offsets; each test gets a fork.
    """
    return None


@pytest.fixture
def kafka_cluster(
    request: pytest.FixtureRequest, _kafka_cluster_pool: ClusterPool, kafka_cluster_seed: Seed | None
) -> BlockingMockCluster:
    """A running Kafka cluster for this test, set up by ``@pytest.mark.kafka(...)``; default: 3 brokers in 3 racks.

    With ``scope="module"`` or ``scope="session"`` the tests of a file, or of the run, share equal clusters.
    """
    return _kafka_cluster_pool.cluster_for(request.node, kafka_cluster_seed)


@pytest.fixture(scope="session")
def kafka_cluster_factory(_kafka_cluster_pool: ClusterPool) -> Callable[..., BlockingMockCluster]:
    """Start further clusters: ``kafka_cluster_factory(brokers=6, racks="a,b")`` takes the marker's arguments.

    They close with the fixture that made them, or at the end of the test.
    """
    return _kafka_cluster_pool.make


@pytest.fixture(scope="session")
def kafka_proxy_upstream(pytestconfig: pytest.Config) -> UpstreamSettings | str | None:
    """Bootstrap servers of the real cluster of ``kafka_proxy``: redefine it for a cluster that a fixture starts.

    It may return ``UpstreamSettings``, for brokers that require TLS or a login.
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
    """A proxy in front of a real cluster, set up by ``@pytest.mark.kafka_proxy(...)`` and ``kafka_proxy_upstream``.

    Tests with equal proxies share one; each test has its own journal, faults and stopped racks.
    """
    return _kafka_cluster_pool.proxy_for(request.node, kafka_proxy_upstream)


@pytest.fixture
def kafka_bootstrap_servers(kafka_cluster: BlockingMockCluster) -> str:
    """The ``bootstrap.servers`` of ``kafka_cluster``: the address of each broker, ``host:port,host:port``."""
    return kafka_cluster.bootstrap_servers


@pytest.fixture
def kafka_topic(request: pytest.FixtureRequest, kafka_cluster: BlockingMockCluster) -> KafkaTopic:
    """The name of a new topic for this test; ``kafka_topic(partitions=6)`` creates another and returns its name."""
    from mockbroker.testing.marker import marked
    from mockbroker.testing.topic_names import KafkaTopic, stem_of

    return KafkaTopic.made(kafka_cluster, stem_of(request.node.name), marked(request.node).topic)


@pytest.fixture
def kafka_faults(kafka_cluster: BlockingMockCluster) -> Faults:
    """Inject errors, delays and outages into ``kafka_cluster``; a fault that never fires fails the test."""
    return kafka_cluster.faults


@pytest.fixture
def kafka_journal(kafka_cluster: BlockingMockCluster) -> Journal:
    """The requests that ``kafka_cluster`` answered in this test, and assertions such as ``assert_rack_local``."""
    return kafka_cluster.journal
