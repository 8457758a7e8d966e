"""Members with a group.instance.id, who may go and come back without a rebalance (KIP-345, KIP-814)."""

from __future__ import annotations

import pytest

from mockbroker.groups.classic.group import ClassicGroupState
from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode
from tests.group_driver import REBALANCE_MS, SESSION_MS, GroupDriver, commit_offsets

LEADER, FOLLOWER = "instance-1", "instance-2"


@pytest.fixture
def driver() -> GroupDriver:
    """A stable group of two static members, ``LEADER`` and ``FOLLOWER``."""
    driver = GroupDriver()
    leader, _ = driver.enter(instance_id=LEADER)
    driver.sync(leader, driver.assignments(), instance_id=LEADER)
    follower, _ = driver.enter(instance_id=FOLLOWER)
    driver.settle((leader, LEADER), (follower, FOLLOWER))
    assert driver.group.state is ClassicGroupState.STABLE
    return driver


def id_of(driver, instance_id):
    return driver.group.static_member(instance_id).id


def test_a_static_member_joins_with_its_first_request_and_has_its_instance_id_in_its_member_id():
    member_id, joined = GroupDriver().enter(instance_id=LEADER)
    assert joined.answer.error_code == ErrorCode.NONE
    assert member_id.startswith(f"{LEADER}-")


def test_a_static_member_that_comes_back_gets_a_new_id_and_its_old_assignment_without_a_rebalance(driver):
    old_id, generation = id_of(driver, FOLLOWER), driver.group.generation
    answer = driver.join(instance_id=FOLLOWER).answer
    assert (answer.error_code, answer.generation_id) == (ErrorCode.NONE, generation)
    assert answer.member_id == id_of(driver, FOLLOWER) != old_id
    synced = driver.sync(answer.member_id, instance_id=FOLLOWER).answer
    assert synced.assignment == f"{old_id} {generation}".encode()
    assert driver.group.state is ClassicGroupState.STABLE


def test_the_member_that_was_replaced_is_fenced(driver):
    old_id, generation = id_of(driver, FOLLOWER), driver.group.generation
    driver.join(instance_id=FOLLOWER)
    assert driver.heartbeat(old_id, instance_id=FOLLOWER) is ErrorCode.FENCED_INSTANCE_ID
    assert driver.leave((old_id, FOLLOWER)) == [ErrorCode.FENCED_INSTANCE_ID]
    for refused in (
        lambda: driver.join(old_id, instance_id=FOLLOWER),
        lambda: driver.sync(old_id, instance_id=FOLLOWER),
        lambda: commit_offsets(
            driver.groups, "readers", {}, driver.now_ms, generation=generation, member_id=old_id, instance_id=FOLLOWER
        ),
    ):
        with pytest.raises(ApiError) as refusal:
            refused()
        assert refusal.value.code == ErrorCode.FENCED_INSTANCE_ID


def test_the_waiting_calls_of_the_member_that_was_replaced_are_answered_with_fencing(driver):
    joined = driver.join(id_of(driver, LEADER), instance_id=LEADER)
    assert joined.answer is None
    driver.join(instance_id=LEADER)
    assert joined.answer.error_code == ErrorCode.FENCED_INSTANCE_ID


def test_a_leader_that_comes_back_leads_on_but_is_told_to_skip_the_assignment(driver):
    answer = driver.join(instance_id=LEADER).answer
    assert answer.leader == answer.member_id
    assert answer.skip_assignment
    assert {member.group_instance_id for member in answer.members} == {LEADER, FOLLOWER}


def test_a_leader_too_old_to_skip_the_assignment_is_told_that_its_old_id_leads(driver):
    old_id = id_of(driver, LEADER)
    answer = driver.join(instance_id=LEADER, skips_assignment=False).answer
    assert answer.leader == old_id != answer.member_id
    assert not answer.skip_assignment
    assert answer.members == []


def test_a_follower_that_comes_back_does_not_skip_anything(driver):
    answer = driver.join(instance_id=FOLLOWER).answer
    assert not answer.skip_assignment
    assert answer.leader == id_of(driver, LEADER)


def test_a_static_member_that_comes_back_with_other_metadata_but_the_same_protocol_causes_no_rebalance(driver):
    answer = driver.join(instance_id=FOLLOWER, protocols=(("range", b"more topics"),)).answer
    assert answer.error_code == ErrorCode.NONE
    assert driver.group.state is ClassicGroupState.STABLE


def test_a_static_member_that_comes_back_and_changes_the_vote_causes_a_rebalance():
    driver = GroupDriver()
    both = (("range", b""), ("sticky", b""))
    member_id, _ = driver.enter(instance_id=LEADER, protocols=both)
    driver.sync(member_id, driver.assignments(), instance_id=LEADER)
    joined = driver.join(instance_id=LEADER, protocols=tuple(reversed(both)))
    assert (joined.answer.generation_id, joined.answer.protocol_name) == (2, "sticky")
    assert driver.group.state is ClassicGroupState.COMPLETING


def test_a_static_member_that_comes_back_before_the_assignment_causes_a_rebalance(driver):
    for instance_id in (LEADER, FOLLOWER):
        joined = driver.join(id_of(driver, instance_id), instance_id=instance_id)
    assert driver.group.state is ClassicGroupState.COMPLETING
    waiting = driver.sync(id_of(driver, FOLLOWER), instance_id=FOLLOWER)
    returned = driver.join(instance_id=LEADER)
    assert waiting.answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert returned.answer is None
    driver.join(id_of(driver, FOLLOWER), instance_id=FOLLOWER)
    assert returned.answer.generation_id == joined.answer.generation_id + 1


def test_a_static_member_that_stays_away_keeps_its_place_until_its_session_ends(driver):
    driver.advance(SESSION_MS - 1)
    driver.heartbeat(id_of(driver, LEADER), instance_id=LEADER)
    assert driver.group.static_member(FOLLOWER) is not None
    driver.advance(1)
    assert driver.group.static_member(FOLLOWER) is None


def test_a_static_member_that_does_not_join_again_stays_in_the_next_generation(driver):
    driver.join(id_of(driver, LEADER), instance_id=LEADER)
    away = id_of(driver, FOLLOWER)
    for _ in range(REBALANCE_MS // 1000):
        driver.advance(1000)
        driver.heartbeat(away, instance_id=FOLLOWER)
    assert driver.group.state is ClassicGroupState.COMPLETING
    assert away in driver.group.members


def test_a_leader_that_does_not_join_again_in_time_hands_the_lead_to_one_who_did(driver):
    absent = id_of(driver, LEADER)
    joined = driver.join(id_of(driver, FOLLOWER), instance_id=FOLLOWER, protocols=(("range", b"more topics"),))
    for _ in range(REBALANCE_MS // 1000):
        assert joined.answer is None
        driver.heartbeat(absent, instance_id=LEADER)
        driver.advance(1000)
    assert joined.answer.leader == joined.answer.member_id
    assert {member.group_instance_id for member in joined.answer.members} == {LEADER, FOLLOWER}


def test_a_static_member_that_comes_back_before_it_has_synced_does_not_count_as_one_that_never_syncs(driver):
    for instance_id in (FOLLOWER, LEADER):
        driver.join(id_of(driver, instance_id), instance_id=instance_id)
    driver.join(id_of(driver, FOLLOWER), instance_id=FOLLOWER)
    driver.join(id_of(driver, LEADER), instance_id=LEADER)
    driver.sync(id_of(driver, LEADER), driver.assignments(), instance_id=LEADER)
    driver.join(instance_id=FOLLOWER)
    assert driver.group.state is ClassicGroupState.STABLE
    for _ in range(REBALANCE_MS // 1000 + 1):
        driver.advance(1000)
        driver.heartbeat(id_of(driver, LEADER), instance_id=LEADER)
        driver.heartbeat(id_of(driver, FOLLOWER), instance_id=FOLLOWER)
    assert driver.group.state is ClassicGroupState.STABLE


def test_a_rebalance_that_nobody_joins_lasts_until_the_static_members_sessions_end():
    driver = GroupDriver()
    member_id, _ = driver.enter(instance_id=LEADER, session_ms=30_000, rebalance_ms=0)
    driver.sync(member_id, driver.assignments(), instance_id=LEADER)
    driver.join(requires_member_id=False, rebalance_ms=0)
    other = next(member.id for member in driver.group.members.values() if member.instance_id is None)
    driver.leave(other)
    assert driver.group.state is ClassicGroupState.PREPARING
    driver.advance(29_999)
    assert (driver.group.state, list(driver.group.members)) == (ClassicGroupState.PREPARING, [member_id])
    driver.advance(1)
    assert driver.group.state is ClassicGroupState.EMPTY


def test_an_admin_may_remove_a_static_member_by_its_instance_id_alone(driver):
    assert driver.leave(("", FOLLOWER), ("", "instance-unheard-of"), ("", None)) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert [member.instance_id for member in driver.group.members.values()] == [LEADER]


def test_an_instance_id_that_the_group_does_not_know_is_an_unknown_member(driver):
    assert driver.heartbeat(id_of(driver, LEADER), instance_id="instance-9") is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_may_not_join_with_an_id_given_to_a_dynamic_one(driver):
    given = driver.join().answer.member_id
    with pytest.raises(ApiError) as refusal:
        driver.join(given, instance_id="instance-3")
    assert refusal.value.code == ErrorCode.UNKNOWN_SERVER_ERROR
