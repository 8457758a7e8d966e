"""Whatever is done to a cluster, the records of it give its image again, and a cluster built from that goes on."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mockbroker.groups.classic.group import ClassicGroup, ClassicGroupState
from mockbroker.groups.kind import Sender
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.errors import ApiError
from mockbroker.state.image import Image
from mockbroker.state.logs.appending import append
from mockbroker.state.logs.producers import recover
from mockbroker.state.logs.store import LogStore
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from mockbroker.state.transactions.states import Producer
from protocol.calls import encode
from protocol.codec import decode_as
from protocol.embedded.group_log import GroupMetadataKey, OffsetCommitValue
from tests.group_driver import VERSION, WITHOUT_IDS, commit_offsets, join_request, sync_request
from tests.internal_topics import end_transaction
from tests.unit.mockbroker.handlers.records import batch

RACKS = "abc"
brokers = st.integers(0, 3)
racks = st.sampled_from(RACKS)
names = st.sampled_from(["orders", "events", "returns"])
groups = st.sampled_from(["readers", "others"])
transactional_ids = st.sampled_from(["billing", "refunds"])
configs = st.sampled_from(
    [
        {},
        {"diskless.enable": "true"},
        {"unclean.leader.election.enable": True, "min.insync.replicas": 2},
        {"message.timestamp.type": "LogAppendTime"},
    ]
)

instances = st.sampled_from([None, None, "i1", "i2"])


class ImageLife(RuleBasedStateMachine):
    """Four brokers in three racks whose records are kept; each replay is brought up to date after every step.

    There are a topic, a producer, and a stable group with a static member to begin with.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.lives = 0
        self.records: list[Any] = []
        self.log_store = LogStore()
        self.cluster = self.begin_life(None)
        self.replayed, self.read_back = Image(), Image()
        self.seen = 0
        self.sequences: dict[tuple[bytes, int, int, int], int] = {}
        self.producer_ids: list[int] = []
        self.cluster.replication_control.create("orders", 2, 3)
        self.initialise_producer(0)
        for instance_id in (None, "i1"):
            self.join("readers", instance_id, 0, b"1")
        self.all_join_and_sync("readers")
        assert self.group("readers").state is ClassicGroupState.STABLE

    def begin_life(self, image: Image | None) -> Cluster:
        self.lives += 1
        self.rng = Random(self.lives)
        return Cluster.create(
            [Broker(index, RACKS[index % 3]) for index in range(4)],
            seed=self.lives,
            image=image,
            log_store=self.log_store,
            record_log=self.records,
            now_ms=self.now_ms,
        )

    # topics and brokers

    @rule(
        name=names,
        partitions=st.integers(1, 3),
        replicas=st.integers(1, 3),
        configs=configs,
        dry=st.sampled_from([False, False, True]),
    )
    def create_topic(self, name: str, partitions: int, replicas: int, configs: dict[str, Any], dry: bool) -> None:
        with suppress(ApiError):
            self.cluster.replication_control.create(name, partitions, replicas, configs=configs, validate_only=dry)

    @rule(name=names)
    def delete_topic(self, name: str) -> None:
        with suppress(ApiError):
            self.cluster.replication_control.delete(self.cluster.find_topic(name))

    @rule(name=names, count=st.integers(1, 5))
    def add_partitions(self, name: str, count: int) -> None:
        with suppress(ApiError):
            self.cluster.replication_control.widen(name, count)

    @rule(name=names, index=st.integers(0, 2), replicas=st.lists(brokers, min_size=1, max_size=4, unique=True))
    def reassign(self, name: str, index: int, replicas: list[int]) -> None:
        with suppress(ApiError):
            self.cluster.replication_control.reassign(name, index, replicas)

    @rule(broker=brokers, start=st.booleans())
    def change_broker(self, broker: int, start: bool) -> None:
        (self.cluster.cluster_control.start if start else self.cluster.cluster_control.stop)(broker, self.now_ms)

    @rule(rack=racks, start=st.booleans())
    def change_rack(self, rack: str, start: bool) -> None:
        for broker in self.cluster.liveness.brokers_in(rack):
            control = self.cluster.cluster_control
            (control.start if start else control.stop)(broker.id, self.now_ms)

    @rule(broker=brokers, port=st.integers(1, 3))
    def move(self, broker: int, port: int) -> None:
        self.cluster.brokers[broker].listeners[0].port = port
        self.cluster.cluster_control.register_again(self.now_ms)

    # producers

    @rule(broker=brokers)
    def initialise_producer(self, broker: int) -> None:
        producer_id = self.cluster.producers.new_id(broker)
        assert producer_id not in self.producer_ids, "a producer id was given out twice"
        self.producer_ids.append(producer_id)

    # transactions

    @rule(transactional_id=transactional_ids)
    def initialise_transactional(self, transactional_id: str) -> None:
        with suppress(ApiError):
            self.cluster.transactions.initialise(Producer(transactional_id, -1, -1), 1000)

    @rule(transactional_id=transactional_ids, name=names, index=st.integers(0, 2), size=st.integers(1, 3))
    def produce_in_transaction(self, transactional_id: str, name: str, index: int, size: int) -> None:
        known = self.cluster.transactions.find(transactional_id)
        if known is None:
            return
        producer_id, epoch = known.producer_id, known.producer_epoch
        with suppress(ApiError):
            partition = self.cluster.find_partition(name, index)
            self.cluster.transactions.add_partitions(
                Producer(transactional_id, producer_id, epoch), [(name, index)], client_version=2
            )
            key = (partition.topic.id, index, producer_id, epoch)
            sequence = self.sequences.get(key, 0)
            records = batch(
                *[b"x"] * size,
                timestamp=self.now_ms,
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=sequence,
                transactional=True,
            )
            append(partition, records, self.now_ms, size=len(records))
            self.sequences[key] = sequence + size

    @rule(transactional_id=transactional_ids, commit=st.booleans(), version=st.sampled_from([0, 2]))
    def end_transaction_of(self, transactional_id: str, commit: bool, version: int) -> None:
        known = self.cluster.transactions.find(transactional_id)
        if known is not None:
            with suppress(ApiError):
                self.cluster.transactions.end(
                    Producer(transactional_id, known.producer_id, known.producer_epoch),
                    commit=commit,
                    client_version=version,
                )

    @rule(name=names, index=st.integers(0, 2), producer=st.integers(0, 2), size=st.integers(1, 3))
    def produce(self, name: str, index: int, producer: int, size: int) -> None:
        with suppress(ApiError):
            partition = self.cluster.find_partition(name, index)
            producer_id = self.producer_ids[producer] if producer < len(self.producer_ids) else -1
            key = (partition.topic.id, index, producer_id, 0)
            sequence = self.sequences.get(key, 0)
            records = batch(
                *[b"x"] * size,
                timestamp=self.now_ms,
                producer_id=producer_id,
                producer_epoch=0 if producer_id >= 0 else -1,
                base_sequence=sequence if producer_id >= 0 else -1,
            )
            append(partition, records, self.now_ms, size=len(records))
            self.sequences[key] = sequence + size

    # groups

    @rule(group_id=groups, instance_id=instances, number=st.integers(0, 3), metadata=st.sampled_from([b"1", b"2"]))
    def join(self, group_id: str, instance_id: str | None, number: int, metadata: bytes) -> None:
        """A new member, or one that is there, or a static one that has lost its id."""
        members = sorted(self.group(group_id).members) if self.exists(group_id) else []
        member_id = members[number] if number < len(members) and instance_id is None else ""
        joining = join_request(member_id, instance_id, [("range", metadata)], 10_000, 20_000, group_id=group_id)
        with suppress(ApiError):
            self.cluster.groups.join(joining, Sender(WITHOUT_IDS, "c", "/h"), self.now_ms, self.rng)

    @rule(group_id=groups)
    def all_join_and_sync(self, group_id: str) -> None:
        """End a rebalance, if one runs."""
        if self.exists(group_id):
            for member in list(self.group(group_id).members.values()):
                if self.group(group_id).state is ClassicGroupState.PREPARING and member.join is None:
                    protocols = list(member.protocols.items())
                    joining = join_request(member.id, member.instance_id, protocols, 10_000, 20_000, group_id=group_id)
                    self.cluster.groups.join(joining, Sender(VERSION, "c", "/h"), self.now_ms, self.rng)
            self.sync(group_id)

    @rule(group_id=groups)
    def sync(self, group_id: str) -> None:
        if self.exists(group_id):
            group = self.group(group_id)
            assigned = {member_id: member_id.encode() for member_id in group.members}
            for member_id in list(group.members):
                with suppress(ApiError):
                    syncing = sync_request(member_id, group.generation, assigned, group_id=group_id)
                    self.cluster.groups.of_members(syncing.group_id).sync(syncing, self.now_ms)

    @rule(group_id=groups, number=st.integers(0, 3))
    def leave(self, group_id: str, number: int) -> None:
        if self.exists(group_id):
            members = sorted(self.group(group_id).members)
            leaving = members if number == 3 else members[number : number + 1]
            self.cluster.groups.leave(group_id, [(member_id, None) for member_id in leaving], self.now_ms)

    @rule(group_id=groups, name=names, index=st.integers(0, 2), offset=st.integers(0, 9), staged=st.booleans())
    def commit(self, group_id: str, name: str, index: int, offset: int, staged: bool) -> None:
        offsets = {(name, index): OffsetCommitValue(offset, 1, "note")}
        with suppress(ApiError):
            if staged:
                producer = (1000 + index, 0)
                commit_offsets(self.cluster.groups, group_id, offsets, self.now_ms, producer=producer)
            else:
                group = self.group(group_id) if self.exists(group_id) else None
                member_id = next(iter(group.members), "") if group else ""
                generation = group.generation if group and member_id else -1
                commit_offsets(
                    self.cluster.groups, group_id, offsets, self.now_ms, generation=generation, member_id=member_id
                )

    @rule(index=st.integers(0, 2), committed=st.booleans())
    def end_transaction(self, index: int, committed: bool) -> None:
        end_transaction(self.cluster, 1000 + index, committed=committed)

    @rule(group_id=groups, name=names, index=st.integers(0, 2))
    def delete_offset(self, group_id: str, name: str, index: int) -> None:
        with suppress(ApiError):
            self.cluster.groups.delete_offsets(group_id, [(name, index)])

    @rule(group_id=groups)
    def delete_group(self, group_id: str) -> None:
        with suppress(ApiError):
            self.cluster.groups.delete(group_id)

    @rule(ms=st.sampled_from([1, 5_000, 25_000, 400_000]))
    def time_passes(self, ms: int) -> None:
        self.now_ms += ms
        self.cluster.tick(self.now_ms)

    # restarts

    @rule()
    def restart(self) -> None:
        """Go on with what the records say and the logs hold."""
        before = self.cluster
        self.cluster = self.begin_life(self.kept_image())
        assert self.cluster.topics.keys() == before.topics.keys()
        for name, topic in self.cluster.topics.items():
            old = before.topics[name]
            assert (topic.id, topic.configs, topic.diskless) == (old.id, old.configs, old.diskless)
            for one, other in zip(topic.partitions, old.partitions, strict=True):
                assert (one.replicas, one.log) == (other.replicas, other.log)
                assert one.leader_epoch >= other.leader_epoch
                assert one.producers.by_id == other.producers.by_id
        for group in self.cluster.groups.select():
            old_group = before.groups.get(group.id)
            if old_group.state is ClassicGroupState.STABLE:
                assert generation_of(group) == generation_of(old_group)
            offsets, old_offsets = self.cluster.groups.offsets(group.id), before.groups.offsets(group.id)
            assert offsets.partitions() == old_offsets.partitions()

    def kept_image(self) -> Image:
        """The image as a restart finds it."""
        image = Image()
        for records in self.records:
            for record in records:
                image.apply(record)
        return image

    # what always holds

    @invariant()
    def replaying_the_records_gives_the_image_again(self) -> None:
        for records in self.records[self.seen :]:
            for record in records:
                self.replayed.apply(record)
                self.read_back.apply(through_the_wire(record))
        self.seen = len(self.records)
        assert self.replayed == self.cluster.image
        assert self.read_back == self.cluster.image

    @invariant()
    def what_runs_is_what_the_image_has(self) -> None:
        image = self.cluster.image
        assert {topic.id for topic in self.cluster.topics.values()} == image.topics.keys()
        for topic in self.cluster.topics.values():
            registrations = [partition.registration for partition in topic.partitions]
            assert registrations == image.topics[topic.id].partitions
        assert {name for _, name in image.configs} <= self.cluster.topics.keys()
        for broker in self.cluster.brokers.values():
            assert broker.registration is image.brokers[broker.id]
        for group in self.cluster.groups.select():
            shard = self.cluster.internal_topics.shard(OFFSETS_TOPIC, group.id)
            kept = shard.value(GroupMetadataKey, group.id)
            if group.state is ClassicGroupState.STABLE or (group.state is ClassicGroupState.EMPTY and kept is not None):
                assert kept is not None
                assert (kept.generation, kept.leader) == (group.generation, group.leader_id)
                assert [one.member_id for one in kept.members] == list(group.members)

    @invariant()
    def producers_are_known_by_the_log_alone(self) -> None:
        for topic in self.cluster.topics.values():
            for partition in topic.partitions:
                found = recover(partition.log)
                assert found.by_id == partition.producers.by_id
                assert found.transactions.open == partition.producers.transactions.open
                assert found.transactions.aborted == partition.producers.transactions.aborted

    # inside

    def exists(self, group_id: str) -> bool:
        return any(group.id == group_id for group in self.cluster.groups.select())

    def group(self, group_id: str) -> ClassicGroup:
        return self.cluster.groups.get(group_id)


def through_the_wire(record: Any) -> Any:
    """A record as it is after it was written in its newest version and read again."""
    version = type(record).valid_versions.highest
    return decode_as(type(record), version, encode(record, version))


def generation_of(group: ClassicGroup) -> Any:
    """What members are told of a generation."""
    members = [
        (
            one.id,
            one.instance_id,
            one.client_id,
            one.session_timeout_ms,
            one.metadata(group.protocol_name),
            one.assignment,
        )
        for one in group.members.values()
    ]
    return (group.state, group.generation, group.protocol_type, group.protocol_name, group.leader_id, members)


TestImageLife = ImageLife.TestCase
