"""Whatever members do, in which protocol and however late: a partition has one reader, epochs grow, all converge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mockbroker.core.simulation import Simulation
from mockbroker.groups.consumer.group import ConsumerGroup
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from protocol.apis.consumer_group import ConsumerGroupHeartbeatRequest
from protocol.embedded.group_log import OffsetCommitKey
from protocol.error_codes import ErrorCode

GROUP = "readers"
TOPICS = ("a", "b", "c")
REBALANCE_MS = 20_000
HEARTBEAT_MS = 5000
SESSION_MS = 45_000
Owned = ConsumerGroupHeartbeatRequest.TopicPartitions
MUST_REJOIN = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.FENCED_INSTANCE_ID}

members = st.integers(0, 4)
subscriptions = st.one_of(
    st.sets(st.sampled_from((*TOPICS, "none"))).map(lambda names: {"subscribed_topic_names": sorted(names)}),
    st.sampled_from(("a|b", "[bc]", "n.*", "")).map(
        lambda text: {"subscribed_topic_regex": text, "subscribed_topic_names": []}
    ),
)


@dataclass(eq=False)
class Member:
    """What a client knows: its id, its epoch, and the partitions that it reads."""

    id: str
    instance_id: str | None
    lives: int = 0
    epoch: int = 0
    is_in: bool = False
    owned: dict[bytes, set[int]] = field(default_factory=dict)
    last_sign_ms: int = 0

    @property
    def reads(self) -> set[tuple[bytes, int]]:
        return {(topic, index) for topic, indexes in self.owned.items() for index in indexes}


class AssignedGroupLife(RuleBasedStateMachine):
    """Three dynamic and two static consumers of one group, whose topics come, grow and go."""

    @initialize(assignor=st.sampled_from(("uniform,range", "range", "rack-uniform")))
    def begin(self, assignor: str) -> None:
        self.records: list[Any] = []
        self.sim = Simulation(racks="a,b,c", settings={"group.consumer.assignors": assignor})
        for name in TOPICS:
            self.sim.cluster.replication_control.create(name, 3, 2)
        self.members = [Member(f"m{index}", None if index < 3 else f"i{index}") for index in range(5)]
        self.epoch = 0

    def beat(self, member: Member, epoch: int | None = None, **fields: Any) -> Any:
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=f"{member.id}-{member.lives}",
            member_epoch=member.epoch if epoch is None else epoch,
            instance_id=member.instance_id,
            **fields,
        )
        right = self.sim.cluster.internal_topics.coordinator(GROUP).id
        answer = self.sim.ask(request, version=1, broker=right)
        if answer.error_code in MUST_REJOIN:
            member.is_in, member.owned = False, {}
        elif not answer.error_code and (epoch is None or epoch >= 0):
            assert answer.member_epoch >= member.epoch or not member.is_in or epoch == 0
            member.epoch, member.last_sign_ms = answer.member_epoch, self.sim.now_ms
            if answer.assignment is not None:
                given = {one.topic_id: set(one.partitions) for one in answer.assignment.topic_partitions}
                member.owned = given
        return answer

    def owned_of(self, member: Member) -> list[Any]:
        return [Owned(topic_id=topic, partitions=sorted(indexes)) for topic, indexes in sorted(member.owned.items())]

    @rule(number=members, subscription=subscriptions, rack=st.sampled_from((None, "a", "b")))
    def join(self, number: int, subscription: dict[str, Any], rack: str | None) -> None:
        member = self.members[number]
        if member.is_in:
            return
        if member.instance_id is None:
            member.lives += 1
        member.owned = {}
        answer = self.beat(
            member, 0, rebalance_timeout_ms=REBALANCE_MS, topic_partitions=[], rack_id=rack, **subscription
        )
        assert answer.error_code in (ErrorCode.NONE, ErrorCode.UNRELEASED_INSTANCE_ID), answer
        member.is_in = answer.error_code == ErrorCode.NONE

    @rule(number=members)
    def heartbeat(self, number: int) -> None:
        """Say what it holds: it gives up at once what it was not told any more."""
        member = self.members[number]
        if member.is_in:
            answer = self.beat(member, topic_partitions=self.owned_of(member))
            assert answer.error_code in MUST_REJOIN | {ErrorCode.NONE}, answer

    @rule(number=members, subscription=subscriptions)
    def subscribe(self, number: int, subscription: dict[str, Any]) -> None:
        member = self.members[number]
        if member.is_in:
            self.beat(member, topic_partitions=self.owned_of(member), **subscription)

    @rule(number=members, for_a_while=st.booleans())
    def leave(self, number: int, for_a_while: bool) -> None:
        member = self.members[number]
        if member.is_in:
            self.beat(member, -2 if for_a_while and member.instance_id is not None else -1)
            member.is_in, member.owned = False, {}

    @rule(ms=st.sampled_from((100, 1000, 11_000, 21_000, 46_000)))
    def wait(self, ms: int) -> None:
        self.sim.advance(ms=ms)
        for member in self.members:  # whoever was put out learns it before anybody else acts
            self.heartbeat(self.members.index(member))

    @rule(name=st.sampled_from(TOPICS))
    def change_topics(self, name: str) -> None:
        cluster = self.sim.cluster
        if name not in cluster.topics:
            self.sim.create_topic(name, partitions=2, replication_factor=2)
        elif len(cluster.topics[name].partitions) < 5:
            cluster.replication_control.widen(name, len(cluster.topics[name].partitions) + 1)
        else:
            self.sim.delete_topic(name)

    @rule()
    def move_coordinator(self) -> None:
        now = self.sim.cluster.internal_topics.coordinator(GROUP).id
        self.sim.move_coordinator(GROUP, (now + 1) % 3)

    @rule()
    def converge(self) -> None:
        """With heartbeats alone all come to rest: each partition that is subscribed to has exactly one reader."""
        for _ in range(12):
            self.sim.advance(ms=11_000)
            for number in range(len(self.members)):
                self.heartbeat(number)
        group = self.group()
        if group is None or not group.members:
            return
        assert group.state_name == "Stable", (group.state_name, group.members)
        wanted = {
            (self.sim.cluster.topics[name].id, index)
            for name in group.subscribed_topics()
            if name in self.sim.cluster.topics
            for index in range(len(self.sim.cluster.topics[name].partitions))
        }
        if any(not (one.topics or one.expression) for one in group.members.values()):
            return  # to Kafka one who came without topics may be like all others, and be given what nobody reads then
        read = [place for member in self.members if member.is_in for place in member.reads]
        assert sorted(read) == sorted(wanted - self.stranded(group))

    def stranded(self, group: ConsumerGroup) -> set[tuple[bytes, int]]:
        """What members should read who have since taken an expression that matches nothing.

        Nothing new was matched, so to Kafka (handleRegularExpressionsResult) that is no reason for another assignment.
        """
        names = {topic.id: name for name, topic in self.sim.cluster.topics.items()}
        matched_nothing = {text for text, found in group.resolved.items() if not found.topics}
        return {
            (topic, index)
            for member in group.members.values()
            if member.expression in matched_nothing
            for topic, index in group.targets.get(member.id, ())
            if names.get(topic) not in member.topics
        }

    def group(self) -> ConsumerGroup | None:
        found = self.sim.cluster.groups.find(GROUP)
        assert found is None or isinstance(found, ConsumerGroup)
        return found

    @invariant()
    def no_partition_is_held_twice(self) -> None:
        group = self.group()
        if group is None:
            return
        held = [at for member in group.members.values() for at in member.held]
        assert len(held) == len(set(held))

    @invariant()
    def epochs_grow(self) -> None:
        group = self.group()
        if group is None:  # not yet, or gone for having neither members nor offsets: another one begins anew
            heard_ms = [member.last_sign_ms for member in self.members if member.is_in]
            assert all(self.sim.now_ms - at_ms >= SESSION_MS for at_ms in heard_ms)
            self.epoch = 0
            return
        assert group.epoch >= self.epoch
        assert group.assignment_epoch <= group.epoch
        assert all(member.epoch <= group.epoch for member in group.members.values())
        self.epoch = group.epoch

    @invariant()
    def records_alone_make_the_same_group(self) -> None:
        group = self.group()
        if group is None:
            return
        copy = ConsumerGroup(GROUP, group.groups)
        for record in self.sim.cluster.internal_topics.shard(OFFSETS_TOPIC, GROUP).records_of(GROUP):
            if not isinstance(record.key, OffsetCommitKey):
                copy.apply(record)
        for name in (
            "epoch",
            "assignment_epoch",
            "members",
            "targets",
            "resolved",
        ):
            assert getattr(copy, name) == getattr(group, name), name


AssignedGroupLife.TestCase.settings = settings(stateful_step_count=40, deadline=None)
TestAssignedGroupLife = AssignedGroupLife.TestCase
