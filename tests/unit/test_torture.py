"""The promises of torture: no attack waits for ever, and what costs too much is reported."""

from __future__ import annotations

import socket

import pytest

from tests.torture.target import Bound, BoundError, Figures, TooLongError, limited


def test_a_wait_that_hangs_ends_and_names_its_attack():
    client, silent = socket.socketpair()
    with client, silent, pytest.raises(TooLongError, match="a silent peer"), limited("a silent peer", 0.05):
        client.recv(1)


@pytest.mark.parametrize(
    ("figures", "above"),
    [
        (Figures("a", 0, 50, 61, 50, 1, 0), "11.0 MB at most, bound 10.0"),
        (Figures("a", 0, 50, 55, 56, 1, 0), "6.0 MB afterwards, bound 5.0"),
        (Figures("a", 1 << 20, 50, 55, 50, 1, 3.5), "3.5 s of processor time, bound 3.0"),
        (Figures("a", 0, 50, 55, 50, float("inf"), 0), "inf ms of a good client's wait"),
    ],
    ids=["memory at most", "memory afterwards", "processor time", "a good client that lost its connection"],
)
def test_an_attack_that_costs_more_than_its_bound_is_reported(figures, above):
    with pytest.raises(BoundError, match=above):
        Bound(peak_mb=10, after_mb=5, processor_s=2).check(figures)


def test_each_mb_sent_adds_to_the_bound():
    Bound(peak_mb=10, after_mb=5, mb_a_mb=2, processor_s=2).check(Figures("a", 10 << 20, 50, 79, 74, 1, 11.9))
    with pytest.raises(BoundError):
        Bound(peak_mb=10, after_mb=5, mb_a_mb=2, processor_s=2).check(Figures("a", 10 << 20, 50, 81, 74, 1, 11.9))
