"""The groups of a cluster: which there are, what they committed, and what admins do to them."""

from __future__ import annotations

import pytest

from mockbroker.groups.classic.group import ClassicGroupState
from mockbroker.state.errors import ApiError
from protocol.embedded.consumer_protocol import ConsumerProtocolSubscription
from protocol.embedded.group_log import OffsetCommitValue
from protocol.embedded.versioned import write_versioned
from protocol.error_codes import ErrorCode
from tests.group_driver import GROUP, SESSION_MS, GroupDriver, commit_offsets
from tests.internal_topics import end_transaction

ORDERS_0, ORDERS_1 = ("orders", 0), ("orders", 1)


@pytest.fixture
def driver() -> GroupDriver:
    """A cluster's groups at time 0, none there yet."""
    return GroupDriver()


def refusal(command):
    with pytest.raises(ApiError) as error:
        command()
    return ErrorCode(error.value.code)


def commit(driver, generation=-1, member_id="", offsets=None, *, group_id=GROUP, instance_id=None):
    offsets = {ORDERS_0: OffsetCommitValue(7)} if offsets is None else offsets
    commit_offsets(
        driver.groups,
        group_id,
        offsets,
        driver.now_ms,
        generation=generation,
        member_id=member_id,
        instance_id=instance_id,
    )
    return driver.groups.offsets(group_id).partitions()


# which groups there are


def test_a_member_with_an_id_does_not_create_the_group(driver):
    assert refusal(lambda: driver.join("client-1")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.groups.select() == []


def test_members_of_a_group_that_does_not_exist_are_unknown(driver):
    groups = driver.groups
    assert refusal(lambda: groups.of_members(GROUP)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.leave(GROUP, [("m", None), ("n", None)], 0) == [ErrorCode.UNKNOWN_MEMBER_ID] * 2


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001, 0, -1])
def test_a_session_outside_the_brokers_limits_is_refused(driver, session_ms):
    assert refusal(lambda: driver.join(session_ms=session_ms)) is ErrorCode.INVALID_SESSION_TIMEOUT


@pytest.mark.parametrize("session_ms", [6_000, 1_800_000])
def test_a_session_at_the_brokers_limits_is_taken(driver, session_ms):
    assert driver.join(session_ms=session_ms).answer.error_code == ErrorCode.MEMBER_ID_REQUIRED


def test_groups_are_selected_by_id_state_and_type_whatever_the_case(driver):
    driver.stable_members(1)
    commit(driver, group_id="b-simple")
    commit(driver, group_id="a-simple")

    def ids(**filters):
        return [group.id for group in driver.groups.select(**filters)]

    assert ids() == ["a-simple", "b-simple", GROUP]
    assert ids(states=["stable", "Dead"]) == [GROUP]
    assert ids(states=["EMPTY"]) == ["a-simple", "b-simple"]
    assert ids(states=["nonsense"]) == []
    assert ids(types=["Classic"]) == ["a-simple", "b-simple", GROUP]
    assert ids(types=["consumer"]) == []


def test_only_a_group_without_members_can_be_deleted_and_its_offsets_go_with_it(driver):
    (leader,) = driver.stable_members(1)
    commit(driver, 1, leader)
    assert refusal(lambda: driver.groups.delete(GROUP)) is ErrorCode.NON_EMPTY_GROUP
    driver.leave(leader)
    driver.groups.delete(GROUP)
    assert refusal(lambda: driver.groups.get(GROUP)) is ErrorCode.GROUP_ID_NOT_FOUND
    assert refusal(lambda: driver.groups.delete(GROUP)) is ErrorCode.GROUP_ID_NOT_FOUND
    assert driver.groups.offsets(GROUP).partitions() == []


def test_a_deleted_group_leaves_no_deadline_behind(driver):
    driver.join()
    driver.groups.delete(GROUP)
    assert driver.next_ms() is None


def test_deadlines_of_several_groups_are_carried_out_each_at_its_time(driver):
    driver.stable_members(1)
    assert driver.next_ms() == SESSION_MS
    driver.cluster.timers.advance(SESSION_MS - 1)
    assert driver.group.state is ClassicGroupState.STABLE
    driver.cluster.timers.advance(SESSION_MS)
    assert driver.group.state is ClassicGroupState.EMPTY
    assert driver.next_ms() is None


# committing


def test_a_commit_of_nobodys_creates_a_group_without_protocol(driver):
    assert commit(driver) == [ORDERS_0]
    group = driver.group
    assert (group.state, group.protocol_type, group.generation) == (ClassicGroupState.EMPTY, None, 0)
    assert driver.groups.offsets(GROUP).get(ORDERS_0) == OffsetCommitValue(7)


def test_a_commit_for_a_generation_of_no_group_is_refused(driver):
    assert refusal(lambda: commit(driver, 1, "client-1")) is ErrorCode.GROUP_ID_NOT_FOUND
    assert driver.groups.select() == []


def test_a_member_commits_in_its_generation_only(driver):
    (leader,) = driver.stable_members(1)
    assert commit(driver, 1, leader) == [ORDERS_0]
    assert refusal(lambda: commit(driver, 0, leader)) is ErrorCode.ILLEGAL_GENERATION
    assert refusal(lambda: commit(driver, 1, "client-1")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert refusal(lambda: commit(driver, -1, leader)) is ErrorCode.ILLEGAL_GENERATION


def test_a_commit_of_nobodys_is_refused_while_the_group_has_members(driver):
    driver.stable_members(1)
    assert refusal(lambda: commit(driver)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_former_members_commit_to_an_empty_group_is_refused(driver):
    (leader,) = driver.stable_members(1)
    driver.leave(leader)
    assert refusal(lambda: commit(driver, 2, leader)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(driver) == [ORDERS_0]


def test_a_member_may_commit_before_it_joins_a_rebalance_again(driver):
    leader, follower = driver.stable_members(2)
    generation = driver.group.generation
    driver.join(leader)
    assert driver.group.state is ClassicGroupState.PREPARING
    assert commit(driver, generation, follower) == [ORDERS_0]


def test_a_commit_between_join_and_assignment_is_told_to_wait(driver):
    leader, _ = driver.enter()
    assert refusal(lambda: commit(driver, 1, leader)) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_commit_is_a_sign_of_life(driver):
    (leader,) = driver.stable_members(1)
    for _ in range(3):
        driver.advance(SESSION_MS - 1)
        commit(driver, 1, leader)
    assert driver.group.state is ClassicGroupState.STABLE


# transactions


def stage(driver, generation=-1, member_id="", offset=9):
    offsets = {ORDERS_0: OffsetCommitValue(offset)}
    commit_offsets(
        driver.groups, GROUP, offsets, driver.now_ms, generation=generation, member_id=member_id, producer=(5, 0)
    )


def test_a_transactions_offsets_count_once_it_commits(driver):
    stage(driver)
    assert driver.groups.offsets(GROUP).partitions() == []
    end_transaction(driver.cluster, 5, committed=True)
    assert driver.groups.offsets(GROUP).get(ORDERS_0) == OffsetCommitValue(9)


def test_an_aborted_transactions_offsets_never_count(driver):
    stage(driver)
    end_transaction(driver.cluster, 5, committed=False)
    assert driver.groups.offsets(GROUP).partitions() == []


def test_a_transaction_may_name_no_member_but_a_named_one_has_to_be_right(driver):
    (leader,) = driver.stable_members(1)
    stage(driver)
    stage(driver, 1, leader)
    assert refusal(lambda: stage(driver, 0, leader)) is ErrorCode.ILLEGAL_GENERATION
    assert refusal(lambda: stage(driver, 1, "client-1")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_transaction_for_a_generation_of_no_group_is_refused(driver):
    assert refusal(lambda: stage(driver, 1, "client-1")) is ErrorCode.GROUP_ID_NOT_FOUND
    assert driver.groups.select() == []


# deleting offsets


def delete(driver, *partitions):
    return driver.groups.delete_offsets(GROUP, partitions)


def test_offsets_of_a_group_without_members_can_be_deleted(driver):
    commit(driver, offsets={ORDERS_0: OffsetCommitValue(1), ORDERS_1: OffsetCommitValue(2)})
    assert delete(driver, ORDERS_0) == {ORDERS_0: ErrorCode.NONE}
    assert driver.groups.offsets(GROUP).partitions() == [ORDERS_1]


def test_offsets_of_a_topic_that_a_member_reads_are_kept(driver):
    subscription = write_versioned(ConsumerProtocolSubscription(topics=["orders"]), 0)
    leader, _ = driver.enter(protocols=(("range", subscription),))
    driver.sync(leader)
    commit(driver, 1, leader, {ORDERS_0: OffsetCommitValue(1), ("events", 0): OffsetCommitValue(2)})
    assert delete(driver, ORDERS_0, ("events", 0)) == {
        ORDERS_0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ("events", 0): ErrorCode.NONE,
    }
    assert driver.groups.offsets(GROUP).partitions() == [ORDERS_0]


def test_a_subscription_that_cannot_be_read_may_hold_any_topic(driver):
    driver.stable_members(1)
    assert delete(driver, ORDERS_0) == {ORDERS_0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}


def test_offsets_of_a_group_with_members_that_are_no_consumers_are_kept(driver):
    driver.enter(protocol_type="connect")
    assert refusal(lambda: delete(driver, ORDERS_0)) is ErrorCode.NON_EMPTY_GROUP


def test_offsets_of_no_group_cannot_be_deleted(driver):
    assert refusal(lambda: delete(driver, ORDERS_0)) is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_deleted_topic_is_forgotten_by_every_group(driver):
    commit(driver)
    commit(driver, group_id="others", offsets={("events", 0): OffsetCommitValue(1), ORDERS_1: OffsetCommitValue(2)})
    driver.groups.forget_topic("orders")
    assert driver.groups.offsets(GROUP).partitions() == []
    assert driver.groups.offsets("others").partitions() == [("events", 0)]
