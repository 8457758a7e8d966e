"""Ledgers add up: in any order and however they are grouped, flows and completeness come to the same."""

from __future__ import annotations

from copy import deepcopy
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.locality.completeness import Completeness
from kafka_rack.locality.ledger import Ledger
from kafka_rack.locality.tables import SUMS
from kafka_rack.locality.traffic import TrafficKey

RACKS = st.sampled_from([None, "a", "b"])
KEYS = st.builds(
    TrafficKey,
    window=st.sampled_from([0, 60]),
    capture=st.sampled_from(["one", "two"]),
    category=st.sampled_from(["produce", "consume", "replication", "other"]),
    api=st.just("Fetch"),
    client_id=st.sampled_from(["app", None]),
    topic=st.sampled_from(["orders", "events"]),
    client_rack=RACKS,
    broker_rack=RACKS,
)
AMOUNTS = st.tuples(*[st.integers(0, 1000)] * len(SUMS))
SPANS = st.tuples(st.integers(0, 100), st.integers(0, 100)).map(lambda pair: (min(pair), max(pair)))
REASONS = st.sampled_from(["4 bytes of requests on connection 7 are missing", "a line is no JSON"])


@st.composite
def ledgers(draw):
    known = Completeness(draw(st.lists(SPANS, max_size=3)), draw(st.integers(0, 9)), draw(st.integers(0, 3)))
    for reason in draw(st.lists(REASONS, max_size=3)):
        known.add_problem(reason)
    known.refused = draw(st.dictionaries(st.sampled_from(["x", "y"]), st.just("no capture")))
    ledger = Ledger(completeness=known)
    ledger.add(draw(st.dictionaries(KEYS, AMOUNTS, max_size=4)), {"orders": 3})
    return ledger


def added(parts):
    return reduce(Ledger.merge, deepcopy(parts), Ledger())


@given(st.lists(ledgers(), max_size=4), st.randoms())
def test_the_order_of_parts_does_not_matter(parts, random):
    turned = random.sample(parts, len(parts))
    whole, other = added(parts), added(turned)
    assert whole.flows == other.flows
    assert whole.completeness == other.completeness
    assert whole.completeness.line() == other.completeness.line()


@given(ledgers(), ledgers(), ledgers())
def test_parts_can_be_grouped_in_any_way(one, two, three):
    left = deepcopy(one).merge(deepcopy(two)).merge(deepcopy(three))
    right = deepcopy(one).merge(deepcopy(two).merge(deepcopy(three)))
    assert left.flows == right.flows
    assert left.completeness == right.completeness


@given(st.lists(ledgers(), max_size=4))
def test_no_byte_is_lost_or_counted_twice(parts):
    moved = [sum(amounts) for part in parts for amounts in part.flows.values()]
    assert sum(sum(amounts) for amounts in added(parts).flows.values()) == sum(moved)
