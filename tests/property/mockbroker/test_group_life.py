"""Whatever members do and however long they are silent, a group keeps its promises to them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mockbroker.groups.classic.group import ClassicGroup, ClassicGroupState
from mockbroker.groups.classic.members import PendingAnswer
from mockbroker.state.errors import ApiError
from protocol.embedded.group_log import OffsetCommitValue
from protocol.error_codes import ErrorCode
from tests.group_driver import GROUP, GroupDriver, commit_offsets

REBALANCE_MS = 20_000
clients = st.integers(0, 5)
protocols = st.sampled_from(
    [
        (("range", b"1"), ("sticky", b"1")),
        (("range", b"1"), ("sticky", b"1")),
        (("sticky", b"2"), ("range", b"2")),
        (("range", b"3"),),
    ]
)


@dataclass(eq=False)
class Client:
    """What one client knows."""

    instance_id: str | None
    session_ms: int
    member_id: str = ""
    generation: int = -1
    is_waiting: bool = False

    def forget(self) -> None:
        self.member_id, self.generation = "", -1


@dataclass(eq=False)
class ParkedCall:
    """A call without an answer yet: whose, since when, and the latest time for its answer."""

    client: Client
    parked: PendingAnswer[Any]
    deadline_ms: int


class GroupLife(RuleBasedStateMachine):
    """Three dynamic and three static clients join, sync, commit, leave, crash and fall silent at random.

    Each checks what it is told. Two of the static ones share an instance id, so they fence each other.
    """

    @initialize(delay_ms=st.sampled_from([0, 0, 3_000]))
    def start(self, delay_ms: int) -> None:
        self.driver = GroupDriver({"group.initial.rebalance.delay.ms": delay_ms})
        self.driver.groups.notify = self.notified
        self.waiting: dict[PendingAnswer[Any], ParkedCall] = {}
        self.answered: dict[PendingAnswer[Any], Any] = {}
        self.everyone = [
            Client(instance_id, session_ms)
            for instance_id, session_ms in zip(
                (None, None, None, "i1", "i1", "i2"), (6_000, 15_000, 15_000, 6_000, 15_000, 40_000), strict=True
            )
        ]
        self.kept_until_ms: dict[str, int] = {}  # by member id: it may not be lost for its silence before
        self.generation = 0
        self.preparing_since_ms = 0
        self.generation_since_ms = 0

    # what members do

    @rule(client=clients, protocols=protocols)
    def join(self, client: int, protocols: Any) -> None:
        self.send_join(self.everyone[client], protocols)

    @rule(protocols=protocols, but=st.sets(clients))
    def all_join_but(self, protocols: Any, but: set[int]) -> None:
        for number, client in enumerate(self.everyone):
            if number not in but:
                self.send_join(client, protocols)
                if not client.is_waiting and client.generation < 0:
                    self.send_join(client, protocols)

    @rule(client=clients)
    def sync(self, client: int) -> None:
        self.send_sync(self.everyone[client])

    @rule(but=st.sets(clients))
    def all_sync_but(self, but: set[int]) -> None:
        for number, client in enumerate(self.everyone):
            if number not in but:
                self.send_sync(client)

    @rule(client=clients)
    def crash(self, client: int) -> None:
        """A client comes back without memory, as a process that was started again."""
        self.everyone[client] = Client(self.everyone[client].instance_id, self.everyone[client].session_ms)

    def send_join(self, client: Client, protocols: Any) -> None:
        returns = client.instance_id is not None and not client.member_id and self.exists
        replaced = self.group.static_member(client.instance_id) if returns else None
        replaced_session_ms = replaced.session_timeout_ms if replaced else 0
        with self.nobody_lost(replaced.id if replaced else None):
            try:
                parked = self.driver.join(
                    client.member_id,
                    instance_id=client.instance_id,
                    protocols=protocols,
                    session_ms=client.session_ms,
                    rebalance_ms=REBALANCE_MS,
                )
            except ApiError as error:
                self.refused(client, error)
                return
            if parked.answer is None:
                self.park(client, parked)
            else:
                self.joined(client, parked.answer)
        if replaced and not client.is_waiting and client.generation == self.generation:
            # Kafka looks at the session of the one that is replaced before it takes that of the newcomer.
            self.kept_until_ms[client.member_id] = self.now_ms + replaced_session_ms
        self.observe()  # of several joins in one step each may begin a generation

    def send_sync(self, client: Client) -> None:
        if not client.member_id or client.generation < 0:
            return
        was_stable = self.group.state is ClassicGroupState.STABLE
        with self.nobody_lost():
            try:
                parked = self.driver.sync(
                    client.member_id,
                    self.driver.assignments(),
                    generation=client.generation,
                    instance_id=client.instance_id,
                )
            except ApiError as error:
                self.refused(client, error)
                return
            if parked.answer is None:
                self.park(client, parked)
            elif was_stable:
                assert parked.answer.error_code == ErrorCode.NONE  # told what it could know: no sign of life to Kafka
            else:
                self.synced(client, parked.answer)

    def park(self, client: Client, parked: PendingAnswer[Any]) -> None:
        self.waiting[parked] = ParkedCall(client, parked, self.now_ms + REBALANCE_MS)
        client.is_waiting = True

    def send_heartbeat(self, client: Client) -> None:
        if client.member_id and self.exists:
            with self.nobody_lost():
                error = self.driver.heartbeat(
                    client.member_id, generation=client.generation, instance_id=client.instance_id
                )
            if error in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
                assert client.generation == self.group.generation
                self.heard_from(client)
            else:
                self.refused(client, ApiError(error))

    @rule(number=clients)
    def commit(self, number: int) -> None:
        client = self.everyone[number]
        if client.member_id and client.generation >= 0:
            offsets = {("orders", 0): OffsetCommitValue(1)}
            with self.nobody_lost():
                try:
                    commit_offsets(
                        self.driver.groups,
                        GROUP,
                        offsets,
                        self.now_ms,
                        generation=client.generation,
                        member_id=client.member_id,
                        instance_id=client.instance_id,
                    )
                except ApiError as error:
                    if error.code != ErrorCode.REBALANCE_IN_PROGRESS:
                        self.refused(client, error)
                    return
            assert client.generation == self.group.generation
            self.heard_from(client)

    @rule(number=clients)
    def leave(self, number: int) -> None:
        client = self.everyone[number]
        if client.member_id:
            with self.nobody_lost(client.member_id):
                self.driver.leave((client.member_id, client.instance_id))
            assert client.member_id not in self.members() or client.instance_id == "i1"
            client.forget()

    @rule(silent=st.sets(clients), seconds=st.integers(1, 25))
    def time_passes_while_some_are_silent(self, silent: set[int], seconds: int) -> None:
        for _ in range(seconds):
            for number, client in enumerate(self.everyone):
                if number not in silent:
                    self.send_heartbeat(client)
            self.time_passes(1_000)

    @rule(ms=st.integers(1, 9_000))
    def time_passes(self, ms: int) -> None:
        target_ms = self.now_ms + ms
        while self.now_ms < target_ms:
            next_ms = self.driver.next_ms()
            before, state = self.members(), self.group.state if self.exists else ClassicGroupState.EMPTY
            unjoined = {member.id for member in before.values() if member.join is None}
            unsynced = set(self.group.unsynced) if self.exists else set()
            self.driver.advance(min(target_ms, next_ms or target_ms) - self.now_ms)
            for member_id in sorted(before.keys() - self.members().keys()):
                early_ms = self.kept_until_ms.get(member_id, 0) - self.now_ms
                rebalance_ms = self.now_ms - self.preparing_since_ms
                generation_ms = self.now_ms - self.generation_since_ms
                assert (
                    early_ms <= 0
                    or (state is ClassicGroupState.PREPARING and member_id in unjoined and rebalance_ms >= REBALANCE_MS)
                    or (
                        state is not ClassicGroupState.PREPARING
                        and member_id in unsynced
                        and generation_ms >= REBALANCE_MS
                    )
                ), f"{member_id} was lost {early_ms} ms early"
            self.observe()

    # what members are told

    def notified(self, parked: Hashable) -> None:
        assert isinstance(parked, PendingAnswer)
        assert parked.answer is not None, "notified without an answer"
        assert parked not in self.answered, "answered twice"
        self.answered[parked] = parked.answer
        call = self.waiting.pop(parked, None)
        if call is not None:
            call.client.is_waiting = False
            assert self.driver.now_ms <= call.deadline_ms, "answered too late"
            if hasattr(parked.answer, "leader"):
                self.joined(call.client, parked.answer)
            else:
                self.synced(call.client, parked.answer)

    def joined(self, client: Client, answer: Any) -> None:
        if answer.error_code == ErrorCode.NONE:
            assert answer.generation_id == self.group.generation > 0
            assert answer.generation_id > client.generation or self.group.state is not ClassicGroupState.PREPARING
            knew = client.member_id, client.generation
            client.member_id, client.generation = answer.member_id, answer.generation_id
            if knew != (client.member_id, client.generation):  # being told the same again is no sign of life to Kafka
                self.heard_from(client)
            if answer.members:
                assert answer.leader == answer.member_id
                assert {member.member_id for member in answer.members} <= set(self.group.members)
        elif answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            client.member_id, client.generation = answer.member_id, -1
        else:
            self.refused(client, ApiError(answer.error_code))

    def synced(self, client: Client, answer: Any) -> None:
        if answer.error_code == ErrorCode.NONE:
            self.heard_from(client)
        else:
            self.refused(client, ApiError(answer.error_code))

    def heard_from(self, client: Client) -> None:
        self.kept_until_ms[client.member_id] = self.now_ms + client.session_ms

    def refused(self, client: Client, error: ApiError) -> None:
        allowed = {
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.FENCED_INSTANCE_ID,
            ErrorCode.ILLEGAL_GENERATION,
            ErrorCode.REBALANCE_IN_PROGRESS,
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            ErrorCode.GROUP_ID_NOT_FOUND,
        }
        assert error.code in allowed, error
        if error.code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            client.forget()

    # what always holds

    @invariant()
    def no_answered_call_waits_and_none_waits_too_long(self) -> None:
        for call in self.waiting.values():
            assert call.parked.answer is None
            assert self.now_ms <= call.deadline_ms, "still unanswered"
        for parked, answer in self.answered.items():
            assert parked.answer is answer, "an answer changed"

    @invariant()
    def a_call_waits_only_as_its_members_own(self) -> None:
        parked = {call for member in self.members().values() for call in (member.join, member.sync) if call}
        assert parked == set(self.waiting)

    @invariant()
    def generations_are_counted_one_by_one(self) -> None:
        self.observe()

    @invariant()
    def members_of_a_stable_group_that_asked_for_their_assignment_hold_its_generation(self) -> None:
        if self.exists and self.group.state is ClassicGroupState.STABLE:
            for client in self.everyone:
                if client.member_id in self.group.members and client.member_id not in self.group.unsynced:
                    assert client.generation == self.group.generation
            assert not self.waiting

    @invariant()
    def leader_and_static_ids_are_members(self) -> None:
        if self.exists:
            members = self.group.members
            assert (self.group.leader_id in members) if members else self.group.leader_id is None
            static = [member.instance_id for member in members.values() if member.instance_id]
            assert len(static) == len(set(static))
            assert not self.group.pending & members.keys()
            assert self.group.unsynced <= members.keys()
            assert members or self.group.state in (ClassicGroupState.EMPTY, ClassicGroupState.PREPARING)

    @invariant()
    def whoever_keeps_a_group_from_moving_on_has_a_deadline(self) -> None:
        if self.members() or self.waiting:
            assert self.driver.next_ms() is not None

    # inside

    @property
    def now_ms(self) -> int:
        return self.driver.now_ms

    @property
    def exists(self) -> bool:
        return bool(self.driver.groups.select())

    @property
    def group(self) -> ClassicGroup:
        return self.driver.group

    def members(self) -> dict[str, Any]:
        return dict(self.group.members) if self.exists else {}

    def observe(self) -> None:
        if not self.exists:
            return
        assert self.generation <= self.group.generation <= self.generation + 1
        if self.group.generation > self.generation:
            self.generation_since_ms = self.now_ms
        if self.group.state is not ClassicGroupState.PREPARING:
            self.preparing_since_ms = self.now_ms
        self.generation = self.group.generation

    def nobody_lost(self, *but: str | None) -> Any:
        return NobodyLost(self.members, set(but))


@dataclass
class NobodyLost:
    """A block after which all members are still there, but for those who may go."""

    members: Callable[[], dict[str, Any]]
    but: set[str | None]

    def __enter__(self) -> None:
        self.before = self.members().keys()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            assert self.before - self.members().keys() <= self.but


TestGroupLife = pytest.mark.filterwarnings("default")(GroupLife.TestCase)
TestGroupLife.settings = settings(max_examples=settings().max_examples * 3 // 5, stateful_step_count=50)
