"""The native codec, held equal to the compiled one in Python and to the constructs: messages, bytes and errors."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import protocol
from protocol import calls, native, reference
from protocol.apis.fetch import FetchResponse
from protocol.apis.metadata import MetadataRequest, MetadataResponse
from protocol.codec import codec
from protocol.compiler import compile_counting_decoder, compile_decoder, compile_encoder, compile_piece_encoder
from protocol.framing import LARGE_PIECE_BYTES, Pieces
from protocol.fuzz import damaged, versioned_messages, versions, wild_messages
from tests.families import of_each_message
from tests.fixture_data import golden_vectors

A_FEW = max(2, settings().max_examples // 6)
SOME = settings(max_examples=A_FEW, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def refuse(*_):
    raise protocol.ProtocolError("refused")


def outcome(call, *arguments):
    """The result of a call, as text since NaN is not equal to itself; or the arguments of its error."""
    try:
        return repr(call(*arguments))
    except (protocol.DecodeError, protocol.EncodeError) as error:
        return error.args


def test_the_native_codec_is_the_one_that_runs():
    assert protocol.backend() == "native"
    assert type(codec(MetadataRequest, 1).decoder()).__name__ == "builtin_function_or_method"


@pytest.mark.parametrize("name", sorted({vector.message for vector in golden_vectors()}))
def test_golden_bytes_are_read_and_written_as_in_python(name):
    message_class = protocol.named_class(name)
    for vector in golden_vectors(name):
        found = codec(message_class, vector.version)
        message, end = compile_decoder(message_class, vector.version, refuse)(vector.body)
        assert found.decode(vector.body) == (message, end)
        written = compile_encoder(message_class, vector.version, refuse)(message)
        assert found.encode(message) == written
        assert b"".join(found.piece_encoder()(message)) == written


@of_each_message(A_FEW)
def test_messages_are_written_as_by_the_constructs_or_refused_with_their_words(message_class, data):
    message, version = data.draw(wild_messages(message_class)), data.draw(versions(message_class))
    assert outcome(codec(message_class, version).encode, message) == outcome(reference.encode, message, version)


@of_each_message(A_FEW)
def test_damaged_bytes_are_read_as_by_the_constructs_or_refused_with_their_words(message_class, data):
    version, message = data.draw(versioned_messages(message_class))
    whole = data.draw(damaged(protocol.encode(message, version)))
    start = data.draw(st.integers(0, min(3, len(whole))))
    found = outcome(codec(message_class, version).decode, whole, start)
    assert found == outcome(lambda: reference.decode(message_class, version, whole, start=start))


@pytest.mark.parametrize("name", ["MetadataResponse", "FetchResponse", "OffsetFetchResponse", "JoinGroupResponse"])
@SOME
@given(st.data())
def test_elements_are_counted_as_in_python(name, data):
    message_class = protocol.named_class(name)
    version, message = data.draw(versioned_messages(message_class))
    whole, limit = protocol.encode(message, version), data.draw(st.integers(0, 30))
    counted = compile_counting_decoder(message_class, version, refuse)
    try:
        expected = counted(whole, 0, limit)
    except protocol.ProtocolError:
        with pytest.raises(protocol.DecodeError, match=f"more than {limit} elements in all"):
            codec(message_class, version).counting_decoder()(whole, 0, limit)
    else:
        assert codec(message_class, version).counting_decoder()(whole, 0, limit) == expected


@pytest.mark.parametrize("version", range(4, 19))
@pytest.mark.parametrize(
    "sizes", [(5,), (LARGE_PIECE_BYTES - 1, 1), (5, LARGE_PIECE_BYTES, 5), (LARGE_PIECE_BYTES,) * 3]
)
def test_pieces_are_those_of_python(version, sizes):
    batches = Pieces([bytes(size) for size in sizes])
    shares = [FetchResponse.Topic.Partition(partition_index=one, records=batches) for one in range(3)]
    message = FetchResponse(responses=[FetchResponse.Topic(partitions=shares)])
    expected = compile_piece_encoder(FetchResponse, version, refuse)(message)
    assert codec(FetchResponse, version).piece_encoder()(message) == expected


@pytest.mark.parametrize("unknown", [{9: b"x", 7: b"y"}, [(9, b"x"), (7, b"y")], ((9, b"x"), (7, b"y"))])
def test_unknown_tagged_fields_are_pairs_or_a_mapping(unknown):
    message = MetadataResponse(unknown_tagged_fields=unknown)
    assert codec(MetadataResponse, 12).encode(message) == reference.encode(message, 12)


def test_a_class_whose_fields_are_not_found_is_called(monkeypatch):
    monkeypatch.setattr(native, "_offsets", {})
    monkeypatch.setattr(native.core, "probe", lambda _: None)
    topics = [MetadataResponse.Topic(name=name, partitions=[MetadataResponse.Topic.Partition()]) for name in "abc"]
    message = MetadataResponse(topics=topics, unknown_tagged_fields=((9, b"x"),))
    called = native.native_codec(MetadataResponse, 12, refuse)
    data = reference.encode(message, 12)
    assert called.encode(message) == data
    assert called.decode(data) == reference.decode(MetadataResponse, 12, data)
    with pytest.raises(protocol.DecodeError) as raised:
        called.decode(data[:-1])
    with pytest.raises(protocol.DecodeError) as expected:
        reference.decode(MetadataResponse, 12, data[:-1])
    assert raised.value.args == expected.value.args


def test_offsets_that_a_class_does_not_have_are_refused():
    described = native.record(protocol.layout(MetadataRequest, 1))
    wrong = (described[0], [8_000] * len(described[1]), *described[2:])
    with pytest.raises(TypeError, match="has no such offsets"):
        native.core.compile(wrong, False, ("MetadataRequest", 1), (protocol.DecodeError, refuse, Pieces))


def test_what_comes_and_goes_leaves_nothing():
    version, found = 12, codec(MetadataResponse, 12)
    topic = MetadataResponse.Topic(
        name="orders", partitions=[MetadataResponse.Topic.Partition(replica_nodes=[1, 2])] * 9
    )
    data = found.encode(MetadataResponse(topics=[topic] * 5, unknown_tagged_fields=((7, b"abc"),)))

    def round_trips(count):
        for number in range(count):
            message, _ = found.decode(data)
            found.encode(message)
            with pytest.raises(protocol.DecodeError):
                found.decode(data[: number % len(data)])
            with pytest.raises(protocol.EncodeError):
                codec(MetadataResponse, version).encode(MetadataResponse(topics=[topic, None]))

    round_trips(len(data))
    gc.collect()
    before = sys.getallocatedblocks()
    round_trips(3 * len(data))
    gc.collect()
    assert abs(sys.getallocatedblocks() - before) < len(data)


def test_a_claimed_count_takes_no_memory():
    claims = b"\0\0\0\0\x01" + b"\xff\xff\xff\xff\x07" + bytes(1_000)  # no brokers, and 2 billion topics
    read = codec(MetadataResponse, 12).decoder()
    tracemalloc.start()
    try:
        with pytest.raises(protocol.DecodeError):
            read(claims)
        assert tracemalloc.get_traced_memory()[1] < 50_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("arguments", [(), (b"", 0, 0), ("text",), (b"", -1), (b"", "0")])
def test_other_arguments_are_errors(arguments):
    with pytest.raises((TypeError, ValueError)):
        codec(MetadataRequest, 1).decoder()(*arguments)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((3, "request", 1, b"\0\0\0\0x"), {}),
        ((3, "request", 1, b"\0\0"), {}),
        ((3, "request", 99, b""), {}),
        ((99, "request", 1, b""), {}),
        ((3, "telegram", 1, b""), {}),
        ((3, "request", 1, b""), {"trailing": "ignore"}),
        ((3, "request", 1, b"\0\0\0\0"), {"trailing": "keep"}),
        ((3, "request", 1), {}),
        (([], "request", 1, b""), {}),
    ],
)
def test_decode_refuses_as_in_python(arguments, named):
    protocol.decode(3, "request", 1, bytes(4))
    with pytest.raises(Exception) as native_error:  # noqa: PT011
        protocol.decode(*arguments, **named)
    with pytest.raises(type(native_error.value)) as python_error:
        calls.decode_in_python(*arguments, **named)
    assert native_error.value.args == python_error.value.args


def test_decode_takes_bytearrays_names_and_bytes_left_over():
    request = protocol.decode(api_key=3, kind="request", version=1, data=bytes(4))
    assert protocol.decode(3, "request", 1, bytearray(4)) == request
    assert protocol.decode(3, "request", 1, bytes(5), trailing="ignore") == request


def test_the_environment_chooses_python():
    code = "import protocol; print(protocol.backend(), type(protocol.decode(3, 'request', 1, bytes(4))).name)"
    environment = os.environ | {"KAFKA_RACK_NATIVE": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert done.stdout.decode().split() == ["python", "MetadataRequest"]
