"""Random JSON as faults: what the parser reads is written as it was read, and the JSON Schema allows just that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, example, find, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mockbroker.adapters.fault_files import FaultFileError, faults_from_file
from mockbroker.core.faults.effects import EFFECTS
from mockbroker.core.faults.fault import Fault, Match
from mockbroker.core.faults.reading import FaultError

SHIPPED = json.loads((Path(__file__).parents[3] / "docs" / "faults.schema.json").read_text())
FILE = Draft202012Validator(SHIPPED)
ONE = Draft202012Validator({"$ref": "#/$defs/Fault", "$defs": SHIPPED["$defs"]})

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(["orders", "or*", "*", "", "a", "a" * 32767, "a" * 32768, "Fetch", "Produce", "fetch", "F*"])
numbers = st.sampled_from([0, 1, 2, 3.0, 1.5, -1, 2**31 - 1, 2**31, 2**40, 2**40 + 1, True, False, 1e300, 0.5])
addresses = st.sampled_from(
    [
        "127.0.0.1",
        "127.0.0.1\n",
        "127.0.0.01",
        "10.0.0.0/8",
        "10.1.2.3/8",
        "10.0.0.0/33",
        "10.0.0.0/08",
        "10.0.0",
        "256.0.0.1",
        "::",
        "::1",
        "::/0",
        "fe80::1/64",
        "1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7:8:9",
        "1::2::3",
        "12345::",
        "::1/129",
        "fe80::1%eth0",
    ]
) | st.ip_addresses().map(str)
rates = st.sampled_from(
    [
        "1MiB/s",
        "1.5 MB/s",
        "0.001kB/s",
        "0.1B/s",
        "0KB/s",
        "10 mb/s",
        "1MiB",
        "1MiB/s\n",
        "1e3KB/s",
        "100Mbit/s",
        ".5MB/s",
    ]
)
values = names | numbers | addresses | rates | junk | st.sampled_from(["NOT_LEADER_OR_FOLLOWER", "NONE", "not_leader"])


def objects(fields: tuple[str, ...], value: st.SearchStrategy[Any] = values) -> st.SearchStrategy[Any]:
    """Objects with some of these fields, now and then with another."""
    return st.dictionaries(st.sampled_from((*fields, "x")) | st.sampled_from(fields), value, max_size=3)


listed = values | st.lists(values, max_size=2)
racks = st.sampled_from(["a", "b", "*", "eu-*"])
links = (
    st.builds(lambda one, other: {"between": [one, other]}, racks, racks)
    | st.builds(lambda one, other: {"from": one, "to": other}, racks, racks)
    | st.builds(lambda one, other: {"between": [one, other]}, values, values)
    | st.builds(lambda one, other: {"from": one, "to": other}, values, values)
    | objects(("between", "from", "to"), listed)
    | junk
)
matches = (
    st.fixed_dictionaries(
        {},
        optional={
            "api": names | st.lists(names, max_size=2),
            "broker": numbers | st.lists(numbers, max_size=2),
            "topic": names | st.lists(names, max_size=2),
            "client_address": addresses | st.lists(addresses, max_size=2),
            "link": links,
        },
    )
    | objects(Match.__struct_fields__, listed)
    | junk
)
effects = (
    st.sampled_from([{name: True} for name in ("cut", "silence", "disconnect")])
    | st.builds(lambda value: {"delay_ms": value}, numbers)
    | st.builds(lambda value, jitter: {"delay_ms": value, "jitter_ms": jitter}, numbers, numbers)
    | st.builds(lambda value: {"throttle_ms": value}, numbers)
    | st.builds(lambda value: {"bandwidth": value}, rates | numbers)
    | st.sampled_from([{"error": "NOT_LEADER_OR_FOLLOWER"}, {"error": "NONE"}, {"error": 6}])
    | objects((*EFFECTS, "jitter_ms"))
    | junk
)
whens = objects(("times", "on_call", "every", "probability"), numbers) | junk
faults = (
    st.builds(lambda link: {"effect": {"cut": True}, "link": link}, links)
    | st.builds(lambda link: {"effect": {"cut": True}, "match": {"link": link}}, links)
    | st.fixed_dictionaries(
        {"effect": effects},
        optional={
            "id": st.sampled_from(["slow", "a b", "", "x" * 100, "x" * 101, "a\n", 7]),
            "match": matches,
            "link": links,
            "when": whens,
        },
    )
    | objects(("id", "match", "link", "effect", "when"))
    | junk
)


def problem_with(value: object) -> FaultError | None:
    try:
        Fault.parse(value)
    except FaultError as error:
        assert "expected" in str(error)
        assert "got" in str(error)
        return error
    return None


def parses(value: object) -> bool:
    return problem_with(value) is None


def is_of_address(problem: FaultError) -> bool:
    """True for a text that is no address, which the schema does not know."""
    return problem.path.startswith("match.client_address") and "an address" in problem.reason


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(SHIPPED)


@given(faults)
@example({"effect": {"cut": True}, "when": {"times": 1}})
@example({"effect": {"cut": True}, "link": {"between": ["a", "b"]}, "match": {"api": "Fetch"}})
@example({"effect": {"cut": True}, "link": {"between": ["a", "b"]}, "match": {"link": {"between": ["a", "b"]}}})
@example({"effect": {"silence": True}, "when": {"every": 2, "on_call": 3}})
@example({"effect": {"silence": True}, "link": {"between": ["a", "b"], "from": "a", "to": "b"}})
@example({"effect": {"silence": True}, "match": {"api": "fetch"}})
@example({"effect": {"silence": True}, "match": {"api": ["Fetch", "*roup"]}})
def test_the_schema_allows_what_the_parser_reads_and_nothing_else(value):
    problem = problem_with(value)
    if problem is None or not is_of_address(problem):
        assert ONE.is_valid(value) is (problem is None)


@given(faults)
@example({"effect": {"cut": True}, "link": {"between": ["a", "b"]}, "match": {}})
@example({"effect": {"cut": True}, "link": {"between": ["a", "b"]}, "when": {}})
@example({"effect": {"cut": True}, "match": {"link": {"between": ["a", "b"]}}})
@example({"effect": {"delay_ms": 1.0}, "when": {"every": 2, "times": 3}})
def test_what_was_parsed_is_written_as_it_was_read(value):
    if not parses(value):
        return
    fault = Fault.parse(value, "auto")
    again = Fault.parse(fault.to_json())
    assert again == fault
    assert again.to_json() == fault.to_json()
    assert json.loads(json.dumps(fault.to_json())) == fault.to_json()
    assert ONE.is_valid(fault.to_json())


@given(st.lists(faults, max_size=2) | st.builds(lambda value: {"faults": value}, st.lists(faults, max_size=2)) | faults)
def test_a_file_is_read_if_the_schema_allows_it(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("faults") / "faults.json"
    path.write_text(json.dumps(value))
    try:
        faults_from_file(path)
    except FaultFileError as error:
        assert str(error).startswith(str(path))
    else:
        assert FILE.is_valid(value)


@pytest.mark.parametrize("effect", EFFECTS)
def test_every_effect_can_be_drawn_so_that_it_is_accepted(effect):
    found = find(
        faults,
        lambda value: parses(value) and effect in value["effect"],
        settings=settings(max_examples=2_000, phases=[Phase.generate]),  # any will do, however large
    )
    assert ONE.is_valid(found)
