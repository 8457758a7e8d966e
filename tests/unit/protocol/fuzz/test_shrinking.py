"""Shrinking: what comes out still fails, and no single step makes it smaller."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import protocol
from protocol.fuzz.generation import Maker
from protocol.fuzz.shrinking import minimise, minimise_bytes, smaller

Request = protocol.named_class("MetadataRequest")
Response = protocol.named_class("MetadataResponse")


def test_a_fault_of_one_number_leaves_that_number_at_its_edge():
    maker, chance = Maker(Response, 9), Random(1)
    fails = lambda one: any(broker.port > 1000 for broker in one.brokers)  # noqa: E731
    found = [one for one in (maker.make(chance) for _ in range(60)) if fails(one)]
    assert found
    assert {repr(minimise(one, fails)) for one in found} == {repr(Response(brokers=[Response.Broker(port=1001)]))}


def test_a_fault_of_two_fields_together_keeps_both():
    message = Response(
        brokers=[Response.Broker(1, "host", 9092, "az-a"), Response.Broker(2, "other", 9093)], controller_id=7
    )
    small = minimise(message, lambda one: one.controller_id > 0 and any(broker.rack for broker in one.brokers))
    assert small == Response(brokers=[Response.Broker(rack="a")], controller_id=1)


def test_a_message_that_fails_whatever_it_holds_becomes_the_default():
    assert minimise(Maker(Response, 12).make(Random(8)), lambda _: True) == Response()


def test_shrinking_stops_after_so_many_tries():
    tried = []
    message = Maker(Response, 12).make(Random(8))
    minimise(message, lambda one: bool(tried.append(one)), most=5)
    assert len(tried) <= 5


@given(st.integers(0, 10_000), st.sampled_from([0, 4, 9, 12]))
def test_nothing_one_step_smaller_than_a_result_fails(seed, version):
    message = Maker(Response, version).make(Random(seed))
    fails = lambda one: sum(len(topic.partitions) for topic in one.topics) >= 2  # noqa: E731
    if not fails(message):
        return
    small = minimise(message, fails)
    assert fails(small)
    assert not any(fails(one) for one in smaller(small))
    assert sum(len(topic.partitions) for topic in small.topics) == 2


@pytest.mark.parametrize("data", [b"\x07abcX1", b"X", bytes(300) + b"X" + bytes(5)])
def test_bytes_lose_all_that_does_not_matter(data):
    assert minimise_bytes(data, lambda one: b"X" in one) == b"X"


def test_bytes_whose_length_matters_become_zeros():
    assert minimise_bytes(b"abcdef", lambda one: len(one) >= 4) == bytes(4)
