"""Groups of the consumer protocol through requests: what recorded answers do not show (tests/answers has those)."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.groups.consumer.group import ConsumerGroup
from mockbroker.groups.consumer.heartbeat import take_heartbeat
from mockbroker.groups.kind import Sender
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.consumer_group import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from protocol.apis.group_offsets import OffsetCommitRequest
from protocol.error_codes import ErrorCode

GROUP = "readers"
Owned = ConsumerGroupHeartbeatRequest.TopicPartitions


class Driver:
    """Heartbeats to whoever coordinates the group."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim

    def beat(self, member: str, epoch: int, **fields: Any) -> Any:
        request = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=member, member_epoch=epoch, **fields)
        return self.sim.ask(request, version=1, broker=self.sim.cluster.internal_topics.coordinator(GROUP).id)

    def join(self, member: str, *topics: str, **fields: Any) -> Any:
        names = {"subscribed_topic_names": list(topics), "rebalance_timeout_ms": 30_000, "topic_partitions": []}
        return self.beat(member, 0, **{**names, **fields})

    @property
    def group(self) -> ConsumerGroup:
        found = self.sim.cluster.groups.get(GROUP)
        assert isinstance(found, ConsumerGroup)
        return found


@pytest.fixture
def sim() -> Simulation:
    sim = Simulation(racks="a,b,c", seed=3)
    sim.cluster.replication_control.create("orders", 4, 1)
    return sim


@pytest.fixture
def driver(sim) -> Driver:
    return Driver(sim)


def partitions(answer: Any) -> list[int]:
    return [index for one in answer.assignment.topic_partitions for index in one.partitions]


def test_the_cluster_finalizes_group_version_by_which_clients_find_the_protocol(sim):
    answer = sim.ask(ApiVersionsRequest(client_software_name="a", client_software_version="1"), version=4)
    assert {one.name: one.max_version_level for one in answer.finalized_features}["group.version"] == 1


def test_without_group_version_there_are_no_such_groups():
    sim = Simulation(racks="a", release="3.9")
    sim.cluster.replication_control.create("orders", 1, 1)
    request = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="m")
    assert sim.ask(request, version=0).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_broker_may_be_told_to_do_without_the_protocol():
    sim = Simulation(racks="a", settings={"group.coordinator.rebalance.protocols": "classic"})
    sim.cluster.replication_control.create("orders", 1, 1)
    assert Driver(sim).join("m", "orders").error_code == ErrorCode.UNSUPPORTED_VERSION
    described = sim.ask(ConsumerGroupDescribeRequest(group_ids=["x"]), version=1).groups
    assert [one.error_code for one in described] == [ErrorCode.UNSUPPORTED_VERSION]


def test_a_session_lasts_as_long_as_the_brokers_say_and_no_longer(driver):
    driver.join("m", "orders")
    driver.sim.advance(ms=44_999)
    assert driver.beat("m", 2).error_code == ErrorCode.NONE
    driver.sim.advance(ms=45_000)
    assert driver.beat("m", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_with_too_much_has_its_rebalance_time_out_to_give_it_up(driver):
    driver.join("m1", "orders")
    driver.join("m2", "orders")
    driver.beat("m1", 2)
    for _ in range(3):
        driver.sim.advance(ms=9_999)
        assert driver.beat("m1", 2).member_epoch == 2
    driver.sim.advance(ms=3)
    assert driver.beat("m1", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert partitions(driver.beat("m2", 3)) == [0, 1, 2, 3]


def test_a_moved_coordinator_gives_members_whole_sessions(driver):
    driver.join("m", "orders")
    driver.sim.advance(ms=40_000)
    now = driver.sim.cluster.internal_topics.coordinator(GROUP).id
    driver.sim.move_coordinator(GROUP, (now + 1) % 3)
    driver.sim.advance(ms=40_000)
    assert driver.beat("m", 2).error_code == ErrorCode.NONE


def test_a_member_that_gives_up_its_expression_no_longer_counts_for_it(driver):
    driver.join("m", subscribed_topic_regex="ord.*")
    driver.join("other", subscribed_topic_regex="ord.*")
    assert driver.group.subscribers() == {"ord.*": 2}
    driver.beat("m", driver.group.members["m"].epoch, subscribed_topic_regex="o.*")
    assert driver.group.subscribers() == {"ord.*": 1, "o.*": 1}
    driver.beat("m", driver.group.members["m"].epoch, subscribed_topic_regex="")
    assert driver.group.subscribers() == {"ord.*": 1}


def test_a_fork_has_the_group_with_its_epoch_and_nobody_in_it(driver):
    driver.join("m", "orders")
    copy = Driver(driver.sim.fork())
    assert (len(copy.group.members), copy.group.epoch, copy.group.state_name) == (0, 2, "Empty")
    assert copy.beat("m", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert copy.join("m", "orders").member_epoch == 3
    assert driver.beat("m", 2).error_code == ErrorCode.NONE


def test_a_restart_goes_on_with_the_members_and_what_they_hold():
    cluster = Cluster.create([Broker(0, "a")])
    cluster.replication_control.create("orders", 2, 1)
    joining = {"rebalance_timeout_ms": 10_000, "topic_partitions": [], "subscribed_topic_names": ["orders"]}
    for member_id, epoch, fields in (("m1", 0, joining), ("m2", 0, joining), ("m1", 2, {})):
        beat = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=member_id, member_epoch=epoch, **fields)
        take_heartbeat(cluster.groups, beat, Sender(1, "c", "/h"), 0, cluster.rng)
    after = Cluster.create([Broker(0, "a")], image=cluster.image.copy(), log_store=cluster.log_store, now_ms=500_000)
    before, found = cluster.groups.get(GROUP), after.groups.get(GROUP)
    assert isinstance(before, ConsumerGroup)
    assert isinstance(found, ConsumerGroup)
    assert (found.members, found.targets, found.epoch) == (before.members, before.targets, before.epoch)
    after.tick(510_001)  # m1 was to give up two partitions within ten seconds
    assert sorted(found.members) == ["m2"]


def test_an_expression_is_matched_again_when_a_topic_comes_and_after_ten_minutes(driver):
    driver.join("m", subscribed_topic_names=None, subscribed_topic_regex="orders|logs-.*")
    assert partitions(driver.beat("m", 1)) == [0, 1, 2, 3]
    driver.sim.cluster.replication_control.create("logs-1", 1, 1)
    driver.sim.advance(ms=10_000)
    driver.beat("m", 2)
    assert sorted(driver.group.subscribed_topics()) == ["orders"]
    driver.sim.advance(ms=1)
    driver.beat("m", 2)
    assert sorted(driver.group.subscribed_topics()) == ["logs-1", "orders"]
    answer = driver.beat("m", 2)
    assert (answer.member_epoch, len(answer.assignment.topic_partitions)) == (3, 2)
    resolved = driver.group.resolved["orders|logs-.*"]
    for _ in range(15):
        driver.sim.advance(ms=40_000)
        driver.beat("m", 3)
    assert driver.group.resolved["orders|logs-.*"].timestamp == resolved.timestamp
    driver.sim.advance(ms=1)
    driver.beat("m", 3)
    assert driver.group.resolved["orders|logs-.*"].timestamp > resolved.timestamp
    assert driver.group.epoch == 3


def test_replicas_that_move_to_another_rack_bring_a_new_epoch(driver):
    driver.join("m", "orders")
    replicas = driver.sim.cluster.topics["orders"].partitions[0].replicas
    driver.sim.move_replicas("orders", 0, [(replicas[0] + 1) % 3])
    assert driver.beat("m", 2).member_epoch == 3
    assert driver.beat("m", 3).member_epoch == 3


def test_a_leader_that_moves_within_its_replicas_changes_nothing():
    sim = Simulation(racks="a,b,c")
    sim.cluster.replication_control.create("orders", 1, 3)
    driver = Driver(sim)
    driver.join("m", "orders")
    sim.stop_broker(sim.cluster.topics["orders"].partitions[0].leader)
    assert driver.beat("m", 2).member_epoch == 2


@pytest.mark.parametrize("release", ["4.3", "4.4"])
def test_the_rack_of_a_member_counts_for_rack_uniform_alone(release):
    """GroupMetadataManager.hasMemberSubscriptionChanged of 4.3.1 and 4.4.0 compares topics alone (KAFKA-20909)."""
    told = {}
    for assignor in ("uniform", "rack-uniform"):
        sim = Simulation(racks="a,b,c", settings={"group.consumer.assignors": assignor}, release=release)
        sim.cluster.replication_control.create("orders", assignment=[[0], [1]])
        driver = Driver(sim)
        driver.join("m1", "orders", rack_id="c")
        driver.join("m2", "orders", rack_id="a")
        driver.beat("m1", 2, topic_partitions=[])
        driver.beat("m1", 3, rack_id="a")
        driver.beat("m2", 3, rack_id="b")
        told[assignor] = driver.group.epoch
    assert told == {"uniform": 3, "rack-uniform": 5}


@pytest.mark.parametrize(
    ("release", "error"), [("4.2", ErrorCode.STALE_MEMBER_EPOCH), ("4.3", ErrorCode.NONE), ("4.4", ErrorCode.NONE)]
)
def test_a_member_commits_in_an_older_epoch_what_it_has_had_since_then(release, error):
    sim = Simulation(racks="a,b,c", release=release)
    for topic in ("orders", "events"):
        sim.cluster.replication_control.create(topic, 1, 1)
    driver = Driver(sim)
    epoch = driver.join("m", "orders").member_epoch
    assert driver.beat("m", epoch, subscribed_topic_names=["orders", "events"]).member_epoch == epoch + 1
    partition = OffsetCommitRequest.Topic.Partition(partition_index=0, committed_offset=0)
    topics = [OffsetCommitRequest.Topic(name="orders", partitions=[partition])]
    request = OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=epoch, member_id="m", topics=topics)
    answer = sim.ask(request, version=9, broker=sim.cluster.internal_topics.coordinator(GROUP).id)
    assert answer.topics[0].partitions[0].error_code == error


def test_a_group_shows_in_the_journal_by_its_id(driver):
    driver.join("m", "orders")
    (entry,) = [entry for entry in driver.sim.journal.find() if entry.api == "ConsumerGroupHeartbeat"]
    assert entry.groups == (GROUP,)


def test_a_group_whose_offsets_are_too_old_and_whose_members_have_gone_goes_with_them(driver):
    driver.join("m", "orders")
    partition = OffsetCommitRequest.Topic.Partition(partition_index=0, committed_offset=0)
    topic = OffsetCommitRequest.Topic(name="orders", partitions=[partition])
    commit = OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=2, member_id="m", topics=[topic])
    right = driver.sim.cluster.internal_topics.coordinator(GROUP).id
    assert driver.sim.ask(commit, version=9, broker=right).topics[0].partitions[0].error_code == 0
    week_ms = 7 * 24 * 3_600_000
    driver.sim.jump_clock(week_ms + 1)
    assert driver.sim.cluster.groups.offsets(GROUP).partitions() == [("orders", 0)]
    driver.beat("m", -1)
    driver.sim.jump_clock(1)
    assert driver.sim.cluster.groups.find(GROUP) is None


def test_an_empty_group_without_offsets_is_there_until_the_coordinator_looks_for_such(driver):
    driver.join("m", "orders")
    driver.beat("m", -1)
    driver.sim.advance(ms=599_999)
    assert driver.group.state_name == "Empty"
    driver.sim.advance(ms=1)
    assert driver.sim.cluster.groups.find(GROUP) is None
