"""Faults that take time or chance, before a real broker: it hears of what they hold back only when they let it go."""

from __future__ import annotations

import pytest

from tests.unit.mockbroker.proxy.played_connection import PlayedConnection

REBALANCE_IN_PROGRESS = 27
REQUEST_BYTES, ANSWER_BYTES = 37, 14


@pytest.fixture
def proxied() -> PlayedConnection:
    return PlayedConnection()


def test_a_delayed_request_goes_on_later_and_so_do_those_behind_it(proxied):
    proxied.faults.add(match={"group": "slow"}, effect={"delay_ms": 200})
    proxied.ask("quick")
    proxied.ask("slow")
    proxied.ask("quick")
    assert proxied.sent_on() == [1]
    proxied.answer((1, 0))
    assert proxied.answers() == [(1, 0)], "what came before is answered meanwhile"
    proxied.advance(199)
    assert proxied.sent_on() == []
    proxied.advance(1)
    assert proxied.sent_on() == [2, 3]
    proxied.answer((2, 0), (3, 0))
    assert proxied.answers() == [(2, 0), (3, 0)]
    assert [entry.faults != () for entry in proxied.journal] == [False, True, False]


def test_answers_over_a_narrow_link_come_with_its_bandwidth_and_in_their_order(proxied):
    proxied.faults.add(match={"api": "Heartbeat"}, effect={"bandwidth": 100})
    for _ in range(3):
        proxied.ask()
    went: dict[int, int] = {}
    came: dict[int, int] = {}
    for _ in range(400):
        for number in proxied.sent_on():
            went[number] = proxied.now_ms
            proxied.answer((number, 0))
        for number, _ in proxied.answers():
            came[number] = proxied.now_ms
        proxied.advance(10)
    assert list(went) == list(came) == [1, 2, 3]
    assert all(went[number] < came[number] for number in went)
    whole_ms = came[3] - 1000
    least_ms = 3 * (REQUEST_BYTES + ANSWER_BYTES) * 1000 // 100
    assert least_ms - 1000 <= whole_ms <= least_ms + 1000, "a second's worth may go at once"
    assert proxied.connection.closed is None


def test_a_silent_request_never_goes_on_and_nothing_behind_it_does(proxied):
    handle = proxied.faults.add(match={"group": "lost"}, effect={"silence": True})
    proxied.ask("billing")
    proxied.ask("lost")
    proxied.ask("billing")
    assert proxied.sent_on() == [1]
    proxied.answer((1, 0))
    handle.remove()
    proxied.advance(3_600_000)
    assert (proxied.sent_on(), proxied.answers()) == ([], [(1, 0)])
    assert proxied.connection.closed is None
    assert handle.fired == 1


def outcomes_by_chance(seed: int) -> tuple[list[int], int]:
    """Which of many requests the real broker was not asked, and how often the fault has fired."""
    proxied = PlayedConnection(seed)
    effect, chance = {"error": "REBALANCE_IN_PROGRESS"}, {"probability": 0.3}
    handle = proxied.faults.add(match={"api": "Heartbeat"}, effect=effect, when=chance)
    refused = []
    for number in range(1, 201):
        proxied.ask()
        asked = proxied.sent_on()
        if asked:
            proxied.answer((number, 0))
        assert proxied.answers() == [(number, 0 if asked else REBALANCE_IN_PROGRESS)]
        if not asked:
            refused.append(number)
    return refused, handle.fired


def test_a_fault_by_chance_meets_some_requests_the_same_ones_for_a_seed_and_the_others_go_on():
    refused, fired = outcomes_by_chance(7)
    assert fired == len(refused)
    assert 30 < fired < 100
    assert outcomes_by_chance(7) == (refused, fired)
    assert outcomes_by_chance(8)[0] != refused
