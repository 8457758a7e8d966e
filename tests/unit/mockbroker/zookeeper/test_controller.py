"""Brokers that register, the controller that is elected among them, and whom it tells what. Without a socket."""

from __future__ import annotations

import json

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.brokers.broker import Broker, Listener
from mockbroker.state.cluster import Cluster
from mockbroker.state.metadata import DELETED
from mockbroker.zookeeper.controller import ZooKeeperMode
from mockbroker.zookeeper.update_metadata import MetadataUpdate
from protocol.apis.metadata import MetadataRequest

PROTOCOL = "inter.broker.protocol.version"


def simulation(protocol: str = "0.10.0", *, release: str | None = None, racks: str = "a,b,c") -> Simulation:
    return Simulation(racks, settings={PROTOCOL: protocol}, release=release)


def zookeeper_of(sim: Simulation) -> ZooKeeperMode:
    assert sim.cluster.other_mode is not None
    return sim.cluster.other_mode


@pytest.fixture
def era() -> Simulation:
    """Brokers 0-2 on racks a, b, c of Kafka 0.10.0, all told; broker 0 is the controller."""
    sim = simulation()
    sim.tell()
    return sim


def partitions_in(update: MetadataUpdate) -> list[tuple[str, int]]:
    return [(one.topic, one.state.index) for one in update.partitions]


# -- registering -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "version", "rack"), [("0.9.0", 2, None), ("0.10.0", 3, "b"), ("0.10.2", 4, "b")])
def test_a_broker_registers_in_the_version_of_its_protocol(protocol, version, rack):
    registrations = zookeeper_of(simulation(protocol)).registrations
    assert list(registrations) == [0, 1, 2]
    found = json.loads(registrations[1].data)
    assert (found["version"], found.get("rack"), found["endpoints"]) == (version, rack, ["PLAINTEXT://127.0.0.1:9093"])


def test_what_a_broker_wrote_goes_with_it_and_comes_back_newer(era):
    zookeeper = zookeeper_of(era)
    before = zookeeper.broker_epoch(1)
    era.cluster.cluster_control.stop(1, 10)
    assert (list(zookeeper.registrations), zookeeper.broker_epoch(1)) == ([0, 2], -1)
    era.cluster.cluster_control.start(1, 20)
    assert list(zookeeper.registrations) == [0, 1, 2]
    assert json.loads(zookeeper.registrations[1].data)["timestamp"] == "20"
    assert zookeeper.broker_epoch(1) > before


def test_a_broker_forgets_what_it_was_told_when_it_stops(era):
    assert sorted(zookeeper_of(era).caches[1].brokers) == [0, 1, 2]
    era.cluster.cluster_control.stop(1, 0)
    era.cluster.cluster_control.start(1, 0)
    assert zookeeper_of(era).caches[1].brokers == {}
    era.tell()
    assert sorted(zookeeper_of(era).caches[1].brokers) == [0, 1, 2]


# -- the controller ----------------------------------------------------------------------------------------------------


def test_the_first_broker_is_elected(era):
    assert (era.cluster.support.controller_id, zookeeper_of(era).controller_epoch) == (0, 1)


def test_the_controller_moves_when_it_stops_and_not_when_it_comes_back(era):
    era.cluster.cluster_control.stop(0, 0)
    assert (era.cluster.support.controller_id, zookeeper_of(era).controller_epoch) == (1, 2)
    era.cluster.cluster_control.start(0, 0)
    assert (era.cluster.support.controller_id, zookeeper_of(era).controller_epoch) == (1, 2)
    era.cluster.cluster_control.stop(2, 0)
    assert (era.cluster.support.controller_id, zookeeper_of(era).controller_epoch) == (1, 2)


def test_a_new_controller_tells_everybody_everything(era):
    era.cluster.replication_control.create("orders", 2, 3)
    era.tell()
    era.cluster.cluster_control.stop(0, 0)
    updates = era.tell()
    assert [one.broker_id for one in updates] == [1, 2]
    for one in updates:
        assert (one.controller_id, one.controller_epoch) == (1, 2)
        assert partitions_in(one) == [("orders", 0), ("orders", 1)]
        assert [broker.id for broker in one.live_brokers] == [1, 2]


def test_nothing_of_a_controller_that_has_gone_is_sent(era):
    era.cluster.replication_control.create("orders", 1, 3)
    era.cluster.cluster_control.stop(0, 0)
    assert {one.controller_epoch for one in era.cluster.take_updates()} == {2}


def test_with_no_broker_up_there_is_no_controller_until_one_starts(era):
    for broker_id in (0, 1, 2):
        era.cluster.cluster_control.stop(broker_id, 0)
    assert era.cluster.support.controller_id == -1
    assert era.tell() == []
    era.cluster.cluster_control.start(2, 0)
    assert (era.cluster.support.controller_id, zookeeper_of(era).controller_epoch) == (2, 4)
    assert [one.broker_id for one in era.tell()] == [2]


# -- what is told ------------------------------------------------------------------------------------------------------


def test_at_first_every_broker_is_told_of_all_brokers_the_controller_itself_too():
    updates = simulation().tell()
    assert [one.broker_id for one in updates] == [0, 1, 2]
    for one in updates:
        assert (one.version, one.controller_id, one.controller_epoch, one.partitions) == (2, 0, 1, ())
        assert [(broker.id, broker.rack) for broker in one.live_brokers] == [(0, "a"), (1, "b"), (2, "c")]
        assert [broker.addresses for broker in one.live_brokers] == [
            (("PLAINTEXT", "127.0.0.1", port),) for port in (9092, 9093, 9094)
        ]


def test_only_what_has_changed_is_told(era):
    era.cluster.replication_control.create("orders", 2, 3)
    assert [partitions_in(one) for one in era.tell()] == [[("orders", 0), ("orders", 1)]] * 3
    era.cluster.replication_control.create("returns", 1, 1)
    assert [partitions_in(one) for one in era.tell()] == [[("returns", 0)]] * 3
    era.cluster.replication_control.widen("orders", 3)
    assert [partitions_in(one) for one in era.tell()] == [[("orders", 2)]] * 3


def test_nothing_is_told_while_nothing_changes(era):
    assert era.tell() == []
    era.cluster.cluster_control.set_follower_lag(1, 5)
    assert era.tell() == []


def test_a_newcomer_is_told_everything_and_the_others_what_changed(era):
    era.cluster.replication_control.create("alone", 1, assignment=[[0]])
    era.cluster.replication_control.create("orders", 1, assignment=[[0, 1]])
    era.tell()
    era.cluster.cluster_control.stop(1, 0)
    assert {one.broker_id: partitions_in(one) for one in era.tell()} == {0: [("orders", 0)], 2: [("orders", 0)]}
    era.cluster.cluster_control.start(1, 0)
    assert {one.broker_id: partitions_in(one) for one in era.tell()} == {
        0: [("orders", 0)],
        1: [("alone", 0), ("orders", 0)],
        2: [("orders", 0)],
    }


def test_a_failed_leader_gives_its_partitions_new_states(era):
    era.cluster.replication_control.create("orders", 1, assignment=[[1, 2]])
    era.tell()
    era.cluster.cluster_control.stop(1, 0)
    (told,) = era.tell()[0].partitions
    assert (told.state.leader, told.state.isr, told.state.replicas) == (2, (2,), (1, 2))
    assert told.state.leader_epoch == 1
    assert told.state.partition_epoch > 0
    assert told.state.offline_replicas == (1,)


def test_a_state_keeps_the_epoch_of_the_controller_that_made_it(era):
    era.cluster.replication_control.create("orders", 1, assignment=[[1, 2]])
    era.tell()
    era.cluster.cluster_control.stop(0, 0)
    (told,) = era.tell()[0].partitions
    assert told.state.controller_epoch == 1
    era.cluster.cluster_control.stop(2, 0)
    (told,) = era.tell()[0].partitions
    assert told.state.controller_epoch == 2


def test_a_deleted_topic_is_told_and_forgotten(era):
    topic = era.cluster.replication_control.create("orders", 2, 3)
    era.tell()
    assert sorted(zookeeper_of(era).caches[2].topics) == ["orders"]
    era.cluster.replication_control.delete(topic)
    for update in era.tell():
        told = [(one.topic, one.state.index, one.state.leader) for one in update.partitions]
        assert told == [("orders", 0, DELETED), ("orders", 1, DELETED)]
    assert zookeeper_of(era).caches[2].topics == {}
    assert era.tell() == []


def test_a_topic_deleted_and_made_anew_between_two_tellings_is_told_with_its_new_id():
    sim = simulation("2.8")
    topic = sim.cluster.replication_control.create("orders", 1, 3)
    sim.tell()
    sim.cluster.replication_control.delete(topic)
    again = sim.cluster.replication_control.create("orders", 1, assignment=[list(topic.partitions[0].replicas)])
    sim.tell()
    assert zookeeper_of(sim).caches[1].topics["orders"].id == again.id != topic.id


def test_each_broker_is_told_by_its_own_epoch(era):
    before = {one.broker_id: one.broker_epoch for one in simulation().tell()}
    assert before == {broker_id: zookeeper_of(era).broker_epoch(broker_id) for broker_id in (0, 1, 2)}
    era.cluster.cluster_control.stop(2, 0)
    era.tell()
    era.cluster.cluster_control.start(2, 0)
    after = {one.broker_id: one.broker_epoch for one in era.tell()}
    assert after[2] > before[2]
    assert after[0] == before[0]


# -- versions that differ ----------------------------------------------------------------------------------------------


def rolling(*software: tuple[str, str]) -> Cluster:
    """Brokers 0, 1, ... on racks a, b, ... of these releases and protocols."""
    brokers = [
        Broker(number, "abc"[number], [Listener(port=9092 + number)], release=release, protocol=protocol)
        for number, (release, protocol) in enumerate(software)
    ]
    return Cluster.create(brokers)


def test_a_controller_of_0_9_0_0_does_not_take_a_registration_of_version_3():
    cluster = rolling(("0.9.0.0", "0.9.0"), ("0.9.0.0", "0.9.0"), ("0.9.0.0", "0.9.0"))
    cluster.replication_control.create("orders", 1, assignment=[[1, 2]])
    cluster.take_updates()
    zookeeper = cluster.other_mode
    cluster.cluster_control.stop(2, 0)
    cluster.take_updates()
    zookeeper.configure(2, "0.10.0", "0.10.0")
    cluster.cluster_control.start(2, 0)
    assert json.loads(zookeeper.registrations[2].data)["version"] == 3
    assert zookeeper.problem == "Kafka 0.9.0.0 cannot read /brokers/ids/2: version 3, but only 1 and 2 are supported"
    assert sorted(zookeeper.live) == [0, 1]
    assert 2 not in [one.broker_id for one in cluster.take_updates()]


def test_a_controller_of_0_9_0_1_takes_it_and_tells_no_racks():
    cluster = rolling(("0.9.0.1", "0.9.0"), ("0.9.0.1", "0.9.0"), ("0.10.0", "0.10.0"))
    zookeeper = cluster.other_mode
    assert zookeeper.problem is None
    assert sorted(zookeeper.live) == [0, 1, 2]
    assert {one.version for one in cluster.take_updates()} == {1}


def test_a_broker_that_cannot_read_all_registrations_is_not_elected():
    cluster = rolling(("0.9.0.0", "0.9.0"), ("0.10.0", "0.10.0"))
    assert cluster.support.controller_id == 1
    assert cluster.other_mode.problem is None


def test_the_version_told_is_the_controllers_and_moves_with_it():
    cluster = rolling(("0.10.0", "0.9.0"), ("0.10.0", "0.10.0"), ("0.10.0", "0.9.0"))
    assert {one.version for one in cluster.take_updates()} == {1}
    cluster.cluster_control.stop(0, 0)
    assert {one.version for one in cluster.take_updates()} == {2}


def test_a_broker_runs_what_it_is_configured_for_from_its_next_start_on(era):
    zookeeper = zookeeper_of(era)
    zookeeper.configure(1, "0.10.2", None)
    assert str(zookeeper.running[1].release) == "0.10.0"
    era.cluster.cluster_control.stop(1, 0)
    era.cluster.cluster_control.start(1, 0)
    assert (str(zookeeper.running[1].release), str(zookeeper.running[1].protocol)) == ("0.10.2", "0.10.0")
    assert json.loads(zookeeper.registrations[1].data)["version"] == 4


def test_a_broker_that_is_down_is_changed_at_once(era):
    era.cluster.cluster_control.stop(1, 0)
    zookeeper_of(era).configure(1, "0.9.0.1", "0.9.0")
    assert str(zookeeper_of(era).running[1].release) == "0.9.0.1"


def test_a_protocol_that_the_release_does_not_know_changes_nothing(era):
    with pytest.raises(ValueError, match=r"0\.10\.2 is not known to Kafka 0\.10\.0"):
        zookeeper_of(era).configure(1, None, "0.10.2")
    assert str(zookeeper_of(era).configured[1].protocol) == "0.10.0"


# -- racks for those who place -----------------------------------------------------------------------------------------


def racks_of(cluster: Cluster, topic: str) -> list[set[str | None]]:
    return [{cluster.brokers[one].rack for one in row.replicas} for row in cluster.topics[topic].partitions]


def six_brokers(protocol: str, *, rackless: bool = False, **settings: str) -> Cluster:
    """Brokers 0-5, two in each of the racks a, b, c, neighbours in the same; broker 5 without one if ``rackless``."""
    racks: list[str | None] = ["a", "a", "b", "b", "c", None if rackless else "c"]
    brokers = [Broker(number, rack, [Listener(port=9092 + number)]) for number, rack in enumerate(racks)]
    return Cluster.create(brokers, settings={PROTOCOL: protocol, **settings})


@pytest.mark.parametrize("placer", ["unaware", "striped", "rack-aware"])
def test_replicas_span_racks_whatever_placer_is_set_once_racks_are_registered(placer):
    cluster = six_brokers("0.10.0", **{"replica.placer.class.name": placer})
    cluster.replication_control.create("orders", 6, 3)
    assert racks_of(cluster, "orders") == [{"a", "b", "c"}] * 6


def test_replicas_are_placed_as_before_while_no_rack_is_registered():
    cluster = six_brokers("0.9.0")
    cluster.replication_control.create("orders", 6, 3)
    # AdminUtils of 0.9 from start index 0 and shift 0: neighbours, the leader's one further each time
    assert [row.replicas for row in cluster.topics["orders"].partitions] == [
        (0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5), (4, 5, 0), (5, 0, 1),
    ]  # fmt: skip


def test_racks_are_left_out_where_one_broker_has_none():
    cluster = six_brokers("0.10.0", rackless=True)
    cluster.replication_control.create("orders", 6, 3)
    assert [row.replicas for row in cluster.topics["orders"].partitions][:2] == [(0, 1, 2), (1, 2, 3)]


def test_a_broker_of_0_9_places_without_racks_though_they_are_registered():
    cluster = rolling(("0.9.0.1", "0.9.0"), ("0.10.0", "0.10.0"))
    assert cluster.other_mode.racks() == {0: None, 1: "b"}
    assert cluster.other_mode.racks(requesting_broker_id=1) == {0: None, 1: "b"}
    assert cluster.other_mode.racks(requesting_broker_id=0) == {0: None, 1: None}


# -- what cannot be ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("brokers", "settings", "release", "words"),
    [
        ([Broker(0, None, release="3.9")], {}, None, "in KRaft mode all brokers emulate one release, the cluster's"),
        ([Broker(0, None, protocol="0.10.0"), Broker(1, None)], {}, None, "broker 1 is in KRaft mode"),
        ([Broker(0, None, protocol="0.10.0", release="0.9.0")], {}, None, "is not known to Kafka 0.9.0"),
        ([Broker(0, None)], {PROTOCOL: "0.7"}, None, "expected a version of Kafka"),
        ([Broker(0, None)], {PROTOCOL: "4.0", "zookeeper.connect": "here"}, None, "Kafka 4.0 has no ZooKeeper mode"),
        (
            [Broker(0, None, [Listener("PLAINTEXT"), Listener("RACK_A", port=1)])],
            {PROTOCOL: "0.10.1"},
            None,
            "before inter.broker.protocol.version=0.10.2 there is one, PLAINTEXT",
        ),
        ([Broker(0, None, [Listener("client")])], {PROTOCOL: "2.4"}, None, "names are in capitals"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused_in_one_line(brokers, settings, release, words):
    with pytest.raises(ValueError, match=r"\S") as refused:
        Cluster.create(brokers, settings=settings, release=release)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_kraft_cluster_has_no_zookeeper():
    assert Cluster.create([Broker(0, "a")], settings={PROTOCOL: "3.9"}).other_mode is None


# -- a broker that is cut off but alive --------------------------------------------------------------------------------

SESSION_MS = 18_000  # zookeeper.session.timeout.ms


def topics_told_by(sim: Simulation, broker: int) -> list[str]:
    return [topic.name for topic in sim.ask(MetadataRequest(topics=[]), version=0, broker=broker).topics]


def test_a_broker_that_is_cut_off_goes_on_telling_what_it_was_told(era):
    era.cluster.replication_control.create("before", 1, 3)
    era.tell()
    era.cluster.cluster_control.isolate(2, era.now_ms)
    era.cluster.replication_control.create("after", 1, 3)
    assert [update.broker_id for update in era.tell()] == [0, 1]
    era.advance(ms=SESSION_MS)
    era.tell()
    assert topics_told_by(era, 1) == ["after", "before"]
    assert topics_told_by(era, 2) == ["before"]
    assert sorted(zookeeper_of(era).caches[2].brokers) == [0, 1, 2]


def test_the_registration_of_a_broker_that_is_cut_off_expires_with_its_session(era):
    zookeeper = zookeeper_of(era)
    era.cluster.cluster_control.isolate(2, era.now_ms)
    era.advance(ms=SESSION_MS - 1)
    assert list(zookeeper.registrations) == [0, 1, 2]
    era.advance(ms=1)
    assert list(zookeeper.registrations) == [0, 1]
    assert {tuple(broker.id for broker in update.live_brokers) for update in era.tell()} == {(0, 1)}


def test_a_controller_that_is_cut_off_tells_nobody_anything_and_is_followed_by_another(era):
    era.cluster.cluster_control.isolate(0, era.now_ms)
    era.cluster.replication_control.create("orders", 1, 3)
    assert era.tell() == []
    era.advance(ms=SESSION_MS - 1)
    assert era.cluster.support.controller_id == 0
    era.advance(ms=1)
    assert (era.cluster.support.controller_id, zookeeper_of(era).controller_epoch) == (1, 2)
    assert [(update.broker_id, update.controller_id) for update in era.tell()] == [(1, 1), (2, 1)]
    assert topics_told_by(era, 2) == ["orders"]
    assert zookeeper_of(era).caches[0].controller_id == 0, "it has not heard of the other one"


def test_a_controller_that_finds_back_in_time_makes_up_for_what_it_missed(era):
    era.cluster.cluster_control.isolate(0, era.now_ms)
    era.cluster.replication_control.create("orders", 1, 3)
    era.cluster.cluster_control.stop(2, era.now_ms)
    era.advance(ms=SESSION_MS - 1)
    assert era.tell() == []
    era.cluster.cluster_control.rejoin(0, era.now_ms)
    era.tell()
    assert (era.cluster.support.controller_id, zookeeper_of(era).controller_epoch) == (0, 1)
    assert topics_told_by(era, 1) == ["orders"]
    assert sorted(zookeeper_of(era).caches[1].brokers) == [0, 1]


@pytest.mark.parametrize("ms", [SESSION_MS - 1, SESSION_MS])
def test_a_broker_that_finds_back_is_told_everything_again_and_has_forgotten_nothing(era, ms):
    era.cluster.replication_control.create("before", 1, 3)
    era.tell()
    era.cluster.cluster_control.isolate(2, era.now_ms)
    era.cluster.replication_control.create("after", 1, 3)
    era.tell()
    era.advance(ms=ms)
    epoch = zookeeper_of(era).broker_epoch(2)
    era.cluster.cluster_control.rejoin(2, era.now_ms)
    assert topics_told_by(era, 2) == ["before"], "until it is told, it tells what it was told before it was cut off"
    assert (zookeeper_of(era).broker_epoch(2) > epoch) == (ms == SESSION_MS)
    [update] = [update for update in era.tell() if update.broker_id == 2]
    assert partitions_in(update) == [("after", 0), ("before", 0)]
    assert topics_told_by(era, 2) == ["after", "before"]


def test_a_broker_that_is_cut_off_is_not_elected(era):
    era.cluster.cluster_control.isolate(1, era.now_ms)
    era.cluster.cluster_control.stop(0, era.now_ms)
    assert era.cluster.support.controller_id == 2
