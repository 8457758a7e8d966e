from __future__ import annotations

import struct

import pytest

from mockbroker.core.simulation import ConnectionClosedError, Simulation
from mockbroker.state.logs.batch_checks import SMALLEST_RECORD_BYTES
from protocol.error_codes import ErrorCode
from protocol.records import CompressionCodec, TimestampType, iter_batches, iter_records
from protocol.records.checksum import crc32c
from tests.unit.mockbroker.handlers.records import (
    batch,
    fetch,
    offsets,
    produce,
    produce_request,
    values,
)


@pytest.fixture
def sim(sim: Simulation) -> Simulation:
    """With the topics orders (2 partitions, led by brokers 0 and 1) and events (diskless)."""
    sim.cluster.replication_control.create("orders", 2, 3)
    sim.cluster.replication_control.create("events", 2, configs={"diskless.enable": "true"})
    return sim


def test_offsets_are_given_out_in_order_and_kept_bytes_differ_in_nothing_else(sim):
    assert produce(sim, batch(b"a", b"b")).base_offset == 0
    assert produce(sim, batch(b"c")).base_offset == 2
    stored = fetch(sim).records
    assert (values(stored), offsets(stored)) == ([b"a", b"b", b"c"], [0, 1, 2])
    sent = batch(b"a", b"b")
    assert stored[16 : len(sent)] == sent[16:], "behind offset, length and leader epoch"


def test_the_leader_epoch_is_written_into_the_batch(sim):
    sim.cluster.cluster_control.stop(0, 0)
    produce(sim, batch(b"a"), broker=1)
    (header,) = iter_batches(fetch(sim, broker=1).records)
    assert header.partition_leader_epoch == 1


def test_a_broker_that_does_not_lead_says_who_does(sim):
    request = produce_request(batch(b"a"), index=1)
    response = sim.ask(request, version=12, broker=0)
    entry = response.responses[0].partition_responses[0]
    assert (entry.error_code, entry.base_offset) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert (entry.current_leader.leader_id, entry.current_leader.leader_epoch) == (1, 0)
    assert [(node.node_id, node.port, node.rack) for node in response.node_endpoints] == [(1, 9093, "b")]
    old = sim.ask(request, version=9, broker=0)
    assert old.responses[0].partition_responses[0].current_leader.leader_id == -1


def test_a_broker_that_stops_names_nobody_as_leader_of_a_diskless_partition(sim):
    """librdkafka counts a leader of -1 that has an epoch, leaves it out and reads beyond the rest: its issue 5280."""
    sim.cluster.brokers[0].is_running = False
    entry = (
        sim.ask(produce_request(batch(b"a"), topic="events"), version=12, broker=0).responses[0].partition_responses[0]
    )
    assert entry.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (entry.current_leader.leader_id, entry.current_leader.leader_epoch) == (-1, -1)


def test_any_broker_takes_any_diskless_partition_and_all_share_one_log(sim):
    for broker in (2, 0, 1):
        assert produce(sim, batch(b"%d" % broker), topic="events", index=1, broker=broker).error_code == 0
    assert values(fetch(sim, topic="events", index=1, broker=2).records) == [b"2", b"0", b"1"]


def test_topics_go_by_id_since_version_13(sim):
    topic_id = sim.cluster.topics["orders"].id
    answer = sim.ask(produce_request(batch(b"a"), topic="", topic_id=topic_id), version=13)
    assert answer.responses[0].topic_id == topic_id
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    assert produce(sim, batch(b"a"), topic_id=b"\1" * 16, version=13).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_an_unknown_partition_is_refused_and_the_others_are_not(sim):
    assert produce(sim, batch(b"a"), index=2).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert produce(sim, batch(b"a"), topic="none").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert produce(sim, batch(b"a")).error_code == ErrorCode.NONE


def test_acks_0_has_no_answer_and_an_error_ends_the_connection(sim):
    ticket = sim.send(produce_request(batch(b"a"), acks=0), version=12)
    assert sim.replies[ticket] is None
    assert values(fetch(sim).records) == [b"a"]
    with pytest.raises(ConnectionClosedError, match="NOT_LEADER_OR_FOLLOWER"):
        sim.send(produce_request(batch(b"a"), index=1, acks=0), version=12)


def test_other_acks_are_refused(sim):
    assert produce(sim, batch(b"a"), acks=2).error_code == ErrorCode.INVALID_REQUIRED_ACKS


def test_acks_all_wants_enough_replicas_in_sync(sim):
    sim.cluster.replication_control.create("safe", 1, 3, configs={"min.insync.replicas": "2"})
    sim.cluster.cluster_control.stop(1, 0)
    assert produce(sim, batch(b"a"), topic="safe").error_code == ErrorCode.NONE
    sim.cluster.cluster_control.stop(2, 0)
    assert produce(sim, batch(b"a"), topic="safe").error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert produce(sim, batch(b"a"), topic="safe", acks=1).error_code == ErrorCode.NONE


def test_no_more_replicas_have_to_be_in_sync_than_there_are(sim):
    sim.cluster.replication_control.create("single", 1, 1, configs={"min.insync.replicas": "2"})
    assert produce(sim, batch(b"a"), topic="single").error_code == ErrorCode.NONE


def test_a_repeated_batch_has_its_first_offset_and_is_not_appended(sim):
    sent = batch(b"a", b"b", producer_id=1000, producer_epoch=0, base_sequence=0)
    more = batch(b"c", producer_id=1000, producer_epoch=0, base_sequence=2)
    assert [produce(sim, records).base_offset for records in (sent, more, sent, more)] == [0, 2, 0, 2]
    assert values(fetch(sim).records) == [b"a", b"b", b"c"]


def test_sequences_hold_over_a_change_of_leader_and_of_diskless_broker(sim):
    sent = batch(b"a", producer_id=1000, producer_epoch=0, base_sequence=0)
    produce(sim, sent)
    produce(sim, sent, topic="events", broker=0)
    sim.cluster.cluster_control.stop(0, 0)
    assert produce(sim, sent, broker=1).base_offset == 0
    assert produce(sim, sent, topic="events", broker=1).base_offset == 0
    gap = batch(b"b", producer_id=1000, producer_epoch=0, base_sequence=5)
    assert produce(sim, gap, broker=1).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_what_is_no_sound_batch_is_refused_with_kafkas_error(sim):
    whole = batch(b"a")
    broken = whole[:-1] + bytes([whole[-1] ^ 1])
    assert produce(sim, broken).error_code == ErrorCode.CORRUPT_MESSAGE
    assert produce(sim, whole[:-1]).error_code == ErrorCode.INVALID_RECORD  # no batch at all
    assert produce(sim, b"").error_code == ErrorCode.INVALID_RECORD
    assert produce(sim, None).error_code == ErrorCode.INVALID_RECORD
    assert produce(sim, whole + whole).error_code == ErrorCode.INVALID_RECORD
    assert (
        produce(sim, batch(b"a", codec=CompressionCodec.ZSTD), version=6).error_code
        == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    )
    assert fetch(sim).high_watermark == 0


@pytest.mark.parametrize(
    ("codec", "count"), [(CompressionCodec.NONE, 9), *((codec, 2**31 - 1) for codec in CompressionCodec)]
)
def test_a_batch_that_counts_more_records_than_it_holds_is_refused(sim, codec, count):
    whole = bytearray(batch(b"a", codec=codec))
    struct.pack_into(">i", whole, 23, count - 1)  # the last offset delta
    struct.pack_into(">i", whole, 57, count)
    struct.pack_into(">I", whole, 17, crc32c(bytes(whole[21:])))
    assert produce(sim, bytes(whole)).error_code == ErrorCode.INVALID_RECORD
    assert fetch(sim).high_watermark == 0


def test_many_small_records_that_compress_well_are_taken(sim):
    many = batch(*[b""] * 100_000, codec=CompressionCodec.ZSTD)
    assert len(many) * 8 < 100_000 * SMALLEST_RECORD_BYTES
    assert produce(sim, many).error_code == ErrorCode.NONE
    assert fetch(sim, 99_999).high_watermark == 100_000


def test_a_batch_over_the_topics_limit_is_too_large(sim):
    sim.cluster.replication_control.create("small", 1, 1, configs={"max.message.bytes": "100"})
    assert produce(sim, batch(b"x" * 100), topic="small").error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert produce(sim, batch(b"x"), topic="small").error_code == ErrorCode.NONE


def test_a_topic_may_set_the_time_itself(sim):
    sim.cluster.replication_control.create("timed", 1, 1, configs={"message.timestamp.type": "LogAppendTime"})
    sim.advance(ms=77)
    entry = produce(sim, batch(b"a", timestamp=5), topic="timed")
    assert entry.log_append_time_ms == 77
    (record,) = iter_records(fetch(sim, topic="timed").records)
    assert record.timestamp == 77
    assert record.batch.timestamp_type == TimestampType.LOG_APPEND_TIME
    assert produce(sim, batch(b"a", timestamp=5)).log_append_time_ms == -1


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.GZIP])
def test_message_sets_of_old_producers_are_read_by_consumers_of_today(sim, version, codec):
    magic = 1 if version == 2 else 0
    assert produce(sim, batch(b"a", b"b", magic=magic, codec=codec), version=version).base_offset == 0
    assert produce(sim, batch(b"c", magic=magic, codec=codec), version=version).base_offset == 2
    stored = fetch(sim).records
    assert (values(stored), offsets(stored)) == ([b"a", b"b", b"c"], [0, 1, 2])


def test_new_batches_and_old_message_sets_do_not_mix_up_versions(sim):
    assert produce(sim, batch(b"a"), version=2).error_code == ErrorCode.INVALID_RECORD
    assert produce(sim, batch(b"a", magic=1), version=3).error_code == ErrorCode.INVALID_RECORD


def test_size_retention_moves_the_start_of_the_log_by_segments_at_the_next_check(sim):
    configs = {"retention.bytes": "2000000", "segment.bytes": "1048576", "max.message.bytes": "1048576"}
    sim.cluster.replication_control.create("short", 1, 1, configs=configs)
    for _ in range(5):
        produce(sim, batch(b"x" * 700_000), topic="short")
    log = sim.cluster.topics["short"].partitions[0].log
    sim.advance(ms=29_999)
    assert log.start_offset == 0
    sim.advance(ms=1)  # log.initial.task.delay.ms
    assert (log.start_offset, log.size_bytes > 2_000_000) == (2, True)


def test_the_journal_learns_the_record_bytes_of_each_topic(sim):
    sent = batch(b"a")
    sim.send(produce_request(sent), version=12)
    assert [entry.traffic for entry in sim.journal] == [{"orders": len(sent)}]


def test_of_a_partition_that_is_named_twice_only_the_last_records_are_appended(sim):
    request = produce_request(batch(b"first"))
    again = produce_request(batch(b"second"))
    request.topic_data[0].partition_data += again.topic_data[0].partition_data
    request.topic_data += produce_request(batch(b"third")).topic_data
    (topic,) = sim.ask(request, version=12).responses
    assert [entry.base_offset for entry in topic.partition_responses] == [0]
    assert values(fetch(sim).records) == [b"third"]
