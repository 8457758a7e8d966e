"""Records whose opening takes long are opened in the background, and what changes meanwhile counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mockbroker.call import BackgroundWork
from mockbroker.core.simulation import ConnectionClosedError, Simulation
from mockbroker.handlers.list_offsets import MAX_TIMESTAMP
from mockbroker.handlers.produce import AT_ONCE_BYTES, MAX_OPENINGS
from mockbroker.state.logs.batch_checks import AT_ONCE_RECORDS
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.error_codes import ErrorCode
from protocol.records import CompressionCodec, Record, build_batch
from tests.transaction_driver import OLD, TransactionalProducer
from tests.unit.mockbroker.core.client import Client
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch, offsets, produce, produce_request, values

LARGE = bytes(AT_ONCE_BYTES + 1)
COMPRESSED = [codec for codec in CompressionCodec if codec != CompressionCodec.NONE]


class HeldWork:
    """Stands for the thread: does the work that came when it is told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[BackgroundWork[Any], Callable[[BackgroundWork[Any]], None]]] = []

    def __call__(self, work: BackgroundWork[Any], done: Callable[[BackgroundWork[Any]], None]) -> None:
        self.waiting.append((work, done))

    def do(self, sim: Simulation) -> None:
        """Do the first, and let the call that waits for it go on."""
        work, done = self.waiting.pop(0)
        work.run()
        done(work)
        for _ in range(10):  # an answer of thousands of errors is written in turns
            sim.advance(ms=1)


@pytest.fixture
def sim() -> Simulation:
    sim = Simulation(racks="a,b", seed=0)
    sim.cluster.create_topic(TOPIC, 2, 2)
    sim.cluster.move_leader(TOPIC, 0, 0, sim.now_ms)
    sim.cluster.move_leader(TOPIC, 1, 0, sim.now_ms)
    return sim


@pytest.fixture
def held(sim: Simulation) -> HeldWork:
    held = sim.engine.path.in_background = HeldWork()
    return held


def send(sim: Simulation, records: bytes, *, version: int = 12, **fields: Any) -> int:
    return sim.send(produce_request(records, **fields), version=version)


def entry(sim: Simulation, ticket: int) -> Any:
    return sim.replies[ticket].responses[0].partition_responses[0]


@pytest.mark.parametrize("codec", COMPRESSED)
def test_others_are_served_while_a_large_batch_is_opened(sim, held, codec):
    ticket = send(sim, batch(LARGE, codec=codec))
    assert produce(sim, batch(b"before")).base_offset == 0
    assert ticket not in sim.replies
    held.do(sim)
    assert (entry(sim, ticket).error_code, entry(sim, ticket).base_offset) == (0, 1)
    assert values(fetch(sim, 1).records) == [LARGE]


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_small_batch_is_opened_at_once(sim, held, codec):
    assert produce(sim, batch(bytes(AT_ONCE_BYTES // 2), codec=codec)).error_code == 0
    assert held.waiting == []


def test_a_large_batch_that_need_not_be_opened_is_not(sim, held):
    assert produce(sim, batch(*[LARGE[:200_000]] * 20, codec=CompressionCodec.GZIP)).error_code == 0
    assert held.waiting == []


def test_a_batch_of_very_many_records_is_walked_in_the_background(sim, held):
    sim.cluster.create_topic("compacted", 1, 2, configs={"cleanup.policy": "compact"})
    sim.cluster.move_leader("compacted", 0, 0, sim.now_ms)
    ticket = send(sim, batch(*[b""] * (AT_ONCE_RECORDS + 1)), topic="compacted")
    assert ticket not in sim.replies
    held.do(sim)
    assert entry(sim, ticket).error_code == ErrorCode.INVALID_RECORD, "it has no keys"


def test_the_answers_of_a_connection_keep_their_order(sim, held):
    client = Client(sim)
    client.write(client.frame(produce_request(batch(LARGE, codec=CompressionCodec.GZIP), acks=1), 12))
    client.write(client.frame(MetadataRequest(topics=[]), 9))
    assert client.frames() == []
    held.do(sim)
    assert [int.from_bytes(frame[:4], "big") for frame in client.frames()] == [1, 2]


def test_all_batches_of_a_request_share_one_budget_wherever_they_are_opened():
    sim = Simulation(racks="a", settings={"max.decompressed.request.bytes": 3 * AT_ONCE_BYTES})
    sim.cluster.create_topic(TOPIC, 3, 1)
    held = sim.engine.path.in_background = HeldWork()
    request = produce_request(batch(LARGE, codec=CompressionCodec.GZIP))
    partitions = request.topic_data[0].partition_data
    for index, size in ((1, len(LARGE)), (2, AT_ONCE_BYTES)):
        partitions += (
            produce_request(batch(bytes(size), codec=CompressionCodec.GZIP), index=index).topic_data[0].partition_data
        )
    ticket = sim.send(request, version=12)
    for _ in range(2):
        held.do(sim)
    errors = [one.error_code for one in sim.replies[ticket].responses[0].partition_responses]
    assert errors == [0, 0, ErrorCode.INVALID_RECORD]


@pytest.mark.parametrize("version", [12, 2])
def test_a_bomb_is_refused(sim, held, version):
    sent = batch(
        bytes(sim.cluster.settings["max.decompressed.request.bytes"]),
        codec=CompressionCodec.GZIP,
        magic=2 - (version < 3),
    )
    ticket = send(sim, sent, version=version)
    held.do(sim)
    assert entry(sim, ticket).error_code == ErrorCode.INVALID_RECORD
    assert sim.cluster.find_partition(TOPIC, 0).log.end_offset == 0


def test_what_fails_without_an_answer_closes_the_connection(sim, held):
    send(sim, batch(bytes(40 << 20), codec=CompressionCodec.GZIP), acks=0)
    with pytest.raises(ConnectionClosedError, match="produce with acks=0 failed: INVALID_RECORD"):
        held.do(sim)


@pytest.mark.parametrize("change", ["its topic has gone", "another broker leads", "the topic has other rules"])
def test_what_has_changed_when_a_batch_is_open_counts(sim, held, change):
    ticket = send(sim, batch(LARGE, codec=CompressionCodec.GZIP))
    if change == "its topic has gone":
        sim.cluster.delete_topic(sim.cluster.topics[TOPIC])
        expected = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif change == "another broker leads":
        sim.cluster.move_leader(TOPIC, 0, 1, sim.now_ms)
        expected = ErrorCode.NOT_LEADER_OR_FOLLOWER
    else:
        sim.cluster.configs.write("topic", TOPIC, {"max.decompressed.message.bytes": "1000"})
        expected = ErrorCode.INVALID_RECORD
        held.do(sim)
        assert ticket not in sim.replies, "it is opened anew"
    held.do(sim)
    assert entry(sim, ticket).error_code == expected


def test_a_transaction_that_ends_meanwhile_takes_no_more(sim, held):
    producer = TransactionalProducer(sim, version=OLD)
    assert producer.init() == 0
    assert producer.send(b"one") == 0
    fields = {"producer_id": producer.producer_id, "producer_epoch": producer.epoch, "base_sequence": 1}
    request = produce_request(batch(LARGE, codec=CompressionCodec.GZIP, transactional=True, **fields))
    request.transactional_id = producer.id
    ticket = sim.send(request, version=9)
    assert producer.end() == 0
    held.do(sim)
    assert entry(sim, ticket).error_code == ErrorCode.INVALID_TXN_STATE


def test_a_client_that_goes_takes_its_work_with_it(sim, held):
    client = Client(sim)
    client.write(client.frame(produce_request(batch(LARGE, codec=CompressionCodec.GZIP)), 12))
    ((work, _),) = held.waiting
    client.connection.stopped()
    assert work.function is None, "nothing is opened for nobody"
    held.do(sim)
    assert (client.frames(), sim.engine.parked_calls) == ([], 0)


@pytest.mark.parametrize("magic", [0, 1])
def test_an_old_message_set_is_opened_for_its_place_in_the_log(sim, held, magic):
    sent = batch(LARGE, LARGE, codec=CompressionCodec.GZIP, magic=magic)
    ticket = send(sim, sent, version=2)
    produce(sim, batch(b"before"))
    held.do(sim)
    assert ticket not in sim.replies, "its place is another one now"
    held.do(sim)
    assert (entry(sim, ticket).error_code, entry(sim, ticket).base_offset) == (0, 1)
    assert offsets(fetch(sim, 1, max_bytes=10**8).records) == [1, 2]


def test_where_the_log_never_waits_an_old_message_set_is_opened_at_once_in_the_end(sim, held):
    ticket = send(sim, batch(LARGE, codec=CompressionCodec.GZIP, magic=1), version=2)
    for _ in range(MAX_OPENINGS):
        assert ticket not in sim.replies
        produce(sim, batch(b"before"))
        held.do(sim)
    assert entry(sim, ticket).base_offset == MAX_OPENINGS


@pytest.mark.parametrize("records", [[LARGE], [b""] * (AT_ONCE_RECORDS + 1)])
@pytest.mark.parametrize("timestamp", [MAX_TIMESTAMP, 7])
def test_others_are_served_while_a_large_batch_is_looked_through_for_a_timestamp(sim, records, timestamp):
    produce(sim, build_batch([Record(timestamp=7, value=one) for one in records], codec=CompressionCodec.GZIP))
    held = sim.engine.path.in_background = HeldWork()
    wanted = ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=timestamp)
    topic = ListOffsetsRequest.Topic(name=TOPIC, partitions=[wanted])
    ticket = sim.send(ListOffsetsRequest(replica_id=-1, topics=[topic]), version=7)
    assert sim.ask(MetadataRequest(topics=[])).topics == []
    assert ticket not in sim.replies
    held.do(sim)
    found = sim.replies[ticket].topics[0].partitions[0]
    assert (found.timestamp, found.offset) == (7, 0)
