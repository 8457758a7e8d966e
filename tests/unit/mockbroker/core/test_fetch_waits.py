"""Fetches that wait, at random."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mockbroker.core.simulation import Simulation
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request


class FetchWaits(RuleBasedStateMachine):
    """Each parked fetch is answered once, and never after its deadline."""

    def __init__(self) -> None:
        super().__init__()
        self.sim = Simulation()
        self.sim.cluster.replication_control.create(TOPIC, 3, assignment=[[0]] * 3)
        self.deadline: dict[int, int] = {}
        self.answered_at: dict[int, int] = {}

    @rule(wait_ms=st.integers(0, 300), index=st.integers(0, 2), min_bytes=st.integers(0, 200))
    def fetch(self, wait_ms: int, index: int, min_bytes: int) -> None:
        end = self.sim.cluster.topics[TOPIC].partitions[index].log.end_offset
        request = fetch_request(end, index=index, max_wait_ms=wait_ms, min_bytes=min_bytes)
        ticket = self.sim.send(request, version=12)
        self.deadline[ticket] = self.sim.now_ms + wait_ms

    @rule(index=st.integers(0, 2))
    def produce(self, index: int) -> None:
        self.sim.send(produce_request(batch(b"x" * 50), index=index), version=12)

    @rule(ms=st.integers(0, 120))
    def pass_time(self, ms: int) -> None:
        self.sim.advance(ms)

    @invariant()
    def answered_once_and_in_time(self) -> None:
        for ticket, deadline in self.deadline.items():
            if ticket in self.sim.replies:
                at = self.answered_at.setdefault(ticket, self.sim.now_ms)
                assert at - 120 <= deadline
            else:
                assert self.sim.now_ms < deadline

    @invariant()
    def nothing_is_left_behind(self) -> None:
        open_ones = [ticket for ticket in self.deadline if ticket not in self.sim.replies]
        assert self.sim.engine.parked_calls == len(open_ones)


TestFetchWaits = FetchWaits.TestCase
