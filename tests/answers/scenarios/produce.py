"""Produce: what a leader takes, what it changes, and what it refuses with which error."""

from __future__ import annotations

import gzip
import struct
from typing import Any

from protocol.records import CompressionCodec, Record, build_batch, build_transaction_marker, compress
from protocol.records.building import put_varint
from protocol.records.checksum import crc32c
from tests.answers.scenarios import scenario
from tests.answers.story import Story, Topic

CODECS = (CompressionCodec.GZIP, CompressionCodec.SNAPPY, CompressionCodec.LZ4, CompressionCodec.ZSTD)
HOUR_MS = 3_600_000
UNKNOWN_ID = "aaaaaaaaaaaaaaaaaaaaaQ"


def to(topic: Topic, records: bytes | None, index: int = 0, acks: int = -1, **more: Any) -> dict[str, Any]:
    """A request with one partition."""
    return to_many([(topic, [(index, records)])], acks, **more)


def to_many(topics: list[tuple[Topic, list[tuple[int, bytes | None]]]], acks: int = -1, **more: Any) -> dict[str, Any]:
    return {
        "transactionalId": None,
        "acks": acks,
        "timeoutMs": 10_000,
        "topicData": [
            {
                "name": topic.name,
                "topicId": topic.id,
                "partitionData": [{"index": index, "records": records} for index, records in partitions],
            }
            for topic, partitions in topics
        ],
        **more,
    }


def with_crc(batch: bytes | bytearray) -> bytes:
    """A batch with the checksum that its bytes have."""
    changed = bytearray(batch)
    changed[17:21] = crc32c(bytes(changed[21:])).to_bytes(4, "big")
    return bytes(changed)


def patched(batch: bytes, layout: str, at: int, value: int) -> bytes:
    """A batch with one number of its header changed, and a right checksum."""
    changed = bytearray(batch)
    struct.pack_into(layout, changed, at, value)
    return with_crc(changed)


def with_body(batch: bytes, body: bytes) -> bytes:
    """A batch with other bytes in place of its records."""
    changed = bytearray(batch[:61] + body)
    struct.pack_into(">i", changed, 8, len(changed) - 12)
    return with_crc(changed)


def varint(number: int) -> bytes:
    out = bytearray()
    put_varint(out, number)
    return bytes(out)


def there(story: Story, topic: Topic, step: str, index: int = 0) -> None:
    """What the partition has by now."""
    wanted = {
        "maxWaitMs": 0,
        "minBytes": 0,
        "maxBytes": 1 << 20,
        "sessionEpoch": -1,
        "topics": [
            {"topic": topic.name, "partitions": [{"partition": index, "fetchOffset": 0, "partitionMaxBytes": 1 << 20}]}
        ],
    }
    story.ask(step, "Fetch", 12, wanted, to=topic.leader(index))


@scenario("produce v{version}", versions=("Produce", 3, 13))
def plain(story: Story, version: int) -> None:
    topic = story.topic("t", partitions=2)
    one = story.batch(b"one")
    ask = story.ask
    for acks in (-1, 1, 0):
        ask(f"acks {acks}", "Produce", version, to(topic, one, acks=acks))
    ask("after acks 0", "Produce", version, to(topic, one, acks=1))
    ask("another broker's partition", "Produce", version, to(topic, one, 1))
    ask("unknown partition", "Produce", version, to(topic, one, 7))
    ask("negative partition", "Produce", version, to(topic, one, -1))
    unknown = Topic("no-such-topic-here", UNKNOWN_ID, ((0,),))
    ask("unknown topic", "Produce", version, to(unknown, one))
    ask("acks 2", "Produce", version, to(topic, one, acks=2))
    ask("acks -2", "Produce", version, to(topic, one, acks=-2))
    ask("no topics", "Produce", version, to_many([]))
    ask("no partitions", "Produce", version, to_many([(topic, [])]))
    ask("no bytes", "Produce", version, to(topic, b""))
    ask("wrong CRC", "Produce", version, to(topic, one[:-1] + b"\x7f"))
    ask("magic 1", "Produce", version, to(topic, story.batch(b"one", magic=1)))
    ask("magic 0", "Produce", version, to(topic, story.batch(b"one", magic=0)))
    ask("two batches", "Produce", version, to(topic, one + one))
    ask("both of two partitions, one elsewhere", "Produce", version, to_many([(topic, [(0, one), (1, one)])]))
    ask("zstd", "Produce", version, to(topic, story.batch(b"one", b"two", codec=CompressionCodec.ZSTD)))
    ask("acks 2, unknown partition", "Produce", version, to(topic, one, 7, acks=2))
    ask("acks 2, no bytes", "Produce", version, to(topic, b"", acks=2))
    ask(
        "transactional without an id",
        "Produce",
        version,
        to(topic, story.batch(b"x", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)),
    )
    there(story, topic, "what is there")
    ask("acks 0, refused", "Produce", version, to(topic, b"", acks=0), on="other")
    ask("acks 0, another broker's", "Produce", version, to(topic, one, 1, acks=0), on="third")


@scenario("produce/bytes v{version}", versions=("Produce", 3, 3))
@scenario("produce/bytes v{version}", versions=("Produce", 7, 8))
@scenario("produce/bytes v{version}", versions=("Produce", 13, 13))
def broken_bytes(story: Story, version: int) -> None:
    topic = story.topic("t")
    one, two = story.batch(b"one"), story.batch((b"k", b"one"), (b"l", b"two"))
    ask = story.ask

    def sent(step: str, records: bytes, on: str = "main") -> None:
        ask(step, "Produce", version, to(topic, records), on=on)

    sent("a cut-off batch", one[:-1])
    sent("a cut-off header", one[:30])
    sent("ten bytes", one[:10])
    sent("thirteen bytes", one[:13])
    sent("trailing bytes", one + b"\0" * 5)
    sent("a cut-off batch behind", one + two[:-3])
    sent("a broken length behind", one + two[:8] + b"\0\0\0\1" + two[12:])
    sent("magic 9 behind", one + two[:16] + b"\x09" + two[17:])
    for step, length in (("length 0", 0), ("length -1", -1), ("length 13", 13), ("length 14", 14), ("length 30", 30)):
        sent(step, one[:8] + struct.pack(">i", length) + one[12:])
    sent("length too large", one[:8] + struct.pack(">i", 1 << 30) + one[12:])
    sent("magic 3", one[:16] + b"\x03" + one[17:])
    sent("magic 200", one[:16] + b"\xc8" + one[17:])
    sent("base offset 5", patched(one, ">q", 0, 5))
    sent("base offset -1", patched(one, ">q", 0, -1))
    sent("leader epoch 7", patched(one, ">i", 12, 7))
    sent("unknown codec 5", patched(one, ">h", 21, 5))
    sent("unknown codec 7", patched(one, ">h", 21, 7))
    sent("control batch", build_transaction_marker(commit=True, producer_id=9, producer_epoch=0, coordinator_epoch=0))
    sent("a control flag", patched(one, ">h", 21, 0x20))
    sent("an unknown flag", patched(one, ">h", 21, 0x80))
    sent("a delete horizon", patched(one, ">h", 21, 0x40))
    sent("count 0", patched(one, ">i", 57, 0))
    sent("count -1", patched(one, ">i", 57, -1))
    sent("count 2 of 1", patched(one, ">i", 57, 2))
    sent("last offset 1 of 1", patched(one, ">i", 23, 1))
    sent("last offset -1", patched(one, ">i", 23, -1))
    sent("count and last offset 2 of 1", patched(patched(one, ">i", 57, 2), ">i", 23, 1))
    sent("count and last offset 1 of 2", patched(patched(two, ">i", 57, 1), ">i", 23, 0))
    sent("a producer without a sequence", story.batch(b"x", producer_id=5, producer_epoch=0))
    body = two[61:]
    sent("no body", with_body(one, b""))
    sent("a record's length is too large", with_body(one, varint(100) + one[62:]))
    sent("a record's length is too small", with_body(one, varint(3) + one[62:]))
    sent("a record's length is negative", with_body(one, varint(-5) + one[62:]))
    sent("a record's length does not end", with_body(one, b"\xff" * 8))
    sent("bytes left over", with_body(two, body + b"\0"))
    sent("bytes missing", with_body(two, body[:-1]))
    rest = varint(0) + varint(0)
    sent("key length -2", with_body(one, record(b"\0" + rest + varint(-2) + varint(3) + b"one" + varint(0))))
    sent("value length -7", with_body(one, record(b"\0" + rest + varint(-1) + varint(-7) + varint(0))))
    sent("header count -1", with_body(one, record(b"\0" + rest + varint(-1) + varint(-1) + varint(-1))))
    sent("header count 9", with_body(one, record(b"\0" + rest + varint(-1) + varint(-1) + varint(9))))
    sent("header key null", with_body(one, record(b"\0" + rest + varint(-1) * 2 + varint(1) + varint(-1) * 2)))
    sent(
        "header value null",
        with_body(one, record(b"\0" + rest + varint(-1) * 2 + varint(1) + varint(1) + b"h" + varint(-1))),
    )
    sent("key too long", with_body(one, record(b"\0" + rest + varint(90) + varint(-1) + varint(0))))
    sent("a timestamp does not end", with_body(one, record(b"\0" + b"\xff" * 12)))
    sent("offsets in disorder", with_body(two, record(b"\0" + varint(0) + varint(5) + varint(-1) * 2 + varint(0)) * 2))
    sent("record attributes", with_body(one, record(b"\x07" + rest + varint(-1) * 2 + varint(0))))
    sent("max timestamp too high", patched(one, ">q", 35, story.time(9000)))
    sent("max timestamp too low", patched(one, ">q", 35, 7))
    sent("max timestamp -1", patched(one, ">q", 35, -1))
    sent("base timestamp -1", patched(one, ">q", 27, -1))
    sent("says it is the log's time", patched(one, ">h", 21, 8))
    there(story, topic, "what is there")


def record(fields: bytes) -> bytes:
    return varint(len(fields)) + fields


@scenario("produce/compressed v{version}", versions=("Produce", 6, 7))
@scenario("produce/compressed v{version}", versions=("Produce", 13, 13))
def compressed(story: Story, version: int) -> None:
    topic = story.topic("t")
    codecs = CODECS if version >= 7 else CODECS[:3]

    def sent(step: str, records: bytes) -> None:
        story.ask(step, "Produce", version, to(topic, records))

    plain_body = story.batch(b"one", b"two")[61:]
    for codec in codecs:
        name = codec.name.lower()
        batch = story.batch(b"one", b"two", codec=codec)
        sent(f"{name}, two records", batch)
        sent(f"{name}, wrong magic of the codec", with_body(batch, b"\x55\x66" + batch[63:]))
        sent(f"{name}, no body", with_body(batch, b""))
        sent(f"{name}, a body of zeros", with_body(batch, b"\0" * 20))
        sent(f"{name}, half a body", with_body(batch, batch[61 : 61 + (len(batch) - 61) // 2]))
        sent(f"{name}, count 3 of 2", patched(patched(batch, ">i", 57, 3), ">i", 23, 2))
        sent(f"{name}, count 1 of 2", patched(patched(batch, ">i", 57, 1), ">i", 23, 0))
        sent(f"{name}, max timestamp wrong", patched(batch, ">q", 35, 5))
        sent(f"{name}, bytes left over", with_body(batch, compress(codec, plain_body + b"\0")))
        sent(f"{name}, bytes missing", with_body(batch, compress(codec, plain_body[:-2])))
        sent(f"{name}, a record's length wrong", with_body(batch, compress(codec, varint(3) + plain_body[1:])))
        sent(f"{name}, a record's length negative", with_body(batch, compress(codec, varint(-3) + plain_body[1:])))
        sent(f"{name}, a length without end", with_body(batch, compress(codec, b"\xff" * 30)))
        disorder = record(b"\0" + varint(0) + varint(5) + varint(-1) * 2 + varint(0)) * 2
        sent(f"{name}, offsets in disorder", with_body(batch, compress(codec, disorder)))
        sent(f"{name}, not compressed", with_body(batch, plain_body))
    sent(
        "gzip, something behind",
        with_body(
            story.batch(b"one", codec=CompressionCodec.GZIP), gzip.compress(story.batch(b"one")[61:], mtime=0) + b"more"
        ),
    )
    sent("compressed, said not to be", patched(story.batch(b"one", codec=CompressionCodec.LZ4), ">h", 21, 0))
    there(story, topic, "what is there")


@scenario("produce/keys v{version}", versions=("Produce", 4, 5))
@scenario("produce/keys v{version}", versions=("Produce", 8, 8))
@scenario("produce/keys v{version}", versions=("Produce", 12, 13))
def keys(story: Story, version: int) -> None:
    topic = story.topic("compacted", configs={"cleanup.policy": "compact"})
    both = story.topic("both", configs={"cleanup.policy": "compact,delete"})
    keyed, bare = (b"k", b"v"), (None, b"v")

    def sent(step: str, to_topic: Topic, records: bytes, **more: Any) -> None:
        story.ask(step, "Produce", version, to(to_topic, records, **more))

    sent("a key", topic, story.batch(keyed))
    sent("an empty key", topic, story.batch((b"", b"v")))
    sent("no key", topic, story.batch(bare))
    sent("the second of three without", topic, story.batch(keyed, bare, keyed))
    sent("five without", topic, story.batch(*[bare] * 5))
    sent("a tombstone", topic, story.batch((b"k", None)))
    sent("no key, gzip", topic, story.batch(keyed, bare, codec=CompressionCodec.GZIP))
    sent("no key, compact and delete", both, story.batch(bare))
    sent("no key, too old as well", topic, story.batch(bare, at=2 * HOUR_MS))
    sent("no key, acks 0", topic, story.batch(bare), acks=0)
    rest = b"\0" + varint(0) + varint(0)
    sent("key length -3", topic, with_body(story.batch(keyed), record(rest + varint(-3) + varint(-1) + varint(0))))
    there(story, topic, "what is there")


@scenario("produce/times v{version}", versions=("Produce", 3, 4))
@scenario("produce/times v{version}", versions=("Produce", 8, 9))
@scenario("produce/times v{version}", versions=("Produce", 12, 13))
def times(story: Story, version: int) -> None:
    plain_topic = story.topic("t")
    strict = story.topic(
        "strict", configs={"message.timestamp.before.max.ms": "60000", "message.timestamp.after.max.ms": "60000"}
    )
    appended = story.topic("appended", configs={"message.timestamp.type": "LogAppendTime"})

    def sent(step: str, topic: Topic, records: bytes, **more: Any) -> None:
        story.ask(step, "Produce", version, to(topic, records, **more))

    def at(*when: int, codec: CompressionCodec = CompressionCodec.NONE) -> bytes:
        return build_batch([Record(value=b"x", timestamp=one) for one in when], codec=codec)

    now = story.time()
    sent("now", plain_topic, at(now))
    sent("two hours ahead", plain_topic, at(now + 2 * HOUR_MS))
    sent("a day ago", plain_topic, at(now - 24 * HOUR_MS))
    sent("1970", plain_topic, at(0))
    sent("no time", plain_topic, at(-1))
    sent("before 1970", plain_topic, at(-5))
    sent("newest first", plain_topic, at(now + 3000, now + 1000, now))
    sent("newest first, lz4", plain_topic, at(now + 3000, now + 1000, now, codec=CompressionCodec.LZ4))
    sent("two minutes ahead", strict, at(now + 120_000))
    sent("two minutes ago", strict, at(now - 120_000))
    sent("second of three", strict, at(now, now - 120_000, now))
    sent("all of three, gzip", strict, at(now + 120_000, now - 120_000, now + 120_000, codec=CompressionCodec.GZIP))
    sent("in time", strict, at(now, now - 1000))
    sent("no time in a strict topic", strict, at(-1))
    sent("said to be the log's, out of bounds", strict, patched(at(now - 120_000), ">h", 21, 8))
    story.wait(150)  # so that the log's time is none of those that are given here
    sent("set by the log", appended, at(now))
    sent("set by the log, of another day", appended, at(5))
    sent("set by the log, lz4", appended, at(now, now + 1000, codec=CompressionCodec.LZ4))
    sent("set by the log, no time", appended, at(-1))
    sent("set by the log, said to be already", appended, patched(at(now), ">h", 21, 8))
    sent("set by the log, said to be already, two records", appended, patched(at(now, now), ">h", 21, 8))
    there(story, plain_topic, "what is there")
    there(story, strict, "what is there in the strict one")
    there(story, appended, "what the log has set")
    sequence = {"producer_id": story.producer_id(), "producer_epoch": 0, "base_sequence": 0}
    again = story.batch(b"once", **sequence)
    sent("once", appended, again)
    sent("once more", appended, again)


@scenario("produce/recompressed v{version}", versions=("Produce", 8, 8))
@scenario("produce/recompressed v{version}", versions=("Produce", 13, 13))
def recompressed(story: Story, version: int) -> None:
    for wanted in ("uncompressed", "gzip", "snappy", "lz4", "zstd"):
        topic = story.topic(wanted, configs={"compression.type": wanted})
        for codec in (CompressionCodec.NONE, *CODECS):
            records = [
                Record(key=b"k", value=b"one", timestamp=story.time(), headers=(("h", b"1"), ("h", None))),
                Record(value=b"two", timestamp=story.time(1000)),
            ]
            batch = build_batch(records, codec=codec)
            story.ask(f"{codec.name.lower()} to {wanted}", "Produce", version, to(topic, batch))
        sequence = {"producer_id": 77, "producer_epoch": 3, "base_sequence": 9}
        story.ask(f"a sequence, {wanted}", "Produce", version, to(topic, story.batch(b"a", b"b", **sequence)))
        story.ask(f"the same, {wanted}", "Produce", version, to(topic, story.batch(b"a", b"b", **sequence)))
        offsets = with_body(story.batch(b"a", b"b"), record(b"\0\0" + varint(5) + varint(-1) * 2 + b"\0") * 2)
        story.ask(f"offsets in disorder, {wanted}", "Produce", version, to(topic, offsets))
        there(story, topic, f"what is there, {wanted}")


@scenario("produce/sizes v{version}", versions=("Produce", 3, 13))
def sizes(story: Story, version: int) -> None:
    small = story.topic("small", configs={"max.message.bytes": "100"})
    segment = story.topic("segment", configs={"segment.bytes": "1048576", "max.message.bytes": "3000000"})

    def sent(step: str, topic: Topic, records: bytes) -> None:
        story.ask(step, "Produce", version, to(topic, records))

    sent("small enough", small, story.batch(b"x" * 20))
    sent("too large", small, story.batch(b"x" * 100))
    sent("too large and broken", small, with_body(story.batch(b"x"), b"\0" * 100)[:-1] + b"\1")
    sent("too large, gzip is small", small, story.batch(b"x" * 1000, codec=CompressionCodec.GZIP))
    sent("larger than a segment", segment, story.batch(b"x" * 1_100_000))
    sent("as large as allowed", segment, story.batch(b"x" * 1_000_000))
    there(story, small, "what is there")


@scenario("produce/idempotent v{version}", versions=("Produce", 3, 13))
def idempotent(story: Story, version: int) -> None:
    topic = story.topic("t")
    producer = story.producer_id()
    other = story.producer_id()

    def sent(step: str, *values: bytes, sequence: int, epoch: int = 0, of: int = producer, **more: Any) -> None:
        batch = story.batch(*values, producer_id=of, producer_epoch=epoch, base_sequence=sequence)
        story.ask(step, "Produce", version, to(topic, batch, **more))

    sent("first", b"0", b"1", sequence=0)
    sent("the same again", b"0", b"1", sequence=0)
    sent("next", b"2", sequence=2)
    sent("a gap", b"9", sequence=9)
    sent("before last again", b"0", b"1", sequence=0)
    sent("part of a batch", b"0", sequence=0)
    sent("an old epoch", b"x", sequence=3, epoch=-1)
    sent("a new epoch, not from 0", b"x", sequence=3, epoch=1)
    sent("a new epoch", b"3", sequence=0, epoch=1)
    sent("the epoch before", b"3", sequence=3, epoch=0)
    sent("an unknown producer, not from 0", b"4", sequence=7, of=other)
    sent("its next", b"5", sequence=8, of=other)
    for number in range(6):
        sent(f"more {number}", b"m", sequence=1 + number, epoch=1)
    sent("too old to be known", b"3", sequence=0, epoch=1)
    sent("the oldest that is known", b"m", sequence=2, epoch=1)
    sent("a sequence wraps", b"w", b"w", sequence=2**31 - 1, epoch=2)
    sent("a sequence wraps, new producer", b"w", b"w", sequence=2**31 - 1, of=story.producer_id())
    sent("acks 0, a gap", b"x", sequence=99, epoch=1, acks=0)
    there(story, topic, "what is there")


@scenario("produce/several v{version}", versions=("Produce", 3, 13))
def several(story: Story, version: int) -> None:
    topic = story.topic("t", assignments=[[0, 1, 2], [0, 1, 2], [1, 2, 0]])
    second = story.topic("u", assignments=[[0, 1, 2]], configs={"cleanup.policy": "compact"})
    good, bad, keyless = story.batch(b"a"), story.batch(b"a")[:-1], story.batch(b"b")
    mixed = [(topic, [(0, good), (1, bad), (2, good), (9, good)]), (second, [(0, keyless)])]
    story.ask("good and bad", "Produce", version, to_many(mixed))
    story.ask("good and bad, acks 1", "Produce", version, to_many(mixed, 1))
    wrong = good[:8] + b"\0\0\0\1" + good[12:]
    story.ask("one without a length", "Produce", version, to_many([(topic, [(0, good), (1, wrong)])]))
    transactional = story.batch(b"x", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    story.ask("one transactional", "Produce", version, to_many([(topic, [(0, good), (1, transactional)])]))
    story.ask("acks 7", "Produce", version, to_many(mixed, 7))
    unknown = Topic("no-such-topic-here", UNKNOWN_ID, ((0,),))
    story.ask("an unknown topic beside", "Produce", version, to_many([(unknown, [(0, good)]), (topic, [(0, good)])]))
    story.ask("an unknown topic alone, acks 9", "Produce", version, to_many([(unknown, [(0, good)])], 9))
    there(story, topic, "what is there")
    there(story, topic, "what is there in 1", 1)
