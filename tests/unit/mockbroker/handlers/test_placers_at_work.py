"""Topics are placed by the placer that the settings name; its failures reach clients in its own words."""

from __future__ import annotations

from typing import ClassVar

import pytest

from kafka_rack.errors import PlacerSettingsError, ReplicaPlacementError, SelectionError
from kafka_rack.placement import RackAwarePlacer, ReplicaPlacer, StripedPlacer, UsableBroker, load_placer, place
from mockbroker import MockCluster
from mockbroker.core.simulation import Simulation
from mockbroker.state.errors import ApiError
from protocol.apis.topics import CreatePartitionsRequest, CreateTopicsRequest
from protocol.error_codes import ErrorCode

BY_HAND = CreateTopicsRequest.Topic.Assignment


class Refusing(ReplicaPlacer):
    """Never finds room."""

    def place(self, start_partition, num_partitions, num_replicas, usable_brokers):
        raise ReplicaPlacementError("rack b is full")


class Broken:
    """Only places, and not even that."""

    def place(self, start_partition, num_partitions, num_replicas, usable_brokers):
        return {}["rack"]


class Recording:
    """Keeps what it was shown, and whether it was closed."""

    shown: ClassVar[list[UsableBroker]] = []
    closed: ClassVar[int] = 0

    def place(self, start_partition, num_partitions, num_replicas, usable_brokers):
        Recording.shown = list(usable_brokers)
        return [[broker.id for broker in usable_brokers[:num_replicas]]] * num_partitions

    def close(self):
        Recording.closed += 1


RECORDING = {"replica.placer.class.name": f"{__name__}:Recording"}
REFUSING = {"replica.placer.class.name": f"{__name__}:Refusing"}


def create(sim: Simulation, version: int = 7, **fields):
    wanted = {"name": "t", "num_partitions": 6, "replication_factor": 3} | fields
    return sim.ask(CreateTopicsRequest(topics=[CreateTopicsRequest.Topic(**wanted)]), version=version).topics[0]


def rows(sim: Simulation) -> list[list[int]]:
    return [list(partition.replicas) for partition in sim.cluster.topics["t"].partitions]


def test_the_placer_of_the_settings_places_topics_and_what_is_added():
    settings = {"replica.placer.class.name": "striped", "replica.placer.seed": "7"}
    sim = Simulation(racks="a,a,b,b,c,c", settings=settings)
    create(sim)
    wanted = CreatePartitionsRequest.Topic(name="t", count=9, assignments=None)
    sim.ask(CreatePartitionsRequest(timeout_ms=1000, topics=[wanted]))
    placer = load_placer(settings)
    brokers = [UsableBroker(broker, rack) for broker, rack in enumerate("aabbcc")]
    assert rows(sim) == placer.place(0, 6, 3, brokers) + placer.place(6, 3, 3, brokers)


def test_automatic_creation_asks_the_placer_too():
    sim = Simulation(settings={"replica.placer.class.name": "unaware", "num.partitions": 3})
    sim.cluster.replication_control.create("t")
    assert rows(sim) == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]


def test_the_default_is_kafkas_striped_placement_from_the_first_rack():
    sim = Simulation(racks="a,a,b,b,c,c")
    create(sim)
    brokers = [UsableBroker(broker, rack) for broker, rack in enumerate("aabbcc")]
    assert rows(sim) == StripedPlacer(start_index=0).place(0, 6, 3, brokers)
    assert rows(sim)[0] == [0, 2, 4]


@pytest.mark.zookeeper
def test_in_zookeeper_mode_placement_stays_kip_36s():
    settings = {"inter.broker.protocol.version": "2.4", "replica.placer.class.name": "striped"}
    sim = Simulation(racks="a,a,b,b,c,c", settings=settings)
    sim.cluster.replication_control.create("t", 6, 3)
    assert rows(sim)[:2] == [[0, 2, 4], [2, 4, 1]]
    assert isinstance(sim.cluster.placer, RackAwarePlacer)


@pytest.mark.zookeeper
def test_in_zookeeper_mode_a_topic_grows_from_its_first_leader_as_zookeepers_kafka_grew_it():
    sim = Simulation(racks="a,b,c", settings={"inter.broker.protocol.version": "2.4"})
    sim.cluster.replication_control.create("t", assignment=[[2, 0]])
    sim.cluster.replication_control.widen("t", 3)
    assert rows(sim)[1:] == place("rack-aware", sim_brokers(sim), 1, 2, 2, start_index=2, next_replica_shift=2)


def sim_brokers(sim: Simulation) -> list[UsableBroker]:
    return [UsableBroker(broker.id, broker.rack) for broker in sim.cluster.brokers.values()]


def test_brokers_without_a_rack_are_one_rack_beside_the_others():
    sim = Simulation(racks="a,,a,")
    assert create(sim, replication_factor=2).error_code == ErrorCode.NONE
    assert all({broker % 2 for broker in row} == {0, 1} for row in rows(sim))


def test_kip_36s_placer_by_its_name_leaves_racks_out_where_some_brokers_have_none():
    sim = Simulation(racks="a,,a,", settings={"replica.placer.class.name": "rack-aware"})
    create(sim, replication_factor=2)
    assert rows(sim)[1] == [1, 2]


def test_a_broker_that_is_down_is_shown_to_placers_as_fenced():
    sim = Simulation(settings=RECORDING)
    sim.cluster.cluster_control.stop(1, 0)
    create(sim)
    assert Recording.shown == [UsableBroker(0, "a"), UsableBroker(1, "b", fenced=True), UsableBroker(2, "c")]


def test_three_replicas_are_placed_while_one_of_three_brokers_is_down():
    sim = Simulation()
    sim.cluster.cluster_control.stop(0, 0)
    assert create(sim).error_code == ErrorCode.NONE
    for partition in sim.cluster.topics["t"].partitions:
        assert sorted(partition.replicas) == [0, 1, 2]
        assert partition.isr == tuple(replica for replica in partition.replicas if replica != 0)
        assert partition.leader == partition.replicas[0] != 0
        assert (partition.leader_epoch, partition.registration.partition_epoch) == (0, 0)


def test_a_topic_made_without_numbers_is_as_wide_as_there_are_registered_brokers():
    sim = Simulation()
    sim.cluster.cluster_control.stop(0, 0)
    create(sim, num_partitions=-1, replication_factor=-1)
    assert [sorted(row) for row in rows(sim)] == [[0, 1, 2]]


@pytest.mark.zookeeper
def test_in_zookeeper_mode_a_broker_that_is_down_holds_no_replicas():
    sim = Simulation(settings={"inter.broker.protocol.version": "2.4"})
    sim.cluster.cluster_control.stop(2, 0)
    assert create(sim, version=5).error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_partition_that_a_placer_puts_on_fenced_brokers_alone_is_refused():
    sim = Simulation(settings=RECORDING)
    sim.cluster.cluster_control.stop(0, 0)
    refused = sim.ask(
        CreateTopicsRequest(topics=[CreateTopicsRequest.Topic(name="t", num_partitions=1, replication_factor=1)]),
        broker=1,
    ).topics[0]
    assert refused.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert refused.error_message == "replication factor 1, but all of brokers [0] are fenced"


def test_no_topic_is_made_while_every_broker_is_fenced():
    sim = Simulation()
    for broker in range(3):
        sim.cluster.cluster_control.stop(broker, 0)
    with pytest.raises(ApiError, match="all brokers are fenced") as refused:
        sim.cluster.replication_control.create("t", 1, 3)
    assert refused.value.code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_replicas_given_by_hand_on_fenced_brokers_alone_are_refused():
    sim = Simulation()
    sim.cluster.cluster_control.stop(2, 0)
    by_hand = [BY_HAND(partition_index=0, broker_ids=[2])]
    refused = create(sim, num_partitions=-1, replication_factor=-1, assignments=by_hand)
    assert refused.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert refused.error_message == "replicas [2]: all of them are fenced"


def test_what_a_placer_raises_unforeseen_is_the_error_with_its_text():
    refused = create(Simulation(settings={"replica.placer.class.name": f"{__name__}:Broken"}))
    assert refused.error_code == ErrorCode.REPLICA_PLACEMENT_FAILED
    assert refused.error_message == "Broken failed: KeyError: 'rack'"


async def test_a_placer_is_closed_with_its_cluster_once():
    before = Recording.closed
    async with MockCluster(settings=RECORDING, topics={"t": 1}) as cluster:
        assert Recording.closed == before
    await cluster.close()
    assert Recording.closed == before + 1


@pytest.mark.parametrize(("version", "code"), [(7, 10660), (6, -1), (1, -1)])
def test_a_placers_failure_answers_in_its_words_and_to_old_clients_as_unknown_error(version, code):
    refused = create(Simulation(settings=REFUSING), version=version)
    assert refused.error_code == code
    assert refused.error_message == "rack b is full"


def test_the_number_of_the_placement_error_can_be_set():
    sim = Simulation(settings=REFUSING | {"replica.placement.failed.code": "4711"})
    assert create(sim).error_code == 4711


def test_replicas_given_by_hand_are_taken_as_sent_whatever_the_placer():
    sim = Simulation(settings=REFUSING)
    by_hand = [BY_HAND(partition_index=0, broker_ids=[2, 0]), BY_HAND(partition_index=1, broker_ids=[1, 2])]
    assert create(sim, num_partitions=-1, replication_factor=-1, assignments=by_hand).error_code == ErrorCode.NONE
    assert rows(sim) == [[2, 0], [1, 2]]


def test_a_placer_that_does_not_exist_is_refused_before_the_cluster_starts():
    with pytest.raises(PlacerSettingsError, match=r"replica.placer.class.name: expected .*, got 'nobody'"):
        Simulation(settings={"replica.placer.class.name": "nobody"})
    with pytest.raises(SelectionError, match=r"replica.selector.class: expected .*, got 'nobody'"):
        Simulation(settings={"replica.selector.class": "nobody"})
