from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.diskless import choose_by_hash
from mockbroker.core.simulation import Simulation
from mockbroker.state.replicas.network import CONTROLLER
from protocol import ZERO_UUID
from protocol.apis.metadata import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
    MetadataResponse,
)
from protocol.error_codes import ErrorCode


@pytest.fixture
def sim() -> Simulation:
    """Brokers 0-5 on racks a, b, c, a, b, c, a classic topic orders and a diskless topic events, 3 partitions each."""
    sim = Simulation(racks="a,b,c,a,b,c")
    sim.cluster.replication_control.create("orders", 3, 3)
    sim.cluster.replication_control.create("events", 3, configs={"diskless.enable": "true"})
    return sim


def metadata(sim: Simulation, *names: str, version: int = 14, rack: str = "", **where: object) -> MetadataResponse:
    request = MetadataRequest(topics=[MetadataRequest.Topic(name=name) for name in names], rack_id=rack)
    return sim.ask(request, version=version, **where)


def leaders(response: MetadataResponse) -> set[int]:
    return {partition.leader_id for topic in response.topics for partition in topic.partitions}


def test_classic_partitions_show_their_real_leaders_whatever_the_clients_rack(sim):
    shown = [
        [
            (one.leader_id, one.replica_nodes, one.isr_nodes)
            for one in metadata(sim, "orders", rack=rack).topics[0].partitions
        ]
        for rack in ("a", "b", "nowhere")
    ]
    real = [(one.leader, list(one.replicas), list(one.isr)) for one in sim.cluster.topics["orders"].partitions]
    assert shown == [real, real, real]


def test_one_broker_of_the_clients_rack_is_leader_replica_and_isr_of_all_diskless_partitions(sim):
    response = metadata(sim, "events", rack="b")
    (leader,) = leaders(response)
    assert leader in (1, 4)
    for partition in response.topics[0].partitions:
        assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ([leader], [leader], [])
        assert partition.error_code == ErrorCode.NONE


def test_all_brokers_are_listed_with_their_racks(sim):
    racks = {broker.node_id: broker.rack for broker in metadata(sim, "events", rack="b").brokers}
    assert racks == dict(enumerate("abcabc"))


@pytest.mark.parametrize("brokers", [1, 2, 3, 4])
def test_three_thousand_answers_choose_each_broker_of_the_rack_equally_often(brokers):
    sim = Simulation(racks=",".join("a" * brokers + "b"))
    sim.cluster.replication_control.create("events", 1, configs={"diskless.enable": "true"})
    chosen = Counter(leader for _ in range(3000) for leader in leaders(metadata(sim, "events", rack="a")))
    assert chosen == dict.fromkeys(range(brokers), 3000 // brokers)


def test_racks_take_their_turns_apart(sim):
    turns = []
    for _ in range(4):
        turns.append(leaders(metadata(sim, "events", rack="a")))
        metadata(sim, "events", rack="b")
    assert turns == [{0}, {3}, {0}, {3}]


def test_answers_without_diskless_topics_take_no_turn(sim):
    first = leaders(metadata(sim, "events", rack="a"))
    metadata(sim, "orders", rack="a")
    assert leaders(metadata(sim, "events", rack="a")) != first


def test_an_unknown_rack_has_all_brokers_in_turn(sim):
    for rack in ("nowhere", ""):
        chosen = Counter(leader for _ in range(60) for leader in leaders(metadata(sim, "events", rack=rack)))
        assert chosen == dict.fromkeys(range(6), 10)


def test_the_request_goes_before_the_client_id_and_that_before_the_listener(sim):
    assert leaders(metadata(sim, "events", rack="a", client_id="diskless_az=b", listener_rack="c")) <= {0, 3}
    assert leaders(metadata(sim, "events", client_id="diskless_az=b", listener_rack="c")) <= {1, 4}
    assert leaders(metadata(sim, "events", client_id="plain", listener_rack="c")) <= {2, 5}


def test_older_versions_go_by_the_client_id(sim):
    for version in range(14):
        response = metadata(sim, "events", version=version, client_id="app,diskless_az=c")
        assert leaders(response) <= {2, 5}


def test_a_stopped_broker_leaves_the_metadata(sim):
    sim.cluster.cluster_control.stop(1, 0)
    for _ in range(4):
        response = metadata(sim, "events", rack="b")
        assert leaders(response) == {4}
        assert [broker.node_id for broker in response.brokers] == [0, 2, 3, 4, 5]
    sim.cluster.cluster_control.stop(4, 0)
    chosen = {leader for _ in range(4) for leader in leaders(metadata(sim, "events", rack="b"))}
    assert chosen == {0, 2, 3, 5}


def test_a_classic_partition_without_a_leader_says_so(sim):
    partition = sim.cluster.topics["orders"].partitions[0]
    for broker_id in partition.replicas:
        sim.cluster.cluster_control.stop(broker_id, 0)
    broker = sim.cluster.liveness.online_brokers[0].id
    shown = metadata(sim, "orders", broker=broker).topics[0].partitions[0]
    assert (shown.error_code, shown.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert shown.offline_replicas == list(partition.replicas)


def test_version_0_leaves_out_what_is_offline(sim):
    partition = sim.cluster.topics["orders"].partitions[0]
    gone = partition.replicas[1]
    sim.cluster.cluster_control.stop(gone, 0)
    shown = metadata(sim, "orders", version=0).topics[0].partitions[0]
    assert shown.error_code == ErrorCode.REPLICA_NOT_AVAILABLE
    assert gone not in shown.replica_nodes


def test_an_unknown_topic_is_created_only_where_both_sides_want_it(sim):
    refused = sim.ask(
        MetadataRequest(topics=[MetadataRequest.Topic(name="new")], allow_auto_topic_creation=False)
    ).topics[0]
    assert (refused.name, refused.error_code) == ("new", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    first = metadata(sim, "new").topics[0]  # Kafka's brokers do not wait for their controller
    assert (first.error_code, first.partitions) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])
    created = metadata(sim, "new").topics[0]
    assert (created.error_code, len(created.partitions)) == (ErrorCode.NONE, 1)
    assert created.partitions[0].leader_id >= 0
    off = Simulation(settings={"auto.create.topics.enable": "false"})
    assert metadata(off, "new").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_name_that_no_topic_may_have_is_refused(sim):
    assert metadata(sim, "no/topic").topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_topics_are_found_by_id_and_an_unknown_id_is_echoed(sim):
    topic = sim.cluster.topics["orders"]
    request = MetadataRequest(
        topics=[
            MetadataRequest.Topic(name=None, topic_id=topic.id),
            MetadataRequest.Topic(name=None, topic_id=b"\7" * 16),
        ]
    )
    known, unknown = sim.ask(request).topics
    assert (known.name, known.error_code) == ("orders", ErrorCode.NONE)
    assert (unknown.name, unknown.topic_id, unknown.error_code) == (None, b"\7" * 16, ErrorCode.UNKNOWN_TOPIC_ID)


def test_all_topics_come_for_null_and_in_version_0_for_an_empty_list(sim):
    def names(request: MetadataRequest, version: int) -> list[str]:
        return [topic.name for topic in sim.ask(request, version=version).topics]

    assert names(MetadataRequest(topics=None), 12) == ["events", "orders"]
    assert names(MetadataRequest(topics=[]), 0) == ["events", "orders"]
    assert names(MetadataRequest(topics=[]), 1) == []


def test_clients_are_told_the_addresses_of_the_listener_they_came_by(sim):
    from mockbroker.state.brokers.broker import Listener

    for broker in sim.cluster.brokers.values():
        broker.listeners.append(Listener("RACK_a", "127.0.0.1", 20000 + broker.id, "a"))
    response = metadata(sim, "events", listener="RACK_a", listener_rack="a")
    assert [broker.port for broker in response.brokers] == [20000 + index for index in range(6)]


def describe(sim: Simulation, **fields: object) -> DescribeTopicPartitionsResponse:
    return sim.ask(DescribeTopicPartitionsRequest(**fields))


def test_described_partitions_are_those_of_metadata(sim):
    response = describe(sim, rack_id="c")
    assert [topic.name for topic in response.topics] == ["events", "orders"]
    assert {one.leader_id for one in response.topics[0].partitions} <= {2, 5}
    real = [(one.leader, list(one.isr)) for one in sim.cluster.topics["orders"].partitions]
    assert [(one.leader_id, one.isr_nodes) for one in response.topics[1].partitions] == real
    assert response.next_cursor is None


def test_an_unknown_topic_is_described_as_such(sim):
    request = [DescribeTopicPartitionsRequest.Topic(name="none"), DescribeTopicPartitionsRequest.Topic(name="orders")]
    first, second = describe(sim, topics=request).topics
    assert (first.name, first.error_code, first.topic_id) == ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ZERO_UUID)
    assert second.error_code == ErrorCode.NONE


@given(limit=st.integers(1, 9))
def test_pages_of_any_size_give_every_partition_once_and_in_order(limit):
    sim = Simulation()
    for name, partitions in (("c", 2), ("a", 4), ("b", 1)):
        sim.cluster.replication_control.create(name, partitions, 1)
    seen = []
    cursor = None
    while True:
        response = describe(sim, response_partition_limit=limit, cursor=cursor)
        page = [(topic.name, one.partition_index) for topic in response.topics for one in topic.partitions]
        assert len(page) <= limit
        seen += page
        if response.next_cursor is None:
            break
        cursor = DescribeTopicPartitionsRequest.Cursor(
            topic_name=response.next_cursor.topic_name, partition_index=response.next_cursor.partition_index
        )
    assert seen == [("a", 0), ("a", 1), ("a", 2), ("a", 3), ("b", 0), ("c", 0), ("c", 1)]


def hashed() -> Simulation:
    """As Inkless, whose newest Metadata version is 13."""
    sim = Simulation(racks="a,b,c,a,b,c", settings={"diskless.profile": "inkless"})
    sim.cluster.replication_control.create("events", 30, configs={"diskless.enable": "true"})
    return sim


def led(response: MetadataResponse) -> list[int]:
    return [partition.leader_id for partition in response.topics[0].partitions]


def test_as_inkless_each_diskless_partition_has_one_broker_of_the_rack_in_every_answer():
    sim = hashed()
    first = led(metadata(sim, "events", version=13, client_id="app,diskless_az=b"))
    assert set(first) == {1, 4}
    topic_id = sim.cluster.topics["events"].id
    assert first == [choose_by_hash([1, 4], topic_id, partition) for partition in range(30)]
    assert led(metadata(sim, "events", version=13, client_id="other,diskless_az=b")) == first


def test_as_inkless_a_client_that_names_no_zone_is_served_by_the_brokers_of_all():
    assert set(led(metadata(hashed(), "events", version=13))) == set(range(6))


def test_as_inkless_a_rack_whose_brokers_are_down_is_served_by_all_others():
    sim = hashed()
    sim.stop_rack("b")
    assert set(led(metadata(sim, "events", version=13, client_id="diskless_az=b"))) == {0, 2, 3, 5}


def test_a_profile_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match=r"diskless.profile: expected one of kip-1163, inkless.*, got 'random'"):
        Simulation(settings={"diskless.profile": "random"})


@pytest.mark.parametrize("client_id", ["app,diskless_az=b", "app,diskless_az=b-StreamThread-1"])
def test_the_rack_in_the_client_id_is_that_of_the_brokers_that_lead(sim, client_id):
    assert leaders(metadata(sim, "events", client_id=client_id)) <= {1, 4}


def test_a_client_id_that_names_no_rack_leaves_it_to_the_listener(sim):
    found = {
        leader
        for _ in range(4)
        for leader in leaders(metadata(sim, "events", client_id="app,diskless_az=z", listener_rack="c"))
    }
    assert found == {2, 5}


@pytest.mark.parametrize(("profile", "versions"), [("kip-1163", (14, 1)), ("inkless", (13, 0))])
def test_a_broker_that_is_cut_off_names_only_diskless_leaders_that_it_lists(profile, versions):
    of_metadata, of_description = versions
    sim = Simulation(racks="a,b,c", settings={"diskless.profile": profile})
    sim.cluster.replication_control.create("events", 3, configs={"diskless.enable": "true"})
    sim.stop_broker(2)
    sim.cut_link(0, CONTROLLER)
    sim.start_broker(2)
    for after_ms in (0, 10_000):  # its session has expired then, and others lead
        sim.advance(after_ms)
        for rack in ("a", "b", "c"):
            answer = metadata(sim, "events", version=of_metadata, client_id=f"diskless_az={rack}", broker=0)
            assert [broker.node_id for broker in answer.brokers] == [0, 1]
            assert leaders(answer) <= ({0} if rack == "a" else {1} if rack == "b" else {0, 1})
            described = DescribeTopicPartitionsRequest(topics=[DescribeTopicPartitionsRequest.Topic(name="events")])
            assert leaders(sim.ask(described, version=of_description, client_id=f"diskless_az={rack}", broker=0)) <= {
                0,
                1,
            }
