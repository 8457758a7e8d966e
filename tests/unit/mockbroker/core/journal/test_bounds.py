"""A journal takes no more memory than it may, and says honestly how much that is."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

import protocol
from mockbroker.core.journal import Journal
from mockbroker.core.simulation import Simulation
from protocol.apis.classic_group import HeartbeatRequest
from protocol.apis.leader_epochs import OffsetForLeaderEpochRequest
from protocol.apis.metadata import MetadataRequest
from tests.unit.mockbroker.core.client import METADATA, Client
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request

PARTITIONS = 20


def many_partitions(request):
    """The same request of all partitions."""
    topics = request.topics
    for index in range(1, PARTITIONS):
        topics[0].partitions += fetch_request(index=index).topics[0].partitions
    return request


def leader_epochs():
    partition = OffsetForLeaderEpochRequest.Topic.Partition
    asked = [partition(partition=index, leader_epoch=0) for index in range(PARTITIONS)]
    return OffsetForLeaderEpochRequest(topics=[OffsetForLeaderEpochRequest.Topic(topic=TOPIC, partitions=asked)])


REQUESTS = {
    "metadata from the cache": (METADATA, 12),
    "metadata of a topic": (MetadataRequest(topics=[MetadataRequest.Topic(name=TOPIC)]), 12),
    "produce": (produce_request(batch(b"a"), acks=1), 12),
    "fetch": (fetch_request(rack_id="b"), 12),
    "fetch of many partitions": (many_partitions(fetch_request()), 10),
    "leader epochs of many partitions": (leader_epochs(), 3),
}


@pytest.mark.parametrize("kind", REQUESTS)
@pytest.mark.parametrize("calls_a_connection", [1000, 1])
def test_the_size_that_is_told_is_about_what_entries_take(kind, calls_a_connection):
    request, version = REQUESTS[kind]
    frame = protocol.request_frame(request, version, correlation_id=1, client_id="client")[4:]
    calls = 800
    sim = Simulation("a,b")
    sim.cluster.replication_control.create(TOPIC, PARTITIONS, 1)
    path, journal = sim.engine.path, Journal()
    path.observers[:] = []

    def call(number):
        if number % calls_a_connection == 0:
            call.session = sim.engine.session(sim.cluster.brokers[0], address=f"10.0.{number}", connection=number)
        path.take(frame, call.session, 10**12 + number, outcomes.append)

    outcomes: list = []
    call(0)
    path.observers[:] = [journal]
    call(0)
    gc.collect()
    outcomes.clear()
    tracemalloc.start()
    try:
        before_size = journal.size_bytes
        for number in range(calls):
            call(number)
            outcomes.clear()
        gc.collect()
        with_journal = tracemalloc.get_traced_memory()[0]
        size = journal.size_bytes - before_size
        journal.clear()
        call.session = None  # as if all connections had ended
        gc.collect()
        taken = with_journal - tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.5 < size / taken < 2.1, (size / calls, taken / calls)


def test_the_oldest_entries_go_first_when_there_is_no_more_room():
    sim = Simulation("a,b")
    journal = Journal(max_bytes=100_000)
    sim.engine.path.observers.append(journal)
    client = Client(sim, connection=1)
    for version in (1, 12) * 300:
        client.ask(METADATA, version)
    assert journal.size_bytes <= 100_000
    assert len(journal) + journal.dropped == 600
    assert 100 < len(journal) < 500
    assert [entry.sequence for entry in journal] == list(range(journal.dropped + 1, 601))
    assert journal.since(0)[0].sequence == journal.dropped + 1


def test_room_comes_back_as_entries_go():
    sim = Simulation("a,b")
    sim.cluster.replication_control.create(TOPIC, PARTITIONS, 1)
    journal = Journal(max_bytes=200_000)
    sim.engine.path.observers.append(journal)
    for number in range(300):
        Client(sim, connection=number).ask(many_partitions(fetch_request()), 10, client_id=f"client-{number}")
    few = len(journal)
    client = Client(sim, connection=1000)
    for _ in range(2000):
        client.ask(METADATA, 12)
    assert few < 70
    assert len(journal) > 5 * few
    assert journal.size_bytes <= 200_000


def test_a_journal_of_so_many_entries_keeps_so_many():
    sim = Simulation("a,b")
    journal = Journal(2)
    sim.engine.path.observers.append(journal)
    client = Client(sim, connection=1)
    for version in (1, 2, 3):
        client.ask(METADATA, version)
    assert [entry.version for entry in journal] == [2, 3]
    assert (journal.dropped, journal.dropped_since(0), journal.dropped_since(1)) == (1, 1, 0)


def test_calls_from_the_cache_are_told_as_fully_as_the_first_of_them():
    sim = Simulation("a,b")
    client, other = Client(sim, connection=1), Client(sim, connection=2)
    for number in range(3):
        client.ask(METADATA, 12)
        sim.advance(ms=10)
        if number == 1:
            other.ask(METADATA, 12)
    first, *rest = [entry._asdict() for entry in sim.journal]
    assert [one["sequence"] for one in rest] == [2, 3, 4]
    assert [one["at_ms"] for one in rest] == [10, 20, 20]
    assert [one["connection"] for one in rest] == [1, 2, 1]
    for one in rest:
        assert one | {"sequence": 1, "at_ms": 0, "connection": 1} == first


LONG = "x" * 30_000


def longest_names():
    topics = [MetadataRequest.Topic(name=f"{number:0249}") for number in range(500)]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


@pytest.mark.parametrize(
    ("request_of", "version", "client_id"),
    [
        (lambda _: METADATA, 12, lambda number: LONG + str(number)),
        (lambda _: longest_names(), 9, lambda _: "client"),
        (lambda number: HeartbeatRequest(group_id=LONG + str(number)), 3, lambda _: "client"),
    ],
    ids=["client ids", "topics", "groups"],
)
def test_what_clients_name_counts_by_its_length(request_of, version, client_id):
    sim = Simulation("a,b")
    journal = Journal(max_bytes=2_000_000)
    sim.engine.path.observers[:] = [journal]
    client = Client(sim, connection=1)
    for number in range(100):
        client.ask(request_of(number), version, client_id=client_id(number))
    assert 5 < len(journal) < 80
    assert journal.dropped == 100 - len(journal)
    assert journal.size_bytes <= 2_000_000
