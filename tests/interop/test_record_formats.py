"""What one client writes another reads: codecs, message sets and batches, sizes, headers, nulls, acknowledgements.

``kafka-python as of 0.10`` writes message sets of magic 1 and reads with Fetch v2, to which the cluster converts down.
"""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from mockbroker import MockCluster
from tests.interop.client_process import (
    FETCH,
    LIBRARIES,
    OLD,
    PRODUCE,
    ClientProcess,
    Seen,
    consume,
    errors_in,
    produce,
    produce_runs,
    records_in,
    run_of,
    settings_for,
    values,
)

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CLIENTS = (*LIBRARIES, OLD)
COUNT = 40
TOPIC = "orders"
ALPHABET = "abcdefghijklmnopqrstuvwxyz "
LARGE_BYTES = 5_000_000


@pytest.fixture
async def cluster():
    async with MockCluster(topics={TOPIC: (3, 3)}) as running:
        yield running


def text(size: int, seed: int) -> str:
    """Letters that a codec can shorten, though not to nothing."""
    return "".join(Random(seed).choices(ALPHABET, k=size))


# codecs: each client writes each codec to a topic of its own, each client reads all of them


def topic_of(producer: str, codec: str) -> str:
    return f"{producer.replace(' ', '_')}.{codec}"


def codecs_of(client: str) -> tuple[str, ...]:
    """zstd came with Produce v7 and Fetch v10: a client of 0.10 has no way to ask for it."""
    return CODECS[:-1] if client == OLD else CODECS


def records_of(producer: str, codec: str) -> list:
    """The same each time: keys on every third, values of 1 to 2,000 bytes."""
    seed = CLIENTS.index(producer) * 10 + CODECS.index(codec)
    return [(0, f"k{n}" if n % 3 == 0 else None, text(1 + 50 * n, seed + n), ()) for n in range(COUNT)]


async def write_and_read_all() -> dict[tuple[str, str], list[Seen]]:
    """(consumer, topic) -> what it read."""
    names = {topic_of(client, codec): 1 for client in CLIENTS for codec in codecs_of(client)}
    async with MockCluster(topics=names) as cluster:
        servers = cluster.bootstrap_servers
        for client in CLIENTS:
            runs = [
                run_of(client, topic_of(client, codec), records_of(client, codec), servers=servers, compression=codec)
                for codec in codecs_of(client)
            ]
            for codec, answers in zip(codecs_of(client), await produce_runs(client, runs), strict=True):
                assert answers == [[0, offset] for offset in range(COUNT)], (client, codec)
        read: dict[tuple[str, str], list[Seen]] = {}
        for client in CLIENTS:
            topics = [name for name in names if client != OLD or not name.endswith(".zstd")]
            for record in await consume(client, topics, COUNT * len(topics), servers=servers):
                read.setdefault((client, record.topic), []).append(record)
        return read


@pytest.fixture(scope="module")
def every_reading() -> dict[tuple[str, str], list[Seen]]:
    return asyncio.run(write_and_read_all())


@pytest.mark.parametrize(
    ("producer", "codec", "consumer"),
    [
        (producer, codec, consumer)
        for producer in CLIENTS
        for codec in codecs_of(producer)
        for consumer in CLIENTS
        if codec in codecs_of(consumer)
    ],
)
def test_every_client_reads_every_codec_of_every_client(every_reading, producer, codec, consumer):
    found = every_reading[consumer, topic_of(producer, codec)]
    assert [(record.offset, record.key, record.value) for record in found] == [
        (offset, key, value) for offset, (_, key, value, _) in enumerate(records_of(producer, codec))
    ]


async def test_a_consumer_of_0_10_is_refused_zstd_and_the_rest_of_the_topic_stays_readable(cluster):
    servers = cluster.bootstrap_servers
    await produce("aiokafka", TOPIC, values(0, 5), servers=servers, compression="zstd")
    await produce("aiokafka", TOPIC, [(1, None, "plain", ())], servers=servers)
    settings = settings_for(OLD, servers=servers)
    async with ClientProcess(OLD, "consume", topics=[TOPIC], settings=settings) as client:
        await client.until(lambda lines: records_in(lines) and errors_in(lines))
    assert set(errors_in(client.lines)) == {"UnsupportedCompressionTypeError"}
    assert [record.value for record in records_in(client.lines)] == ["plain"]


# down-conversion


@pytest.mark.parametrize("producer", LIBRARIES)
async def test_a_consumer_of_0_10_reads_what_an_idempotent_producer_of_today_wrote_at_the_same_offsets(
    cluster, producer
):
    servers = cluster.bootstrap_servers
    records = [(n % 3, f"key {n}", text(300, n), [("trace", "x")]) for n in range(60)]
    answers = await produce(
        producer, TOPIC, records, servers=servers, idempotence=True, compression="lz4", client_id="today"
    )
    seen = await consume(OLD, [TOPIC], 60, servers=servers, client_id="old")
    versions = {(call.client_id, call.api_key): call.version for call in cluster.journal}
    assert versions["today", PRODUCE] >= 7
    assert versions["old", FETCH] == 2
    expected = {(p, o): (key, value) for (p, o), (_, key, value, _) in zip(answers, records, strict=True)}
    assert {(r.partition, r.offset): (r.key, r.value) for r in seen} == expected
    assert not any(record.headers for record in seen), "message sets have no headers"


# what a record may hold


@pytest.mark.parametrize("producer", LIBRARIES)
async def test_keys_values_and_headers_come_as_they_went_nulls_and_emptiness_included(cluster, producer):
    headers = [("trace", "\x00\xff"), ("empty", ""), ("trace", "again"), ("größe", "x" * 300)]
    if producer == "confluent-kafka":  # the others refuse a null there
        headers.append(("null", None))
    records = [
        (0, "key", "value", headers),
        (0, None, "no key", ()),
        (0, "deleted", None, ()),
        (0, "", "", ()),
        (0, "\x00\x80\xff", "\xff\xfe\x00", [("", "no name")]),
    ]
    answers = await produce(producer, TOPIC, records, servers=cluster.bootstrap_servers)
    assert answers == [[0, offset] for offset in range(len(records))]
    wanted = [(key, value, [list(pair) for pair in pairs]) for _, key, value, pairs in records]
    for consumer in LIBRARIES:
        seen = await consume(consumer, [TOPIC], len(records), servers=cluster.bootstrap_servers)
        assert [(r.key, r.value, r.headers) for r in seen] == wanted, consumer


@pytest.mark.parametrize("producer", LIBRARIES)
async def test_a_message_of_five_megabytes_passes_where_the_broker_allows_it(producer):
    settings = {"message.max.bytes": LARGE_BYTES + 1000}
    async with MockCluster(topics={TOPIC: 1}, settings=settings) as cluster:
        servers = cluster.bootstrap_servers
        value = text(LARGE_BYTES, 1)
        records = [(0, None, value, ()), (0, None, "small", ())]
        answers = await produce(producer, TOPIC, records, servers=servers, largest_bytes=2 * LARGE_BYTES)
        assert answers == [[0, 0], [0, 1]]
        for consumer in LIBRARIES:
            seen = await consume(consumer, [TOPIC], 2, servers=servers)
            assert [record.value == value for record in seen] == [True, False], consumer


@pytest.mark.parametrize("producer", LIBRARIES)
async def test_a_message_beyond_the_brokers_limit_is_refused_and_the_next_one_is_taken(cluster, producer):
    servers, largest = cluster.bootstrap_servers, 4_000_000
    runs = [
        run_of(producer, TOPIC, [(0, None, text(2_000_000, 2), ())], servers=servers, largest_bytes=largest),
        run_of(producer, TOPIC, [(0, None, "small", ())], servers=servers),
    ]
    (refused,), taken = await produce_runs(producer, runs)
    assert "large" in refused.lower() or "MSG_SIZE" in refused, refused
    assert taken == [[0, 0]]


# acknowledgements


@pytest.mark.parametrize("acks", [0, 1, "all"])
@pytest.mark.parametrize("producer", CLIENTS)
async def test_a_producer_writes_everything_once_whatever_acknowledgement_it_wants(cluster, producer, acks):
    not_idempotent = {} if producer == OLD else {"idempotence": False}
    answers = await produce(
        producer, TOPIC, values(0, COUNT), servers=cluster.bootstrap_servers, acks=acks, **not_idempotent
    )
    assert len(answers) == COUNT
    if acks != 0:
        assert answers == [[0, offset] for offset in range(COUNT)]
    seen = await consume("confluent-kafka", [TOPIC], COUNT, servers=cluster.bootstrap_servers)
    assert [(record.offset, record.value) for record in seen] == [(n, str(n)) for n in range(COUNT)]
