"""What protocol's users call: decode, encode, JSON, headers, frames - and the traps of Kafka's schemas."""

import pickle
import subprocess
import sys

import pytest

import protocol
from protocol.apis.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.apis.fetch import FetchRequest, FetchResponse
from protocol.apis.metadata import DescribeTopicPartitionsRequest, MetadataRequest, MetadataResponse
from protocol.apis.produce import ProduceRequest
from protocol.headers import read_request_header, request_header_version, response_header_version

METADATA_V1 = bytes.fromhex("0000000100066576656e7473")


def test_a_field_that_the_version_lacks_is_not_written_and_reads_as_its_default():
    request = MetadataRequest(topics=[MetadataRequest.Topic(name="events")], allow_auto_topic_creation=True)
    assert protocol.encode(request, 1) == METADATA_V1
    assert protocol.decode(3, "request", 1, METADATA_V1).allow_auto_topic_creation is True


def test_a_value_for_a_field_that_the_version_lacks_is_refused_unless_ignorable():
    asking = MetadataRequest(topics=[], include_topic_authorized_operations=True)
    with pytest.raises(protocol.EncodeError, match="include_topic_authorized_operations"):
        protocol.encode(asking, 7)
    in_rack = MetadataRequest(topics=[], rack_id="az-a")
    assert protocol.decode(3, "request", 13, protocol.encode(in_rack, 13)).rack_id == ""


def test_null_where_the_version_does_not_allow_it_is_refused():
    with pytest.raises(protocol.EncodeError, match="MetadataRequest v0, topics: null"):
        protocol.encode(MetadataRequest(topics=None), 0)


def test_an_error_names_message_version_path_and_byte():
    with pytest.raises(protocol.DecodeError) as raised:
        protocol.decode(3, "request", 1, METADATA_V1[:-1])
    error = raised.value
    assert (error.message, error.version, error.path, error.offset) == ("MetadataRequest", 1, "topics[0].name", 4)
    assert str(error) == "MetadataRequest v1, byte 4, topics[0].name: length 6, but 5 bytes remain"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_bytes_left_over_are_an_error_or_ignored_as_the_caller_says():
    with pytest.raises(protocol.DecodeError, match="2 bytes left over"):
        protocol.decode(3, "request", 1, METADATA_V1 + b"\0\0")
    assert protocol.decode(3, "request", 1, METADATA_V1 + b"\0\0", trailing="ignore").topics[0].name == "events"
    with pytest.raises(ValueError, match="trailing is"):
        protocol.decode(3, "request", 1, METADATA_V1, trailing="keep")


def test_a_second_call_goes_straight_to_the_compiled_function(monkeypatch):
    frame = protocol.request_frame(MetadataRequest(topics=[]), 1, correlation_id=1)[4:]
    answer = protocol.response_frame(MetadataResponse(), 1, correlation_id=1)[4:]

    def all_of_them():
        request = protocol.decode(3, "request", 1, METADATA_V1)
        assert request == protocol.decode_named("MetadataRequest", 1, METADATA_V1)
        assert protocol.encode(request, 1) == METADATA_V1
        assert protocol.read_request(frame)[0].correlation_id == 1
        assert protocol.read_response(answer, 3, 1)[0].correlation_id == 1
        assert protocol.request_frame(MetadataRequest(topics=[]), 1, correlation_id=1)[4:] == frame
        assert protocol.response_frame(MetadataResponse(), 1, correlation_id=1)[4:] == answer

    all_of_them()
    for module in (protocol.calls, protocol.headers):
        for name in ("codec", "message_class"):
            monkeypatch.setattr(module, name, None)
    all_of_them()


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_of_any_kind_are_read(kind):
    frame = protocol.request_frame(MetadataRequest(topics=[]), 1, correlation_id=1)[4:]
    answer = protocol.response_frame(MetadataResponse(cluster_id="c"), 2, correlation_id=1)[4:]
    for _ in range(2):
        assert protocol.decode(3, "request", 1, kind(METADATA_V1)).topics[0].name == "events"
        assert protocol.decode_named("MetadataRequest", 1, kind(METADATA_V1)).topics[0].name == "events"
        assert protocol.read_request(kind(frame))[1].topics == []
        assert read_request_header(kind(frame))[0].correlation_id == 1
        assert protocol.read_response(kind(answer), 3, 2)[1].cluster_id == "c"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: protocol.decode(3, "answer", 1, METADATA_V1), ValueError, "kind is"),
        (
            lambda: protocol.decode(999, "request", 1, METADATA_V1),
            protocol.UnsupportedVersionError,
            "no API has key 999",
        ),
        (lambda: protocol.decode(3, "request", 99, METADATA_V1), protocol.UnsupportedVersionError, "not 99"),
        (lambda: protocol.decode_named("No", 1, METADATA_V1), protocol.UnsupportedVersionError, "is called 'No'"),
        (lambda: protocol.decode_named("MetadataRequest", -1, b""), protocol.UnsupportedVersionError, "not -1"),
        (lambda: protocol.read_response(b"", 3, 99), protocol.UnsupportedVersionError, "not 99"),
        (lambda: protocol.read_request(b"\0\3\0\x63"), protocol.UnsupportedVersionError, "not 99"),
        (
            lambda: protocol.request_frame(MetadataRequest(), 99, correlation_id=1),
            protocol.UnsupportedVersionError,
            "99",
        ),
    ],
)
def test_what_does_not_exist_is_refused_each_time_and_alone(call, error, words):
    for _ in range(2):
        with pytest.raises(error, match=words) as raised:
            call()
        assert raised.value.__context__ is None  # no look-up that failed on the way


def test_an_error_in_a_whole_frame_counts_bytes_from_the_start_of_its_body():
    frame = protocol.request_frame(MetadataRequest(topics=[MetadataRequest.Topic(name="t")]), 1, correlation_id=1)[4:]
    answer = protocol.response_frame(MetadataResponse(), 1, correlation_id=1)[4:]
    for read, data, field in (
        (protocol.read_request, frame, "topics[0].name"),
        (lambda data, **how: protocol.read_response(data, 3, 1, **how), answer, "topics"),
    ):
        with pytest.raises(protocol.DecodeError) as cut_off:
            read(data[:-1])
        assert (cut_off.value.path, cut_off.value.offset) == (field, 4 if field != "topics" else 8)
        with pytest.raises(protocol.DecodeError, match="1 bytes left over") as left_over:
            read(data + b"x")
        assert left_over.value.offset == len(data) - (10 if field != "topics" else 4)
        assert read(data + b"x", trailing="ignore") == read(data)


def test_a_request_header_is_read_also_where_the_version_does_not_exist():
    header, start = read_request_header(bytes.fromhex("0003006300000007ffff00"))
    assert (header.request_api_version, header.correlation_id, start) == (99, 7, 11)


def test_unknown_tagged_fields_come_back_in_their_place():
    # one topic, no flags, then tags 5 and 200 that nobody knows
    data = bytes.fromhex("020661626364650001000002" + "050178" + "c80102" + "797a")
    request = protocol.decode(3, "request", 9, data[:-1] + b"z")
    assert request.unknown_tagged_fields == ((5, b"x"), (200, b"yz"))
    assert protocol.encode(request, 9) == data


def test_an_unknown_tagged_field_meets_a_version_without_tags_only_by_being_dropped():
    request = MetadataRequest(topics=None)
    request.unknown_tagged_fields = ((9, b"x"),)
    assert protocol.decode(3, "request", 8, protocol.encode(request, 8)).unknown_tagged_fields == ()


def test_a_nullable_struct_is_marked_by_a_signed_byte():
    absent = DescribeTopicPartitionsRequest(cursor=None)
    present = DescribeTopicPartitionsRequest(cursor=DescribeTopicPartitionsRequest.Cursor(topic_name="t"))
    assert protocol.encode(absent, 0).hex() == "01" + "000007d0" + "ff" + "00"
    assert protocol.encode(present, 0).hex() == "01" + "000007d0" + "01" + "0274" + "00000000" + "00" + "00"


def test_a_nullable_struct_in_a_tagged_field_is_marked_by_a_varint():
    value = protocol.named_class("ConsumerGroupMemberMetadataValue")
    data = protocol.encode(value(classic_member_metadata=value.ClassicMemberMetadata(session_timeout_ms=7)), 0)
    assert protocol.decode_named(value.name, 0, data).classic_member_metadata.session_timeout_ms == 7
    assert data.endswith(bytes.fromhex("01" + "00" + "07" + "01" + "00000007" + "01" + "00"))


def test_a_tagged_field_whose_default_is_null_is_left_out_when_null():
    assert protocol.to_json(FetchRequest(), 12) == {
        "replicaId": -1,
        "maxWaitMs": 0,
        "minBytes": 0,
        "maxBytes": 0x7FFFFFFF,
        "isolationLevel": 0,
        "sessionId": 0,
        "sessionEpoch": -1,
        "topics": [],
        "forgottenTopicsData": [],
        "rackId": "",
    }
    named = FetchRequest(cluster_id="c")
    assert protocol.decode(1, "request", 12, protocol.encode(named, 12)).cluster_id == "c"


def test_an_api_versions_answer_always_has_header_version_0():
    assert [response_header_version(18, version) for version in range(5)] == [0] * 5
    assert [request_header_version(18, version) for version in range(5)] == [1, 1, 1, 2, 2]
    assert response_header_version(3, 9) == 1


@pytest.mark.parametrize("asked", [5, 99, -1, -32768])
def test_an_answer_to_an_unknown_api_versions_version_is_read_in_version_0_form(asked):
    refusal = ApiVersionsResponse(error_code=35, api_keys=[ApiVersionsResponse.ApiVersion(api_key=18, max_version=4)])
    frame = protocol.response_frame(refusal, 0, correlation_id=3)[4:]
    header, message = protocol.read_response(frame, 18, asked)
    assert (header.correlation_id, message) == (3, refusal)


def test_only_controlled_shutdown_v0_has_header_version_0():
    frame = protocol.request_frame(protocol.named_class("ControlledShutdownRequest")(broker_id=2), 0, correlation_id=1)
    assert frame.hex() == "0000000c" + "0007" + "0000" + "00000001" + "00000002"
    assert protocol.read_request(frame[4:])[1].broker_id == 2


def test_a_client_id_is_not_compact_even_in_a_flexible_header():
    frame = protocol.request_frame(ApiVersionsRequest(), 3, correlation_id=1, client_id="app")
    header, start = read_request_header(frame[4:])
    assert header.client_id == "app"
    assert frame[12:17] == b"\x00\x03app"
    assert frame[4 + start - 1] == 0


def test_a_request_too_short_for_its_header_is_a_decode_error():
    with pytest.raises(protocol.DecodeError, match="here are 3"):
        protocol.read_request(b"\0\3\0")


@pytest.mark.parametrize("call", [lambda: protocol.decode(999, "request", 0, b""), lambda: protocol.named_class("No")])
def test_what_does_not_exist_is_an_unsupported_version_error(call):
    with pytest.raises(protocol.UnsupportedVersionError):
        call()


def test_a_version_that_does_not_exist_names_those_that_do():
    with pytest.raises(protocol.UnsupportedVersionError, match="MetadataRequest has versions 0-14, not 15"):
        protocol.encode(MetadataRequest(), 15)


def test_a_message_class_tells_its_facts_though_its_instances_have_fields_of_those_names():
    topic_record = protocol.named_class("TopicRecord")
    assert (topic_record.name, topic_record.kind, topic_record.api_key) == ("TopicRecord", "data", 2)
    assert topic_record(name="orders").name == "orders"
    assert str(MetadataResponse.valid_versions) == "0-14"
    assert 8 not in MetadataResponse.flexible_versions
    assert 9 in MetadataResponse.flexible_versions


def test_records_in_json_are_base64_both_ways():
    partition = ProduceRequest.Topic.Partition(index=0, records=b"\x00\xff")
    request = ProduceRequest(topic_data=[ProduceRequest.Topic(name="t", partition_data=[partition])])
    written = protocol.to_json(request, 9)
    assert written["topicData"][0]["partitionData"][0]["records"] == "AP8="
    assert protocol.from_json("ProduceRequest", 9, written) == request


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"topics": [{"nme": "x"}]}, r"topics\[0\].nme: no such field in this version; it has name"),
        ({"topics": 5}, "topics: expected an array, got 5"),
        ({"topics": [{"name": 5}]}, r"topics\[0\].name: expected a string, got 5"),
        ([], "expected an object, got"),
    ],
)
def test_json_that_is_not_the_message_says_where(value, complaint):
    with pytest.raises(protocol.EncodeError, match=complaint):
        protocol.from_json("MetadataRequest", 1, value)


def test_messages_pickle_for_spark():
    response = FetchResponse(responses=[FetchResponse.Topic(topic="t")])
    assert pickle.loads(pickle.dumps(response)) == response


def test_importing_protocol_loads_neither_declarations_nor_construct():
    code = "import sys, protocol; print([n for n in ('construct', 'msgspec', 'protocol.apis') if n in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_layout_is_a_function_whichever_module_was_imported_first():
    code = "import protocol, protocol.layouts; print(protocol.layout(protocol.named_class('Broker'), 0))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("<Record")
