"""Share groups under any mix of members, acknowledgements, time, leaders and restarts, against a model of four rules.

No record is acquired by two members at once; none that was accepted or rejected comes again; none is lost; none is
delivered more often than the limit.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mockbroker.core.simulation import Simulation
from mockbroker.share_groups.share_states import SharePartitionKey, share_of
from mockbroker.share_groups.state.in_flight import ACQUIRED
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.share_groups.share import (
    ACCEPT,
    GROUP,
    REJECT,
    RELEASE,
    RENEW,
    TOPIC,
    acknowledge,
    begun,
    filled,
    outcome,
    share_fetch,
)

LOCK_MS = 30_000
LIMIT = 4
MEMBERS = ("one", "two", "three")
TYPES = st.sampled_from([ACCEPT, RELEASE, REJECT, RENEW])


class ShareLife(RuleBasedStateMachine):
    """``holds`` has who was given which record, and until when; ``done`` the records that must not come again."""

    @initialize(counts=st.lists(st.integers(1, 6), min_size=1, max_size=3))
    def begin(self, counts: list[int]) -> None:
        self.sim = Simulation("a,b,c", settings={"group.share.delivery.count.limit": str(LIMIT)})
        self.topic = begun(self.sim)
        self.epochs: dict[str, int] = {}
        self.leader = 0
        self.holds: dict[int, tuple[str, int]] = {}
        self.done: set[int] = set()
        self.deliveries: Counter[int] = Counter()
        self.produce(counts)

    def produce(self, counts: list[int]) -> None:
        self.sim.move_leader(TOPIC, 0, 0)
        self.moved(0)
        filled(self.sim, *counts)

    def moved(self, leader: int) -> None:
        if leader != self.leader:
            self.leader = leader
            self.epochs.clear()
            self.holds.clear()

    @rule(counts=st.lists(st.integers(1, 6), min_size=1, max_size=2))
    def more_records(self, counts: list[int]) -> None:
        if self.leader == 0:
            self.produce(counts)

    @rule(
        member=st.sampled_from(MEMBERS),
        max_records=st.integers(1, 10),
        batch_size=st.integers(1, 10),
        mode=st.sampled_from([0, 1]),
    )
    def fetch(self, member: str, max_records: int, batch_size: int, mode: int) -> None:
        epoch = self.epochs.get(member, 0)
        response = share_fetch(
            self.sim,
            self.topic,
            epoch,
            member=member,
            broker=self.leader,
            max_records=max_records,
            batch_size=batch_size,
            share_acquire_mode=mode,
        )
        assert response.error_code == ErrorCode.NONE
        self.epochs[member] = epoch + 1
        given = 0
        for topic in response.responses:
            for partition in topic.partitions:
                for one in partition.acquired_records:
                    for offset in range(one.first_offset, one.last_offset + 1):
                        self.give(member, offset, one.delivery_count)
                        given += 1
        assert mode == 0 or given <= max_records

    def give(self, member: str, offset: int, delivery_count: int) -> None:
        assert offset not in self.done, f"{offset} comes again"
        holder = self.holds.get(offset)
        assert holder is None or holder[1] <= self.sim.now_ms, f"{offset} is {holder}'s"
        self.deliveries[offset] += 1
        assert delivery_count <= LIMIT
        self.holds[offset] = (member, self.sim.now_ms + LOCK_MS)

    @rule(data=st.data(), kind=TYPES)
    def acknowledge(self, data: st.DataObject, kind: int) -> None:
        held = sorted(offset for offset, (_, until) in self.holds.items() if until > self.sim.now_ms)
        if not held:
            return
        offset = data.draw(st.sampled_from(held))
        member, _ = self.holds[offset]
        if member not in self.epochs:
            return
        last = offset
        while kind != RENEW and self.holds.get(last + 1, ("", 0))[0] == member and last + 1 in held:
            last += 1
        answer = acknowledge(
            self.sim,
            self.topic,
            self.epochs[member],
            (offset, last, [kind]),
            member=member,
            broker=self.leader,
            is_renew_ack=kind == RENEW,
        )
        assert outcome(answer) == ErrorCode.NONE
        self.epochs[member] += 1
        for one in range(offset, last + 1):
            if kind == RENEW:
                self.holds[one] = (member, self.sim.now_ms + LOCK_MS)
                continue
            del self.holds[one]
            if kind != RELEASE:
                self.done.add(one)

    @rule(member=st.sampled_from(MEMBERS))
    def leave(self, member: str) -> None:
        if member in self.epochs:
            share_fetch(self.sim, self.topic, -1, member=member, broker=self.leader)
            del self.epochs[member]
            self.holds = {offset: held for offset, held in self.holds.items() if held[0] != member}

    @rule(ms=st.sampled_from([1, LOCK_MS // 2, LOCK_MS]))
    def time_passes(self, ms: int) -> None:
        self.sim.advance(ms)
        self.holds = {offset: held for offset, held in self.holds.items() if held[1] > self.sim.now_ms}

    @rule(leader=st.integers(0, 2))
    def another_leader(self, leader: int) -> None:
        self.sim.move_leader(TOPIC, 0, leader)
        self.moved(leader)

    @rule()
    def fork(self) -> None:
        self.sim = self.sim.fork()
        self.leader = self.sim.cluster.topics[TOPIC].partitions[0].leader
        self.epochs.clear()
        self.holds.clear()

    @invariant()
    def nothing_is_lost_and_counts_are_right(self) -> None:
        """What is done with is what was settled, or was delivered as often as it may be; the rest can be given out."""
        running = share_of(self.sim.cluster).get(SharePartitionKey(GROUP, self.topic, 0))
        if running is None:
            return
        states = {
            offset: state
            for batch in running.batches
            for first, last, state in batch.states()
            for offset in range(first, last + 1)
        }
        for offset in range(running.start_offset):
            assert offset in self.done or self.deliveries[offset] >= LIMIT, f"{offset} is lost"
        for offset, state in states.items():
            if offset < running.start_offset:
                continue
            if state.state.is_terminal:
                assert offset in self.done or self.deliveries[offset] >= LIMIT, f"{offset} is lost"
            if state.state is ACQUIRED:
                assert self.holds[offset][0] == state.member_id
            else:
                assert offset not in self.holds
        terminal = sum(state.state.is_terminal for offset, state in states.items() if offset >= running.start_offset)
        assert running.delivery_complete_count == terminal
        last = max(states, default=running.end_offset - 1)
        assert running.start_offset <= last + 1


TestShareLife = ShareLife.TestCase
TestShareLife.settings = hypothesis_settings(stateful_step_count=30)
