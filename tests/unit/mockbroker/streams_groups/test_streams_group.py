from __future__ import annotations

import pytest

from mockbroker.adapters.control.group_operations import group_of
from mockbroker.core.simulation import Simulation
from mockbroker.state.cluster import Cluster
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from mockbroker.streams_groups.group import StreamsGroup
from protocol.apis.group_offsets import OffsetCommitRequest
from protocol.apis.groups import DeleteGroupsRequest, ListGroupsRequest
from protocol.apis.streams_group import KeyValue, StreamsGroupHeartbeatRequest
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.streams_groups.streams import (
    AT_ONCE,
    COUNTS,
    GROUP,
    LINES,
    WORDS,
    Member,
    describe,
    settle,
    statuses,
    word_count,
)

MISSING_SOURCE, MISSING_INTERNAL, DELAYED, MISSING_TAGS = 1, 3, 5, 6
TaskOffset = StreamsGroupHeartbeatRequest.TaskOffset
ALL_TASKS = [(name, number) for name in "01" for number in range(3)]


@pytest.fixture
def sim() -> Simulation:
    """Brokers 0-2, a topic of three partitions, and no waiting for more members."""
    sim = Simulation(racks="a,b,c", settings=AT_ONCE)
    sim.cluster.replication_control.create(LINES, 3, 3)
    return sim


def listed(sim: Simulation, state: str) -> list[tuple[str, str, str, str]]:
    answer = sim.ask(
        ListGroupsRequest(states_filter=[state], types_filter=["Streams"]),
        broker=sim.cluster.internal_topics.coordinator(GROUP).id,
        version=5,
    )
    return [(one.group_id, one.group_state, one.protocol_type, one.group_type) for one in answer.groups]


def test_the_first_heartbeat_has_the_topics_made_and_the_second_gives_tasks(sim):
    one = Member(sim)
    first = one.beat()
    assert list(statuses(first)) == [MISSING_INTERNAL]
    assert one.active == []
    for name, policy in ((WORDS, ("delete",)), (COUNTS, ("compact",))):
        topic = sim.cluster.topics[name]
        assert (len(topic.partitions), topic.replication_factor) == (3, 3)
        assert tuple(topic.config("cleanup.policy")) == policy
    second = one.beat()
    assert (statuses(second), second.member_epoch) == ({}, first.member_epoch + 1)
    assert one.active == ALL_TASKS


def test_no_more_partitions_are_made_at_once_than_a_request_may_ask_for(sim):
    topology = word_count()
    topology.subtopologies[1].repartition_source_topics[0].partitions = 6_000
    one = Member(sim)
    one.beat(topology=topology)
    assert set(sim.cluster.topics) == {LINES, "__consumer_offsets"}
    assert "expected 10000 partitions a request at most, got 12000" in statuses(one.beat())[MISSING_INTERNAL]


def test_a_topic_that_cannot_be_made_is_told_with_the_reason(sim):
    topology = word_count()
    topology.subtopologies[1].state_changelog_topics[0].topic_configs = [KeyValue(key="cleanup.policy", value="none")]
    one = Member(sim)
    for beat in (one.beat(topology=topology), one.beat()):
        assert f"Creation failed: {COUNTS} (" in statuses(beat)[MISSING_INTERNAL]
    assert describe(sim).group_state == "NotReady"


def test_what_is_missing_is_found_once_it_is_there():
    sim = Simulation(racks="a,b,c", settings=AT_ONCE)
    one = Member(sim)
    assert statuses(one.beat()) == {MISSING_SOURCE: f"Source topics {LINES} are missing."}
    assert listed(sim, "not_ready") == [(GROUP, "NotReady", "streams", "streams")]
    assert listed(sim, "NotReady") == []  # Kafka looks for the state by its other name
    sim.cluster.replication_control.create(LINES, 3, 3)
    settle(one)
    assert one.active == ALL_TASKS
    assert listed(sim, "Stable") == [(GROUP, "Stable", "streams", "streams")]


def test_the_first_members_are_waited_for():
    sim = Simulation(racks="a,b,c", settings={"group.streams.assignment.interval.ms": 0})
    sim.cluster.replication_control.create(LINES, 3, 3)
    one, two = Member(sim), Member(sim, "two")
    assert list(statuses(one.beat())) == [DELAYED, MISSING_INTERNAL]
    two.beat()
    sim.advance(ms=2_999)
    assert list(statuses(one.owning())) == [DELAYED]
    sim.advance(ms=1)
    settle(one, two)
    assert sorted([*one.active, *two.active]) == ALL_TASKS
    assert len(one.active) == len(two.active)


def test_a_task_goes_to_another_once_it_was_given_up(sim):
    one, two = Member(sim), Member(sim, "two")
    settle(one)
    two.beat()
    assert two.active == []
    one.beat()
    kept = one.active
    assert len(kept) == 3
    two.owning()
    assert two.active == []
    one.owning()
    two.owning()
    assert sorted([*one.active, *two.active]) == ALL_TASKS
    assert one.active == kept
    assert describe(sim).group_state == "Stable"


def test_a_member_that_does_not_give_up_in_time_is_put_out(sim):
    one, two = Member(sim), Member(sim, "two")
    settle(one)
    two.beat()
    one.beat()
    for _ in range(2):
        sim.advance(ms=29_999)
        one.beat()
        two.beat()
    assert {member.member_id for member in describe(sim).members} == {"one", "two"}
    sim.advance(ms=2)
    assert {member.member_id for member in describe(sim).members} == {"two"}
    settle(two)
    assert two.active == ALL_TASKS


def test_a_session_ends_without_heartbeats(sim):
    settle(Member(sim))
    sim.advance(ms=44_999)
    assert describe(sim).group_state == "Stable"
    sim.advance(ms=1)
    assert (describe(sim).group_state, describe(sim).members) == ("Empty", [])


def test_standbys_are_in_other_processes_and_only_of_tasks_with_state(sim):
    sim.cluster.configs.write("group", GROUP, {"streams.num.standby.replicas": "1"})
    members = [Member(sim, name, process_id=process) for name, process in (("a", "p"), ("b", "p"), ("c", "q"))]
    settle(*members)
    settle(*members)
    by_process = {"p": members[:2], "q": members[2:]}
    active = {process: {task for one in found for task in one.active} for process, found in by_process.items()}
    standby = {process: {task for one in found for task in one.standby} for process, found in by_process.items()}
    assert active["p"] | active["q"] == set(ALL_TASKS)
    assert {name for name, _ in standby["p"] | standby["q"]} == {"1"}
    for process, other in (("p", "q"), ("q", "p")):
        assert standby[process] == {task for task in active[other] if task[0] == "1"}


def test_members_without_the_tags_that_racks_are_told_by_are_told(sim):
    sim.cluster.configs.write("group", GROUP, {"streams.rack.aware.assignment.tags": "zone,cluster"})
    one = Member(sim, client_tags=[KeyValue(key="zone", value="a")])
    assert "[cluster]" in statuses(one.beat())[MISSING_TAGS]
    assert MISSING_TAGS not in statuses(one.beat(version=0))


def test_a_static_member_comes_back_to_its_tasks(sim):
    one, two = Member(sim, instance_id="i", process_id="p"), Member(sim, "two", instance_id="j")
    settle(one, two)
    settle(one, two)
    had, epoch = sorted(one.active), describe(sim).group_epoch
    one.beat(-2)
    again = Member(sim, "another", instance_id="i", process_id="p")
    again.beat()
    assert (sorted(again.active), describe(sim).group_epoch) == (had, epoch)


def test_a_group_is_deleted_without_members_and_with_its_offsets(sim):
    one = Member(sim)
    settle(one)
    ask = {"broker": sim.cluster.internal_topics.coordinator(GROUP).id, "version": 2}
    request = DeleteGroupsRequest(groups_names=[GROUP])
    assert sim.ask(request, **ask).results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    one.beat(-1)
    assert sim.ask(request, **ask).results[0].error_code == ErrorCode.NONE
    assert describe(sim).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert sim.cluster.internal_topics.shard(OFFSETS_TOPIC, GROUP).keys() == set()


def test_a_fork_has_the_group_with_its_topology_and_nobody_in_it(sim):
    one = Member(sim)
    settle(one)
    fork = sim.fork()
    found = describe(fork)
    assert (found.group_state, found.members, found.group_epoch) == ("Empty", [], describe(sim).group_epoch)
    assert found.topology is not None
    assert [one.subtopology_id for one in found.topology.subtopologies] == ["0", "1"]
    later = Member(fork)
    settle(later)
    assert later.active == ALL_TASKS
    assert describe(sim).group_state == "Stable"


def test_a_restart_goes_on_with_the_members_and_what_they_have(sim):
    one, two = Member(sim), Member(sim, "two")
    settle(one)
    two.beat()
    one.beat()  # is to give up three tasks within a minute
    brokers = list(sim.cluster.brokers.values())
    after = Cluster.create(brokers, image=sim.cluster.image.copy(), log_store=sim.cluster.log_store, now_ms=500_000)
    before, found = sim.cluster.groups.get(GROUP), after.groups.get(GROUP)
    assert isinstance(before, StreamsGroup)
    assert isinstance(found, StreamsGroup)
    for name in ("members", "targets", "epoch", "topology", "metadata", "state_name"):
        assert getattr(found, name) == getattr(before, name), name
    assert found.members["one"].pending_revocation.active
    after.tick(545_000)
    assert found.members == {}


def test_another_coordinator_goes_on_with_the_group_but_for_what_no_record_has(sim):
    one = Member(sim)
    settle(one)
    one.owning(task_offsets=[TaskOffset(subtopology_id="1", partition=2, offset=9)])
    epoch, before = one.epoch, sim.cluster.internal_topics.coordinator(GROUP).id
    assert [told.offset for told in describe(sim).members[0].task_offsets] == [9]
    sim.stop_broker(before)
    assert sim.cluster.internal_topics.coordinator(GROUP).id != before
    assert describe(sim).members[0].task_offsets == []
    answer = one.owning()
    assert (answer.error_code, answer.member_epoch, statuses(answer)) == (ErrorCode.NONE, epoch, {})
    assert describe(sim).group_state == "Stable"


def test_a_cluster_whose_release_has_no_such_groups_says_so():
    sim = Simulation(racks="a", settings={"group.coordinator.rebalance.protocols": "classic,consumer"})
    sim.cluster.replication_control.create(LINES, 3, 1)
    assert Member(sim).beat().error_code == ErrorCode.UNSUPPORTED_VERSION
    assert describe(sim).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_fault_on_the_group_hits_its_heartbeats(sim):
    sim.faults.add(match={"group": GROUP}, effect={"error": "COORDINATOR_LOAD_IN_PROGRESS"})
    assert Member(sim).beat().error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_the_control_api_shows_members_with_the_partitions_of_their_tasks(sim):
    settle(Member(sim))
    shown = group_of(sim.cluster, GROUP)
    assert (shown.type, shown.state, shown.protocol) == ("streams", "Stable", "sticky")
    assert shown.members[0].assignment == {LINES: [0, 1, 2], WORDS: [0, 1, 2]}
    assert shown.members[0].topics == [WORDS, LINES]


@pytest.mark.parametrize("release", ["4.3", "4.4"])
def test_a_member_that_moves_to_another_rack_brings_a_new_epoch(release):
    """GroupMetadataManager.hasStreamsMemberMetadataChanged, Apache Kafka 4.3.1 and 4.4.0."""
    sim = Simulation(racks="a,b,c", settings=AT_ONCE, release=release)
    sim.cluster.replication_control.create(LINES, 3, 3)
    one = Member(sim, version=0)
    settle(one)
    epoch = one.epoch
    assert [one.beat(rack_id=rack).member_epoch - epoch for rack in ("a", "a", "b")] == [1, 1, 2]


@pytest.mark.parametrize("release", ["4.2", "4.3", "4.4"])
def test_an_older_epoch_commits_what_its_member_has_since_then(release):
    """StreamsGroup.validateOffsetCommit, Apache Kafka 4.2.0, 4.3.0 and 4.4.0."""
    sim = Simulation(racks="a,b,c", settings=AT_ONCE, release=release)
    sim.cluster.replication_control.create(LINES, 3, 3)
    one = Member(sim, version=0)
    settle(one)
    since = one.epoch
    one.beat(rack_id="b")
    assert one.epoch > since
    partition = OffsetCommitRequest.Topic.Partition(partition_index=0, committed_offset=0)
    request = OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=since,
        member_id=one.name,
        topics=[OffsetCommitRequest.Topic(name=LINES, partitions=[partition])],
    )
    answer = sim.ask(request, broker=sim.cluster.internal_topics.coordinator(GROUP).id, version=9)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE


def test_tasks_are_assigned_when_the_first_members_have_been_waited_for_without_another_heartbeat():
    """GroupMetadataManager.computeDelayedTargetAssignment, Apache Kafka 4.4."""
    sim = Simulation(racks="a,b,c", settings=AT_ONCE | {"group.streams.initial.rebalance.delay.ms": 2000})
    sim.cluster.replication_control.create(LINES, 3, 3)
    one = Member(sim)
    assert DELAYED in statuses(one.beat())
    assert DELAYED in statuses(one.beat())
    before = describe(sim)
    sim.advance(2000)
    after = describe(sim)
    assert before.assignment_epoch < before.group_epoch == after.group_epoch == after.assignment_epoch
    (member,) = after.members
    assigned = [(task.subtopology_id, sorted(task.partitions)) for task in member.target_assignment.active_tasks]
    assert assigned == [("0", [0, 1, 2]), ("1", [0, 1, 2])]
