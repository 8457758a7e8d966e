"""The compiled codec and the constructs, held equal on every declared message and version."""

import random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import protocol
from protocol import reference
from protocol.codec import codec
from protocol.fuzz import Refusal, cross, damaged, versioned_messages, versions, wild_messages
from tests.families import of_each_message
from tests.fixture_data import golden_vectors

A_FEW = max(2, settings().max_examples // 6)
SOME = settings(max_examples=A_FEW, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def outcome(read, data):
    """What a reader makes of the bytes, as text: messages that hold NaN are not equal to themselves."""
    try:
        message, end = read(data)
    except protocol.DecodeError:
        return "refused"
    return f"{msgspec.to_builtins(message)} {end}"


def both_readers(message_class, version, data):
    compiled = outcome(codec(message_class, version).decode, data)
    referred = outcome(lambda data: reference.decode(message_class, version, data), data)
    return compiled, referred


@of_each_message(A_FEW)
def test_both_codecs_write_and_read_the_same(message_class, data):
    version, message = data.draw(versioned_messages(message_class))
    written = protocol.encode(message, version)
    assert written == reference.encode(message, version)
    assert protocol.decode_named(message_class.name, version, written) == message
    assert reference.decode(message_class, version, written) == (message, len(written))
    assert protocol.from_json(message_class.name, version, protocol.to_json(message, version)) is not None


@of_each_message(A_FEW)
def test_both_readers_take_or_refuse_the_same_damaged_bytes(message_class, data):
    version, message = data.draw(versioned_messages(message_class))
    compiled, referred = both_readers(message_class, version, data.draw(damaged(protocol.encode(message, version))))
    assert compiled == referred


@pytest.mark.parametrize("name", ["ProduceRequest", "FetchResponse", "ShareFetchResponse", "JoinGroupResponse"])
@SOME
@given(st.data())
def test_a_reader_that_gives_views_reads_the_same_out_of_a_bytearray(name, data):
    message_class = protocol.named_class(name)
    version, message = data.draw(versioned_messages(message_class))
    written = protocol.encode(message, version)
    read = codec(message_class, version).view_decoder()
    assert outcome(read, bytearray(written)) == outcome(codec(message_class, version).decode, written)
    cut = data.draw(damaged(written))
    assert outcome(read, bytearray(cut)) == outcome(codec(message_class, version).decode, cut)


def test_views_are_of_the_bytes_that_were_read():
    fetched = protocol.named_class("FetchResponse")
    one = fetched.Topic.Partition(records=b"batch")
    data = bytearray(protocol.encode(fetched(responses=[fetched.Topic(partitions=[one] * 5)]), 12))
    message, _ = codec(fetched, 12).view_decoder()(data)
    records = [one.records for one in message.responses[0].partitions]
    assert all(type(view) is memoryview and view.obj is data and view == b"batch" for view in records)


@of_each_message(A_FEW)
def test_random_bytes_give_a_message_or_a_decode_error(message_class, data):
    version = data.draw(versions(message_class))
    compiled, referred = both_readers(message_class, version, data.draw(st.binary(max_size=60)))
    assert compiled == referred


@of_each_message(A_FEW)
def test_a_version_keeps_drops_or_refuses_fields_as_the_declaration_says(message_class, data):
    message = data.draw(wild_messages(message_class))
    version = data.draw(versions(message_class))
    try:
        expected = cross(message, version)
    except Refusal as refusal:
        with pytest.raises(protocol.EncodeError) as raised:
            protocol.encode(message, version)
        assert raised.value.path == refusal.path
    else:
        assert protocol.decode_named(message_class.name, version, protocol.encode(message, version)) == expected


def test_mutated_golden_vectors_are_read_alike_by_both_readers():
    chance = random.Random(20)
    for vector in golden_vectors():
        message_class = protocol.named_class(vector.message)
        for _ in range(3):
            data = bytearray(vector.body or b"\0")
            data[chance.randrange(len(data))] = chance.randrange(256)
            compiled, referred = both_readers(message_class, vector.version, bytes(data))
            assert compiled == referred, (vector.label, data.hex())


def test_every_marker_of_a_struct_that_may_be_null_is_read_alike_by_both_readers():
    answer = protocol.named_class("DescribeTopicPartitionsResponse")
    null, whole = (protocol.encode(answer(next_cursor=one), 0) for one in (None, answer.Cursor(topic_name="orders")))
    place = next(at for at, (one, other) in enumerate(zip(null, whole, strict=False)) if one != other)
    for marker in range(256):
        for data in (null, whole):
            compiled, referred = both_readers(answer, 0, data[:place] + bytes([marker]) + data[place + 1 :])
            assert compiled == referred, marker
