"""What the compiler promises beyond agreeing with the constructs on small messages, as tests/property holds it to."""

import tracemalloc
from random import Random

import pytest

import protocol
from protocol import reference
from protocol.apis.classic_group import JoinGroupResponse
from protocol.apis.fetch import FetchResponse
from protocol.apis.group_offsets import OffsetFetchResponse
from protocol.apis.metadata import MetadataRequest, MetadataResponse
from protocol.codec import codec
from protocol.compiler.decode import INTERN_FROM, decoder_source
from protocol.compiler.encode import encoder_source
from protocol.framing import LARGE_PIECE_BYTES, Pieces
from protocol.fuzz.generation import maker
from protocol.layouts import layout

Topic = MetadataResponse.Topic
Partition = Topic.Partition
VERSIONS = pytest.mark.parametrize("version", [0, 8, 9, 12])
PLENTY = 200


def partition(number, replicas=3, **others):
    nodes = [(number + step) % 6 for step in range(replicas)]
    return Partition(partition_index=number, leader_id=number % 6, replica_nodes=nodes, isr_nodes=list(nodes), **others)


def one_topic(partitions):
    return MetadataResponse(topics=[Topic(name="orders", partitions=partitions)])


def both_ways(message, version):
    """The bytes and the message read from them, when both codecs agree on them."""
    data = protocol.encode(message, version)
    assert data == reference.encode(message, version)
    read, end = codec(type(message), version).decode(data)
    assert (read, end) == reference.decode(type(message), version, data)
    return data, read


@VERSIONS
def test_many_records_are_read_and_written_as_by_the_reference(version):
    message = one_topic([partition(number) for number in range(PLENTY)])
    assert both_ways(message, version)[1] == message


def test_unknown_tagged_fields_stay_in_their_record():
    partitions = [partition(number) for number in range(PLENTY)]
    partitions[100].unknown_tagged_fields = ((7, b"kept"),)
    message = one_topic(partitions)
    assert both_ways(message, 12)[1].topics[0].partitions[100].unknown_tagged_fields == ((7, b"kept"),)


def test_arrays_too_long_for_one_byte_of_count_are_read_and_written_as_they_are():
    message = one_topic([partition(number, replicas=replicas) for number, replicas in enumerate([126, 127, 128, 300])])
    assert both_ways(message, 12)[1] == message


def test_records_with_bytes_of_all_lengths_are_read_and_written_as_they_are():
    partitions = [
        FetchResponse.Topic.Partition(partition_index=number, aborted_transactions=None, records=bytes(number * 7))
        for number in range(PLENTY)
    ]
    message = FetchResponse(responses=[FetchResponse.Topic(topic_id=bytes(range(16)), partitions=partitions)])
    assert both_ways(message, 13)[1] == message


@VERSIONS
@pytest.mark.parametrize("lost", [1, 5, 40, 1000])
def test_a_message_of_many_records_that_is_cut_off_is_refused(version, lost):
    data, _ = both_ways(one_topic([partition(number) for number in range(PLENTY)]), version)
    with pytest.raises(protocol.DecodeError):
        codec(MetadataResponse, version).decode(data[:-lost])


def test_a_string_that_ends_behind_the_message_ends_the_reading_of_its_neighbours():
    names = MetadataRequest(topics=[MetadataRequest.Topic(name=f"topic-{number:03}") for number in range(400)])
    data, _ = both_ways(names, 0)
    ten = (10).to_bytes(4, "big") + b"\0\3two" + data[4:]
    for size in range(4 + 10 * 2, 4 + 5 + 9 * 11):
        with pytest.raises(protocol.DecodeError):
            codec(MetadataRequest, 0).decode(ten[:size])


def test_a_message_over_a_megabyte_is_read_as_the_same_message():
    partitions = [partition(number) for number in range(30_000)]
    for number, one in enumerate(partitions):
        one.replica_nodes = [1001 + number % 7, 1002, 1003]
    message = one_topic(partitions)
    data = protocol.encode(message, 12)
    assert len(data) > INTERN_FROM
    assert codec(MetadataResponse, 12).decode(data) == (message, len(data))


def test_a_message_over_a_megabyte_names_its_fault():
    data = protocol.encode(one_topic([partition(number) for number in range(30_000)]), 12)
    with pytest.raises(protocol.DecodeError) as caught:
        codec(MetadataResponse, 12).decode(data[:-1])
    assert caught.value.message == "MetadataResponse"


@pytest.mark.parametrize("wrong", ["", b"\1\2\3", {1, 2, 3}, None, 7, [None], ["a"], [2**31]])
@pytest.mark.parametrize("among", [1, PLENTY])
def test_what_is_no_list_of_numbers_is_refused(wrong, among):
    partitions = [partition(number) for number in range(among)]
    partitions[-1].isr_nodes = wrong
    with pytest.raises(protocol.EncodeError):
        protocol.encode(one_topic(partitions), 12)


def test_a_tuple_is_written_as_a_list():
    partitions = [partition(number) for number in range(PLENTY)]
    as_lists = protocol.encode(one_topic(partitions), 12)
    for one in partitions:
        one.replica_nodes = tuple(one.replica_nodes)
    assert protocol.encode(one_topic(partitions), 12) == as_lists


def test_a_codec_that_was_kept_from_before_its_first_use_compiles_once():
    one = codec(MetadataResponse, 11)
    decode, encode = one.decode, one.encode
    data = encode(one_topic([]))
    decode(data)
    compiled = one.decode, one.encode
    assert decode(encode(one_topic([])))[1] == len(data)
    assert (one.decode, one.encode) == compiled


def test_neighbouring_fields_of_fixed_width_are_one_unpack_and_one_pack():
    # error_code, partition_index, leader_id, leader_epoch and the first byte of the replicas' count
    construct = layout(MetadataResponse, 12)
    assert "_unpack_from_hlllB(b, p)" in decoder_source(construct).text()
    assert "_pack_16sBB(" in encoder_source(construct).text()


@pytest.mark.parametrize("version", range(4, 19))
@pytest.mark.parametrize("partitions", [1, 200])
def test_records_in_pieces_are_written_as_they_lie(version, partitions):
    large, small = bytes(LARGE_PIECE_BYTES), b"abc"

    def message(batches):
        shares = [FetchResponse.Topic.Partition(partition_index=one, records=batches) for one in range(partitions)]
        return FetchResponse(responses=[FetchResponse.Topic(partitions=shares)])

    given = codec(FetchResponse, version).piece_encoder()(message(Pieces([small, large, small])))
    assert b"".join(given) == codec(FetchResponse, version).encode(message(small + large + small))
    assert sum(piece is large for piece in given) == partitions
    assert len(given) == 2 * partitions + 1
    with pytest.raises(protocol.EncodeError, match="records"):
        codec(FetchResponse, version).encode(message(Pieces([small])))


def test_an_encoder_in_pieces_refuses_what_any_other_refuses():
    with pytest.raises(protocol.EncodeError, match="name"):
        codec(MetadataRequest, 9).piece_encoder()(MetadataRequest(topics=[MetadataRequest.Topic(name=None)]))


def elements(value):
    """How many elements all lists in a message have, those of lists in lists too."""
    if isinstance(value, list):
        return len(value) + sum(map(elements, value))
    return sum(elements(getattr(value, name)) for name in getattr(value, "__struct_fields__", ()))


def test_a_counting_decoder_takes_as_many_elements_as_it_is_allowed_in_every_message_and_version():
    chance = Random(1)
    for message in (MetadataRequest, MetadataResponse, FetchResponse, JoinGroupResponse, OffsetFetchResponse):
        for version in message.valid_versions:
            one = codec(message, version)
            for _ in range(5):
                made = maker(message, version).make(chance)
                data = one.encode(made)
                most = 1000
                assert one.counting_decoder()(data, 0, most) == one.decode(data)


@pytest.mark.parametrize("version", [0, 4, 9, 12])
@pytest.mark.parametrize("replicas", [0, 3])
def test_a_counting_decoder_refuses_one_element_more(version, replicas):
    message = one_topic([partition(number, replicas) for number in range(200)])
    one = codec(MetadataResponse, version)
    message, _ = one.decode(one.encode(message))  # without what the version lacks
    data, count = one.encode(message), elements(message)
    assert count >= 201
    assert one.counting_decoder()(data, 0, count) == (message, len(data))
    with pytest.raises(protocol.DecodeError, match=f"more than {count - 1} elements in all"):
        one.counting_decoder()(data, 0, count - 1)


def test_a_counting_decoder_refuses_a_count_before_it_makes_what_is_counted():
    data = codec(MetadataRequest, 9).encode(MetadataRequest(topics=[MetadataRequest.Topic(name="")] * 200_000))
    decode = codec(MetadataRequest, 9).counting_decoder()
    with pytest.raises(protocol.DecodeError, match="more than 20000 elements"):
        decode(data, 0, 20_000)  # compiles it
    tracemalloc.start()
    try:
        with pytest.raises(protocol.DecodeError, match="more than 20000 elements"):
            decode(data, 0, 20_000)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_a_counting_decoder_counts_tagged_fields():
    tags = tuple((100 + number, b"") for number in range(300))
    data = codec(MetadataRequest, 9).encode(MetadataRequest(topics=[], unknown_tagged_fields=tags))
    decode = codec(MetadataRequest, 9).counting_decoder()
    assert decode(data, 0, 300)[0].unknown_tagged_fields == tags
    with pytest.raises(protocol.DecodeError, match="more than 299 elements"):
        decode(data, 0, 299)


def test_a_counting_decoder_says_of_other_bytes_that_they_are_no_such_message():
    data = codec(MetadataRequest, 9).encode(MetadataRequest(topics=[MetadataRequest.Topic(name="orders")]))
    words = "are not this message" if protocol.backend() == "python" else "remain"
    with pytest.raises(protocol.DecodeError, match=words):
        codec(MetadataRequest, 9).counting_decoder()(data[:-1], 0, 100)
