"""Clients hear of the versions that both upstream and codec know, and of nothing else that differs."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import protocol
from mockbroker.proxy.api_versions import clamp, known_versions
from protocol.apis.api_versions import ApiVersionsResponse
from protocol.error_codes import ErrorCode
from protocol.fuzz.generation import Maker
from protocol.json_form import to_json
from protocol.registry import APIS
from tests.fixture_data import capture_names, captured_frames

API_VERSIONS = 18
VERSIONS = list(ApiVersionsResponse.valid_versions)
UNKNOWN_KEY = 7777
LATER = 99


def entry(api_key: int, lowest: int, highest: int) -> ApiVersionsResponse.ApiVersion:
    return ApiVersionsResponse.ApiVersion(api_key=api_key, min_version=lowest, max_version=highest)


def told(response: ApiVersionsResponse) -> list[tuple[int, int, int]]:
    return [(one.api_key, one.min_version, one.max_version) for one in response.api_keys]


@pytest.mark.parametrize("version", VERSIONS)
def test_whatever_upstream_says_only_common_versions_are_told_and_nothing_else_changes(version):
    maker, chance = Maker(ApiVersionsResponse, version), Random(version)
    for _ in range(50):
        made = maker.make(chance)
        made.api_keys = [
            entry(chance.choice([*APIS, UNKNOWN_KEY, -1]), chance.randint(-2, 9), chance.randint(-2, LATER))
            for _ in range(chance.randint(0, 30))
        ]
        before = to_json(made, version)
        expected = [
            common
            for one in before["apiKeys"]
            if (common := common_json(one["apiKey"], one["minVersion"], one["maxVersion"]))
        ]
        clamp(made)
        after = to_json(protocol.decode(API_VERSIONS, "response", version, protocol.encode(made, version)), version)
        assert after == before | {"apiKeys": expected}


def common_json(api_key: int, lowest: int, highest: int) -> dict[str, Any]:
    known = known_versions(api_key)
    common = [version for version in range(lowest, highest + 1) if version in known]
    return {"apiKey": api_key, "minVersion": common[0], "maxVersion": common[-1]} if common else {}


@pytest.mark.parametrize("api_key", [*sorted(APIS), UNKNOWN_KEY, -1])
def test_versions_are_known_where_both_messages_can_be_read(api_key):
    known = known_versions(api_key)
    for version in range(-2, 30):
        readable = api_key in APIS and all(
            version in protocol.message_class(api_key, kind).valid_versions for kind in ("request", "response")
        )
        assert (version in known) is readable


def test_an_upstream_that_knows_less_has_its_versions_told():
    answer = ApiVersionsResponse(api_keys=[entry(3, 0, 4), entry(1, 2, 6)])
    clamp(answer)
    assert told(answer) == [(3, 0, 4), (1, 2, 6)]


def test_an_upstream_that_knows_more_has_what_the_codec_knows_told():
    highest = protocol.message_class(1, "request").valid_versions.highest
    answer = ApiVersionsResponse(api_keys=[entry(1, 4, LATER), entry(UNKNOWN_KEY, 0, 0), entry(3, LATER, LATER)])
    clamp(answer)
    assert told(answer) == [(1, 4, highest)]


def test_a_version_that_is_still_to_change_is_told_where_upstream_serves_it():
    unstable = [key for key in APIS if protocol.message_class(key, "request").message.latest_unstable]
    assert unstable
    for api_key in unstable:
        versions = protocol.message_class(api_key, "request").valid_versions
        answer = ApiVersionsResponse(api_keys=[entry(api_key, versions.lowest, versions.highest)])
        clamp(answer)
        assert told(answer) == [(api_key, versions.lowest, versions.highest)]


def test_a_refusal_of_a_version_keeps_its_error_and_has_its_range_limited():
    """Source: ApiVersionsRequest.getErrorResponse names this API alone, in version 0 form (KIP-511)."""
    refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[entry(API_VERSIONS, 0, LATER)])
    clamp(refusal)
    read = protocol.decode(API_VERSIONS, "response", 0, protocol.encode(refusal, 0))
    assert read.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert told(read) == [(API_VERSIONS, 0, VERSIONS[-1])]


@pytest.mark.parametrize("name", capture_names())
def test_real_brokers_say_nothing_that_the_codec_does_not_know(name):
    for frame in captured_frames(name):
        if frame.kind == "response" and frame.api_key == API_VERSIONS:
            _, answer = protocol.read_response(frame.data, frame.api_key, frame.version)
            before = told(answer)
            clamp(answer)
            assert told(answer) == before
