"""The errors of every response, wherever they stand."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import protocol
from mockbroker.api import SERVED
from mockbroker.core.response_errors import error_codes, error_names
from protocol.apis.fetch import FetchResponse
from protocol.fuzz.generation import Maker
from protocol.json_form import to_json


def errors_in_json(value: Any) -> set[int]:
    """The same by another way: every number in Kafka's JSON form whose name ends with ErrorCode."""
    if isinstance(value, list):
        return set().union(*map(errors_in_json, value))
    if not isinstance(value, dict):
        return set()
    own = {one for name, one in value.items() if name.lower().endswith("errorcode")}
    return own.union(*map(errors_in_json, value.values())) - {0}


@pytest.mark.parametrize("api_key", sorted(SERVED))
def test_every_error_of_a_response_is_found_and_nothing_else(api_key):
    message = protocol.message_class(api_key, "response")
    version = message.valid_versions.highest
    maker, chance = Maker(message, version), Random(api_key)
    for _ in range(50):
        made = maker.make(chance)
        assert error_codes(made) == errors_in_json(to_json(made, version))


def test_a_response_without_an_error_has_none():
    partition = FetchResponse.Topic.Partition(records=b"")
    assert error_codes(FetchResponse(responses=[FetchResponse.Topic(partitions=[partition])])) == set()
    assert error_codes(None) == set()


def test_errors_that_kafka_does_not_know_keep_their_number():
    assert error_names([31_000, 6]) == ("NOT_LEADER_OR_FOLLOWER", "error 31000")
