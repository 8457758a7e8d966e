"""Every golden vector, in three directions, by both readers: Apache Kafka's own bytes and JSON are the judge."""

from collections.abc import Iterable, Iterator
from itertools import islice

import protocol
from protocol import reference
from protocol.fuzz import huge_lengths, prefixes
from tests.families import EACH_FAMILY, FAMILIES, asks_all
from tests.fixture_data import GoldenVector, golden_vectors

ONE_IN = 1 if asks_all() else 8
"""Of damaged bytes one in eight is read unless all messages are asked: a refusal says where, which takes its time."""


def vectors_of(family: str) -> Iterator[GoldenVector]:
    for message_class in FAMILIES[family]:
        yield from golden_vectors(message_class.name)


def enough_of(damaged: Iterable[bytes], seed: int) -> Iterable[bytes]:
    return islice(damaged, seed % ONE_IN, None, ONE_IN)


@EACH_FAMILY
def test_golden_bytes_decode_to_kafkas_json(family):
    for vector in vectors_of(family):
        message = protocol.decode_named(vector.message, vector.version, vector.body)
        assert protocol.to_json(message, vector.version) == vector.json, vector.label


@EACH_FAMILY
def test_kafkas_json_encodes_to_golden_bytes(family):
    for vector in vectors_of(family):
        message = protocol.from_json(vector.message, vector.version, vector.json)
        assert protocol.encode(message, vector.version) == vector.body, vector.label


@EACH_FAMILY
def test_golden_bytes_survive_decoding_and_encoding_by_both_codecs(family):
    for vector in vectors_of(family):
        message_class = protocol.named_class(vector.message)
        compiled = protocol.decode_named(vector.message, vector.version, vector.body)
        assert protocol.encode(compiled, vector.version) == vector.body, vector.label
        referred, end = reference.decode(message_class, vector.version, vector.body)
        assert (referred, end) == (compiled, len(vector.body)), vector.label
        assert reference.encode(compiled, vector.version) == vector.body, vector.label


def test_every_golden_vector_is_of_a_family():
    assert sum(len(list(vectors_of(family))) for family in FAMILIES) == len(golden_vectors())


def test_requests_and_responses_are_found_by_their_api_key():
    for vector in golden_vectors():
        if vector.kind in ("request", "response") and vector.message != "ListClientMetricsResources":
            by_name = protocol.named_class(vector.message)
            assert by_name.api_key == vector.api_key
            assert by_name.kind == vector.kind


@EACH_FAMILY
def test_no_prefix_of_a_golden_vector_is_a_message(family):
    for vector in vectors_of(family):
        for prefix in enough_of(prefixes(vector.body), vector.version):
            assert refusal(vector, prefix) is not None, (vector.label, len(prefix))


@EACH_FAMILY
def test_every_length_made_huge_is_refused_where_it_stands(family):
    for vector in vectors_of(family):
        message_class = protocol.named_class(vector.message)
        for data in enough_of(huge_lengths(message_class, vector.version, vector.body), vector.version):
            refused = refusal(vector, data)
            assert refused is not None, (vector.label, data.hex())
            assert 0 <= refused.offset <= len(data), (vector.label, data.hex())


def refusal(vector: GoldenVector, data: bytes) -> protocol.DecodeError | None:
    try:
        protocol.decode_named(vector.message, vector.version, data)
    except protocol.DecodeError as refused:
        return refused
    return None
