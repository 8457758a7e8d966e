"""The quick maker: every field gets each kind of value that it can have, and the version can hold all of it."""

from __future__ import annotations

from random import Random

import pytest

import protocol
from protocol.fuzz.generation import DEFAULT, EMPTY, EXTREME, MARKS, NULL, OTHER, Maker, wild

EXAMPLES = 1_500
# What each field can have, read off Kafka's schemas: E an empty value, N null, X an end of its range or a long value.
KINDS = {
    ("MetadataRequest", 12): {
        "topics": "ENX",
        "topics[].topic_id": "X",
        "topics[].name": "ENX",
        "allow_auto_topic_creation": "",
        "include_topic_authorized_operations": "",
    },
    ("OffsetFetchRequest", 7): {
        "group_id": "EX",
        "topics": "EN",
        "topics[].name": "EX",
        "topics[].partition_indexes": "EX",
        "topics[].partition_indexes[]": "X",
        "require_stable": "",
    },
    ("JoinGroupRequest", 5): {
        "group_id": "EX",
        "session_timeout_ms": "X",
        "rebalance_timeout_ms": "X",
        "member_id": "EX",
        "group_instance_id": "ENX",
        "protocol_type": "EX",
        "protocols": "EX",
        "protocols[].name": "EX",
        "protocols[].metadata": "EX",
    },
}
LETTERS = {"E": EMPTY, "N": NULL, "X": EXTREME}


@pytest.mark.parametrize(("name", "version"), KINDS)
def test_every_field_gets_each_kind_of_value_that_it_can_have_and_no_other(name, version):
    maker, chance = Maker(protocol.named_class(name), version), Random(1)
    met = dict.fromkeys(maker.fields, 0)
    for _ in range(EXAMPLES):
        message = maker.make(chance)
        data = protocol.encode(message, version)
        assert protocol.codec.decode_as(type(message), version, data) == message
        for field, mark in zip(maker.fields, maker.marks, strict=True):
            met[field] |= mark
    expected = KINDS[name, version]
    assert set(met) - {one for one in met if one.endswith("unknown_tagged_fields")} == set(expected)
    for field, kinds in expected.items():
        wanted = {LETTERS[letter] for letter in kinds} | {OTHER}
        found = {bit for bit in MARKS.values() if met[field] & bit}
        assert found - {DEFAULT} == wanted, field


def test_equal_seeds_give_equal_messages_and_others_do_not():
    maker = Maker(protocol.named_class("FetchRequest"), 12)
    first, again, other = ([maker.make(chance) for _ in range(20)] for chance in (Random(1), Random(1), Random(2)))
    assert first == again != other


def test_marks_are_those_of_the_message_made_last():
    maker, chance = Maker(protocol.named_class("MetadataRequest"), 1), Random(3)
    at = maker.fields.index("topics")
    for _ in range(200):
        message = maker.make(chance)
        assert bool(maker.marks[at] & NULL) == (message.topics is None)
        assert bool(maker.marks[at] & EMPTY) == (message.topics == [])


def test_wild_messages_hold_fields_that_no_single_version_has():
    kind, chance = protocol.named_class("FetchRequest"), Random(4)
    # replica_id went with version 15, replica_state came with it; topics have names up to 12, ids from 13 on.
    default = kind()
    assert any(
        one.replica_id != default.replica_id and one.replica_state != default.replica_state
        for one in (wild(kind, chance) for _ in range(500))
    )
