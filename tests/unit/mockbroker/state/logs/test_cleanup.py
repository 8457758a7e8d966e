"""When logs are cleaned and old segments go: deadlines, lags, horizons, restarts."""

from __future__ import annotations

import gc

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.image import Image
from mockbroker.state.logs.compaction import cleanable_end
from mockbroker.state.logs.log import Log, LogSegment
from protocol.apis.produce import ProduceRequest
from protocol.records import Record, build_batch, iter_batches, iter_records
from tests.transaction_driver import TransactionalProducer
from tests.unit.mockbroker.core.client import Client
from tests.unit.mockbroker.handlers.records import batch, fetch, produce, produce_request

BACKOFF_MS = 15_000
DAY_MS = 86_400_000
COMPACTED = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0"}


def cluster_of(**configs: str) -> Simulation:
    sim = Simulation("a")
    named = {name.replace("_", "."): value for name, value in configs.items()}
    sim.cluster.replication_control.create("t", 1, 1, configs=named)
    return sim


def compacted(**configs: str) -> Simulation:
    return cluster_of(**{name.replace(".", "_"): value for name, value in COMPACTED.items()} | configs)


def write(sim: Simulation, key: bytes, value: bytes | None, **fields) -> int:
    """A record of its own segment, in its own batch."""
    sim.advance(101)
    entry = produce(sim, build_batch([Record(key=key, value=value, timestamp=sim.now_ms)], **fields), topic="t")
    assert entry.error_code == 0
    return entry.base_offset


def log_of(sim: Simulation):
    return sim.cluster.topics["t"].partitions[0].log


def offsets(sim: Simulation) -> list[int]:
    return [one.offset for batch in log_of(sim).batches() for one in iter_records(batch.data)]


def test_nothing_is_waited_for_where_there_is_nothing_to_lose():
    sim = cluster_of(retention_ms="-1")
    write(sim, b"k", b"v")
    assert sim.engine.next_deadline_ms() is None


def test_records_go_at_the_first_check_after_their_time():
    sim = cluster_of(retention_ms="60000")
    write(sim, b"k", b"v")
    sim.advance(330_000 - sim.now_ms - 1)  # checks come at 30 s, and every 5 minutes from there
    assert log_of(sim).start_offset == 0
    sim.advance(1)
    assert (log_of(sim).start_offset, log_of(sim).end_offset) == (1, 1)
    assert sim.engine.next_deadline_ms() is None


def test_the_older_of_two_segments_goes_once_both_are_larger_than_the_topic_may_be():
    sim = cluster_of(segment_ms="100", retention_bytes="1")
    write(sim, b"k", b"v")
    write(sim, b"k", b"v")
    assert len(log_of(sim).segments) == 2
    sim.advance(30_000)  # log.initial.task.delay.ms
    assert (log_of(sim).start_offset, offsets(sim)) == (1, [1])


def test_a_changed_config_has_its_effect_on_what_is_there():
    sim = cluster_of(retention_ms="-1")
    write(sim, b"k", b"v")
    sim.cluster.configs.write("topic", "t", {"retention.ms": "1000"})
    sim.advance(30_000)
    assert log_of(sim).start_offset == 1


def test_a_restored_cluster_goes_on_with_what_it_has_to_delete():
    sim = cluster_of(retention_ms="1000")
    write(sim, b"k", b"v")
    origin = sim.engine.origin()
    sim.engine.begin_with(origin, sim.now_ms)
    sim.advance(30_000)
    assert log_of(sim).start_offset == 1
    assert isinstance(sim.cluster.image, Image)


def test_what_is_left_of_a_key_is_its_last_record_once_the_cleaner_has_looked():
    sim = compacted()
    for value in (b"1", b"2", b"3"):
        write(sim, b"k", value)
    assert offsets(sim) == [0, 1, 2]
    sim.advance(BACKOFF_MS)
    assert offsets(sim) == [1, 2], "the segment that is written to is never cleaned"


def test_a_log_that_is_clean_enough_is_left_alone():
    sim = compacted(min_cleanable_dirty_ratio="0.7")
    for number in range(5):
        write(sim, b"%d" % number, b"v")
    sim.advance(BACKOFF_MS)
    write(sim, b"0", b"w")
    write(sim, b"1", b"w")
    sim.advance(BACKOFF_MS)
    assert offsets(sim) == list(range(7))


def test_young_records_are_left_alone_until_they_are_older():
    sim = compacted(min_compaction_lag_ms="60000")
    for value in (b"1", b"2", b"3"):
        write(sim, b"k", value)
    sim.advance(45_000)
    assert offsets(sim) == [0, 1, 2]
    sim.advance(30_000)
    assert offsets(sim) == [1, 2]


def test_a_record_that_waits_too_long_has_a_clean_log_cleaned():
    sim = compacted(min_cleanable_dirty_ratio="1", max_compaction_lag_ms="60000")
    for value in (b"1", b"2", b"3"):
        write(sim, b"k", value)
    sim.advance(60_000 - sim.now_ms)
    assert offsets(sim) == [0, 1, 2]
    sim.advance(BACKOFF_MS)
    assert offsets(sim) == [1, 2]


def test_a_tombstone_stays_for_its_time_and_goes_with_the_cleaning_after_that():
    sim = compacted(delete_retention_ms="1000000")
    write(sim, b"k", b"v")
    write(sim, b"k", None)
    write(sim, b"other", b"1")
    sim.advance(BACKOFF_MS)
    assert offsets(sim) == [1, 2]
    (header, _) = [next(iter_batches(batch.data)) for batch in log_of(sim).batches()]
    assert header.delete_horizon_ms == BACKOFF_MS + 1_000_000
    sim.advance(1_000_000)
    assert offsets(sim) == [1, 2], "nothing is dirty, so nobody looks"
    write(sim, b"other", b"2")
    sim.advance(BACKOFF_MS)
    assert offsets(sim) == [2, 3]


def transact(sim: Simulation, producer: TransactionalProducer, key: bytes, *, commit: bool | None) -> None:
    """One record in a transaction, and the marker that ends it, if it ends; each in a segment of its own."""
    sim.advance(101)
    fields = {"producer_id": producer.producer_id, "producer_epoch": producer.epoch, "base_sequence": 0}
    records = build_batch([Record(key=key, value=b"v", timestamp=sim.now_ms)], transactional=True, **fields)
    partition = ProduceRequest.Topic.Partition(index=0, records=records)
    request = ProduceRequest(
        transactional_id=producer.id, acks=1, topic_data=[ProduceRequest.Topic(name="t", partition_data=[partition])]
    )
    assert sim.ask(request, version=12).responses[0].partition_responses[0].error_code == 0
    sim.advance(101)
    assert commit is None or producer.end(commit=commit) == 0


def test_records_of_an_aborted_transaction_go_and_replace_no_others():
    sim = compacted(delete_retention_ms="1000000")
    producer = TransactionalProducer(sim)
    producer.init()
    write(sim, b"k", b"first")
    transact(sim, producer, b"k", commit=False)  # offsets 1 and 2
    transact(sim, producer, b"k", commit=True)  # 3 and 4
    transact(sim, producer, b"other", commit=False)  # 5 and 6
    write(sim, b"last", b"v")
    sim.advance(BACKOFF_MS)
    assert offsets(sim) == [2, 3, 4, 6, 7], "the records of 0, 1 and 5 are gone"
    aborted = sim.cluster.topics["t"].partitions[0].producers.transactions.aborted
    assert [one.last_offset for one in aborted] == [2, 6]
    write(sim, b"last", b"w")
    sim.advance(BACKOFF_MS)
    assert [one.last_offset for one in aborted] == [], "their markers end nothing that is there"
    assert offsets(sim) == [2, 3, 4, 6, 7, 8], "and stay for their time from then on"
    sim.advance(1_000_000)
    write(sim, b"last", b"x")
    sim.advance(BACKOFF_MS)
    assert offsets(sim) == [3, 4, 8, 9], "but for the last one of the producer, which has lost its record"


def test_nothing_of_an_open_transaction_is_cleaned():
    sim = compacted()
    producer = TransactionalProducer(sim)
    producer.init()
    write(sim, b"k", b"1")
    write(sim, b"k", b"2")
    transact(sim, producer, b"k", commit=None)
    write(sim, b"k", b"3")
    write(sim, b"k", b"4")
    sim.advance(BACKOFF_MS)
    assert offsets(sim) == [1, 2, 3, 4]


def test_a_reader_passes_over_what_compaction_has_taken():
    sim = compacted()
    for key in (b"a", b"b", b"a", b"b", b"c"):
        write(sim, key, b"v")
    sim.advance(BACKOFF_MS)
    assert offsets(sim) == [2, 3, 4]
    entry = fetch(sim, 0, topic="t")
    assert [one.offset for one in iter_records(entry.records)] == [2, 3]
    assert (entry.log_start_offset, entry.high_watermark) == (0, 5)


def test_segments_that_have_become_small_are_joined():
    sim = compacted()
    for _ in range(6):
        write(sim, b"k", b"v")
    assert len(log_of(sim).segments) == 6
    sim.advance(BACKOFF_MS)
    assert [one.base_offset for one in log_of(sim).segments] == [0, 5]


def test_what_was_written_long_ago_is_compacted_and_deleted_where_both_are_wanted():
    sim = compacted(cleanup_policy="compact,delete", retention_ms=str(DAY_MS))
    for value in (b"1", b"2", b"3"):
        write(sim, b"k", value)
    sim.advance(BACKOFF_MS)
    assert offsets(sim) == [1, 2]
    sim.cluster.jump_clock(2 * DAY_MS, sim.now_ms)
    assert (offsets(sim), log_of(sim).start_offset) == ([], 3)


def test_a_producer_who_writes_nothing_for_a_day_is_forgotten_at_the_next_check():
    sim = cluster_of(retention_ms="-1")
    write(sim, b"k", b"v", producer_id=7, producer_epoch=0, base_sequence=0)
    producers = sim.cluster.topics["t"].partitions[0].producers
    sim.advance(DAY_MS)
    assert 7 in producers.by_id
    sim.advance(600_000)
    assert 7 not in producers.by_id
    assert sim.engine.next_deadline_ms() is None


@pytest.mark.parametrize(
    ("dirty_offset", "stable_offset", "wanted"),
    [
        (0, 99, (20, True)),
        (10, 99, (20, True)),
        (0, 15, (15, True)),
        (0, 5, (5, True)),
        (20, 99, (20, False)),
    ],
)
def test_what_may_be_cleaned_ends_with_what_is_stable_and_with_the_last_segment(dirty_offset, stable_offset, wanted):
    segments = [
        LogSegment(offset, size_bytes=100, first_timestamp=offset, max_timestamp=offset) for offset in (0, 10, 20)
    ]
    configs = {"min.cleanable.dirty.ratio": 0.0, "min.compaction.lag.ms": 0, "max.compaction.lag.ms": 2**63 - 1}
    assert cleanable_end(segments, dirty_offset, stable_offset, 1000, configs.__getitem__) == wanted


def logs_in_memory() -> int:
    gc.collect()
    return sum(type(one) is Log for one in gc.get_objects())


def test_the_log_of_a_deleted_topic_is_given_back_at_once():
    sim = Simulation("a")
    before = logs_in_memory()
    sim.cluster.replication_control.create("t", 1, 1)
    Client(sim).ask(produce_request(batch(b"v"), topic="t", acks=1), 9)
    assert logs_in_memory() == before + 1
    sim.cluster.replication_control.delete(sim.cluster.topics["t"])
    sim.advance(1)  # those who waited for it have been woken
    assert logs_in_memory() == before
