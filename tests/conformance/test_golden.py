"""Every golden vector, in three directions, by both readers: Apache Kafka's own bytes and JSON are the judge."""

from collections.abc import Iterable
from itertools import islice

import pytest
from hypothesis import settings

import protocol
from protocol import reference
from protocol.fuzz import huge_lengths, prefixes
from tests.fixture_data import golden_vectors

MESSAGES = sorted({vector.message for vector in golden_vectors()})
ONE_IN = 1 if settings().max_examples >= settings.get_profile("dev").max_examples else 8
"""Of damaged bytes `make check` reads one in eight: a reader that refuses them says where, which takes its time."""


def enough_of(damaged: Iterable[bytes], seed: int) -> Iterable[bytes]:
    return islice(damaged, seed % ONE_IN, None, ONE_IN)


@pytest.mark.parametrize("name", MESSAGES)
def test_golden_bytes_decode_to_kafkas_json(name):
    for vector in golden_vectors(name):
        message = protocol.decode_named(name, vector.version, vector.body)
        assert protocol.to_json(message, vector.version) == vector.json, vector.label


@pytest.mark.parametrize("name", MESSAGES)
def test_kafkas_json_encodes_to_golden_bytes(name):
    for vector in golden_vectors(name):
        message = protocol.from_json(name, vector.version, vector.json)
        assert protocol.encode(message, vector.version) == vector.body, vector.label


@pytest.mark.parametrize("name", MESSAGES)
def test_golden_bytes_survive_decoding_and_encoding_by_both_codecs(name):
    message_class = protocol.named_class(name)
    for vector in golden_vectors(name):
        compiled = protocol.decode_named(name, vector.version, vector.body)
        assert protocol.encode(compiled, vector.version) == vector.body, vector.label
        referred, end = reference.decode(message_class, vector.version, vector.body)
        assert (referred, end) == (compiled, len(vector.body)), vector.label
        assert reference.encode(compiled, vector.version) == vector.body, vector.label


def test_requests_and_responses_are_found_by_their_api_key():
    for vector in golden_vectors():
        if vector.kind in ("request", "response") and vector.message != "ListClientMetricsResources":
            by_name = protocol.named_class(vector.message)
            assert by_name.api_key == vector.api_key
            assert by_name.kind == vector.kind


@pytest.mark.parametrize("name", MESSAGES)
def test_no_prefix_of_a_golden_vector_is_a_message(name):
    for vector in golden_vectors(name):
        for prefix in enough_of(prefixes(vector.body), seed=vector.version):
            with pytest.raises(protocol.DecodeError):
                protocol.decode_named(name, vector.version, prefix)


@pytest.mark.parametrize("name", MESSAGES)
def test_every_length_made_huge_is_refused_where_it_stands(name):
    for vector in golden_vectors(name):
        for data in enough_of(huge_lengths(protocol.named_class(name), vector.version, vector.body), vector.version):
            with pytest.raises(protocol.DecodeError) as raised:
                protocol.decode_named(name, vector.version, data)
            assert 0 <= raised.value.offset <= len(data)
