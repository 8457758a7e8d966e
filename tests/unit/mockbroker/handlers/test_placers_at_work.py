"""Topics are placed by the placer that the settings name; its failures reach clients in its own words."""

from __future__ import annotations

import pytest

from kafka_rack.errors import PlacerSettingsError, ReplicaPlacementError, SelectionError
from kafka_rack.placement import ReplicaPlacer, UsableBroker, load_placer
from mockbroker.core.simulation import Simulation
from protocol.apis.topics import CreatePartitionsRequest, CreateTopicsRequest
from protocol.error_codes import ErrorCode

BY_HAND = CreateTopicsRequest.Topic.Assignment


class Refusing(ReplicaPlacer):
    """Never finds room."""

    def place(self, start_partition, num_partitions, num_replicas, usable_brokers):
        raise ReplicaPlacementError("rack b is full")


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
    sim.ask(CreatePartitionsRequest(topics=[wanted]))
    placer = load_placer(settings)
    brokers = [UsableBroker(broker, rack) for broker, rack in enumerate("aabbcc")]
    assert rows(sim) == placer.place(0, 6, 3, brokers) + placer.place(6, 3, 3, brokers)


def test_automatic_creation_asks_the_placer_too():
    sim = Simulation(settings={"replica.placer.class.name": "unaware", "num.partitions": 3})
    sim.cluster.create_topic("t")
    assert rows(sim) == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]


def test_where_some_brokers_have_no_rack_racks_are_left_out():
    sim = Simulation(racks="a,,b")
    assert create(sim).error_code == ErrorCode.NONE
    assert len(rows(sim)) == 6


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
    with pytest.raises(PlacerSettingsError, match=r"replica.placer.class.name=nobody"):
        Simulation(settings={"replica.placer.class.name": "nobody"})
    with pytest.raises(SelectionError, match=r"replica.selector.class=nobody"):
        Simulation(settings={"replica.selector.class": "nobody"})
