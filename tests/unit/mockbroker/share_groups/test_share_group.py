from __future__ import annotations

from typing import Any

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.share_groups.share_states import share_of
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from protocol.apis.groups import DeleteGroupsRequest, ListGroupsRequest
from protocol.apis.share_group import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.share_groups.share import ACCEPT, GROUP, TOPIC, acknowledge, acquired, filled, share_fetch

SESSION_MS = 45_000


def coordinator(sim: Simulation) -> int:
    return sim.cluster.internal_topics.coordinator(GROUP).id


def beat(sim: Simulation, epoch: int = 0, *, member: str = "one", **fields: Any) -> ShareGroupHeartbeatResponse:
    topics = fields.pop("topics", [TOPIC] if epoch == 0 else None)
    broker = fields.pop("broker", coordinator(sim))
    request = ShareGroupHeartbeatRequest(
        group_id=fields.pop("group", GROUP),
        member_id=member,
        member_epoch=epoch,
        subscribed_topic_names=topics,
        **fields,
    )
    answer: ShareGroupHeartbeatResponse = sim.ask(request, broker=broker)
    return answer


def assigned(response: ShareGroupHeartbeatResponse) -> list[int] | None:
    """The partitions of all topics, None where the answer tells none."""
    if response.assignment is None:
        return None
    return [number for topic in response.assignment.topic_partitions for number in topic.partitions]


def describe(sim: Simulation, group: str = GROUP) -> ShareGroupDescribeResponse.Group:
    request = ShareGroupDescribeRequest(group_ids=[group])
    answer: ShareGroupDescribeResponse = sim.ask(
        request, broker=sim.cluster.internal_topics.coordinator(group or GROUP).id
    )
    return answer.groups[0]


@pytest.fixture
def topic(sim: Simulation) -> bytes:
    """The id of a topic with three partitions."""
    return sim.cluster.replication_control.create(TOPIC, 3, 3).id


def test_a_member_is_assigned_what_has_begun_with_its_second_heartbeat(sim, topic):
    first = beat(sim)
    assert (first.error_code, first.member_id, first.member_epoch) == (ErrorCode.NONE, "one", 2)
    assert (first.heartbeat_interval_ms, assigned(first)) == (5000, [])
    second = beat(sim, 2)
    assert (second.member_epoch, assigned(second)) == (3, [0, 1, 2])
    assert (beat(sim, 3).member_epoch, assigned(beat(sim, 3))) == (3, None)


def test_members_that_are_fewer_than_partitions_read_different_ones(sim, topic):
    beat(sim)
    beat(sim, 2)
    first = beat(sim, member="two")
    assert beat(sim, 3).member_epoch == first.member_epoch
    parts = {member.member_id: member.assignment.topic_partitions for member in describe(sim).members}
    numbers = {member: sorted(topics[0].partitions) for member, topics in parts.items()}
    assert sorted(number for held in numbers.values() for number in held) == [0, 1, 2]
    assert sorted(map(len, numbers.values())) == [1, 2]


def test_members_that_are_more_than_partitions_share_them(sim, topic):
    for number in range(6):
        beat(sim, member=f"member-{number}")
    held = []
    for number in range(6):
        epoch = beat(sim, member=f"member-{number}").member_epoch
        held += assigned(beat(sim, epoch, member=f"member-{number}", topics=[TOPIC])) or []
    assert sorted(held) == [0, 0, 1, 1, 2, 2]


def test_an_assigned_member_gets_records(sim, topic):
    sim.cluster.configs.write("group", GROUP, {"share.auto.offset.reset": "earliest"})
    filled(sim, 3)
    beat(sim)
    beat(sim, 2)
    assert acquired(share_fetch(sim, topic)) == [(0, 2, 1)]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"member": ""}, ErrorCode.INVALID_REQUEST),
        ({"member": "m" * 37}, ErrorCode.INVALID_REQUEST),
        ({"group": ""}, ErrorCode.INVALID_REQUEST),
        ({"rack_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"topics": None}, ErrorCode.INVALID_REQUEST),
        ({"topics": []}, ErrorCode.INVALID_REQUEST),
        ({"epoch": -2}, ErrorCode.INVALID_REQUEST),
        ({"epoch": 1}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"epoch": -1}, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
def test_a_heartbeat_that_makes_no_sense_is_refused(sim, topic, fields, code):
    assert beat(sim, **fields).error_code == code


def test_a_member_that_is_not_known_or_at_another_epoch_is_refused(sim, topic):
    beat(sim)
    assert beat(sim, 1, member="two").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(sim, -1, member="two").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(sim, 7).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    beat(sim, 2)
    assert beat(sim, 2).error_code == ErrorCode.NONE  # its epoch before
    assert beat(sim, 1).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_broker_that_does_not_coordinate_says_so(sim, topic):
    other = (coordinator(sim) + 1) % 3
    assert beat(sim, broker=other).error_code == ErrorCode.NOT_COORDINATOR


def test_a_full_group_takes_nobody_else(topic, sim):
    sim = Simulation("a,b,c", settings={"group.share.max.size": "1"})
    sim.cluster.replication_control.create(TOPIC, 3, 3)
    beat(sim)
    assert beat(sim, member="two").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert beat(sim).error_code == ErrorCode.NONE


def test_a_member_leaves_and_others_read_what_it_read(sim, topic):
    beat(sim)
    beat(sim, 2)
    beat(sim, member="two")
    leaving = beat(sim, -1)
    assert (leaving.error_code, leaving.member_epoch, leaving.heartbeat_interval_ms) == (ErrorCode.NONE, -1, 0)
    epoch = describe(sim).members[0].member_epoch
    assert assigned(beat(sim, epoch, member="two")) == [0, 1, 2]


def test_a_member_that_is_not_heard_of_is_put_out(sim, topic):
    beat(sim)
    sim.advance(SESSION_MS - 1)
    assert describe(sim).group_state == "Stable"
    sim.advance(1)
    assert (describe(sim).group_state, describe(sim).members) == ("Empty", [])


def test_a_group_is_described_with_its_members_and_partitions(sim, topic):
    beat(sim, rack_id="b")
    beat(sim, 2)
    found = describe(sim)
    assert (found.group_state, found.group_epoch, found.assignment_epoch) == ("Stable", 3, 3)
    assert found.assignor_name == "simple"
    (member,) = found.members
    assert (member.member_id, member.rack_id, member.client_id, member.client_host) == (
        "one",
        "b",
        "test",
        "/127.0.0.1",
    )
    assert member.subscribed_topic_names == [TOPIC]
    (part,) = member.assignment.topic_partitions
    assert (part.topic_id, part.topic_name, part.partitions) == (topic, TOPIC, [0, 1, 2])


@pytest.mark.parametrize(("group", "code"), [("", ErrorCode.INVALID_GROUP_ID), ("none", ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_group_that_is_not_there_is_not_described(sim, group, code):
    assert describe(sim, group).error_code == code


def test_admins_see_share_groups_and_delete_those_without_members(sim, topic):
    sim.cluster.configs.write("group", GROUP, {"share.auto.offset.reset": "earliest"})
    beat(sim)
    listed = sim.ask(ListGroupsRequest(types_filter=["share"]), broker=coordinator(sim)).groups
    assert [(one.group_id, one.protocol_type, one.group_state, one.group_type) for one in listed] == [
        (GROUP, "share", "Stable", "share")
    ]
    filled(sim, 1)
    share_fetch(sim, topic)
    acknowledge(sim, topic, 1, (0, 0, [ACCEPT]))
    wanted = DeleteGroupsRequest(groups_names=[GROUP])
    assert sim.ask(wanted, broker=coordinator(sim)).results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    beat(sim, -1)
    assert sim.ask(wanted, broker=coordinator(sim)).results[0].error_code == ErrorCode.NONE
    assert not share_of(sim.cluster).coordinator.states
    assert sim.cluster.internal_topics.shard(OFFSETS_TOPIC, GROUP).keys() == set()
    beat(sim)
    assert acquired(share_fetch(sim, topic)) == [(0, 0, 1)]


def test_a_new_partition_begins_at_its_start(sim, topic):
    beat(sim)
    beat(sim, 2)
    sim.cluster.replication_control.widen(TOPIC, 4)
    beat(sim, 3)
    assert assigned(beat(sim, describe(sim).group_epoch)) in ([0, 1, 2, 3], None)
    assert describe(sim).members[0].assignment.topic_partitions[0].partitions == [0, 1, 2, 3]
    leader = sim.cluster.topics[TOPIC].partitions[3].leader
    from tests.unit.mockbroker.handlers.records import batch, produce

    produce(sim, batch(b"new"), index=3, broker=leader)
    assert acquired(share_fetch(sim, topic, indexes=[3], broker=leader)) == [(0, 0, 1)]


def test_a_deleted_topic_is_forgotten(sim, topic):
    beat(sim)
    beat(sim, 2)
    sim.cluster.replication_control.delete(sim.cluster.topics[TOPIC])
    assert not share_of(sim.cluster).coordinator.states
    assert assigned(beat(sim, 3)) == []


def test_a_fork_has_the_group_and_how_far_it_is_and_no_members(sim, topic):
    sim.cluster.configs.write("group", GROUP, {"share.auto.offset.reset": "earliest"})
    filled(sim, 2)
    beat(sim)
    beat(sim, 2)
    share_fetch(sim, topic)
    acknowledge(sim, topic, 1, (0, 0, [ACCEPT]))
    fork = sim.fork()
    assert (describe(fork).group_state, describe(fork).members) == ("Empty", [])
    assert acquired(share_fetch(fork, topic)) == [(1, 1, 1)]
