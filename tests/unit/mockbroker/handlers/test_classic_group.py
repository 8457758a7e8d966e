"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup, every version."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mockbroker.core.simulation import Simulation
from protocol.apis.classic_group import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from protocol.error_codes import ErrorCode

READERS = "readers"
JOIN_VERSIONS = range(10)
SYNC_VERSIONS = range(6)


@dataclass
class Members:
    """Sends what members of ``READERS`` send to their coordinator, each in the version wanted."""

    sim: Simulation

    def send(self, request, version=None):
        return self.sim.send(request, version=version, broker=self.sim.cluster.internal_topics.coordinator(READERS).id)

    def ask(self, request, version=None):
        return self.sim.replies[self.send(request, version)]

    def join(self, member_id="", version=9, **fields):
        request = JoinGroupRequest(
            group_id=READERS,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=60_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequest.Protocol(name="range", metadata=b"orders")],
        )
        for name, value in fields.items():
            setattr(request, name, value)
        return self.send(request, version)

    def enter(self, version=9):
        """Join as a new member; the ticket of the JoinGroup that counts, and the member's id if known by then."""
        ticket = self.join(version=version)
        answer = self.sim.replies.get(ticket)
        if answer is not None and answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            return self.join(answer.member_id, version), answer.member_id
        return ticket, answer.member_id if answer else ""

    def sync(self, member_id, generation, assignments=None, version=5, **fields):
        request = SyncGroupRequest(
            group_id=READERS,
            generation_id=generation,
            member_id=member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[
                SyncGroupRequest.Assignment(member_id=each, assignment=assignment)
                for each, assignment in (assignments or {}).items()
            ],
        )
        for name, value in fields.items():
            setattr(request, name, value)
        return self.send(request, version)

    def heartbeat(self, member_id, generation, version=4):
        request = HeartbeatRequest(group_id=READERS, member_id=member_id, generation_id=generation)
        return self.ask(request, version).error_code


@pytest.fixture
def members(sim):
    return Members(sim)


@pytest.mark.parametrize("version", JOIN_VERSIONS)
def test_a_member_joins_in_every_version(members, sim, version):
    ticket, member_id = members.enter(version)
    answer = sim.replies[ticket]
    assert (answer.error_code, answer.generation_id) == (ErrorCode.NONE, 1)
    assert answer.member_id == answer.leader == member_id
    assert member_id.startswith("test-")
    assert [(member.member_id, member.metadata) for member in answer.members] == [(member_id, b"orders")]
    assert (answer.protocol_type, answer.protocol_name) == ("consumer" if version >= 7 else None, "range")
    assert answer.skip_assignment is False


@pytest.mark.parametrize("version", JOIN_VERSIONS)
def test_only_since_version_4_a_new_member_is_sent_away_with_an_id(members, sim, version):
    answer = sim.replies[members.join(version=version)]
    assert (answer.error_code == ErrorCode.MEMBER_ID_REQUIRED) == (version >= 4)
    assert answer.member_id


@pytest.mark.parametrize("version", JOIN_VERSIONS)
def test_a_refused_join_names_no_protocol_with_an_empty_text_before_version_7_and_null_since(members, sim, version):
    answer = sim.replies[members.join("unheard of", version)]
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "unheard of")
    assert answer.protocol_name == (None if version >= 7 else "")
    assert (answer.generation_id, answer.leader, answer.members) == (-1, "", [])


def test_version_0_waits_no_longer_for_others_than_the_session_lasts(members, sim):
    _, leader = members.enter(version=0)
    members.sync(leader, 1, {leader: b"all"}, version=0)
    second = members.join(version=0)
    for _ in range(2):
        sim.advance(ms=4_999)
        members.heartbeat(leader, 1, version=0)
    assert second not in sim.replies
    sim.advance(ms=2)
    assert sim.replies[second].generation_id == 2


def test_a_join_waits_for_the_other_members_and_is_then_answered(members, sim):
    _, leader = members.enter()
    members.sync(leader, 1, {leader: b"all"})
    ticket, follower = members.enter()
    sim.advance(ms=100)
    assert ticket not in sim.replies
    assert members.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    again = sim.replies[members.join(leader)]
    answer = sim.replies[ticket]
    assert again.generation_id == answer.generation_id == 2
    assert again.leader == answer.leader == leader
    assert {member.member_id for member in again.members} == {leader, follower}
    assert answer.members == []


@pytest.mark.parametrize("version", SYNC_VERSIONS)
def test_followers_sync_with_the_leader_in_every_version(members, sim, version):
    _, leader = members.enter()
    members.sync(leader, 1, {leader: b"all"})
    _, follower = members.enter()
    members.join(leader)
    ticket = members.sync(follower, 2, version=version)
    assert ticket not in sim.replies
    leaders = members.sync(leader, 2, {leader: b"A", follower: b"B"}, version)
    assert (sim.replies[leaders].error_code, sim.replies[leaders].assignment) == (ErrorCode.NONE, b"A")
    assert sim.replies[ticket].assignment == b"B"
    named = ("consumer", "range") if version >= 5 else (None, None)
    assert (sim.replies[ticket].protocol_type, sim.replies[ticket].protocol_name) == named


@pytest.mark.parametrize("missing", ["protocol_type", "protocol_name"])
def test_a_sync_has_to_name_the_protocol_since_version_5(members, sim, missing):
    _, leader = members.enter()
    old = members.sync(leader, 1, {leader: b"A"}, version=4, **{missing: None})
    new = members.sync(leader, 1, {leader: b"A"}, version=5, **{missing: None})
    assert sim.replies[old].error_code == ErrorCode.NONE
    assert sim.replies[new].error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("version", range(5))
def test_heartbeats_are_answered_in_every_version(members, version):
    _, leader = members.enter()
    assert members.heartbeat(leader, 1, version) == ErrorCode.NONE
    assert members.heartbeat(leader, 7, version) == ErrorCode.ILLEGAL_GENERATION
    assert members.heartbeat("unheard of", 1, version) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(3))
def test_a_member_leaves_with_one_error_before_version_3(members, sim, version):
    _, leader = members.enter()
    assert members.ask(LeaveGroupRequest(group_id=READERS, member_id=leader), version).error_code == ErrorCode.NONE
    answer = members.ask(LeaveGroupRequest(group_id=READERS, member_id=leader), version)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert sim.cluster.groups.get(READERS).members == {}


@pytest.mark.parametrize("version", range(3, 6))
def test_members_leave_together_with_an_error_each_since_version_3(members, sim, version):
    _, leader = members.enter()
    leaving = [LeaveGroupRequest.Member(member_id=each) for each in (leader, "unheard of")]
    answer = members.ask(LeaveGroupRequest(group_id=READERS, members=leaving), version)
    assert answer.error_code == ErrorCode.NONE
    assert [(member.member_id, member.error_code) for member in answer.members] == [
        (leader, ErrorCode.NONE),
        ("unheard of", ErrorCode.UNKNOWN_MEMBER_ID),
    ]


def test_a_static_member_that_comes_back_is_told_to_skip_the_assignment_since_version_9(members, sim):
    leader = sim.replies[members.join(group_instance_id="i1")].member_id
    members.sync(leader, 1, {leader: b"all"}, group_instance_id="i1")
    old = sim.replies[members.join(group_instance_id="i1", version=8)]
    assert (old.skip_assignment, old.leader, old.members) == (False, leader, [])
    new = sim.replies[members.join(group_instance_id="i1", version=9)]
    assert (new.skip_assignment, new.leader) == (True, new.member_id)
    assert [member.group_instance_id for member in new.members] == ["i1"]


def test_a_broker_that_does_not_coordinate_the_group_says_so(members, sim):
    other = (sim.cluster.internal_topics.coordinator(READERS).id + 1) % 3
    requests = [
        JoinGroupRequest(group_id=READERS, session_timeout_ms=10_000),
        SyncGroupRequest(group_id=READERS, protocol_type="consumer", protocol_name="range"),
        HeartbeatRequest(group_id=READERS),
        LeaveGroupRequest(group_id=READERS),
    ]
    for request in requests:
        assert sim.ask(request, broker=other).error_code == ErrorCode.NOT_COORDINATOR


def test_the_empty_group_id_is_refused(sim):
    coordinator = sim.cluster.internal_topics.coordinator("").id
    for request in (JoinGroupRequest(), SyncGroupRequest(protocol_type="", protocol_name=""), HeartbeatRequest()):
        assert sim.ask(request, broker=coordinator).error_code == ErrorCode.INVALID_GROUP_ID
    assert sim.ask(LeaveGroupRequest(), broker=coordinator).error_code == ErrorCode.INVALID_GROUP_ID


def test_a_group_outlives_the_broker_that_coordinates_it(members, sim):
    _, leader = members.enter()
    members.sync(leader, 1, {leader: b"all"})
    sim.cluster.cluster_control.stop(sim.cluster.internal_topics.coordinator(READERS).id, sim.now_ms)
    assert members.heartbeat(leader, 1) == ErrorCode.NONE


def test_a_silent_member_is_removed_when_its_session_ends(members, sim):
    _, leader = members.enter()
    members.sync(leader, 1, {leader: b"all"})
    sim.advance(ms=9_999)
    assert leader in sim.cluster.groups.get(READERS).members
    sim.advance(ms=1)
    assert members.heartbeat(leader, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_members_have_a_whole_session_to_find_the_broker_that_takes_their_group_over(members, sim):
    _, leader = members.enter()
    members.sync(leader, 1, {leader: b"all"})
    sim.advance(ms=9_999)
    sim.cluster.cluster_control.stop(sim.cluster.internal_topics.coordinator(READERS).id, sim.now_ms)
    sim.advance(ms=9_999)
    assert members.heartbeat(leader, 1) == ErrorCode.NONE


def test_a_stopped_broker_that_does_not_coordinate_the_group_prolongs_no_session(members, sim):
    _, leader = members.enter()
    members.sync(leader, 1, {leader: b"all"})
    sim.advance(ms=9_999)
    sim.cluster.cluster_control.stop((sim.cluster.internal_topics.coordinator(READERS).id + 1) % 3, sim.now_ms)
    sim.advance(ms=1)
    assert members.heartbeat(leader, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_no_session_ends_while_no_broker_is_up(members, sim):
    _, leader = members.enter()
    members.sync(leader, 1, {leader: b"all"})
    for broker in range(3):
        sim.cluster.cluster_control.stop(broker, sim.now_ms)
    sim.advance(ms=60_000)
    sim.cluster.cluster_control.start(2, sim.now_ms)
    sim.advance(ms=9_999)
    assert members.heartbeat(leader, 1) == ErrorCode.NONE
    sim.advance(ms=10_000)
    assert members.heartbeat(leader, 1) == ErrorCode.UNKNOWN_MEMBER_ID
