"""What each answer to a Fetch calls for: sequences of answers and next fetches, right ones and wrong ones."""

from __future__ import annotations

import pytest

from mockbroker.testing.certify.facts import ClientFacts, WireFacts
from mockbroker.testing.certify.following import Following, PartitionSnapshot
from protocol.error_codes import ErrorCode

PLACE = ("orders", 0)
LEADER, FOLLOWER, OTHER = 0, 1, 2
NOBODY = -1


class Reading:
    """One client that reads one partition, led by broker 0 and followed by broker 1; each fetch is one step later."""

    def __init__(self) -> None:
        self.facts = WireFacts(racks=["a", "b", "c"])
        self.layout = PartitionSnapshot(LEADER, frozenset({LEADER, FOLLOWER}), (LEADER, FOLLOWER))
        self.following = Following(self.facts, lambda _: self.layout)
        self.client = self.facts.clients["b", "worker"] = ClientFacts("b", "worker")
        self.clock = 0

    def fetch(self, broker: int, offset: int = 10, *, preferred: int = NOBODY, error: int = 0) -> None:
        self.clock += 1
        reader = self.following.asked(self.client, PLACE, broker, offset, self.clock)
        self.clock += 1
        self.following.answered(PLACE, reader, error, preferred, self.clock)


@pytest.fixture
def reading() -> Reading:
    return Reading()


@pytest.fixture
def at_follower(reading: Reading) -> Reading:
    """Sent to the follower, and served there once."""
    reading.fetch(LEADER, preferred=FOLLOWER)
    reading.fetch(FOLLOWER)
    return reading


def counts(tally) -> tuple[int, int]:
    return (tally.right, tally.wrong)


def test_a_redirect_is_followed_by_a_fetch_at_the_replica_that_was_named(reading):
    reading.fetch(LEADER, preferred=FOLLOWER)
    reading.fetch(FOLLOWER)
    assert counts(reading.facts.tallies["preferred_replica"]) == (1, 0)
    assert reading.facts.at_followers() == {FOLLOWER: 1}


def test_who_asks_the_leader_again_and_again_refuses_one_redirect_and_each_call_is_counted(reading):
    for _ in range(5):
        reading.fetch(LEADER, preferred=FOLLOWER)
    assert counts(reading.facts.tallies["preferred_replica"]) == (0, 1)
    assert reading.facts.ignored_redirects == 4
    assert reading.facts.tallies["preferred_replica"].first_wrong == (
        "orders-0, client in rack b: sent to broker 1, next fetch at broker 0"
    )


def test_a_redirect_to_a_replica_that_has_fallen_out_of_sync_meanwhile_need_not_be_followed(reading):
    reading.fetch(LEADER, preferred=FOLLOWER)
    reading.layout = PartitionSnapshot(LEADER, frozenset({LEADER}), (LEADER, FOLLOWER))
    reading.fetch(LEADER)
    assert reading.facts.tallies["preferred_replica"].seen == 0


def test_a_followers_answer_is_no_reason_to_leave_it(at_follower):
    at_follower.fetch(FOLLOWER)
    assert counts(at_follower.facts.tallies["stays"]) == (1, 0)
    at_follower.fetch(LEADER, preferred=FOLLOWER)
    assert counts(at_follower.facts.tallies["stays"]) == (1, 1)


def test_a_leader_that_names_nobody_to_a_reader_from_elsewhere_keeps_it(at_follower):
    at_follower.fetch(FOLLOWER, error=ErrorCode.OFFSET_OUT_OF_RANGE)
    at_follower.client.readers[PLACE].follower = FOLLOWER
    at_follower.fetch(LEADER)
    at_follower.fetch(LEADER)
    assert counts(at_follower.facts.tallies["leader_on_minus_one"]) == (1, 0)


def test_out_of_range_at_a_follower_is_asked_of_the_leader_with_the_same_offset(at_follower):
    at_follower.fetch(FOLLOWER, 10, error=ErrorCode.OFFSET_OUT_OF_RANGE)
    at_follower.fetch(LEADER, 10)
    assert counts(at_follower.facts.tallies["out_of_range"]) == (1, 0)


@pytest.mark.parametrize(("broker", "offset"), [(FOLLOWER, 10), (LEADER, 0), (FOLLOWER, 0)])
def test_out_of_range_at_a_follower_is_neither_asked_there_again_nor_a_reason_to_begin_elsewhere(
    at_follower, broker, offset
):
    at_follower.fetch(FOLLOWER, 10, error=ErrorCode.OFFSET_OUT_OF_RANGE)
    at_follower.fetch(broker, offset)
    assert counts(at_follower.facts.tallies["out_of_range"]) == (0, 1)


def test_out_of_range_at_the_leader_calls_for_nothing(reading):
    reading.fetch(LEADER, error=ErrorCode.OFFSET_OUT_OF_RANGE)
    reading.fetch(LEADER, 0)
    assert reading.facts.tallies["out_of_range"].seen == 0


def test_a_follower_that_has_lost_the_partition_is_left(at_follower):
    at_follower.layout = PartitionSnapshot(LEADER, frozenset({LEADER, OTHER}), (LEADER, OTHER))
    at_follower.fetch(FOLLOWER, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    at_follower.fetch(FOLLOWER, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    at_follower.fetch(LEADER)
    assert counts(at_follower.facts.tallies["follower_gone"]) == (1, 1)


def test_a_follower_that_stops_is_left(at_follower):
    at_follower.following.brokers_gone([FOLLOWER], at_follower.clock)
    at_follower.fetch(LEADER)
    assert counts(at_follower.facts.tallies["follower_gone"]) == (1, 0)
    assert at_follower.facts.at_followers() == {}


def test_after_a_rebalance_a_reader_may_begin_anew_at_the_leader(reading):
    reading.fetch(LEADER, preferred=FOLLOWER)
    reading.clock += 1
    reading.client.last_rebalance = reading.clock
    reading.fetch(LEADER, preferred=FOLLOWER)
    assert reading.facts.tallies["preferred_replica"].seen == 0


def test_a_rebalance_is_no_excuse_to_go_back_to_a_follower_that_has_lost_the_partition(at_follower):
    at_follower.layout = PartitionSnapshot(LEADER, frozenset({LEADER, OTHER}), (LEADER, OTHER))
    at_follower.fetch(FOLLOWER, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    at_follower.clock += 1
    at_follower.client.last_rebalance = at_follower.clock
    at_follower.fetch(FOLLOWER)
    assert counts(at_follower.facts.tallies["follower_gone"]) == (0, 1)


def test_a_fetch_that_was_under_way_already_is_no_reaction(reading):
    reading.fetch(LEADER, preferred=FOLLOWER)
    reading.following.asked(reading.client, PLACE, LEADER, 10, reading.clock - 1)
    reading.fetch(FOLLOWER)
    assert counts(reading.facts.tallies["preferred_replica"]) == (1, 0)
