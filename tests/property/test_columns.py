"""Columns of many frames at once, and what the decoder reads of each: the same, or the frame is left to the decoder."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import pytest

import protocol
from protocol.codec import codec
from protocol.compiler.column_reading import joined
from protocol.compiler.columns import compile_columns
from protocol.errors import ProtocolError
from protocol.fuzz.generation import maker
from protocol.fuzz.mutation import mutated
from protocol.layouts import layout
from protocol.wire import Absent, Blob, Boolean, CountedArray, Fixed, RecordStruct, TaggedFields, Text, UuidConstruct
from tests.families import EACH_FAMILY, FAMILIES, chosen
from tests.fixture_data import golden_vectors

PLAIN = 12
"""Frames of each version that are plain, and as many of any kind, each with a damaged one."""


def wantable(construct: RecordStruct, name: str = "") -> dict[str, Any]:
    """Every field that a column reader can give: its path -> its construct."""
    found: dict[str, Any] = {}
    for sub in construct.subcons:
        path, part = f"{name}.{sub.name}" if name else sub.name, sub.subcon
        if isinstance(part, CountedArray):
            part = part.subcon
            if isinstance(part, Text):
                found[path] = part
        elif isinstance(part, (Text, Blob, Fixed, UuidConstruct)):
            found[path] = part
        if isinstance(part, RecordStruct):
            found |= wantable(part, path)
    return found


def tamed(construct: Any, value: Any, chance: Random) -> Any:
    """The same message without what a column reader leaves to the decoder."""
    if value is None:
        return None
    if isinstance(construct, Text):
        return "".join(character if character.isascii() else "." for character in value)[:100]
    if isinstance(construct, CountedArray):
        return [tamed(construct.subcon, item, chance) for item in value]
    if not isinstance(construct, RecordStruct):
        return value
    made = type(value)()
    for sub in construct.subcons:
        if isinstance(sub.subcon, TaggedFields):
            for one in sub.subcon.known.values():
                if chance.random() < 0.3:
                    setattr(made, one.name, tamed(one.subcon, getattr(value, one.name), chance))
        elif not isinstance(sub.subcon, Absent):
            setattr(made, sub.name, tamed(sub.subcon, getattr(value, sub.name), chance))
    return made


def flat(construct: RecordStruct, message: Any, name: str, into: dict[str, list[Any]]) -> None:
    """A decoded message's values by path, in the order of the wire."""
    for sub in construct.subcons:
        path, part = f"{name}.{sub.name}" if name else sub.name, sub.subcon
        if isinstance(part, (TaggedFields, Absent)):
            continue
        value = getattr(message, sub.name)
        if isinstance(part, CountedArray):
            for item in value or ():
                if isinstance(part.subcon, RecordStruct):
                    flat(part.subcon, item, path, into)
                elif isinstance(part.subcon, Text):
                    into[path].append(item)
        elif isinstance(part, RecordStruct):
            flat(part, value, path, into)
        elif isinstance(part, (Text, Blob, Fixed, UuidConstruct)):
            into[path].append(value)


def as_values(construct: Any, data: bytes, made: Any) -> list[Any]:
    """What a column holds, as the decoder has it."""
    if isinstance(construct, (Text, Blob)):
        values = [None if size < 0 else data[at : at + size] for at, size in zip(*map(list, made), strict=True)]
        return [value.decode() if value is not None and isinstance(construct, Text) else value for value in values]
    if isinstance(construct, UuidConstruct):
        return [data[at : at + 16] for at in made]
    return [bool(value) for value in made] if isinstance(construct, Boolean) else made.tolist()


def check(message_class: Any, version: int, frames: list[bytes]) -> int:
    """Hold both readers against each other; gives how many frames were plain."""
    construct = layout(message_class, version)
    fields = wantable(construct)
    views, starts, ends = joined(frames)
    skimmed = compile_columns(message_class, version)(views, starts, ends)
    found = compile_columns(message_class, version, fields)(views, starts, ends)
    assert found.odd.tolist() == skimmed.odd.tolist()
    expected: dict[str, list[Any]] = defaultdict(list)
    rows: dict[str, list[int]] = defaultdict(list)
    decode = codec(message_class, version).decode
    plain = 0
    for number, frame in enumerate(frames):
        if found.odd[number]:
            continue
        plain += 1
        message, end = decode(frame)  # what is not odd is the message
        assert end == found.end[number] - starts[number] == skimmed.end[number] - starts[number]
        values: dict[str, list[Any]] = defaultdict(list)
        flat(construct, message, "", values)
        for path, inner in values.items():
            expected[path] += inner
            rows[path] += [number] * len(inner)
    good = ~found.odd
    for path, part in fields.items():
        made = found.values.get(path)
        level = max((name for name in found.frames if f"{path}.".startswith(f"{name}.")), key=len, default=None)
        if made is None:
            assert not expected[path], path
            continue
        if level is None:
            made = tuple(column[good] for column in made) if isinstance(made, tuple) else made[good]
        else:
            assert found.frames[level].tolist() == rows[path], path
        assert repr(as_values(part, views.data, made)) == repr(expected[path]), path
    return plain


@EACH_FAMILY
def test_columns_are_what_the_decoder_reads(family):
    """Plain frames, wild ones, each cut and damaged too: chosen messages in every version, others in the newest."""
    for message_class in FAMILIES[family]:
        versions = message_class.valid_versions
        check_versions(message_class, versions if message_class in chosen(family) else [versions.highest])


def check_versions(message_class, versions):
    chance = Random(message_class.name)
    for version in versions:
        make, construct = maker(message_class, version).make, layout(message_class, version)
        plain = [protocol.encode(tamed(construct, make(chance), chance), version) for _ in range(PLAIN)]
        wild = [protocol.encode(make(chance), version) for _ in range(PLAIN)]
        vectors = [one.body for one in golden_vectors(message_class.name) if one.version == version]
        check(message_class, version, plain)
        frames = [*plain, *wild, *vectors]
        frames += [mutated(frame, chance, frames) for frame in frames for _ in range(2)]
        frames += [frame[: chance.randrange(len(frame) + 1)] for frame in frames]
        check(message_class, version, frames)


def test_plain_frames_are_read_as_columns():
    """Of what clients and brokers send, nearly all is."""
    chance = Random(1)
    for name, version in (("FetchRequest", 17), ("FetchResponse", 17), ("ProduceRequest", 11), ("MetadataResponse", 1)):
        message_class = protocol.named_class(name)
        construct, make = layout(message_class, version), maker(message_class, version).make
        frames = [protocol.encode(tamed(construct, make(chance), chance), version) for _ in range(60)]
        assert check(message_class, version, frames) > 30, name


def test_a_tagged_field_has_rows_where_it_is_present():
    message_class = protocol.named_class("FetchRequest")
    consumer, follower = message_class(), message_class(replica_state=message_class.ReplicaState(replica_id=7))
    frames = [protocol.encode(one, 17) for one in (consumer, follower, consumer)]
    views, starts, ends = joined(frames)
    found = compile_columns(message_class, 17, ["replica_state.replica_id"])(views, starts, ends)
    assert not found.odd.any()
    assert found.frames["replica_state"].tolist() == [1]
    assert found.values["replica_state.replica_id"].tolist() == [7]


def test_a_length_that_is_none_is_left_to_the_decoder():
    message_class = protocol.named_class("MetadataRequest")
    views, starts, ends = joined([bytes.fromhex("7fffffff"), bytes.fromhex("fffffffe"), bytes.fromhex("00000000")])
    found = compile_columns(message_class, 0)(views, starts, ends)
    assert found.odd.tolist() == [True, True, False]
    with pytest.raises(ProtocolError):
        codec(message_class, 0).decode(bytes.fromhex("7fffffff"))
