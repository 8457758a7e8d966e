"""The life of one group: joining, syncing, sessions, leaving."""

from __future__ import annotations

import pytest

from mockbroker.groups.classic.group import ClassicGroupState
from mockbroker.state.errors import ApiError
from protocol.apis.classic_group import JoinGroupResponse
from protocol.error_codes import ErrorCode
from tests.group_driver import REBALANCE_MS, SESSION_MS, GroupDriver


@pytest.fixture
def driver() -> GroupDriver:
    """A cluster's groups at time 0, none there yet."""
    return GroupDriver()


def error_of(parked):
    assert parked.answer is not None, "not answered yet"
    return ErrorCode(parked.answer.error_code)


def pairs(member):
    return list(member.protocols.items())


# joining


def test_a_dynamic_member_without_an_id_is_sent_away_with_one(driver):
    answer = driver.join().answer
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.member_id.startswith("client-")
    assert answer.generation_id == -1
    assert driver.group.state is ClassicGroupState.EMPTY


def test_a_client_too_old_to_be_sent_away_joins_with_its_first_request(driver):
    answer = driver.join(requires_member_id=False).answer
    assert answer.error_code == ErrorCode.NONE
    assert answer.generation_id == 1


def test_the_first_member_leads_generation_one_and_is_told_the_members(driver):
    member_id, parked = driver.enter()
    answer = parked.answer
    assert (answer.error_code, answer.generation_id, answer.leader) == (ErrorCode.NONE, 1, member_id)
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    assert answer.members == [JoinGroupResponse.Member(member_id=member_id, metadata=b"orders")]
    assert driver.group.state is ClassicGroupState.COMPLETING


def test_only_the_leader_is_told_the_members(driver):
    (leader,) = driver.stable_members(1)
    follower, joined = driver.enter()
    rejoined = driver.join(leader)
    assert joined.answer.members == []
    assert [member.member_id for member in rejoined.answer.members] == [leader, follower]
    assert joined.answer.leader == rejoined.answer.leader == leader


def test_a_join_waits_until_every_member_has_joined_again(driver):
    first, second = driver.stable_members(2)
    third, joined = driver.enter()
    driver.join(first)
    assert joined.answer is None
    driver.join(second)
    assert joined.answer.generation_id == driver.group.generation
    assert set(driver.group.members) == {first, second, third}


def test_a_join_waits_for_a_member_that_was_given_an_id_but_no_longer_than_its_session(driver):
    (leader,) = driver.stable_members(1)
    driver.join()
    joined = driver.join(leader)
    assert joined.answer is None
    driver.advance(SESSION_MS)
    assert error_of(joined) is ErrorCode.NONE
    assert list(driver.group.members) == [leader]


def test_members_that_do_not_join_again_in_the_rebalance_timeout_are_given_up(driver):
    first, second = driver.stable_members(2)
    third, joined = driver.enter()
    driver.advance(SESSION_MS - 1)
    driver.heartbeat(first)
    driver.heartbeat(second)
    while joined.answer is None:
        driver.heartbeat(first)
        driver.heartbeat(second)
        driver.advance(1000)
    assert driver.now_ms == pytest.approx(REBALANCE_MS, abs=1000)
    assert list(driver.group.members) == [third]
    assert driver.heartbeat(first) is ErrorCode.UNKNOWN_MEMBER_ID
    assert joined.answer.leader == third


def test_the_rebalance_timeout_is_the_longest_of_all_members(driver):
    _, parked = driver.enter(rebalance_ms=50_000)
    leader = parked.answer.member_id
    driver.sync(leader, driver.assignments())
    _, joined = driver.enter(rebalance_ms=5_000)
    for _ in range(49):
        driver.advance(1000)
        driver.heartbeat(leader)
    assert joined.answer is None
    driver.advance(1000)
    assert error_of(joined) is ErrorCode.NONE


def test_an_unknown_member_id_is_refused(driver):
    driver.stable_members(1)
    with pytest.raises(ApiError) as refusal:
        driver.join("client-unheard-of")
    assert refusal.value.code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_follower_that_joins_a_stable_group_unchanged_gets_the_generation_that_runs(driver):
    _, follower = driver.stable_members(2)
    generation = driver.group.generation
    answer = driver.join(follower).answer
    assert (answer.generation_id, answer.members) == (generation, [])
    assert driver.group.state is ClassicGroupState.STABLE


def test_a_follower_with_new_metadata_starts_a_rebalance(driver):
    leader, follower = driver.stable_members(2)
    joined = driver.join(follower, protocols=(("range", b"more topics"),))
    assert joined.answer is None
    assert driver.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
    members = driver.join(leader).answer.members
    assert {member.member_id: member.metadata for member in members} == {leader: b"orders", follower: b"more topics"}


def test_a_leader_that_joins_a_stable_group_starts_a_rebalance(driver):
    leader, follower = driver.stable_members(2)
    generation = driver.group.generation
    joined = driver.join(leader)
    assert joined.answer is None
    driver.join(follower)
    assert joined.answer.generation_id == generation + 1


def test_a_member_that_lost_its_answer_may_join_again_without_another_rebalance(driver):
    (leader,) = driver.stable_members(1)
    follower, _ = driver.enter()
    driver.join(leader)
    generation = driver.group.generation
    repeated = driver.join(leader).answer
    assert repeated.generation_id == generation
    assert [member.member_id for member in repeated.members] == [leader, follower]


def test_a_join_that_its_client_repeats_leaves_no_call_without_an_answer(driver):
    driver.stable_members(1)
    member_id, lost = driver.enter()
    repeated = driver.join(member_id)
    assert error_of(lost) is ErrorCode.REBALANCE_IN_PROGRESS
    assert repeated.answer is None


def test_every_answer_is_notified_to_whoever_waits_for_it(driver):
    (leader,) = driver.stable_members(1)
    _, joined = driver.enter()
    driver.notified.clear()
    rejoined = driver.join(leader)
    assert {joined, rejoined} <= set(driver.notified)


# protocols


def test_the_protocol_that_all_support_and_most_like_best_is_chosen(driver):
    likes = ["sticky", "range", "range"]
    for first_choice in likes:
        other = {"sticky": "range", "range": "sticky"}[first_choice]
        driver.enter(protocols=((first_choice, b""), (other, b""), ("odd", b"")))
    for member in list(driver.group.members.values()):
        joined = driver.join(member.id, protocols=pairs(member))
    assert joined.answer.protocol_name == "range"


def test_a_protocol_that_one_member_does_not_know_is_never_chosen(driver):
    driver.enter(protocols=(("sticky", b""), ("range", b"")))
    driver.enter(protocols=(("sticky", b""), ("range", b"")))
    driver.enter(protocols=(("range", b""),))
    for member in list(driver.group.members.values()):
        joined = driver.join(member.id, protocols=pairs(member))
    assert joined.answer.protocol_name == "range"


@pytest.mark.parametrize(
    "how", [{"protocols": (("sticky", b""),)}, {"protocol_type": "connect"}, {"protocols": ()}, {"protocol_type": ""}]
)
def test_a_member_that_shares_no_protocol_with_the_group_is_refused(driver, how):
    driver.stable_members(1)
    with pytest.raises(ApiError) as refusal:
        driver.join(**how)
    assert refusal.value.code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("how", [{"protocols": ()}, {"protocol_type": ""}])
def test_a_first_member_without_protocols_is_refused(driver, how):
    with pytest.raises(ApiError) as refusal:
        driver.join(**how)
    assert refusal.value.code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_an_empty_group_takes_members_of_another_protocol_type(driver):
    (leader,) = driver.stable_members(1)
    driver.leave(leader)
    _, joined = driver.enter(protocol_type="connect", protocols=(("sessioned", b""),))
    assert (joined.answer.protocol_type, joined.answer.protocol_name) == ("connect", "sessioned")


# the first rebalance


def test_the_first_rebalance_of_an_empty_group_waits_for_the_initial_delay():
    driver = GroupDriver({"group.initial.rebalance.delay.ms": 3000})
    _, joined = driver.enter()
    driver.advance(2999)
    assert joined.answer is None
    driver.advance(1)
    assert joined.answer.generation_id == 1


def test_a_member_that_comes_during_the_initial_delay_prolongs_it():
    driver = GroupDriver({"group.initial.rebalance.delay.ms": 3000})
    _, first = driver.enter()
    driver.advance(2000)
    _, second = driver.enter()
    driver.advance(3999)
    assert first.answer is second.answer is None
    driver.advance(1)
    assert first.answer.generation_id == second.answer.generation_id == 1


def test_the_initial_delay_is_never_longer_than_the_rebalance_timeout():
    driver = GroupDriver({"group.initial.rebalance.delay.ms": 3000})
    _, first = driver.enter(rebalance_ms=7000)
    for _ in range(7):
        driver.advance(999)
        driver.enter(rebalance_ms=7000)
        assert first.answer is None
    driver.advance(7)
    assert first.answer.generation_id == 1
    assert len(driver.group.members) == 8


def test_a_later_rebalance_has_no_initial_delay():
    driver = GroupDriver({"group.initial.rebalance.delay.ms": 3000})
    leader, _ = driver.enter()
    driver.advance(3000)
    driver.sync(leader, driver.assignments())
    driver.enter()
    assert driver.join(leader).answer.generation_id == 2


# syncing


def test_followers_wait_for_the_leader_and_each_gets_its_own_assignment(driver):
    (leader,) = driver.stable_members(1)
    follower, _ = driver.enter()
    driver.join(leader)
    waiting = driver.sync(follower)
    assert waiting.answer is None
    leaders = driver.sync(leader, {leader: b"A", follower: b"B"})
    assert (leaders.answer.assignment, waiting.answer.assignment) == (b"A", b"B")
    assert (waiting.answer.protocol_type, waiting.answer.protocol_name) == ("consumer", "range")
    assert driver.group.state is ClassicGroupState.STABLE


def test_a_member_that_the_leader_forgot_gets_an_empty_assignment(driver):
    (leader,) = driver.stable_members(1)
    follower, _ = driver.enter()
    driver.join(leader)
    driver.sync(leader, {leader: b"A"})
    assert driver.sync(follower).answer.assignment == b""


def test_an_assignment_that_a_follower_sends_is_ignored(driver):
    (leader,) = driver.stable_members(1)
    follower, _ = driver.enter()
    driver.join(leader)
    driver.sync(follower, {leader: b"X", follower: b"X"})
    assert driver.group.state is ClassicGroupState.COMPLETING
    assert driver.sync(leader, {leader: b"A", follower: b"B"}).answer.assignment == b"A"


def test_a_stable_group_answers_a_sync_at_once(driver):
    _, follower = driver.stable_members(2)
    generation = driver.group.generation
    assert driver.sync(follower).answer.assignment == f"{follower} {generation}".encode()


def test_a_sync_during_a_rebalance_is_told_to_join_again(driver):
    leader, follower = driver.stable_members(2)
    driver.join(leader)
    with pytest.raises(ApiError) as refusal:
        driver.sync(follower)
    assert refusal.value.code == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_waiting_sync_is_told_to_join_again_when_a_rebalance_starts(driver):
    (leader,) = driver.stable_members(1)
    follower, _ = driver.enter()
    driver.join(leader)
    waiting = driver.sync(follower)
    driver.enter()
    assert error_of(waiting) is ErrorCode.REBALANCE_IN_PROGRESS
    assert waiting.answer.assignment == b""


def test_a_sync_of_another_generation_is_refused(driver):
    (leader,) = driver.stable_members(1)
    for generation in (0, 2, -1):
        with pytest.raises(ApiError) as refusal:
            driver.sync(leader, generation=generation)
        assert refusal.value.code == ErrorCode.ILLEGAL_GENERATION


@pytest.mark.parametrize("how", [{"protocol_type": "connect"}, {"protocol_name": "sticky"}])
def test_a_sync_that_takes_the_protocol_for_another_is_refused(driver, how):
    (leader,) = driver.stable_members(1)
    with pytest.raises(ApiError) as refusal:
        driver.sync(leader, **how)
    assert refusal.value.code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_members_that_never_sync_are_removed_after_the_rebalance_timeout(driver):
    (leader,) = driver.stable_members(1)
    follower, _ = driver.enter()
    driver.join(leader)
    waiting = driver.sync(follower)
    for _ in range(REBALANCE_MS // 1000):
        assert waiting.answer is None
        driver.advance(1000)
        if waiting.answer is None:
            driver.heartbeat(leader)
    assert error_of(waiting) is ErrorCode.REBALANCE_IN_PROGRESS
    assert list(driver.group.members) == [follower]
    assert driver.join(follower).answer.leader == follower


def test_a_follower_that_never_syncs_is_removed_from_a_stable_group_too(driver):
    (leader,) = driver.stable_members(1)
    follower, _ = driver.enter()
    driver.join(leader)
    driver.sync(leader, driver.assignments())
    assert driver.group.state is ClassicGroupState.STABLE
    for _ in range(REBALANCE_MS // 1000):
        driver.heartbeat(leader)
        driver.heartbeat(follower)
        driver.advance(1000)
    assert list(driver.group.members) == [leader]
    assert driver.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_group_whose_members_all_synced_is_left_alone_by_the_sync_timeout(driver):
    leader, follower = driver.stable_members(2)
    generation = driver.group.generation
    for _ in range(REBALANCE_MS // 1000 + 1):
        driver.advance(1000)
        assert driver.heartbeat(leader) is driver.heartbeat(follower) is ErrorCode.NONE
    assert driver.group.generation == generation


# sessions


def test_a_member_that_sends_no_heartbeat_for_its_session_is_removed_and_the_rest_rebalance(driver):
    leader, follower = driver.stable_members(2)
    driver.advance(SESSION_MS - 1)
    assert driver.heartbeat(leader) is ErrorCode.NONE
    driver.advance(1)
    assert list(driver.group.members) == [leader]
    assert driver.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.heartbeat(follower) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("ask", ["sync", "join"])
def test_a_member_that_is_told_the_running_generation_again_has_given_no_sign_of_life(driver, ask):
    leader, follower = driver.stable_members(2)
    driver.advance(SESSION_MS - 1)
    driver.heartbeat(leader)
    assert error_of(getattr(driver, ask)(follower)) is ErrorCode.NONE
    driver.advance(1)
    assert list(driver.group.members) == [leader]


def test_a_heartbeat_during_a_rebalance_keeps_the_session_although_it_is_told_to_join(driver):
    leader, follower = driver.stable_members(2)
    joined = driver.join(leader)
    for _ in range(5):
        driver.advance(SESSION_MS - 1)
        assert driver.heartbeat(follower) is ErrorCode.REBALANCE_IN_PROGRESS
    assert joined.answer is None
    assert set(driver.group.members) == {leader, follower}


def test_a_heartbeat_between_join_and_sync_is_taken(driver):
    leader, _ = driver.enter()
    assert driver.heartbeat(leader) is ErrorCode.NONE


def test_a_member_whose_join_waits_needs_no_heartbeats(driver):
    leader, follower = driver.stable_members(2)
    joined = driver.join(leader)
    for _ in range(5):
        driver.advance(SESSION_MS - 1)
        driver.heartbeat(follower)
    driver.join(follower)
    assert error_of(joined) is ErrorCode.NONE


def test_a_session_ends_after_a_waiting_join_was_answered_too(driver):
    leader, follower = driver.stable_members(2)
    driver.join(leader)
    driver.advance(SESSION_MS - 1)
    driver.heartbeat(follower)
    driver.advance(SESSION_MS - 1)
    driver.join(follower)
    driver.sync(leader, driver.assignments())
    driver.sync(follower)
    driver.advance(SESSION_MS)
    assert driver.group.state is ClassicGroupState.EMPTY


def test_a_group_whose_last_member_fails_is_empty_in_the_next_generation(driver):
    driver.stable_members(1)
    driver.advance(SESSION_MS)
    assert (driver.group.state, driver.group.generation) == (ClassicGroupState.EMPTY, 2)
    assert driver.group.protocol_type == "consumer"
    assert driver.group.protocol_name is None


def test_a_new_members_join_is_dropped_after_five_minutes_without_an_answer(driver):
    leader, _ = driver.enter(rebalance_ms=600_000)
    driver.sync(leader, driver.assignments())
    _, joined = driver.enter(rebalance_ms=600_000)
    for _ in range(300):
        assert joined.answer is None
        driver.advance(1000)
        driver.heartbeat(leader)
    assert error_of(joined) is ErrorCode.UNKNOWN_MEMBER_ID
    assert list(driver.group.members) == [leader]


def test_a_heartbeat_of_another_generation_is_refused(driver):
    (leader,) = driver.stable_members(1)
    assert driver.heartbeat(leader, generation=0) is ErrorCode.ILLEGAL_GENERATION
    assert driver.heartbeat("client-unheard-of") is ErrorCode.UNKNOWN_MEMBER_ID


# leaving


def test_a_leaving_member_is_gone_at_once_and_the_rest_rebalance(driver):
    leader, follower = driver.stable_members(2)
    assert driver.leave(leader) == [ErrorCode.NONE]
    assert driver.heartbeat(follower) is ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.join(follower).answer.leader == follower


def test_the_last_member_to_leave_leaves_an_empty_group_in_the_next_generation(driver):
    (leader,) = driver.stable_members(1)
    driver.leave(leader)
    assert (driver.group.state, driver.group.generation) == (ClassicGroupState.EMPTY, 2)
    assert driver.next_ms() is None


def test_members_that_leave_together_cause_one_rebalance_and_are_answered_each(driver):
    first, second, third = driver.stable_members(3)
    generation = driver.group.generation
    assert driver.leave(first, "client-unheard-of", second) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NONE,
    ]
    assert driver.join(third).answer.generation_id == generation + 1


def test_a_rebalance_ends_when_the_one_it_waited_for_leaves(driver):
    leader, follower = driver.stable_members(2)
    joined = driver.join(leader)
    driver.leave(follower)
    assert error_of(joined) is ErrorCode.NONE


def test_a_member_may_leave_before_it_has_joined_with_the_id_it_was_given(driver):
    member_id = driver.join().answer.member_id
    assert driver.leave(member_id) == [ErrorCode.NONE]
    assert driver.next_ms() is None


def test_a_member_removed_while_its_calls_wait_gets_an_answer_to_each(driver):
    leader, follower = driver.stable_members(2)
    joined = driver.join(leader)
    driver.leave(leader)
    assert error_of(joined) is ErrorCode.UNKNOWN_MEMBER_ID
    driver.settle((follower, None))
    newcomer, _ = driver.enter()
    driver.join(follower)
    waiting = driver.sync(newcomer)
    driver.leave(newcomer)
    assert error_of(waiting) is ErrorCode.UNKNOWN_MEMBER_ID


# the largest size


def test_a_full_group_takes_no_new_member():
    driver = GroupDriver({"group.max.size": 2})
    driver.stable_members(2)
    answer = driver.join().answer
    assert (answer.error_code, answer.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert driver.group.state is ClassicGroupState.STABLE


def test_of_more_members_than_fit_the_last_to_join_is_turned_away():
    driver = GroupDriver({"group.max.size": 1})
    given = [driver.join().answer.member_id for _ in range(2)]
    assert error_of(driver.join(given[0])) is ErrorCode.NONE
    assert error_of(driver.join(given[1])) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert list(driver.group.members) == [given[0]]


def test_the_id_of_a_member_that_did_not_fit_is_unknown_from_then_on():
    """ClassicGroupJoinExecutor removes it from the pending members, Apache Kafka 4.4."""
    driver = GroupDriver({"group.max.size": 1})
    first, second = [driver.join().answer.member_id for _ in range(2)]
    joined = driver.join(first)
    assert error_of(driver.join(second)) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert joined.answer is not None, "the rebalance waits for it no longer"
    driver.leave(first)
    with pytest.raises(ApiError) as refused:
        driver.join(second)
    assert refused.value.code == ErrorCode.UNKNOWN_MEMBER_ID
