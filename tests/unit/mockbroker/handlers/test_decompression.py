"""What one request's compressed records may hold, all together and each."""

from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from protocol.error_codes import ErrorCode
from protocol.records import CompressionCodec
from tests.unit.mockbroker.handlers.records import batch, fetch, fetch_request, offsets, produce, produce_request

COMPRESSED = [codec for codec in CompressionCodec if codec != CompressionCodec.NONE]


@pytest.fixture
def sim() -> Simulation:
    """With the topic orders, of two partitions; a request's records may hold 10,000 bytes."""
    sim = Simulation(racks="a", seed=0, settings={"max.decompressed.request.bytes": 10_000})
    sim.cluster.replication_control.create("orders", 2, 1)
    return sim


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_batch_that_holds_more_is_refused_for_good(sim, codec):
    assert produce(sim, batch(bytes(9_000), codec=codec)).error_code == 0
    assert produce(sim, batch(bytes(11_000), codec=codec)).error_code == ErrorCode.INVALID_RECORD
    assert produce(sim, batch(bytes(11_000))).error_code == 0, "what is not compressed holds what it is"


def test_all_partitions_of_a_request_count_together(sim):
    request = produce_request(batch(bytes(6_000), codec=CompressionCodec.GZIP))
    request.topic_data[0].partition_data += (
        produce_request(batch(bytes(6_000), codec=CompressionCodec.GZIP), index=1).topic_data[0].partition_data
    )
    for _ in range(2):
        entries = sim.ask(request, version=12).responses[0].partition_responses
        assert [entry.error_code for entry in entries] == [0, ErrorCode.INVALID_RECORD]


def test_old_message_sets_of_a_request_count_together(sim):
    one = batch(bytes(6_000), codec=CompressionCodec.GZIP, magic=1)
    assert produce(sim, one, version=2).error_code == 0
    assert produce(sim, one + one, version=2).error_code == ErrorCode.INVALID_RECORD


def test_an_old_consumer_is_given_what_may_be_opened_and_then_the_rest(sim):
    for index in (0, 1):
        produce(sim, batch(bytes(6_000), codec=CompressionCodec.GZIP), index=index)
        produce(sim, batch(bytes(6_000), codec=CompressionCodec.GZIP), index=index)
    assert offsets(fetch(sim, version=3).records) == [0]
    assert offsets(fetch(sim, 1, version=3).records) == [1]
    request = fetch_request()
    request.topics[0].partitions += fetch_request(index=1).topics[0].partitions
    first, second = sim.ask(request, version=3).responses[0].partitions
    assert (offsets(first.records), second.error_code, second.records) == ([0], 0, b"")


@pytest.mark.parametrize("records", [1, 20])
def test_a_topic_bounds_each_record_that_is_compressed(sim, records):
    sim.cluster.replication_control.create("short", 1, 1, configs={"max.decompressed.message.bytes": "100"})
    for size, error in ((80, 0), (100, ErrorCode.INVALID_RECORD)):
        sent = batch(*[bytes(size)] * records, codec=CompressionCodec.LZ4)
        assert produce(sim, sent, topic="short").error_code == error
    assert produce(sim, batch(bytes(200)), topic="short").error_code == 0
