"""What the observer takes from calls, by requests of a simulation whose clients come in by their racks' listeners."""

from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.testing.certify.facts import MemberSubscription
from mockbroker.testing.certify.observer import WireObserver, consumed_topics
from protocol.apis.classic_group import JoinGroupRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.embedded.consumer_protocol import ConsumerProtocolSubscription
from protocol.embedded.versioned import write_versioned
from protocol.records import Record, build_batch

TOPIC = "orders"
RACK_AWARE = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}


@pytest.fixture
def sim() -> Simulation:
    """Brokers 0, 1, 2 in racks a, b, c; broker 0 leads the one partition, broker 1 follows."""
    sim = Simulation(racks="a,b,c", settings=RACK_AWARE)
    sim.cluster.replication_control.create(TOPIC, assignment=[[0, 1]])
    return sim


@pytest.fixture
def observer(sim: Simulation) -> WireObserver:
    watching = WireObserver(sim.cluster)
    sim.engine.path.arrivals.append(watching.call_arrived)
    sim.engine.path.observers.append(watching)
    return watching


def produce(sim: Simulation, count: int = 1, broker: int = 0, rack: str | None = None, version: int = 11) -> None:
    part = ProduceRequest.Topic.Partition(index=0, records=build_batch([Record(value=b"v")] * count))
    request = ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=[ProduceRequest.Topic(name=TOPIC, partition_data=[part])]
    )
    sim.ask(request, version=version, broker=broker, listener_rack=rack)


def fetch(sim: Simulation, rack: str, broker: int, offset: int = 0, told: str | None = None, **session: int) -> int:
    """The session that the answer names."""
    part = FetchRequest.Topic.Partition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topics = [FetchRequest.Topic(topic=TOPIC, partitions=[part])]
    if session.pop("unnamed", False):
        topics = []
    given = {"session_epoch": -1, **session}
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 25,
        topics=topics,
        rack_id=rack if told is None else told,
        **given,
    )
    return sim.ask(request, version=12, broker=broker, listener_rack=rack).session_id


def test_calls_that_came_by_no_racks_listener_are_not_the_programs(sim, observer):
    produce(sim)
    assert observer.facts.clients == {}


def test_records_that_a_follower_serves_count_as_delivered_to_the_racks_process(sim, observer):
    produce(sim, 5)
    fetch(sim, "b", broker=0)
    fetch(sim, "b", broker=1)
    fetch(sim, "b", broker=1, offset=5)
    assert observer.facts.delivered[TOPIC, 0]["rack b"].spans == [(0, 5)]
    assert (observer.facts.tallies["preferred_replica"].right, observer.facts.tallies["stays"].right) == (1, 1)
    assert consumed_topics(observer.facts) == [TOPIC]


def test_records_of_several_batches_count_as_delivered(sim, observer):
    produce(sim, 5)
    produce(sim, 2)
    fetch(sim, "b", broker=1)
    assert observer.facts.delivered[TOPIC, 0]["rack b"].spans == [(0, 7)]


def test_what_a_session_remembers_counts_as_asked_for(sim, observer):
    session = fetch(sim, "b", broker=1, session_epoch=0)
    produce(sim, 3)
    fetch(sim, "b", broker=1, session_id=session, session_epoch=1, unnamed=True)
    assert observer.facts.delivered[TOPIC, 0]["rack b"].spans == [(0, 3)]


def test_bytes_are_judged_by_where_the_process_runs_and_not_by_what_it_says(sim, observer):
    produce(sim, 5)
    fetch(sim, "b", broker=0, told="")
    assert consumed(observer) == {("cross", "no_client_rack", True)}
    fetch(sim, "c", broker=0, told="a")
    assert consumed(observer) - {("cross", "no_client_rack", True)} == {("cross", "no_in_sync_replica", False)}
    fetch(sim, "b", broker=1, told="a")
    assert ("local", None, False) in consumed(observer)


def consumed(observer: WireObserver) -> set[tuple[str, str | None, bool]]:
    """Locality, reason and whether it was avoidable, of the records that were read."""
    return {(key.locality, key.reason, key.saves) for key in observer.facts.traffic if key.category == "consume"}


def test_all_bytes_of_the_frames_are_counted(sim, observer):
    produce(sim, 5)
    fetch(sim, "b", broker=0, told="")
    found = {(key.category, key.locality, key.reason) for key in observer.facts.traffic}
    assert ("other", "cross", "cluster_work") in found


def test_a_partition_chosen_without_a_key_is_near_by_the_leaders_that_the_client_knew_of(sim, observer):
    sim.cluster.replication_control.create("events", assignment=[[0], [1]])

    def choose(partition: int, key: bytes | None = None) -> tuple[int, int]:
        part = ProduceRequest.Topic.Partition(index=partition, records=build_batch([Record(key=key, value=b"v")]))
        topic = ProduceRequest.Topic(name="events", partition_data=[part])
        request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])
        sim.ask(request, version=11, broker=partition, listener_rack="a")
        (client,) = observer.facts.clients.values()
        return client.choices.right, client.choices.wrong

    assert choose(1) == (0, 0)  # it knows of no leaders yet
    sim.ask(MetadataRequest(topics=None), version=12, listener_rack="a")
    assert choose(1) == (0, 1)
    assert choose(1) == (0, 1)  # it stays there
    assert choose(0) == (1, 1)
    assert choose(1, key=b"k") == (1, 1)


def test_acknowledged_batches_are_kept_with_the_checksum_that_the_log_has(sim, observer):
    produce(sim, 2, rack="a")
    produce(sim, 3, rack="a")
    batches = observer.facts.acknowledged[TOPIC, 0]
    assert {offset: batch.records for offset, batch in batches.items()} == {0: 2, 2: 3}
    assert consumed_topics(observer.facts) == []


@pytest.mark.parametrize(("asks_first", "counted"), [(False, (1, 0)), (True, (0, 1))])
def test_a_new_leader_is_reached_by_the_hint_or_after_metadata(sim, observer, asks_first, counted):
    observer.leader_moved((TOPIC, 0), 1)
    sim.cluster.replication_control.reassign(TOPIC, 0, [1, 0])
    produce(sim, broker=0, rack="a")
    if asks_first:
        sim.ask(MetadataRequest(topics=None), broker=2, listener_rack="a")
    produce(sim, broker=1, rack="a")
    assert (observer.facts.tallies["leader_hints"].right, observer.facts.tallies["leader_hints"].wrong) == counted


def test_a_version_without_hints_reaches_a_new_leader_unseen(sim, observer):
    observer.leader_moved((TOPIC, 0), 1)
    sim.cluster.replication_control.reassign(TOPIC, 0, [1, 0])
    produce(sim, broker=0, rack="a", version=9)
    produce(sim, broker=1, rack="a", version=9)
    assert observer.facts.tallies["leader_hints"].seen == 0


SUBSCRIPTION = write_versioned(ConsumerProtocolSubscription(topics=[TOPIC], rack_id="b"), 3)
WITHOUT_RACK = write_versioned(ConsumerProtocolSubscription(topics=[TOPIC]), 0)
CUT_SHORT = b"\x00\x01" + WITHOUT_RACK[2:]


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        (SUBSCRIPTION, MemberSubscription(3, "b")),
        (WITHOUT_RACK, MemberSubscription(0, None)),
        (CUT_SHORT, MemberSubscription(1, None)),
    ],
)
def test_a_members_rack_is_read_from_what_it_subscribes_with(sim, observer, metadata, said):
    protocol = JoinGroupRequest.Protocol(name="range", metadata=metadata)
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=[protocol],
    )
    coordinator = sim.cluster.internal_topics.coordinator("g").id
    sim.send(request, version=5, broker=coordinator, listener_rack="b", client_id="reader")
    client = observer.facts.clients["b", "reader"]
    assert (client.subscription, client.group) == (said, "g")


@pytest.mark.parametrize("version", [3, 4])
def test_the_coordinators_of_groups_are_those_that_the_program_is_told(sim, observer, version):
    groups = ["orders", "billing", "audit"]
    coordinators = {sim.cluster.internal_topics.coordinator(group).id for group in groups}
    for group in groups:
        request = FindCoordinatorRequest(**({"coordinator_keys": [group]} if version > 3 else {"key": group}))
        sim.ask(request, version=version, listener_rack="a")
    assert observer.facts.coordinators == coordinators
