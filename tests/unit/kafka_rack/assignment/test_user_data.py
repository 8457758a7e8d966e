"""What members put into their user data is read as Kafka reads it."""

from __future__ import annotations

import pytest

from kafka_rack.assignment.user_data import read_cooperative, read_sticky, write_cooperative, write_sticky

OWNED = [("orders", 0), ("orders", 7), ("Ω", 2)]


def test_sticky_data_comes_back_as_it_was_written():
    assert read_sticky(write_sticky(OWNED, 36)) == (OWNED, 36)


def test_sticky_data_has_kafkas_bytes():
    assert write_sticky([("a", 1)], 2).hex() == "00000001000161000000010000000100000002"


def test_the_older_form_has_no_generation():
    assert read_sticky(write_sticky(OWNED, 36)[:-4]) == (OWNED, None)


def test_a_generation_cut_short_counts_as_the_older_form():
    assert read_sticky(write_sticky(OWNED, 36)[:-1]) == (OWNED, None)


@pytest.mark.parametrize("data", [None, b""])
def test_no_data_means_nothing_owned_and_no_generation(data):
    assert read_sticky(data) == ([], None)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00",
        b"\xff\xff\xff\xff",
        b"\x7f\xff\xff\xff",
        b"\x00\x00\x00\x01\xff\xff\x00\x00\x00\x00",
        b"\x00\x00\x00\x01\x00\x01a\x7f\xff\xff\xff",
        b"\x00\x00\x00\x01\x00\x01a\x00\x00\x00\x02\x00\x00\x00\x00",
    ],
)
def test_unreadable_data_means_nothing_owned_and_generation_minus_one(data):
    assert read_sticky(data) == ([], -1)


def test_every_prefix_of_sticky_data_is_read_without_an_error():
    whole = write_sticky(OWNED, 36)
    for length in range(len(whole)):
        partitions, generation = read_sticky(whole[:length])
        assert partitions in ([], OWNED)
        assert generation in (None, -1)


def test_cooperative_data_is_a_generation():
    assert read_cooperative(write_cooperative(36)) == 36
    assert read_cooperative(None) is None
    assert read_cooperative(b"") == -1
    assert read_cooperative(b"\x00\x00") == -1
