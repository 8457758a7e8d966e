"""Both sides of a proxied connection, in any cut and any order of events: what each side sees, and how calls end."""

from __future__ import annotations

from collections import Counter
from random import Random
from struct import Struct

import pytest

from mockbroker.call import Call, InjectedFaults, Verdict, Wait
from mockbroker.proxy.connection import ProxyConnection
from protocol import FrameReader
from protocol.apis.classic_group import HeartbeatRequest, HeartbeatResponse
from protocol.apis.produce import ProduceResponse
from protocol.headers import request_frame, response_frame
from tests.unit.mockbroker.handlers.records import batch, produce_request
from tests.unit.mockbroker.proxy.proxied_simulation import proxy_engine

SEEDS = range(240)
STEPS = 60
PLAIN, NO_ANSWER, PRODUCED, HERE, DELAYED, HELD_BACK = range(6)
KINDS = (PLAIN, PLAIN, NO_ANSWER, PRODUCED, HERE, DELAYED, HELD_BACK)
START = Struct(">ii")
REFUSED = 27  # REBALANCE_IN_PROGRESS


class ProxiedConnection:
    """A client and a real broker played by one seed; ``kinds`` says what is to become of each request by its number."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        engine = proxy_engine()
        engine.path.mirror.learn_brokers([(0, "real", 9092, None)])
        self.engine, self.now_ms = engine, 1000
        engine.path.observers[:] = [self]
        engine.path.arrivals.append(self.call_arrived)
        engine.path.faults.append(self.fault)
        self.arrived: list[Call] = []
        self.ended: Counter[Call] = Counter()
        self.kinds: list[int] = []
        self.requests: list[bytes] = []
        self.answers: dict[int, bytes] = {}  # what the real broker has said, or what was answered here
        self.unsent, self.client_input, self.upstream_input, self.unheard = b"", b"", b"", b""
        self.upstream_reader = FrameReader()
        self.asked: list[int] = []  # of the real broker, which it has not answered
        self.is_upstream_gone = self.is_client_gone = self.is_broken = False
        session = engine.session(engine.cluster.brokers[0])
        self.connection = ProxyConnection(engine.path, session)

    # what the path tells

    def call_arrived(self, call: Call) -> None:
        self.arrived.append(call)

    def call_ended(self, outcome) -> None:
        self.ended[outcome.call] += 1

    def fault(self, call: Call):
        kind = self.kinds[call.correlation_id]
        if kind == HERE:
            return Verdict(HeartbeatResponse(error_code=REFUSED))
        if kind == DELAYED:
            return Wait(self.now_ms + self.rng.randrange(1, 50), (), lambda _call: None)
        if kind == HELD_BACK:
            call.injected = InjectedFaults(pace=[lambda _size, now_ms: now_ms + self.rng.randrange(0, 50)])
        return None

    # what both sides do

    def send(self) -> None:
        """The client makes a request, of which some bytes may be on their way yet."""
        kind, number = self.rng.choice(KINDS), len(self.kinds)
        if kind in (NO_ANSWER, PRODUCED):
            records = batch(self.rng.randbytes(self.rng.choice((1, 1000, 70_000))))
            request, version = produce_request(records, acks=0 if kind == NO_ANSWER else 1), 9
        else:
            request, version = HeartbeatRequest(group_id=f"g{number}", member_id="m"), 0
        frame = request_frame(request, version, correlation_id=number, client_id="test")
        self.kinds.append(kind)
        self.requests.append(frame)
        if kind == HERE:
            self.answers[number] = response_frame(HeartbeatResponse(error_code=REFUSED), 0, correlation_id=number)
        self.unsent += frame

    def deliver(self) -> None:
        """Some of the client's bytes come in."""
        size = self.rng.choice((1, 5, 1000, len(self.unsent)))
        data, self.unsent = self.unsent[:size], self.unsent[size:]
        if data and not self.is_client_gone:
            self.connection.receive(data, self.now_ms)
            self.read()

    def take(self) -> None:
        """The real broker reads."""
        if self.is_upstream_gone:
            return
        data = b"".join(self.connection.take_upstream())
        self.upstream_input += data
        for frame in self.upstream_reader.feed(data):
            number = int.from_bytes(frame[4:8])
            if self.kinds[number] != NO_ANSWER:
                self.asked.append(number)
        self.connection.resume(self.now_ms)
        self.read()

    def answer(self) -> None:
        """The real broker answers a request, of which some bytes may be on their way yet."""
        if self.asked and not self.is_upstream_gone:
            number = self.asked.pop(0)
            if self.kinds[number] == PRODUCED:
                topic = ProduceResponse.Topic(name="orders", partition_responses=[])
                frame = response_frame(ProduceResponse(responses=[topic]), 9, correlation_id=number)
            else:
                body = self.rng.randbytes(self.rng.choice((2, 300, 100_000)))
                frame = START.pack(4 + len(body), number) + body
            self.unheard += frame
            self.answers[number] = frame

    def hear(self, size: int | None = None) -> None:
        """Some of the real broker's bytes come in."""
        size = self.rng.choice((1, 5, 50_000, len(self.unheard))) if size is None else size
        data, self.unheard = self.unheard[:size], self.unheard[size:]
        if data and not self.is_upstream_gone:
            self.connection.receive_upstream(data, self.now_ms)
            self.read()

    def read(self) -> None:
        """The client reads."""
        if not self.is_client_gone:
            self.client_input += b"".join(self.connection.take_output())
            if self.connection.is_held:
                self.connection.resume(self.now_ms)
                self.read()

    def pass_time(self, ms: int | None = None) -> None:
        self.now_ms += self.rng.randrange(20) if ms is None else ms
        self.engine.advance(self.now_ms)
        self.read()

    def settle(self) -> None:
        """All that is on its way arrives, as often as it leads to more; the real broker answers nothing more."""
        for _ in range(len(self.kinds) + 2):
            while self.unsent and not self.is_client_gone:
                self.deliver()
            self.take()
            self.hear(len(self.unheard))
            self.pass_time(50)

    def play(self) -> None:
        steps = (self.send, self.send, self.deliver, self.deliver, self.take, self.answer, self.hear, self.pass_time)
        for _ in range(STEPS):
            self.rng.choice(steps)()

    # what has to hold

    def check(self) -> None:
        """What is true whatever happened. The connection is stopped."""
        assert Counter(self.arrived) == self.ended
        numbers = [int.from_bytes(frame[8:12]) for frame in self.requests]
        sent = b"".join(
            frame for number, frame in zip(numbers, self.requests, strict=True) if self.kinds[number] != HERE
        )
        assert sent.startswith(self.upstream_input)
        assert self.due().startswith(self.client_input)

    def due(self) -> bytes:
        """All that a client may be given, up to the first request without an answer."""
        given = []
        for number, kind in enumerate(self.kinds):
            if kind == NO_ANSWER:
                continue
            if number not in self.answers:
                break
            given.append(self.answers[number])
        return b"".join(given)


@pytest.mark.parametrize("first", range(0, len(SEEDS), 120))
def test_requests_and_answers_pass_as_they_are_in_order_and_once(first: int):
    for seed in SEEDS[first : first + 120]:
        world = ProxiedConnection(seed)
        world.play()
        world.settle()
        while world.asked:
            world.answer()
            world.settle()
        assert world.connection.closed is None, seed
        assert not world.connection.is_busy, seed
        assert len(world.arrived) == len(world.kinds), seed
        assert world.client_input == world.due(), seed
        assert len(FrameReader().feed(world.client_input)) == len(world.kinds) - world.kinds.count(NO_ANSWER), seed
        world.connection.stopped()
        world.check()


@pytest.mark.parametrize("first", range(0, len(SEEDS), 120))
def test_a_real_broker_that_goes_leaves_all_that_it_answered_to_the_client(first: int):
    for seed in SEEDS[first : first + 120]:
        world = ProxiedConnection(seed)
        world.play()
        while world.unheard and world.rng.random() < 0.5:
            world.hear()
        whole = world.unheard
        heard = b"".join(world.answers[number] for number in sorted(world.answers) if world.kinds[number] != HERE)
        heard = heard[: len(heard) - len(whole)]
        world.connection.upstream_closed("it went", world.now_ms)
        world.is_upstream_gone = True
        answered = {int.from_bytes(frame[:4]) for frame in FrameReader().feed(heard)}
        world.answers = {
            number: frame
            for number, frame in world.answers.items()
            if number in answered or world.kinds[number] == HERE
        }
        world.read()
        for _ in range(60):
            world.pass_time(5)
        assert world.connection.closed is not None, seed
        for number in answered:
            assert world.answers[number] in world.client_input, seed
        world.connection.stopped()
        world.check()


@pytest.mark.parametrize("first", range(0, len(SEEDS), 120))
@pytest.mark.parametrize("is_gone", [False, True])
def test_what_was_taken_of_a_client_that_leaves_is_sent_on(is_gone: bool, first: int):
    for seed in SEEDS[first : first + 120]:
        world = ProxiedConnection(seed)
        world.play()
        taken = b"".join(world.requests)[: len(b"".join(world.requests)) - len(world.unsent)]
        world.connection.client_left(world.now_ms, is_gone=is_gone)
        world.is_client_gone = is_gone
        world.unsent = b""
        world.settle()
        assert world.connection.is_drained, seed
        whole = [int.from_bytes(frame[4:8]) for frame in FrameReader().feed(taken)]
        expected = b"".join(world.requests[number] for number in whole if world.kinds[number] != HERE)
        assert world.upstream_input == expected, seed
        world.connection.upstream_closed("it went", world.now_ms)
        world.read()
        world.connection.stopped()
        world.check()


@pytest.mark.parametrize("first", range(0, len(SEEDS), 120))
def test_answers_that_nobody_asked_for_or_with_another_id_end_the_connection_and_reach_nobody(first: int):
    for seed in SEEDS[first : first + 120]:
        world = ProxiedConnection(seed)
        world.play()
        world.hear(len(world.unheard))
        wrong = START.pack(6, len(world.kinds) + 7) + b"??"
        world.connection.receive_upstream(wrong, world.now_ms)
        world.read()
        for _ in range(60):
            world.pass_time(5)
        assert world.connection.closed is not None, seed
        assert world.connection.take_upstream() == [], seed
        world.connection.stopped()
        world.check()
