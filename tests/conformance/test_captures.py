"""Every frame between real clients and real brokers decodes, and encodes to the same bytes again."""

from collections import Counter
from typing import Any

import pytest

import protocol
from protocol.headers import request_header_version, response_header_version
from tests.fixture_data import capture_json, capture_names, capture_summary, captured_frames

CAPTURES = capture_names()


def exceptions(name: str) -> set[int]:
    """Frames that Kafka's own parser takes leniently, and their answers."""
    return {exception["frame"] for exception in capture_summary(name)["exceptions"]}


def read(frame: Any) -> tuple[Any, Any]:
    if frame.kind == "request":
        return protocol.read_request(frame.data)
    return protocol.read_response(frame.data, frame.api_key, frame.version)


@pytest.mark.parametrize("name", CAPTURES)
def test_each_frame_survives_decoding_and_encoding(name):
    lenient = exceptions(name)
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
            version = frame.version if frame.version in type(message).valid_versions else 0
            again = protocol.response_frame(message, version, correlation_id=header.correlation_id)
        assert again[4:] == frame.data, f"frame {frame.index}"


@pytest.mark.parametrize("name", CAPTURES)
def test_the_lenient_frames_are_refused_or_read_as_kafka_reads_them(name):
    frames = {frame.index: frame for frame in captured_frames(name)}
    for exception in capture_summary(name)["exceptions"]:
        frame = frames[exception["frame"]]
        if exception["what"] == "left over":
            with pytest.raises(protocol.DecodeError, match=f"{exception['left_over']} bytes left over"):
                protocol.read_request(frame.data)
            _, message = protocol.read_request(frame.data, trailing="ignore")
            assert message.topics is None
        elif frame.kind == "request":
            with pytest.raises(protocol.UnsupportedVersionError):
                protocol.read_request(frame.data)
        else:
            _, message = read(frame)
            assert message.error_code == 35


@pytest.mark.parametrize("name", CAPTURES)
def test_bodies_become_the_json_that_kafkas_converter_prints(name):
    frames = {frame.index: frame for frame in captured_frames(name)}
    for line in capture_json(name):
        frame = frames[line["frame"]]
        if frame.kind == "request" and line["asked_version"] != line["version"]:
            continue  # answered by its version alone: test_the_lenient_frames_...
        trailing = "ignore" if frame.index in exceptions(name) else "error"
        if frame.kind == "request":
            _, message = protocol.read_request(frame.data, trailing=trailing)
        else:
            _, message = protocol.read_response(frame.data, frame.api_key, frame.version)
        assert without_records(protocol.to_json(message, line["version"])) == line["json"], f"frame {frame.index}"


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
