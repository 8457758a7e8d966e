"""Of requests that may name very many things so many bytes are dealt with at a time; others stand in line."""

from __future__ import annotations

import pytest

from mockbroker.core import large_requests
from mockbroker.core.path import LARGE_FRAME_BYTES
from mockbroker.core.simulation import Simulation
from protocol.apis.fetch import FetchRequest
from protocol.apis.metadata import MetadataRequest
from tests.unit.mockbroker.core.client import Client
from tests.unit.mockbroker.handlers.records import TOPIC, batch, produce_request

NAMES = [f"{number:0300}" for number in range(LARGE_FRAME_BYTES // 300 + 1)]
LARGE = MetadataRequest(topics=[MetadataRequest.Topic(name=name) for name in NAMES], allow_auto_topic_creation=False)
LIMIT = LARGE_FRAME_BYTES * 3 // 2
"""There is room for one of them."""
TURNS_MS = 100


@pytest.fixture
def sim() -> Simulation:
    """A broker with room for one large request."""
    sim = Simulation(racks="a", seed=0, settings={large_requests.LIMIT: LIMIT})
    sim.cluster.create_topic(TOPIC, 1, 1)
    return sim


def waiting(sim: Simulation, max_wait_ms: int = 3_600_000) -> Client:
    """A client whose large Fetch waits for records."""
    partitions = [FetchRequest.Topic.Partition(partition=0, partition_max_bytes=100)]
    forgotten = [FetchRequest.ForgottenTopic(topic=name, partitions=[]) for name in NAMES]
    topics = [FetchRequest.Topic(topic=TOPIC, partitions=partitions)]
    client = Client(sim)
    fetch = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=topics, forgotten_topics_data=forgotten)
    client.write(client.frame(fetch, 12))
    sim.advance(ms=TURNS_MS)
    return client


def asking(sim: Simulation, request: MetadataRequest = LARGE) -> Client:
    client = Client(sim)
    client.write(client.frame(request, 9))
    return client


def test_those_for_which_there_is_no_room_are_answered_in_the_order_in_which_they_came(sim):
    clients, order = [asking(sim) for _ in range(4)], []
    while len(order) < len(clients):
        assert sim.ask(MetadataRequest(topics=[])).topics == [], "small ones are answered meanwhile"
        sim.advance(ms=1)
        order += [client for client in clients if client not in order and client.frames()]
    assert order == clients


def test_one_that_has_gone_makes_room_for_the_next(sim):
    first, second, third = (asking(sim) for _ in range(3))
    first.connection.stopped()
    second.connection.stopped()
    sim.advance(ms=TURNS_MS)
    assert third.frames()
    assert sim.engine.parked_calls == 0


def test_one_that_goes_while_it_stands_in_line_is_not_read_at_once_for_the_journal(sim):
    _, second = (asking(sim) for _ in range(2))
    (call,) = (one for one in sim.engine.path.parked_calls() if one.session is second.connection.session)
    second.connection.stopped()
    assert call.read_request is None
    assert not [entry.topics for entry in sim.journal][-1]


def test_one_that_will_never_have_room_ends_its_connection(sim):
    names = [MetadataRequest.Topic(name=f"{name}-{half}") for name in NAMES for half in "ab"]
    client = asking(sim, MetadataRequest(topics=names))
    assert large_requests.LIMIT in client.connection.closed
    assert asking(sim).connection.closed is None


def test_one_that_waits_for_records_ends_once_others_stand_in_line_for_a_second(sim):
    fetching = waiting(sim)
    sim.advance(ms=60_000)
    assert fetching.connection.closed is None, "nobody stands in line"
    client = asking(sim)
    sim.advance(ms=large_requests.LOOK_MS)
    assert fetching.connection.closed is None
    sim.advance(ms=large_requests.LOOK_MS + TURNS_MS)
    assert "stand in line" in fetching.connection.closed
    assert client.frames()


def test_one_that_is_answered_in_time_does_not_end(sim):
    fetching = waiting(sim, max_wait_ms=1_500)
    client = asking(sim)
    sim.advance(ms=1_500 + TURNS_MS)
    assert (fetching.connection.closed, len(fetching.frames())) == (None, 1)
    assert client.frames()


def test_what_stands_in_line_is_bounded(sim, monkeypatch):
    monkeypatch.setattr(large_requests, "UNFINISHED_BYTES", 3 * LARGE_FRAME_BYTES)
    clients = [asking(sim) for _ in range(4)]
    closed = [client.connection.closed is not None for client in clients]
    assert closed == [False, False, False, True]
    sim.advance(ms=TURNS_MS)
    assert [bool(client.frames()) for client in clients[:3]] == [True] * 3


def test_a_produce_of_large_batches_stands_in_no_line(sim):
    waiting(sim)
    client = Client(sim)
    client.write(client.frame(produce_request(batch(bytes(LARGE_FRAME_BYTES))), 9))
    sim.advance(ms=TURNS_MS)
    assert client.frames()
