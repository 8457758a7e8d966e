from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.errors import ApiError
from protocol.apis.configs import DescribeConfigsRequest, DescribeConfigsResponse, IncrementalAlterConfigsRequest
from protocol.error_codes import ErrorCode

TOPIC, BROKER, LOGGER, GROUP = 2, 4, 8, 32


def ask(
    sim: Simulation,
    kind: int,
    name: str,
    keys: list[str] | None = None,
    *,
    version: int = 4,
    broker: int = 0,
    **fields: object,
) -> DescribeConfigsResponse.Result:
    resource = DescribeConfigsRequest.Resource(resource_type=kind, resource_name=name, configuration_keys=keys)
    request = DescribeConfigsRequest(resources=[resource], **fields)
    return sim.ask(request, broker=broker, version=version).results[0]


def test_a_topics_setting_comes_from_the_topic_the_broker_or_the_default():
    sim = Simulation(settings={"min.insync.replicas": "2"})
    sim.cluster.replication_control.create("orders", configs={"retention.ms": "1000"})
    shown = {one.name: (one.value, one.config_source) for one in ask(sim, TOPIC, "orders").configs}
    assert shown["retention.ms"] == ("1000", 1)
    assert shown["min.insync.replicas"] == ("2", 3)  # which Kafka keeps for all brokers since KIP-966
    assert shown["cleanup.policy"] == ("delete", 5)
    assert "diskless.enable" not in shown  # which Kafka does not have


def test_synonyms_name_every_place_that_says_something():
    sim = Simulation(settings={"min.insync.replicas": "2"})
    sim.cluster.replication_control.create("orders", configs={"min.insync.replicas": "3"})
    (config,) = ask(sim, TOPIC, "orders", ["min.insync.replicas"], include_synonyms=True).configs
    assert [(one.value, one.source) for one in config.synonyms] == [("3", 1), ("2", 3), ("2", 4), ("1", 5)]


def test_a_brokers_rack_and_listeners_are_among_its_settings(sim):
    shown = {one.name: one.value for one in ask(sim, BROKER, "1", broker=1).configs}
    assert shown["broker.rack"] == "b"
    assert shown["node.id"] == "1"
    assert shown["advertised.listeners"] == "PLAINTEXT://127.0.0.1:9093"
    assert shown["num.partitions"] == "1"


def test_what_is_not_there_is_refused(sim):
    assert ask(sim, TOPIC, "none").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(sim, BROKER, "7").error_code == ErrorCode.INVALID_REQUEST
    assert ask(sim, 99, "x").error_code == ErrorCode.INVALID_REQUEST


def test_version_0_says_only_whether_a_value_is_the_default(sim):
    sim.cluster.replication_control.create("orders", configs={"retention.ms": "1000"})
    shown = {one.name: one.is_default for one in ask(sim, TOPIC, "orders", version=0).configs}
    assert (shown["retention.ms"], shown["cleanup.policy"]) == (False, True)


def test_a_release_that_is_emulated_has_no_configs_that_came_later():
    sim = Simulation(release="4.1")
    sim.cluster.replication_control.create("orders")
    shown = {one.name for one in ask(sim, TOPIC, "orders").configs}
    assert "retention.ms" in shown
    assert "max.decompressed.message.bytes" not in shown
    with pytest.raises(ApiError, match=r"unknown topic config max\.decompressed\.message\.bytes"):
        sim.cluster.replication_control.create("big", configs={"max.decompressed.message.bytes": "5"})


def change(sim: Simulation, kind: int, name: str, *, broker: int = 0, **configs: str | None) -> int:
    """Set configs, or by None take them back; gives the error code."""
    resource = IncrementalAlterConfigsRequest.Resource(resource_type=kind, resource_name=name)
    for config, value in configs.items():
        resource.configs.append(
            resource.Config(name=config.replace("_", "."), config_operation=int(value is None), value=value)
        )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    return sim.ask(request, broker=broker, version=1).responses[0].error_code


def test_what_is_set_at_run_time_is_in_force_and_survives_a_fork_and_a_restart(sim):
    topic = sim.cluster.replication_control.create("orders")
    assert change(sim, TOPIC, "orders", retention_ms="1000") == 0
    assert change(sim, BROKER, "", message_max_bytes="2000") == 0
    assert change(sim, GROUP, "readers", consumer_session_timeout_ms="50000") == 0

    def values(cluster: Cluster) -> tuple[int, int, int]:
        topic = cluster.topics["orders"]
        timeout_ms = cluster.configs.group("readers", "consumer.session.timeout.ms")
        return (topic.config("retention.ms"), topic.config("max.message.bytes"), timeout_ms)

    assert (topic.config("retention.ms"), topic.config("max.message.bytes")) == (1000, 2000)
    assert values(sim.cluster) == values(sim.fork().cluster) == (1000, 2000, 50000)
    again = Cluster.create([Broker(0, "a")], image=sim.cluster.image.copy(), log_store=sim.cluster.log_store)
    assert values(again) == (1000, 2000, 50000)
    for kind, name, config in ((TOPIC, "orders", "retention_ms"), (BROKER, "", "message_max_bytes")):
        assert change(sim, kind, name, **{config: None}) == 0
    assert values(sim.cluster) == (604800000, 1048588, 50000)


@pytest.mark.parametrize("end", [Simulation.stop_broker, Simulation.crash_broker])
def test_loggers_have_their_first_levels_again_once_their_broker_has_been_down(sim, end):
    def level(broker: int) -> str | None:
        (config,) = ask(sim, LOGGER, str(broker), ["kafka.network"], broker=broker).configs
        return config.value

    for broker in (1, 2):
        assert change(sim, LOGGER, str(broker), broker=broker, kafka_network="DEBUG") == 0
    end(sim, 1)
    sim.start_broker(1)
    assert (level(1), level(2)) == ("INFO", "DEBUG")


def test_a_group_stays_within_the_bounds_of_brokers_when_those_change():
    sim = Simulation()
    assert change(sim, GROUP, "readers", consumer_session_timeout_ms="60000") == 0
    sim.cluster.configs.write("broker", "", {"group.consumer.max.session.timeout.ms": "46000"})
    assert sim.cluster.configs.group("readers", "consumer.session.timeout.ms") == 46000


def test_listeners_hear_of_changes_once_they_are_in_force(sim):
    topic = sim.cluster.replication_control.create("orders")
    heard = []
    sim.cluster.configs.on_change(lambda *what: heard.append((*what, topic.config("retention.ms"))))
    assert change(sim, TOPIC, "orders", retention_ms="1000") == 0
    assert change(sim, TOPIC, "orders", retention_ms="soon") == ErrorCode.INVALID_CONFIG
    assert heard == [("topic", "orders", frozenset({"retention.ms"}), 1000)]


def test_a_partition_without_a_leader_gets_one_once_unclean_elections_are_allowed(sim):
    topic = sim.cluster.replication_control.create("orders", assignment=[[0, 1]])
    sim.shrink_isr("orders", 0, [1])
    sim.crash_broker(0)
    sim.advance(sim.cluster.settings["broker.session.timeout.ms"])
    assert topic.partitions[0].leader == -1
    assert change(sim, TOPIC, "orders", broker=1, unclean_leader_election_enable="true") == 0
    assert topic.partitions[0].leader == 1
