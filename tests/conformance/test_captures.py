"""Every frame between real clients and real brokers decodes, and encodes to the same bytes again."""

from collections import Counter
from typing import Any

import pytest

import protocol
from protocol.headers import request_header_version, response_header_version
from tests.fixture_data import capture_json, capture_names, capture_summary, captured_frames

CAPTURES = capture_names()
UNSUPPORTED_VERSION = 35
RENAMED = {"TxnOffsetCommitRequest": {"generationId": "generationIdOrMemberEpoch"}}
"""Fields that had another name in the release that printed the JSON; 4.4 renamed them."""


def frames_with_bytes_left_over(name: str) -> dict[int, int]:
    """Frames that Kafka's own parser takes leniently, and how many bytes it leaves over."""
    found = capture_summary(name)["exceptions"]
    return {exception["frame"]: exception["left_over"] for exception in found if "left_over" in exception}


def newer_than_the_broker(name: str) -> set[int]:
    """Requests of a version that the recorded broker did not know: franz-go's ApiVersions v5 to Kafka 4.1."""
    return {exception["frame"] for exception in capture_summary(name)["exceptions"]} - frames_with_bytes_left_over(
        name
    ).keys()


def read(frame: Any) -> tuple[Any, Any]:
    if frame.kind == "request":
        return protocol.read_request(frame.data)
    return protocol.read_response(frame.data, frame.api_key, frame.version)


@pytest.mark.parametrize("name", CAPTURES)
def test_each_frame_survives_decoding_and_encoding(name):
    lenient = frames_with_bytes_left_over(name)
    for frame in captured_frames(name):
        if frame.index in lenient:
            continue
        header, message = read(frame)
        if frame.kind == "request":
            version = header.request_api_version
            again = protocol.request_frame(
                message, version, correlation_id=header.correlation_id, client_id=header.client_id
            )
        else:
            refused = type(message).__name__ == "ApiVersionsResponse" and message.error_code == UNSUPPORTED_VERSION
            version = 0 if refused else frame.version
            again = protocol.response_frame(message, version, correlation_id=header.correlation_id)
        assert again[4:] == frame.data, f"frame {frame.index}"


@pytest.mark.parametrize("name", [name for name in CAPTURES if frames_with_bytes_left_over(name)])
def test_the_lenient_frames_are_refused_or_read_as_kafka_reads_them(name):
    frames = {frame.index: frame for frame in captured_frames(name)}
    for index, left_over in frames_with_bytes_left_over(name).items():
        with pytest.raises(protocol.DecodeError, match=f"{left_over} bytes left over"):
            protocol.read_request(frames[index].data)
        _, message = protocol.read_request(frames[index].data, trailing="ignore")
        assert message.topics is None


def test_a_client_of_today_names_the_broker_that_it_means_once_it_knows_its_cluster():
    name = "franz-go"
    frames = {frame.index: frame for frame in captured_frames(name)}
    clusters, nodes = Counter(), Counter()
    for index in newer_than_the_broker(name):
        frame = frames[index]
        header, message = protocol.read_request(frame.data)
        assert (header.request_api_key, header.request_api_version) == (18, 5)
        assert (message.cluster_id is None) == (message.node_id == -1)
        assert message.node_id in (-1, frame.broker)
        clusters[message.cluster_id] += 1
        nodes[message.node_id] += 1
    assert len(clusters) == 2  # its bootstrap connections know none, the others all the same
    assert set(nodes) == {-1, 0, 1, 2}


def test_an_answer_in_version_0_form_is_read_though_the_version_asked_for_is_known():
    frames = {(frame.connection, frame.correlation_id, frame.kind): frame for frame in captured_frames("franz-go")}
    asked = [frame for frame in frames.values() if (frame.api_key, frame.version, frame.kind) == (18, 5, "request")]
    assert asked
    for frame in asked:
        _, message = read(frames[frame.connection, frame.correlation_id, "response"])
        assert (message.error_code, message.api_keys[0].max_version) == (UNSUPPORTED_VERSION, 4)


@pytest.mark.parametrize("name", CAPTURES)
def test_bodies_become_the_json_that_kafkas_converter_prints(name):
    frames = {frame.index: frame for frame in captured_frames(name)}
    for line in capture_json(name):
        frame = frames[line["frame"]]
        if frame.kind == "request" and line["asked_version"] != line["version"]:
            continue  # answered by its version alone: test_the_lenient_frames_...
        trailing = "ignore" if frame.index in frames_with_bytes_left_over(name) else "error"
        if frame.kind == "request":
            _, message = protocol.read_request(frame.data, trailing=trailing)
        else:
            _, message = protocol.read_response(frame.data, frame.api_key, frame.version)
        printed = json_of_today(type(message).__name__, line["json"])
        assert without_records(protocol.to_json(message, line["version"])) == printed, f"frame {frame.index}"


def json_of_today(name: str, value: dict[str, Any]) -> dict[str, Any]:
    """What an older release printed, with the names that fields have now."""
    renamed = RENAMED.get(name, {})
    return {renamed.get(key, key): one for key, one in value.items()}


def without_records(value: Any) -> Any:
    """Kafka's converter prints every ``records`` as an empty string."""
    if isinstance(value, list):
        return [without_records(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: "" if name == "records" else without_records(item) for name, item in value.items()}


@pytest.mark.parametrize("name", CAPTURES)
def test_counts_are_those_of_the_summary(name):
    frames: Counter[tuple[int, int, str]] = Counter()
    sizes: Counter[tuple[int, int, str]] = Counter()
    for frame in captured_frames(name):
        key = frame.api_key, frame.version, frame.kind
        frames[key] += 1
        sizes[key] += len(frame.data) + 4
    for count in capture_summary(name)["counts"]:
        api_key, version = count["api_key"], count["version"]
        for kind in ("request", "response"):
            assert frames.pop((api_key, version, kind), 0) == count[kind]
            assert sizes[api_key, version, kind] == count[f"{kind}_bytes"]
        if "request_header" in count:  # not for a version that Kafka did not know
            assert request_header_version(api_key, version) == count["request_header"]
            assert response_header_version(api_key, version) == count["response_header"]
    assert not frames
