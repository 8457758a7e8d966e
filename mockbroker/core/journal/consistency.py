"""Checks that the records and offsets on the wire are consistent: a history checker over the journal.

It sees offsets and checksums, not values: the responses of Produce, the requests and responses of Fetch, and the
present logs. It checks that

- records acknowledged with acks=all are in the log under their offsets, and are those that were sent;
- records that a consumer got begin at the offset of its request, end below the high watermark, and are still in the
  log, so that no other consumer reads different records there;
- after ``Journal.watch_history``, the combined history of all batches is consistent by kafka_rack.consistency.

The logs of a real cluster are not here: of its calls only the high watermark and the history are checked. Nothing
checks topics that were deleted, records that retention deleted, and acks=0 and 1, which guarantee nothing.
A consumer may read next wherever it likes: on the wire, a seek looks the same as skipping records it got.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mockbroker.call import FetchedPart, ProducedPart
from mockbroker.core.journal.records import CallRecord, written_batches

if TYPE_CHECKING:
    from kafka_rack.consistency import Report
    from mockbroker.core.journal.filters import JournalFilters
    from mockbroker.core.journal.journal import Journal
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics.topic import Partition

ALL_IN_SYNC = -1
CRC = slice(17, 21)
MAGIC, MAGIC_OF_BATCHES = 16, 2
LOG_APPEND_TIME = "LogAppendTime"
MAX_ANOMALIES = 1_000


def anomalies(journal: Journal, filters: JournalFilters) -> list[str]:
    """The inconsistencies, each as a part of a sentence, in the order of the calls; the first thousand of them."""
    cluster = journal.cluster
    if cluster is None:
        return []
    found = of_calls(cluster, journal.records(filters), filters)
    return found if journal.history is None else found + of_history(journal.history.report(), filters)


def of_calls(cluster: Cluster, records: Iterable[tuple[int, CallRecord]], filters: JournalFilters) -> list[str]:
    """The inconsistencies between single calls and the present logs; the first thousand or some more."""
    found: list[str] = []
    for sequence, record in records:
        found += of_call(cluster, sequence, record, filters)
        if len(found) >= MAX_ANOMALIES:
            break
    return found


def of_history(report: Report, filters: JournalFilters) -> list[str]:
    """The anomalies in the history of sends and polls."""
    from kafka_rack.consistency.wire import topic_of

    return [
        f"{one.kind}: {one.evidence}" for one in report.anomalies if filters.meets(topic_of(one.topic), one.partition)
    ]


def of_call(cluster: Cluster, sequence: int, record: CallRecord, filters: JournalFilters) -> Iterator[str]:
    """The inconsistencies of one Produce or Fetch."""
    who = f"{record.client.client_id!r} by broker {record.client.session.broker.id} (#{sequence})"
    for part in record.written:
        if filters.meets(part.topic, part.entry.index):
            yield from lost(cluster, part, who)
    for read in record.read:
        if read.size_bytes and not read.error_code and filters.meets(read.topic, read.partition):
            yield from misread(cluster, read, who)


def lost(cluster: Cluster, part: ProducedPart, who: str) -> Iterator[str]:
    """The records that were acknowledged and are not in the log."""
    entry = part.entry
    if entry.error_code or part.acks != ALL_IN_SYNC or part.end_offset < 0 or entry.base_offset < 0:
        return
    partition = partition_of(cluster, part.topic_id, entry.index)
    if partition is None or entry.base_offset < partition.log.start_offset:
        return
    what = f"offsets {entry.base_offset} to {part.end_offset - 1} of {part.topic}-{entry.index}, acknowledged to {who},"
    batches = written_batches(cluster, part)
    if batches is None:
        yield f"{what} are not in its log, which ends at {partition.log.end_offset}"
    elif is_other(partition, batches[0].data, part.crc):
        yield f"{what} are other records now"


def is_other(partition: Partition, data: bytes, crc: bytes) -> bool:
    """True if a batch is not the one that was sent; a timestamp that the broker sets changes its checksum."""
    if len(crc) < 4 or data[MAGIC] != MAGIC_OF_BATCHES:
        return False
    return partition.topic.config("message.timestamp.type") != LOG_APPEND_TIME and data[CRC] != crc


def misread(cluster: Cluster, part: FetchedPart, who: str) -> Iterator[str]:
    """The records that a consumer got without requesting them, above the high watermark, or that are gone."""
    name = f"{part.topic}-{part.partition}"
    if part.next_offset < 0:
        return
    what = f"offsets {part.first_offset} to {part.next_offset - 1} of {name}, returned to {who},"
    if part.next_offset > part.high_watermark:
        yield f"{what} reach over the high watermark {part.high_watermark}"
    partition = partition_of(cluster, part.topic_id, part.partition)
    if partition is None:
        return
    if part.first_offset > part.fetch_offset or part.next_offset <= part.fetch_offset:
        yield (
            f"offset {part.fetch_offset} of {name} was requested, but offsets {part.first_offset} to "
            f"{part.next_offset - 1} were returned to {who}"
        )
    if part.next_offset > partition.log.end_offset:
        yield f"{what} are no longer in its log, which ends at {partition.log.end_offset}"


def partition_of(cluster: Cluster, topic_id: bytes, index: int) -> Partition | None:
    """The partition with its log; None if its topic was deleted, or if a real cluster has the log."""
    topic = None if cluster.is_mirror else cluster.topic_by_id.get(topic_id)
    return topic.partitions[index] if topic is not None and 0 <= index < len(topic.partitions) else None
