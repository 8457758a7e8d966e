"""DescribeGroups, ListGroups and DeleteGroups, every version."""

from __future__ import annotations

import pytest

from mockbroker.groups.kind import Sender
from mockbroker.handlers import groups
from protocol.apis.groups import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from protocol.embedded.group_log import OffsetCommitValue
from protocol.error_codes import ErrorCode
from tests.group_driver import VERSION, commit_offsets, join_request, sync_request

READERS, SIMPLE = "readers", "simple"
NOT_REQUESTED = -2147483648


@pytest.fixture
def sim(sim):
    """Three brokers; the group READERS with one static member without assignment yet, and the empty group SIMPLE."""
    joining = join_request(instance_id="i1", group_id=READERS)
    sim.cluster.groups.join(joining, Sender(VERSION, "client", "/127.0.0.1"), sim.now_ms, sim.engine.path.rng)
    commit_offsets(sim.cluster.groups, SIMPLE, {("orders", 0): OffsetCommitValue(1)}, sim.now_ms)
    sim.cluster.internal_topics.coordinator(READERS)
    return sim


def settle(sim):
    """The one member of READERS gets its assignment."""
    group = sim.cluster.groups.get(READERS)
    syncing = sync_request(group.leader_id, 1, {group.leader_id: b"all"}, instance_id="i1", group_id=READERS)
    sim.cluster.groups.of_members(syncing.group_id).sync(syncing, sim.now_ms)


def coordinator(sim, group_id):
    return sim.cluster.internal_topics.coordinator(group_id).id


def describe(sim, group_id, version=6, **fields):
    request = DescribeGroupsRequest(groups=[group_id], **fields)
    return sim.ask(request, version=version, broker=coordinator(sim, group_id)).groups[0]


@pytest.mark.parametrize("version", range(7))
def test_a_stable_group_is_described_with_what_its_members_said_and_got(sim, version):
    settle(sim)
    group = describe(sim, READERS, version)
    assert (group.error_code, group.error_message) == (ErrorCode.NONE, None)
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    (member,) = group.members
    assert member.member_id.startswith("i1-")
    instance_id = "i1" if version >= 4 else None
    assert (member.group_instance_id, member.client_id, member.client_host) == (instance_id, "client", "/127.0.0.1")
    assert (member.member_metadata, member.member_assignment) == (b"orders", b"all")


def test_once_much_was_told_a_group_is_to_be_asked_for_again(sim, monkeypatch):
    settle(sim)
    monkeypatch.setattr(groups, "MAX_MEMBERS_BYTES", 2 * len(b"orders" + b"all"))
    request = DescribeGroupsRequest(groups=[READERS] * 3)
    told = sim.ask(request, version=5, broker=coordinator(sim, READERS)).groups
    assert [(one.error_code, len(one.members)) for one in told] == [
        (ErrorCode.NONE, 1),
        (ErrorCode.NONE, 1),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 0),
    ]
    monkeypatch.setattr(groups, "MAX_MEMBERS_BYTES", 1)
    assert describe(sim, READERS).error_code == ErrorCode.NONE, "a single group is told of whatever it has"


def test_a_group_that_is_not_stable_shows_neither_protocol_nor_metadata(sim):
    group = describe(sim, READERS)
    assert (group.group_state, group.protocol_data) == ("CompletingRebalance", "")
    assert (group.members[0].member_metadata, group.members[0].member_assignment) == (b"", b"")


def test_a_group_that_only_has_offsets_is_empty_and_has_no_protocol_type(sim):
    group = describe(sim, SIMPLE)
    assert (group.group_state, group.protocol_type, group.members) == ("Empty", "", [])


@pytest.mark.parametrize("version", range(7))
def test_a_group_that_does_not_exist_is_dead_and_an_error_only_since_version_6(sim, version):
    group = describe(sim, "nope", version)
    assert group.group_state == "Dead"
    if version >= 6:
        assert (group.error_code, group.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group nope not found.")
    else:
        assert (group.error_code, group.error_message) == (ErrorCode.NONE, None)


def test_operations_are_told_only_to_whoever_asks(sim):
    assert describe(sim, SIMPLE).authorized_operations == NOT_REQUESTED
    assert describe(sim, SIMPLE, include_authorized_operations=True).authorized_operations == 3400
    assert describe(sim, "nope", include_authorized_operations=True).authorized_operations == NOT_REQUESTED


def test_a_broker_describes_and_deletes_only_groups_that_it_coordinates(sim):
    other = (coordinator(sim, SIMPLE) + 1) % 3
    (group,) = sim.ask(DescribeGroupsRequest(groups=[SIMPLE]), broker=other).groups
    assert (group.group_id, group.error_code) == (SIMPLE, ErrorCode.NOT_COORDINATOR)
    (result,) = sim.ask(DeleteGroupsRequest(groups_names=[SIMPLE]), broker=other).results
    assert (result.group_id, result.error_code) == (SIMPLE, ErrorCode.NOT_COORDINATOR)


@pytest.mark.parametrize("version", range(6))
def test_all_brokers_together_list_each_group_once_in_every_version(sim, version):
    answers = [sim.ask(ListGroupsRequest(), version=version, broker=each) for each in range(3)]
    listed = sorted((group.group_id, group.protocol_type) for answer in answers for group in answer.groups)
    assert listed == [(READERS, "consumer"), (SIMPLE, "")]


def listed(sim, version=5, **filters):
    answers = [sim.ask(ListGroupsRequest(**filters), version=version, broker=each) for each in range(3)]
    groups = [group for answer in answers for group in answer.groups]
    return sorted((group.group_id, group.group_state, group.group_type) for group in groups)


def test_groups_are_listed_with_state_and_type(sim):
    assert listed(sim) == [(READERS, "CompletingRebalance", "classic"), (SIMPLE, "Empty", "classic")]


def test_groups_are_filtered_by_state_and_type(sim):
    assert listed(sim, states_filter=["empty"]) == [(SIMPLE, "Empty", "classic")]
    assert listed(sim, states_filter=["Stable"]) == []
    assert len(listed(sim, types_filter=["classic"])) == 2
    assert listed(sim, types_filter=["consumer", "share"]) == []


@pytest.mark.parametrize("version", range(4))
def test_groups_are_deleted_each_by_itself_in_every_version(sim, version):
    def delete(group_id):
        request = DeleteGroupsRequest(groups_names=[group_id, group_id])
        (result,) = sim.ask(request, version=version, broker=coordinator(sim, group_id)).results
        assert (result.group_id, result.error_message) == (group_id, None)  # as Kafka 4.4.0 leaves it for these errors
        return result.error_code

    assert delete(SIMPLE) == ErrorCode.NONE
    assert delete(SIMPLE) == ErrorCode.GROUP_ID_NOT_FOUND
    assert delete(READERS) == ErrorCode.NON_EMPTY_GROUP
    assert delete("") == ErrorCode.GROUP_ID_NOT_FOUND
