"""Brokers stop and start in any order under producers that retry: what was acknowledged is there once and in order."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mockbroker.core.simulation import Simulation
from mockbroker.state.topics.topic import NO_LEADER
from protocol.apis.metadata import MetadataRequest
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.handlers.records import batch, produce_request, values

RACKS = "a,b,c,a,b,c"
BROKERS = st.integers(0, 5)
TOPICS = st.sampled_from(["orders", "events"])
INDEXES = st.integers(0, 2)


class ClusterLife(RuleBasedStateMachine):
    """A classic and a diskless topic; the producer of each partition knows only what it was told last."""

    def __init__(self) -> None:
        super().__init__()
        self.sim = Simulation(racks=RACKS)
        self.cluster = self.sim.cluster
        self.cluster.replication_control.create("orders", 3, 3)
        self.cluster.replication_control.create("events", 3, configs={"diskless.enable": "true"})
        self.sent: dict[tuple[str, int], int] = {}
        self.epochs: dict[tuple[str, int], int] = {}

    @rule(broker=BROKERS)
    def stop(self, broker: int) -> None:
        self.cluster.cluster_control.stop(broker, self.sim.now_ms)

    @rule(broker=BROKERS)
    def start(self, broker: int) -> None:
        self.cluster.cluster_control.start(broker, self.sim.now_ms)

    @rule(rack=st.sampled_from(["a", "b", "c"]))
    def stop_rack(self, rack: str) -> None:
        for broker in self.cluster.liveness.brokers_in(rack):
            self.cluster.cluster_control.stop(broker.id, self.sim.now_ms)

    @rule(rack=st.sampled_from(["a", "b", "c"]))
    def start_rack(self, rack: str) -> None:
        for broker in self.cluster.liveness.brokers_in(rack):
            self.cluster.cluster_control.start(broker.id, self.sim.now_ms)

    @rule(topic=TOPICS, index=INDEXES, broker=BROKERS, times=st.integers(1, 3))
    def produce(self, topic: str, index: int, broker: int, times: int) -> None:
        """Send one batch, over and again as after lost answers, to whichever broker the producer believes in."""
        if not self.cluster.brokers[broker].online:
            return
        sequence = self.sent.get((topic, index), 0)
        record = batch(b"%d" % sequence, producer_id=1000, producer_epoch=0, base_sequence=sequence)
        partition = self.cluster.topics[topic].partitions[index]
        for _ in range(times):
            request = produce_request(record, topic=topic, index=index)
            answer = self.sim.ask(request, version=12, broker=broker).responses[0].partition_responses[0]
            if topic == "orders" and partition.leader != broker:
                assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
                return
            assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, sequence)
        self.sent[topic, index] = sequence + 1

    @invariant()
    def what_was_acknowledged_is_there_once_and_in_order(self) -> None:
        for (topic, index), count in self.sent.items():
            log = self.cluster.topics[topic].partitions[index].log
            stored = [value for piece in log.read(0, 10**6) for value in values(piece)]
            assert stored == [b"%d" % sequence for sequence in range(count)]

    @invariant()
    def leaders_are_up_and_in_sync_and_their_epochs_never_fall(self) -> None:
        online = self.cluster.liveness.online_ids
        for partition in self.cluster.topics["orders"].partitions:
            assert set(partition.isr) <= set(partition.replicas)
            if partition.leader == NO_LEADER:  # the last in sync has gone, which alone may lead again (KIP-966)
                assert partition.isr == ()
                (last,) = partition.eligible_leader_replicas
                assert last in partition.replicas
                assert last not in online
            else:
                assert partition.eligible_leader_replicas == ()
                assert partition.leader in online
                assert set(partition.isr) == set(partition.replicas) & online
                assert partition.leader in partition.isr
            key = ("orders", partition.index)
            assert partition.leader_epoch >= self.epochs.get(key, 0)
            self.epochs[key] = partition.leader_epoch

    @invariant()
    def diskless_metadata_names_a_broker_of_the_rack_or_of_all(self) -> None:
        online = self.cluster.liveness.online_brokers
        if not online:
            return
        for rack in ("a", "b", "c", "nowhere"):
            request = MetadataRequest(topics=[MetadataRequest.Topic(name="events")], rack_id=rack)
            response = self.sim.ask(request, broker=online[0].id)
            near = {broker.id for broker in online if broker.rack == rack} or {broker.id for broker in online}
            leaders = {partition.leader_id for partition in response.topics[0].partitions}
            assert len(leaders) == 1
            assert leaders <= near
            assert {partition.leader_epoch for partition in response.topics[0].partitions} == {0}


TestClusterLife = ClusterLife.TestCase
