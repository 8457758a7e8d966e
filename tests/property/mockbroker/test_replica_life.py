"""Links fail, brokers come and go, replicas lag: no acknowledged record is lost, and readers see only what stays.

Producers and consumers use the cluster meanwhile, each at whichever broker it likes. After every step what Kafka
promises of its replicas holds; at the end all is restored, and then nothing of the disturbance is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mockbroker.call import Ending, Outcome
from mockbroker.core.simulation import Simulation
from mockbroker.state.errors import ApiError
from mockbroker.state.image import Image
from mockbroker.state.replicas.network import CONTROLLER, LinkCondition
from mockbroker.state.replicas.overrides import NO_OVERRIDES
from mockbroker.state.topics.topic import NO_LEADER, Partition
from protocol.apis.metadata import MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.error_codes import ErrorCode
from protocol.records import iter_records
from tests.unit.mockbroker.handlers.records import batch, fetch_request

LAG_TIME_MS = 30_000
SESSION_TIMEOUT_MS = 9_000
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
TOPICS = ("orders", "events")
ALL_IN_SYNC = -1
TIMEOUT_MS = 20_000

topics = st.sampled_from(["orders", "orders", "events"])
indexes = st.integers(0, 1)
brokers = st.integers(0, 3)
nodes = st.integers(CONTROLLER, 3)
LEADER, FORMER_LEADER = "leader", "former leader"
places = st.sampled_from([LEADER, LEADER, FORMER_LEADER, 0, 1, 2, 3])  # where a client takes its request
racks = st.sampled_from("abc")

Key = tuple[bytes, int]  # topic id, partition


@dataclass
class SentRecord:
    """A record that a producer sent with acks=all, to the partition of this key."""

    key: Key
    value: bytes


@dataclass
class IdempotentProducer:
    """What an idempotent producer sends until it is acknowledged, and then the next."""

    producer_id: int
    sequence: int = 0


class ReplicaLife(RuleBasedStateMachine):
    """Four brokers in racks a, b, c, a; ``orders`` wants two replicas in sync, ``events`` keeps little."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[list[Any]] = []
        self.sim = Simulation("a,b,c,a", settings={"replica.selector.class": RACK_AWARE}, record_log=self.records)
        self.cluster = self.sim.cluster
        self.outcomes: Counter[int] = Counter()
        self.outcome_at: dict[int, int] = {}
        self.sim.engine.path.observers.append(self)
        self.deadlines: dict[int, int] = {}
        self.sent: dict[int, list[SentRecord]] = {}
        self.answered: set[int] = set()
        self.committed: dict[Key, dict[int, bytes]] = {}  # by offset: acknowledged with acks=all, or read
        self.high_watermarks: dict[Key, int] = {}
        self.epochs: dict[Key, tuple[int, int]] = {}
        self.leader_of_epoch: dict[tuple[Key, int], int] = {}
        self.in_sync: dict[Key, tuple[int, ...]] = {}
        self.held_up_since: dict[tuple[Key, int], tuple[int, int]] = {}
        self.leaders: dict[Key, list[int]] = {}  # the present one last
        self.fetches: dict[int, tuple[int, Key, int]] = {}
        self.producers: dict[Key, IdempotentProducer] = {}
        self.numbers = 0
        self.replayed = Image()
        self.seen = 0
        for topic in TOPICS:
            self.create(topic)

    # outcomes

    def call_ended(self, outcome: Outcome) -> None:
        ticket = outcome.call.session.connection
        self.outcomes[ticket] += 1
        self.outcome_at[ticket] = outcome.at_ms
        if outcome.ending is Ending.DROPPED:
            self.deadlines.pop(ticket, None)

    # topics

    def create(self, topic: str) -> None:
        configs = {"min.insync.replicas": "2"} if topic == "orders" else {"retention.bytes": "100"}
        with suppress(ApiError):
            self.cluster.replication_control.create(topic, 2, 3, configs=configs)

    @rule(topic=topics)
    def create_topic(self, topic: str) -> None:
        if topic not in self.cluster.topics:
            self.create(topic)

    @rule(topic=topics, sure=st.sampled_from([False, False, True]))
    def delete_topic(self, topic: str, sure: bool) -> None:
        if sure and topic in self.cluster.topics:
            self.cluster.replication_control.delete(self.cluster.topics[topic])
            self.settle()

    @rule(topic=topics)
    def add_partition(self, topic: str) -> None:
        if topic in self.cluster.topics and len(self.cluster.topics[topic].partitions) < 3:
            with suppress(ApiError):
                self.cluster.replication_control.widen(topic, len(self.cluster.topics[topic].partitions) + 1)

    @rule(topic=topics, index=indexes, replicas=st.lists(brokers, min_size=1, max_size=4, unique=True))
    def reassign(self, topic: str, index: int, replicas: list[int]) -> None:
        """Move a partition, to brokers that may be down or cut off too."""
        if topic in self.cluster.topics:
            with suppress(ApiError):
                self.cluster.replication_control.reassign(topic, index, replicas)
            self.settle()

    @rule(
        topic=topics,
        index=indexes,
        replicas=st.one_of(st.none(), st.lists(brokers, min_size=1, max_size=4, unique=True)),
    )
    def move_over_time(self, topic: str, index: int, replicas: list[int] | None) -> None:
        """Begin to move a partition, which brokers that are down keep from ending, or call that off."""
        if topic in self.cluster.topics:
            with suppress(ApiError):
                reassignments = self.cluster.replication_control.reassignments
                reassignments.start([reassignments.plan(topic, index, replicas, may_resize=True)])
            self.settle()

    @rule(topic=topics, index=indexes, unclean=st.booleans())
    def elect(self, topic: str, index: int, unclean: bool) -> None:
        """Ask for the preferred leader, or for anybody where nobody leads, which is safe only while nobody can."""
        key = self.key(topic, index)
        partition = None if key is None else self.cluster.topics[topic].partitions[index]
        if partition is not None and not unclean:
            with suppress(ApiError):
                self.cluster.replication_control.leaders.elect_leader(partition, unclean=False)
            self.settle()

    # brokers and links

    @rule(broker=brokers)
    def stop(self, broker: int) -> None:
        self.sim.stop_broker(broker)

    @rule(broker=brokers)
    def crash(self, broker: int) -> None:
        self.sim.crash_broker(broker)

    @rule(broker=brokers)
    def start(self, broker: int) -> None:
        """Start a broker; one that crashed and whose session has not expired leaves the ISRs as its new life begins."""
        self.leave_isr(broker)
        self.cluster.cluster_control.start(broker, self.sim.now_ms)
        self.settle()

    @rule(rack=racks)
    def stop_rack(self, rack: str) -> None:
        for broker in self.cluster.liveness.brokers_in(rack):
            self.sim.stop_broker(broker.id)

    @rule(rack=racks)
    def start_rack(self, rack: str) -> None:
        for broker in self.cluster.liveness.brokers_in(rack):
            self.start(broker.id)

    @rule(node=nodes, other=nodes)
    def cut_link(self, node: int, other: int) -> None:
        if node != other:
            self.cluster.cluster_control.cut_link(node, other, self.sim.now_ms)
            self.settle()

    @rule(node=nodes, other=nodes)
    def restore_link(self, node: int, other: int) -> None:
        if node != other:
            self.cluster.cluster_control.restore_link(node, other, self.sim.now_ms)
            self.settle()

    @rule(broker=brokers)
    def isolate(self, broker: int) -> None:
        self.cluster.cluster_control.isolate(broker, self.sim.now_ms)
        self.settle()

    @rule(topic=topics, index=indexes)
    def depose(self, topic: str, index: int) -> None:
        """Isolate a leader for so long that another is elected."""
        broker = self.broker_at(LEADER, self.key(topic, index))
        if broker is not None:
            self.cluster.cluster_control.isolate(broker, self.sim.now_ms)
            self.advance(SESSION_TIMEOUT_MS)

    @rule()
    def rejoin_all(self) -> None:
        for broker in self.cluster.brokers:
            self.cluster.cluster_control.rejoin(broker, self.sim.now_ms)
        self.settle()

    @rule(broker=brokers)
    def rejoin(self, broker: int) -> None:
        self.cluster.cluster_control.rejoin(broker, self.sim.now_ms)
        self.settle()

    @rule(broker=brokers, records=st.integers(0, 3))
    def lag(self, broker: int, records: int) -> None:
        self.cluster.cluster_control.set_follower_lag(broker, records, self.sim.now_ms)
        self.settle()

    @rule(follower=brokers, leader=brokers, per_batch_ms=st.sampled_from([None, 1, 500, 29_999, 30_000, 40_000]))
    def slow_link(self, follower: int, leader: int, per_batch_ms: int | None) -> None:
        """Have batches take so long in one direction of a link, one behind the other; None: for ever."""
        if follower == leader:
            return
        free_ms = 0

        def arrival(_size_bytes: int, now_ms: int) -> int:
            nonlocal free_ms
            free_ms = max(free_ms, now_ms) + (per_batch_ms or 0)
            return free_ms

        condition = LinkCondition(per_batch_ms is None, arrival)
        present = dict(self.cluster.replication.conditions)
        self.cluster.set_link_conditions({**present, (follower, leader): condition}, self.sim.now_ms)
        self.settle()

    @rule(follower=brokers)
    def restore_slow_links(self, follower: int) -> None:
        present = self.cluster.replication.conditions
        kept = {pair: condition for pair, condition in present.items() if pair[0] != follower}
        self.cluster.set_link_conditions(kept, self.sim.now_ms)
        self.settle()

    # commands on partitions, disks and fences

    @rule(topic=topics, index=indexes, broker=brokers)
    def move_leader(self, topic: str, index: int, broker: int) -> None:
        with suppress(ApiError):
            self.sim.move_leader(topic, index, broker)

    @rule(topic=topics, index=indexes, out=st.lists(brokers, min_size=1, max_size=3, unique=True))
    def shrink_isr(self, topic: str, index: int, out: list[int]) -> None:
        with suppress(ApiError):
            self.sim.shrink_isr(topic, index, out)
            self.leave_isr(*out)

    @rule(topic=topics, index=indexes, back=st.lists(brokers, min_size=1, max_size=3, unique=True))
    def grow_isr(self, topic: str, index: int, back: list[int]) -> None:
        with suppress(ApiError):
            self.sim.grow_isr(topic, index, back)
            assert set(back) <= set(self.cluster.topics[topic].partitions[index].isr)

    @rule(topic=topics, index=indexes, isr=st.lists(brokers, min_size=1, max_size=4, unique=True))
    def set_isr(self, topic: str, index: int, isr: list[int]) -> None:
        with suppress(ApiError):
            self.sim.set_isr(topic, index, isr)
            assert set(isr) == set(self.cluster.topics[topic].partitions[index].isr)
            self.leave_isr(*set(self.cluster.brokers).difference(isr))

    @rule(broker=brokers)
    def fill_disk(self, broker: int) -> None:
        self.leave_isr(broker)
        self.sim.fill_disk(broker)

    @rule(broker=brokers)
    def empty_disk(self, broker: int) -> None:
        self.sim.empty_disk(broker)

    @rule(broker=brokers)
    def fence(self, broker: int) -> None:
        self.leave_isr(broker)
        self.sim.fence_broker(broker)

    @rule(broker=brokers)
    def unfence(self, broker: int) -> None:
        self.sim.unfence_broker(broker)

    def leave_isr(self, *brokers: int) -> None:
        """These may be out of every ISR, whatever they have."""
        self.in_sync = {key: tuple(one for one in isr if one not in brokers) for key, isr in self.in_sync.items()}

    @rule(ms=st.sampled_from([1, 500, 8_999, 9_000, 20_000, 29_999, 30_000]))
    def advance(self, ms: int) -> None:
        """Let time pass, and look at everything whenever something was due."""
        until_ms = self.sim.now_ms + ms
        while (deadline := self.sim.engine.next_deadline_ms()) is not None and deadline < until_ms:
            self.sim.advance(max(0, deadline - self.sim.now_ms))
            self.check()
        self.sim.advance(until_ms - self.sim.now_ms)

    def settle(self) -> None:
        """Let calls go on that a command has woken, as whoever drives the engine does after each."""
        self.sim.advance(0)

    # clients

    def key(self, topic: str, index: int) -> Key | None:
        found = self.cluster.topics.get(topic)
        return None if found is None or index >= len(found.partitions) else (found.id, index)

    def broker_at(self, place: str | int, key: Key | None) -> int | None:
        """A broker that runs; None where there is none at this place."""
        leaders = self.leaders.get(key, []) if key is not None else []
        if isinstance(place, int):
            broker = place
        else:
            broker = next(iter(leaders[-1:] if place == LEADER else leaders[-2:-1]), NO_LEADER)
        found = self.cluster.brokers.get(broker)
        return broker if found is not None and found.is_running else None

    @rule(
        topic=topics,
        indexes=st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True),
        place=places,
        acks=st.sampled_from([-1, -1, 0, 1]),
        requests=st.integers(1, 4),
    )
    def produce(self, topic: str, indexes: list[int], place: str | int, acks: int, requests: int) -> None:
        """Requests in a row, each with one record to each of these partitions."""
        broker = self.broker_at(place, self.key(topic, indexes[0]))
        if broker is None:
            return
        for _ in range(requests):
            sent = []
            for index in indexes:
                self.numbers += 1
                sent.append(SentRecord(self.key(topic, index) or (b"", index), b"%d" % self.numbers))
            entries = [ProduceRequest.Topic.Partition(index=one.key[1], records=batch(one.value)) for one in sent]
            self.send_records(topic, entries, broker, acks, sent)

    @rule(topic=topics, index=indexes, place=places, times=st.integers(1, 3))
    def produce_idempotently(self, topic: str, index: int, place: str | int, times: int) -> None:
        """Send one batch with acks=all, over and again as after lost answers, and the next once it is acknowledged."""
        key = self.key(topic, index)
        broker = self.broker_at(place, key)
        if key is None or broker is None:
            return
        producer = self.producers.setdefault(key, IdempotentProducer(1000 + len(self.producers)))
        value = b"%d-%d" % (producer.producer_id, producer.sequence)
        records = batch(value, producer_id=producer.producer_id, producer_epoch=0, base_sequence=producer.sequence)
        for _ in range(times):
            entry = ProduceRequest.Topic.Partition(index=index, records=records)
            self.send_records(topic, [entry], broker, ALL_IN_SYNC, [SentRecord(key, value)])

    def send_records(self, topic: str, entries: list[Any], broker: int, acks: int, sent: list[SentRecord]) -> None:
        request = ProduceRequest(
            acks=acks, timeout_ms=TIMEOUT_MS, topic_data=[ProduceRequest.Topic(name=topic, partition_data=entries)]
        )
        ticket = self.sim.next_ticket
        self.deadlines[ticket] = self.sim.now_ms + TIMEOUT_MS
        if acks == ALL_IN_SYNC:
            self.sent[ticket] = sent
        others = [partition for _, partition in self.partitions() if partition.leader != broker]
        ends = [partition.log.end_offset for partition in others]
        self.sim.send(request, version=12, broker=broker, may_close=acks == 0)
        assert ends == [partition.log.end_offset for partition in others], (
            f"broker {broker} wrote what it does not lead"
        )

    @rule(
        topic=topics,
        index=indexes,
        place=places,
        rack=st.sampled_from(["", "a", "b", "c"]),
        back=st.integers(0, 4),
        wait_ms=st.sampled_from([0, 500, 15_000]),
    )
    def fetch(self, topic: str, index: int, place: str | int, rack: str, back: int, wait_ms: int) -> None:
        """Read from a broker that many records before what this consumer has seen, or from the end of that."""
        key = self.key(topic, index)
        broker = self.broker_at(place, key)
        if key is None or broker is None:
            return
        offset = max(0, max(self.committed.get(key, {}), default=-1) + 1 - back)
        ticket = self.sim.next_ticket
        self.deadlines[ticket] = self.sim.now_ms + wait_ms
        self.fetches[ticket] = (broker, key, offset)
        self.sim.send(
            fetch_request(offset, topic=topic, index=index, max_wait_ms=wait_ms, rack_id=rack),
            version=12,
            broker=broker,
        )

    # what holds

    def partitions(self) -> Iterator[tuple[Key, Partition]]:
        for topic in self.cluster.topics.values():
            for partition in topic.partitions:
                yield ((topic.id, partition.index), partition)

    @invariant()
    def check(self) -> None:
        self.each_call_ends_once_and_in_time()
        self.take_acknowledgements()
        self.take_what_was_read()
        for key, partition in self.partitions():
            self.log_and_high_watermark_hold(key, partition)
            self.isr_and_epochs_hold(key, partition)
            self.replicas_leave_the_isr_late_and_come_back_at_once(key, partition)
        self.records_give_the_image_again()

    def each_call_ends_once_and_in_time(self) -> None:
        for ticket, deadline in list(self.deadlines.items()):
            if ticket in self.outcomes:
                assert self.outcome_at[ticket] <= deadline, (
                    f"call {ticket} was answered {self.outcome_at[ticket] - deadline} ms late"
                )
                del self.deadlines[ticket]
            else:
                assert self.sim.now_ms < deadline, f"call {ticket} was not answered by {deadline}"
        assert max(self.outcomes.values(), default=1) == 1

    def take_acknowledgements(self) -> None:
        for ticket in [one for one in self.sent if one in self.outcomes]:
            sent = self.sent.pop(ticket)
            response = self.sim.replies.get(ticket)
            if response is None:
                continue
            entries = {entry.index: entry for entry in response.responses[0].partition_responses}
            for one in sent:
                entry = entries[one.key[1]]
                assert entry.error_code not in (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_SERVER_ERROR)
                if entry.error_code == ErrorCode.NONE:
                    self.commit(one.key, entry.base_offset, one.value)
                    producer = self.producers.get(one.key)
                    if producer is not None and one.value == b"%d-%d" % (producer.producer_id, producer.sequence):
                        producer.sequence += 1

    def take_what_was_read(self) -> None:
        for ticket in [one for one in self.fetches if one in self.outcomes]:
            broker, key, _ = self.fetches.pop(ticket)
            response = self.sim.replies.get(ticket)
            if response is None or not response.responses:
                continue
            entry = response.responses[0].partitions[0]
            for record in iter_records(entry.records or b""):
                assert record.offset < entry.high_watermark, f"broker {broker} gave {record.offset}"
                self.commit(key, record.offset, record.value)

    def commit(self, key: Key, offset: int, value: bytes) -> None:
        known = self.committed.setdefault(key, {})
        assert known.setdefault(offset, value) == value, f"offset {offset} was {known[offset]!r}, now {value!r}"

    def log_and_high_watermark_hold(self, key: Key, partition: Partition) -> None:
        log, high_watermark = partition.log, partition.high_watermark
        assert log.start_offset <= high_watermark <= log.end_offset
        assert high_watermark >= self.high_watermarks.get(key, 0), "the high watermark went back"
        self.high_watermarks[key] = high_watermark
        stored = {record.offset: record.value for piece in log.batches() for record in iter_records(piece.data)}
        for offset, value in self.committed.get(key, {}).items():
            assert offset < high_watermark
            if offset >= log.start_offset:
                assert stored.get(offset) == value, f"{value!r} at {offset} is lost"
        states = partition.replica_states
        if states is not None:
            for broker, follower in states.followers.items():
                assert follower.end_offset <= log.end_offset
                if broker in partition.isr:
                    assert high_watermark <= follower.end_offset
        idempotent = [value for value in stored.values() if b"-" in value]
        assert len(idempotent) == len(set(idempotent)), "a batch that was sent again is there twice"

    def isr_and_epochs_hold(self, key: Key, partition: Partition) -> None:
        assert partition.isr or partition.eligible_leader_replicas or partition.last_known_elr
        assert set(partition.isr) | set(partition.eligible_leader_replicas) <= set(partition.replicas)
        assert not set(partition.isr) & set(partition.eligible_leader_replicas)
        if partition.eligible_leader_replicas:
            assert len(partition.isr) < partition.effective_min_isr()
            assert self.high_watermarks[key] == partition.high_watermark, "it moved below min.insync.replicas"
        assert not partition.overrides.out_of_sync & set(partition.isr)
        if partition.leader != NO_LEADER:
            assert partition.leader in partition.isr
            assert partition.leader in self.cluster.liveness.online_ids - partition.overrides.offline
        else:
            up = self.cluster.liveness.online_ids - partition.overrides.offline
            assert not up & set(partition.isr or partition.eligible_leader_replicas or partition.last_known_elr)
        leader_epoch, partition_epoch = self.epochs.get(key, (-1, -1))
        assert partition.leader_epoch >= leader_epoch
        assert partition.registration.partition_epoch >= partition_epoch
        self.epochs[key] = (partition.leader_epoch, partition.registration.partition_epoch)
        if partition.leader != NO_LEADER:
            first = self.leader_of_epoch.setdefault((key, partition.leader_epoch), partition.leader)
            assert first == partition.leader, f"brokers {first} and {partition.leader} led in one epoch"
        leaders = self.leaders.setdefault(key, [])
        if partition.leader != NO_LEADER and partition.leader not in leaders[-1:]:
            leaders.append(partition.leader)

    def replicas_leave_the_isr_late_and_come_back_at_once(self, key: Key, partition: Partition) -> None:
        network, online, now_ms = self.cluster.network, self.cluster.liveness.online_ids, self.sim.now_ms
        before = self.in_sync.get(key, ())
        leader_reaches_controller = network.connects(partition.leader, CONTROLLER)
        for broker in partition.replicas:
            since = self.held_up_since.get((key, broker))
            if broker in before and broker not in partition.isr and broker in online and since is not None:
                assert now_ms - since[0] >= LAG_TIME_MS, f"broker {broker} fell out of the ISR early"
            if partition.leader in (NO_LEADER, broker):
                self.held_up_since.pop((key, broker), None)
                continue
            reaches = network.connects(partition.leader, broker)
            is_slow = (broker, partition.leader) in self.cluster.replication.conditions
            lags = is_slow or bool(self.cluster.replication.lags.get(broker))
            lags = lags or broker in partition.overrides.offline
            if reaches and not lags:
                self.held_up_since.pop((key, broker), None)
                if broker in online - partition.overrides.out_of_sync and leader_reaches_controller:
                    assert broker in partition.isr, f"broker {broker} has caught up and is not in the ISR"
            elif since is None or since[1] != partition.leader:
                self.held_up_since[key, broker] = (now_ms, partition.leader)
        self.in_sync[key] = partition.isr

    def records_give_the_image_again(self) -> None:
        for written in self.records[self.seen :]:
            for record in written:
                self.replayed.apply(record)
        self.seen = len(self.records)
        assert self.replayed == self.cluster.image

    # the end

    def teardown(self) -> None:
        self.cluster.set_link_conditions({}, self.sim.now_ms)
        for broker in self.cluster.brokers:
            self.cluster.cluster_control.rejoin(broker, self.sim.now_ms)
            self.cluster.cluster_control.set_follower_lag(broker, 0, self.sim.now_ms)
            self.start(broker)
            self.empty_disk(broker)
            self.unfence(broker)
            self.check()
        for _ in range(3):
            self.advance(LAG_TIME_MS)
            self.check()
        assert self.sim.engine.parked_calls == 0
        assert not self.deadlines
        for _, partition in self.partitions():
            self.sim.grow_isr(partition.topic.name, partition.index, partition.replicas)
            self.sim.move_leader(partition.topic.name, partition.index, partition.replicas[0])
            assert partition.overrides is NO_OVERRIDES
        views = [
            self.sim.ask(MetadataRequest(topics=None), version=12, broker=broker) for broker in self.cluster.brokers
        ]
        assert all(view == views[0] for view in views)
        for _, partition in self.partitions():
            assert set(partition.isr) == set(partition.replicas)
            assert partition.leader == partition.replicas[0]
            assert partition.high_watermark == partition.log.end_offset
            assert partition.replica_states is None
        for key, partition in self.partitions():
            self.each_acknowledged_record_is_read_once_and_in_order(key, partition)

    def each_acknowledged_record_is_read_once_and_in_order(self, key: Key, partition: Partition) -> None:
        """Read a whole partition as a consumer does, from the leader."""
        position, found = partition.log.start_offset, []
        while position < partition.high_watermark:
            request = fetch_request(position, topic=partition.topic.name, index=partition.index)
            response = self.sim.ask(request, version=12, broker=partition.leader)
            entry = response.responses[0].partitions[0]
            assert entry.error_code == ErrorCode.NONE
            records = [record for record in iter_records(entry.records) if record.offset >= position]
            assert records, f"nothing can be read at {position}"
            found += [(record.offset, record.value) for record in records]
            position = records[-1].offset + 1
        assert [offset for offset, _ in found] == sorted({offset for offset, _ in found})
        acknowledged = {
            offset: value
            for offset, value in self.committed.get(key, {}).items()
            if offset >= partition.log.start_offset
        }
        assert acknowledged.items() <= dict(found).items()
        read = Counter(value for _, value in found)
        assert {value: read[value] for value in acknowledged.values() if read[value] != 1} == {}
        sequences = [int(value.partition(b"-")[2]) for _, value in found if b"-" in value]
        assert sequences == sorted(sequences), "an idempotent producer's records were reordered"


TestReplicaLife = ReplicaLife.TestCase
