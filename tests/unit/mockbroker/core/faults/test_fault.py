"""A fault that cannot be is refused with its place, what was met and what would be right."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from mockbroker.core.faults.fault import Fault
from mockbroker.core.faults.reading import FaultError

LINK = {"between": ["a", "b"]}
SLOW = {"delay_ms": 1}
AN_ERROR = "effect.error: expected a name out of Kafka's table of errors, got "
NAMES = "error, delay_ms, jitter_ms, disconnect, silence, throttle_ms, bandwidth, cut"
ONE_EFFECT = "effect: expected exactly one of error, delay_ms, disconnect, silence, throttle_ms, bandwidth, cut, got "


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (
            {"effect": {"error": "NOT_COORDINATOR", "silence": True}},
            f"{ONE_EFFECT}2: error, silence",
        ),
        (
            {},
            f"{ONE_EFFECT}no effect",
        ),
        (
            {"effect": {"jitter_ms": 5}},
            f"{ONE_EFFECT}jitter_ms",
        ),
        (
            {"effect": {"throttle_ms": 5, "jitter_ms": 5}},
            "effect: expected any of throttle_ms, got 'jitter_ms'",
        ),
        (
            {"effect": {"dely_ms": 5}},
            f"effect: expected any of {NAMES}, got 'dely_ms'; did you mean delay_ms?",
        ),
        ({"efect": SLOW}, "expected any of id, match, link, effect, when, got 'efect'; did you mean effect?"),
        ([SLOW], "expected an object with any of id, match, link, effect, when, got [{'delay_ms': 1}]"),
        (
            {"effect": {"error": "NOT_LEADER"}},
            f"{AN_ERROR}'NOT_LEADER'",
        ),
        (
            {"effect": {"error": "not_leader_or_follower"}},
            f"{AN_ERROR}'not_leader_or_follower'; did you mean NOT_LEADER_OR_FOLLOWER?",
        ),
        ({"effect": {"delay_ms": -1}}, "effect.delay_ms: expected a whole number from 0 to 2147483647, got -1"),
        ({"effect": {"delay_ms": "1s"}}, "effect.delay_ms: expected a whole number from 0 to 2147483647, got '1s'"),
        ({"effect": {"delay_ms": True}}, "effect.delay_ms: expected a whole number from 0 to 2147483647, got True"),
        (
            {"effect": {"bandwidth": "1 MiB"}},
            'effect.bandwidth: expected bytes a second, as "1MiB/s", "500KB/s" or 1048576, got \'1 MiB\'',
        ),
        (
            {"effect": {"silence": False}},
            "effect.silence: expected true; without the fault there is none of it, got False",
        ),
        (
            {"match": {"api": "Fecth"}, "effect": SLOW},
            "match.api: expected an API of Kafka, as Fetch or Produce, got 'Fecth'; did you mean Fetch?",
        ),
        (
            {"match": {"topic": ["a", 7]}, "effect": SLOW},
            "match.topic[1]: expected text of 1 to 32767 characters, got 7",
        ),
        (
            {"match": {"broker": "1"}, "effect": SLOW},
            "match.broker: expected a whole number from 0 to 2147483647, got '1'",
        ),
        (
            {"match": {"group": []}, "effect": SLOW},
            "match.group: expected a value or a list of one or more, got []",
        ),
        (
            {"match": {"client_address": "10.0.0/8"}, "effect": SLOW},
            "match.client_address: expected an address or a CIDR block, as 10.0.0.0/8, got '10.0.0/8'",
        ),
        (
            {"link": {"between": ["a"]}, "effect": SLOW},
            "link.between: expected two racks, got ['a']",
        ),
        (
            {"link": {"from": "a"}, "effect": SLOW},
            'link: expected {"between": ["a", "b"]} or {"from": "a", "to": "b"}, got from',
        ),
        (
            {"link": LINK, "match": {"link": LINK}, "effect": SLOW},
            "match.link: expected one link, beside match or in it, got one in both places",
        ),
        (
            {"effect": {"cut": True}},
            'effect.cut: expected a link to cut, as {"between": ["a", "b"]}, got none; disconnect ends calls',
        ),
        (
            {"link": LINK, "match": {"api": "Fetch"}, "effect": {"cut": True}},
            "effect.cut: expected a link and no match beside it, got match with api",
        ),
        (
            {"link": LINK, "effect": {"cut": True}, "when": {"times": 2}},
            "when: expected none, since a cut lasts until it is removed, got times 2",
        ),
        (
            {"effect": SLOW, "when": {"every": 2, "on_call": 3}},
            "when: expected at most one of on_call, every, probability, got 2: on_call, every",
        ),
        ({"effect": SLOW, "when": {"times": 0}}, "when.times: expected a whole number from 1 to 2147483647, got 0"),
        ({"effect": SLOW, "when": {"probability": 1.5}}, "when.probability: expected a number from 0 to 1, got 1.5"),
        ({"effect": SLOW, "id": "a b"}, "id: expected 1 to 100 letters, digits and any of . _ : @ -, got 'a b'"),
    ],
)
def test_the_error_says_where_what_and_what_would_be_right(fault: Any, text: str):
    with pytest.raises(FaultError) as caught:
        Fault.parse(fault)
    assert str(caught.value) == text
    assert str(pickle.loads(pickle.dumps(caught.value))) == text


def test_a_long_value_is_shortened_in_the_error():
    with pytest.raises(FaultError) as caught:
        Fault.parse({"effect": {"error": "x" * 10**6}})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "bytes_per_second"),
    [
        (1000, 1000),
        ("1B/s", 1),
        ("1KB/s", 1000),
        ("1kB/s", 1000),
        ("1KiB/s", 1024),
        ("1MiB/s", 1 << 20),
        ("1.5 MB/s", 1_500_000),
        ("2GiB/s", 2 << 30),
        ("8Mbit/s", 1_000_000),
    ],
)
def test_bandwidth_has_the_usual_units(text, bytes_per_second):
    assert Fault.parse({"effect": {"bandwidth": text}}).effect.bytes_per_second == bytes_per_second


def test_a_fault_does_not_change_with_what_it_was_read_from():
    given = {"match": {"topic": ["a"]}, "effect": SLOW}
    fault = Fault.parse(given)
    given["match"]["topic"].append("b")
    assert fault.to_json()["match"] == {"topic": ["a"]}
    with pytest.raises(AttributeError):
        fault.match.topic = "b"  # type: ignore[misc]


def test_a_fault_is_given_whole_or_by_its_parts(sim):
    handle = sim.faults.add(effect=SLOW, link=LINK)
    assert handle.fault.to_json() == {"id": "fault-1", "link": LINK, "effect": SLOW}
    with pytest.raises(FaultError, match="expected a fault or its parts, got both: when"):
        sim.faults.add({"effect": SLOW}, when={"times": 1})
    with pytest.raises(FaultError, match="id: expected an id that no other fault has, got 'fault-1'"):
        sim.faults.add({"id": "fault-1", "effect": SLOW})
    assert sim.faults.add(Fault.parse({"effect": SLOW}, "ready")).id == "ready"


def test_faults_are_bounded_in_number(sim):
    for _ in range(1000):
        sim.faults.add(effect=SLOW)
    with pytest.raises(FaultError, match="expected at most 1000 faults at a time"):
        sim.faults.add(effect=SLOW)


def test_of_several_faults_all_are_set_or_none(sim):
    sim.faults.add(id="b", effect=SLOW)
    for bad, text in (
        ({"effect": {}}, f"[2].{ONE_EFFECT}none"),
        (7, "[2]: expected an object with any of id, match, link, effect, when, got 7"),
        ({"id": "b", "effect": SLOW}, "[2].id: expected an id that no other fault has, got 'b'"),
        ({"id": "a", "effect": SLOW}, "[2].id: expected an id that no other fault has, got 'a'"),
    ):
        with pytest.raises(FaultError) as caught:
            sim.faults.add_all([{"id": "a", "effect": SLOW}, {"effect": SLOW}, bad])
        assert str(caught.value) == text
        assert [handle.id for handle in sim.faults] == ["b"]
    sim.faults.add_all([{"id": "fault-1", "effect": SLOW}, {"effect": SLOW}, {"effect": SLOW}])
    assert [handle.id for handle in sim.faults] == ["b", "fault-1", "fault-2", "fault-3"]
