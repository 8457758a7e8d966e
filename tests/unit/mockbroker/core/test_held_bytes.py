"""What connections hold together has a limit, over which those go first that stand still for longest."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from mockbroker.core.held_bytes import GRACE_MS, UNBOUNDED, HeldBytes


@dataclass(eq=False)
class Slow:
    """A client that holds bytes."""

    bytes: int
    reasons: list[str] = field(default_factory=list)

    def give_up(self, reason: str) -> None:
        self.reasons.append(reason)


@pytest.fixture
def held():
    return HeldBytes(1000, lambda client: client.bytes, "too much is held")


def hold(held, sizes, now_ms=0):
    clients = [Slow(size) for size in sizes]
    for client in clients:
        held.hold(client, client.bytes, now_ms)
    return clients


def test_nobody_goes_while_the_limit_holds(held):
    clients = hold(held, [400, 600])
    held.shed(10 * GRACE_MS)
    assert (held.total, [client.reasons for client in clients]) == (1000, [[], []])


def test_over_the_limit_those_go_who_stand_still_for_longest_and_no_more_than_it_takes(held):
    old, young = hold(held, [600, 300]), hold(held, [400], GRACE_MS)
    held.shed(3 * GRACE_MS)
    assert [client.reasons for client in (*old, *young)] == [
        ["too much is held: 600 bytes of its own, and the limit for all is 1000"],
        [],
        [],
    ]
    assert held.total == 700


def test_who_came_just_now_has_some_time(held):
    (client,) = hold(held, [2000])
    held.shed(GRACE_MS - 1)
    assert not client.reasons
    held.shed(GRACE_MS)
    assert client.reasons


def test_who_has_made_progress_since_stays(held):
    slow, stuck = hold(held, [900, 900])
    slow.bytes = 800
    held.shed(2 * GRACE_MS)
    assert (bool(slow.reasons), bool(stuck.reasons), held.total) == (False, True, 800)


def test_what_is_no_longer_held_leaves_its_room(held):
    client, other = hold(held, [900, 50])
    assert held.room == 50 // 8
    held.hold(client, 0, 1)
    assert (held.total, held.room) == (50, UNBOUNDED)
    held.hold(other, 0, 1)
    held.hold(other, 0, 1)
    assert held.total == 0


def test_a_limit_of_no_bytes_is_none():
    held = HeldBytes(-1, lambda client: client.bytes, "too much is held")
    (client,) = hold(held, [1 << 50])
    held.shed(10 * GRACE_MS)
    assert (client.reasons, held.is_over) == ([], False)
