"""Connections of the simulation: frames keep their order, and what is lost stays lost."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.testing.simulation.clients.client import Client
from mockbroker.testing.simulation.network import ClientConnection
from mockbroker.testing.simulation.world import START_MS, World
from protocol.apis.metadata import MetadataRequest
from protocol.headers import read_response, request_frame


@pytest.fixture
def world() -> World:
    return World.create(("a", "b", "c"), seed=1)


class Ends:
    """A connection to broker 1 from rack a, and what came over it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.answers: list[int] = []
        self.lost_at: list[int] = []
        self.connection: ClientConnection = world.network.connect("reader", "a", 1, self._frame, self._lost)

    def _frame(self, data: bytes) -> None:
        while data:
            size = 4 + int.from_bytes(data[:4])
            header, _ = read_response(data[4:size], 3, 12)
            self.answers.append(header.correlation_id)
            data = data[size:]

    def _lost(self) -> None:
        self.lost_at.append(self.world.now_ms)

    def ask(self, number: int) -> None:
        self.connection.send(request_frame(MetadataRequest(topics=[]), 12, correlation_id=number, client_id="reader"))

    def wait(self, ms: int) -> None:
        self.world.scheduler.run_until(START_MS + self.world.now_ms + ms)


def test_answers_come_in_the_order_of_their_requests(world):
    ends = Ends(world)
    for number in range(20):
        ends.ask(number)
    assert ends.answers == []
    ends.wait(50)
    assert ends.answers == list(range(20))


def test_a_broker_that_is_down_is_heard_of_with_the_first_frame(world):
    world.cluster.stop_broker(1)
    ends = Ends(world)
    ends.ask(1)
    ends.wait(10)
    assert (ends.answers, len(ends.lost_at)) == ([], 1)
    assert not ends.connection.is_open


def test_a_crash_loses_the_answers_on_their_way(world):
    ends = Ends(world)
    ends.ask(1)
    ends.wait(50)
    ends.ask(2)
    world.cluster.crash_broker(1)
    ends.wait(50)
    assert (ends.answers, len(ends.lost_at)) == ([1], 1)


def test_a_connection_that_lost_a_frame_to_a_silence_stays_silent(world):
    ends = Ends(world)
    world.network.silent["a", 1] = None
    ends.ask(1)
    world.network.silent.clear()
    ends.ask(2)
    ends.wait(1000)
    assert (ends.answers, ends.lost_at) == ([], [])
    other = Ends(world)
    other.ask(3)
    other.wait(50)
    assert other.answers == [3]


def test_a_frozen_client_hears_late_and_in_order(world):
    ends = Ends(world)
    for number in range(9):
        ends.ask(number)
    ends.wait(2)
    world.network.freeze("reader", 498)
    ends.wait(497)
    assert len(ends.answers) < 9
    ends.wait(51)
    assert ends.answers == list(range(9))


def test_a_frozen_client_learns_that_its_connection_ended_once_it_has_thawed(world):
    ends = Ends(world)
    world.network.freeze("reader", 500)
    world.cluster.crash_broker(1)
    ends.wait(499)
    assert (ends.connection.is_open, ends.lost_at) == (False, [])
    ends.wait(1)
    assert ends.lost_at == [500]


def test_a_frozen_client_reads_an_answer_before_it_looks_at_the_clock(world):
    client = Client(world, "reader", "a", Random(1))
    answers = []

    async def ask() -> None:
        answers.append(await client.ask(1, MetadataRequest(topics=[]), version=12, timeout_ms=100))

    client.spawn(ask())
    world.scheduler.run_until(START_MS)
    world.network.freeze("reader", 5_000)
    world.scheduler.run_until(START_MS + 4_999)
    assert answers == []
    world.scheduler.run_until(START_MS + 5_000)
    assert len(answers) == 1


def test_a_restart_of_the_cluster_goes_on_from_its_records(world):
    topic = world.cluster.create_topic("orders", 2, 3)
    ends = Ends(world)
    ends.ask(1)
    ends.wait(50)
    before = world.cluster.state
    world.cluster.restart()
    assert world.cluster.state is not before
    assert world.cluster.state.topics["orders"].id == topic.id
    assert len(ends.lost_at) == 1
    assert len(world.cluster.journals) == 2
