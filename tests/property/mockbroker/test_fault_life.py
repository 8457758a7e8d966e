"""Whatever faults are set and removed, calls keep their order and their count."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import protocol
from mockbroker.call import Ending, Outcome
from mockbroker.core.connection import Connection
from mockbroker.core.faults.effects import Silence
from mockbroker.core.faults.faults import FaultHandle
from mockbroker.core.simulation import Simulation
from protocol.apis.classic_group import HeartbeatRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.records import Record, build_batch

RACKS = ("a", "b", "c")
LONG_MS = 10**7
BATCH = build_batch([Record(value=b"x" * 100, timestamp=0)])


def produce(partition: int) -> ProduceRequest:
    data = [ProduceRequest.Topic.Partition(index=partition, records=BATCH)]
    return ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=[ProduceRequest.Topic(name="orders", partition_data=data)]
    )


def fetch(partition: int, max_wait_ms: int) -> FetchRequest:
    wanted = FetchRequest.Topic.Partition(partition=partition, partition_max_bytes=1000)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1000,
        topics=[FetchRequest.Topic(topic="orders", partitions=[wanted])],
    )


requests = st.one_of(
    st.just((MetadataRequest(topics=None), 12)),
    st.just((HeartbeatRequest(group_id="g", member_id="m"), 4)),
    st.integers(0, 1).map(lambda index: (produce(index), 9)),
    st.tuples(st.integers(0, 1), st.sampled_from([0, 300])).map(lambda drawn: (fetch(*drawn), 12)),
)
matches = st.fixed_dictionaries(
    {},
    optional={
        "api": st.sampled_from(["Fetch", "Produce", "*e*", ["Metadata", "Heartbeat"]]),
        "broker": st.integers(0, 2),
        "client_rack": st.sampled_from([*RACKS, "*"]),
        "topic": st.sampled_from(["orders", "none"]),
        "partition": st.integers(0, 1),
        "group": st.just("g"),
    },
)
effects = st.one_of(
    st.sampled_from(["NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "UNKNOWN_SERVER_ERROR"]).map(
        lambda name: {"error": name}
    ),
    st.tuples(st.integers(0, 500), st.integers(0, 100)).map(lambda ms: {"delay_ms": ms[0], "jitter_ms": ms[1]}),
    st.integers(1, 500).map(lambda ms: {"throttle_ms": ms}),
    st.sampled_from(["100B/s", "10KB/s"]).map(lambda rate: {"bandwidth": rate}),
    st.sampled_from([{"disconnect": True}, {"silence": True}]),
)
whens = st.sampled_from(
    [{}, {"times": 2}, {"on_call": 2}, {"every": 3}, {"probability": 0.5}, {"every": 2, "times": 1}]
)
links = st.one_of(
    st.tuples(st.sampled_from(RACKS), st.sampled_from(RACKS)).map(lambda racks: {"between": list(racks)}),
    st.tuples(st.sampled_from([*RACKS, "*"]), st.sampled_from(RACKS)).map(
        lambda racks: {"from": racks[0], "to": racks[1]}
    ),
)


class Client:
    """One connection, with its requests and the answers read.

    It reads as a socket does: as soon as there is output, and then the connection takes the frames of its next turn.
    """

    def __init__(self, sim: Simulation, broker: int, rack: str | None) -> None:
        self.sim = sim
        session = sim.engine.session(sim.cluster.brokers[broker], address="127.0.0.1", listener_rack=rack)
        self.connection = Connection(sim.engine.path, session, on_output=self.read)
        self.reader = protocol.FrameReader()
        self.asked: list[tuple[int, int]] = []  # API key and version, by correlation id from 1
        self.answered: list[int] = []

    def read(self) -> None:
        self.take()
        while self.connection.is_held:
            self.connection.resume(self.sim.now_ms)
            self.take()

    def take(self) -> None:
        for frame in self.reader.feed(b"".join(self.connection.take_output())):
            number = int.from_bytes(frame[:4], "big")
            protocol.read_response(frame, *self.asked[number - 1])
            self.answered.append(number)


class FaultLife(RuleBasedStateMachine):
    """Clients ask, faults come and go, time passes."""

    @initialize(seed=st.integers(0, 3))
    def begin(self, seed: int) -> None:
        self.sim = Simulation(seed=seed)
        self.sim.cluster.replication_control.create("orders", 2, 3)
        self.clients: list[Client] = []
        self.handles: list[FaultHandle] = []
        self.outcomes: list[Outcome] = []
        self.sim.engine.path.observers.append(self)  # type: ignore[arg-type]

    def call_ended(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    @rule(broker=st.integers(0, 2), rack=st.sampled_from([*RACKS, None]))
    def connect(self, broker: int, rack: str | None) -> None:
        self.clients.append(Client(self.sim, broker, rack))

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), several=st.lists(requests, min_size=1, max_size=4))
    def ask(self, data: Any, several: list[tuple[Any, int]]) -> None:
        client = data.draw(st.sampled_from(self.clients))
        written = b""
        for request, version in several:
            client.asked.append((type(request).api_key, version))
            number = len(client.asked)
            written += protocol.request_frame(request, version, correlation_id=number, client_id="c")
        client.connection.receive(written, self.sim.now_ms)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def leave(self, data: Any) -> None:
        client = data.draw(st.sampled_from(self.clients))
        client.read()
        client.connection.stopped()

    @rule(match=matches, effect=effects, when=whens, link=st.none() | links)
    def set_fault(self, match: Any, effect: Any, when: Any, link: Any) -> None:
        self.handles.append(self.sim.faults.add(match=match, effect=effect, when=when, link=link))

    @rule(link=links)
    def cut(self, link: Any) -> None:
        self.handles.append(self.sim.faults.add(link=link, effect={"cut": True}))

    @precondition(lambda self: self.handles)
    @rule(data=st.data())
    def remove(self, data: Any) -> None:
        data.draw(st.sampled_from(self.handles)).remove()

    @rule(ms=st.sampled_from([1, 10, 100, 1000, 40_000]))
    def advance(self, ms: int) -> None:
        self.sim.advance(ms=ms)

    @invariant()
    def answers_come_in_the_order_of_their_requests_and_once(self) -> None:
        for client in getattr(self, "clients", ()):
            client.read()
            assert client.answered == list(range(1, len(client.answered) + 1))

    @invariant()
    def every_call_ends_once(self) -> None:
        ended = [outcome.call for outcome in getattr(self, "outcomes", ())]
        assert len(set(ended)) == len(ended)

    @invariant()
    def a_fault_fires_on_no_more_than_it_matches_and_on_no_more_than_it_may(self) -> None:
        for handle in getattr(self, "handles", ()):
            assert 0 <= handle.fired <= handle.matched
            assert handle.fired <= (handle.fault.when.to_json().get("times", handle.fired))
            assert handle.explain()

    @invariant()
    def the_path_asks_the_faults_only_while_there_are_any(self) -> None:
        if hasattr(self, "sim"):
            assert bool(self.sim.engine.path.faults) == bool(len(self.sim.faults))

    def teardown(self) -> None:
        """In the end everybody is answered who was neither silenced nor cut off."""
        if not hasattr(self, "sim"):
            return
        self.sim.faults.clear()
        self.sim.advance(ms=LONG_MS)
        self.answers_come_in_the_order_of_their_requests_and_once()
        silenced = {call.session for call in self.sim.engine.path.purgatory.parked}
        for client in self.clients:
            if client.connection.closed is None and client.connection.session not in silenced:
                assert len(client.answered) == len(client.asked)
        for call in self.sim.engine.path.purgatory.parked:
            ids = {handle.id for handle in self.handles if isinstance(handle.fault.effect, Silence)}
            assert ids & set(call.faults), "nobody else is kept waiting"
        for client in self.clients:
            client.connection.stopped()
        assert self.sim.engine.parked_calls == 0
        assert not self.sim.engine.path.connections
        self.every_call_ends_once()
        by_id: dict[str, int] = {}
        for outcome in self.outcomes:
            assert (outcome.ending is Ending.CLOSED) == (outcome.reason is not None)
            for fault_id in outcome.call.faults:
                by_id[fault_id] = by_id.get(fault_id, 0) + 1
        for handle in self.handles:
            if not handle.fault.link:
                assert by_id.get(handle.id, 0) == handle.fired


TestFaultLife = FaultLife.TestCase


class Newest:
    """Data of which each draw is the client that came last."""

    def draw(self, clients: Any) -> Any:
        return clients.elements[-1]


def test_more_requests_than_a_turn_takes_are_answered_after_a_fetch_that_waits():
    """Found by this machine, whose client once took no turn after the first."""
    life = FaultLife()
    life.begin(seed=0)
    life.connect(broker=1, rack="c")
    life.ask(data=Newest(), several=[(fetch(0, 300), 12)])
    for _ in range(3):
        life.ask(data=Newest(), several=[(MetadataRequest(topics=None), 12)] * 4)
    life.advance(ms=1000)
    life.teardown()
    assert len(life.outcomes) == 1 + 3 * 4
