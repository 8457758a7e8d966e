from __future__ import annotations

from mockbroker.core.simulation import Simulation
from protocol.apis.configs import DescribeConfigsRequest, DescribeConfigsResponse
from protocol.error_codes import ErrorCode

TOPIC, BROKER = 2, 4


def ask(
    sim: Simulation, kind: int, name: str, keys: list[str] | None = None, *, version: int = 4, **fields: object
) -> DescribeConfigsResponse.Result:
    resource = DescribeConfigsRequest.Resource(resource_type=kind, resource_name=name, configuration_keys=keys)
    return sim.ask(DescribeConfigsRequest(resources=[resource], **fields), version=version).results[0]


def test_a_topics_setting_comes_from_the_topic_the_broker_or_the_default():
    sim = Simulation(settings={"min.insync.replicas": "2"})
    sim.cluster.create_topic("orders", configs={"retention.ms": "1000"})
    shown = {one.name: (one.value, one.config_source) for one in ask(sim, TOPIC, "orders").configs}
    assert shown["retention.ms"] == ("1000", 1)
    assert shown["min.insync.replicas"] == ("2", 4)
    assert shown["cleanup.policy"] == ("delete", 5)
    assert shown["diskless.enable"] == ("false", 5)


def test_synonyms_name_every_place_that_says_something():
    sim = Simulation(settings={"min.insync.replicas": "2"})
    sim.cluster.create_topic("orders", configs={"min.insync.replicas": "3"})
    (config,) = ask(sim, TOPIC, "orders", ["min.insync.replicas"], include_synonyms=True).configs
    assert [(one.value, one.source) for one in config.synonyms] == [("3", 1), ("2", 4), ("1", 5)]


def test_a_brokers_rack_and_listeners_are_among_its_settings(sim):
    shown = {one.name: one.value for one in ask(sim, BROKER, "1").configs}
    assert shown["broker.rack"] == "b"
    assert shown["node.id"] == "1"
    assert shown["advertised.listeners"] == "PLAINTEXT://127.0.0.1:9093"
    assert shown["num.partitions"] == "1"


def test_what_is_not_there_is_refused(sim):
    assert ask(sim, TOPIC, "none").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(sim, BROKER, "7").error_code == ErrorCode.INVALID_REQUEST
    assert ask(sim, 99, "x").error_code == ErrorCode.INVALID_REQUEST


def test_version_0_says_only_whether_a_value_is_the_default(sim):
    sim.cluster.create_topic("orders", configs={"retention.ms": "1000"})
    shown = {one.name: one.is_default for one in ask(sim, TOPIC, "orders", version=0).configs}
    assert (shown["retention.ms"], shown["cleanup.policy"]) == (False, True)
