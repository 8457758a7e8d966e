"""Diskless topics as each system serves them: the leader that a client sees, and who accepts its records."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.core.simulation import ConnectionClosedError, Simulation
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.metadata import MetadataRequest, MetadataResponse
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.handlers.records import batch, fetch_request, produce_request, values

RACKS = ("westeurope/1", "westeurope/2", "westeurope/3")
BROKERS = range(6)
HOME = "westeurope/2"
AT_HOME = {1, 4}
PARTITIONS = 24
NAMED = {
    "kip-1163": f"app,diskless_az={HOME}",
    "inkless": f"app|diskless_az={HOME}-StreamThread-1",
    "inkless-managed": f"app,diskless_az={HOME}",
    "automq": "automq_type=producer&automq_az=westeurope%2F2",
    "lakestream": f"app, zone_id={HOME} ",
    "warpstream": f"app,ws_az={HOME}",
    "bufstream": f"app;zone={HOME};broker_count=1",
}
UNKNOWN = -1
METADATA, DESCRIBE_TOPIC_PARTITIONS = 3, 75

every_profile = pytest.mark.parametrize("profile", NAMED)
with_any_broker = pytest.mark.parametrize("profile", [name for name in NAMED if name not in ("automq", "lakestream")])
with_owners = pytest.mark.parametrize("profile", ["automq", "lakestream"])


def cluster_as(profile: str, **settings: Any) -> Simulation:
    sim = Simulation(racks=",".join(RACKS * 2), settings={"diskless.profile": profile, **settings})
    sim.cluster.replication_control.create("events", PARTITIONS, configs={"diskless.enable": "true"})
    return sim


def shown(sim: Simulation, client_id: str, **where: Any) -> list[MetadataResponse.Topic.Partition]:
    request = MetadataRequest(topics=[MetadataRequest.Topic(name="events")])
    return sim.ask(request, version=12, client_id=client_id, **where).topics[0].partitions


def led(sim: Simulation, client_id: str, **where: Any) -> list[int]:
    return [one.leader_id for one in shown(sim, client_id, **where)]


def write(sim: Simulation, client_id: str, broker: int, index: int = 0) -> Any:
    """The answer to a Produce that names one partition."""
    request = produce_request(batch(b"a"), topic="events", index=index)
    return sim.ask(request, version=12, client_id=client_id, broker=broker)


def takers(sim: Simulation, client_id: str, index: int = 0) -> set[int]:
    answers = {broker: write(sim, client_id, broker, index).responses[0].partition_responses[0] for broker in BROKERS}
    assert {one.error_code for one in answers.values()} <= {ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER}
    return {broker for broker, one in answers.items() if one.error_code == ErrorCode.NONE}


def read(sim: Simulation, client_id: str, broker: int, rack: str = "") -> Any:
    request = fetch_request(0, topic="events", rack_id=rack)
    return sim.ask(request, version=12, client_id=client_id, broker=broker).responses[0].partitions[0]


@every_profile
def test_a_client_is_told_of_brokers_in_the_zone_that_it_names_in_the_systems_own_way(profile):
    found = set(led(cluster_as(profile), NAMED[profile]))
    assert found
    assert found <= AT_HOME


@every_profile
def test_the_keys_of_other_systems_say_nothing(profile):
    own = {"inkless", "inkless-managed", "kip-1163"} if NAMED[profile].find("diskless_az") >= 0 else {profile}
    sim = cluster_as(profile)
    brokers = set()
    for other, client_id in NAMED.items():
        if other not in own:
            brokers |= {leader for number in range(20) for leader in led(sim, f"{number},{client_id}")}
    assert not brokers <= AT_HOME


@every_profile
def test_versions_with_the_clients_rack_are_served_by_the_proposal_alone(profile):
    sim = cluster_as(profile)
    listed = {one.api_key: one.max_version for one in sim.ask(ApiVersionsRequest(), version=0).api_keys}
    proposed = profile == "kip-1163"
    assert (listed[METADATA], listed[DESCRIBE_TOPIC_PARTITIONS]) == ((14, 1) if proposed else (13, 0))
    if not proposed:
        with pytest.raises(ConnectionClosedError, match="expected MetadataRequest version 0-13, got 14"):
            sim.ask(MetadataRequest(topics=[]), version=14)


@every_profile
def test_where_the_zones_brokers_are_down_a_client_is_told_of_others(profile):
    sim = cluster_as(profile)
    sim.stop_rack(HOME)
    found = set(led(sim, NAMED[profile]))
    assert found
    assert found <= set(BROKERS) - AT_HOME


@with_any_broker
def test_any_broker_takes_records_where_the_system_has_no_owners(profile):
    assert takers(cluster_as(profile), NAMED[profile]) == set(BROKERS)


@with_owners
@pytest.mark.parametrize("hinted", [True, False], ids=["zone named", "no zone"])
def test_the_leader_told_alone_takes_records_where_the_system_has_owners(profile, hinted):
    sim = cluster_as(profile)
    client_id = NAMED[profile] if hinted else "app"
    for index, leader in enumerate(led(sim, client_id)[:6]):
        assert takers(sim, client_id, index) == {leader}


@with_owners
def test_another_broker_names_the_owner_that_metadata_names_to_the_same_client(profile):
    sim = cluster_as(profile)
    for client_id in (NAMED[profile], "app"):
        leader = led(sim, client_id)[3]
        other = next(broker for broker in BROKERS if broker != leader)
        answer = write(sim, client_id, other, 3)
        entry = answer.responses[0].partition_responses[0]
        assert (entry.error_code, entry.current_leader.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, leader)
        assert entry.current_leader.leader_epoch == 0
        assert [node.node_id for node in answer.node_endpoints] == [leader]


def test_as_lakestream_readers_too_are_served_by_the_owner_alone():
    sim = cluster_as("lakestream")
    client_id = NAMED["lakestream"]
    leader = led(sim, client_id)[0]
    write(sim, client_id, leader)
    for broker in BROKERS:
        entry = read(sim, client_id, broker)
        assert (entry.error_code == ErrorCode.NONE) == (broker == leader)
        assert values(entry.records or b"") == ([b"a"] if broker == leader else [])


@pytest.mark.parametrize("profile", ["warpstream", "bufstream"])
def test_one_broker_leads_all_partitions_for_a_client_and_clients_are_spread_over_the_zone(profile):
    sim = cluster_as(profile)
    brokers = [set(led(sim, f"{number}{NAMED[profile]}")) for number in range(20)]
    assert {len(one) for one in brokers} == {1}
    assert set.union(*brokers) == AT_HOME
    assert led(sim, NAMED[profile]) == led(sim, NAMED[profile])


def test_as_automq_a_client_without_a_zone_sees_the_leader_and_who_stands_for_it_in_the_other_racks():
    sim = cluster_as("automq")
    for one in shown(sim, "app"):
        assert one.replica_nodes == one.isr_nodes
        assert one.replica_nodes[0] == one.leader_id
        assert sorted(broker % 3 for broker in one.replica_nodes) == [0, 1, 2]
    for one in shown(sim, NAMED["automq"]):
        assert one.replica_nodes == one.isr_nodes == [one.leader_id]


def test_as_automq_readers_with_client_rack_are_sent_to_the_broker_that_stands_for_the_leader_in_their_rack():
    sim = cluster_as("automq")
    main = shown(sim, "app")[0]
    write(sim, "app", main.leader_id)
    for rack, number in zip(RACKS, range(3), strict=True):
        there = next(broker for broker in main.replica_nodes if broker % 3 == number)
        entry = read(sim, "app", main.leader_id, rack)
        assert entry.preferred_read_replica == (UNKNOWN if there == main.leader_id else there)
        assert values(read(sim, "app", there, rack).records) == [b"a"]
    (stranger, *_) = set(BROKERS) - set(main.replica_nodes)
    assert read(sim, "app", stranger).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("profile", "setting"), [("automq", "automq.zone.cidr.blocks"), ("warpstream", "warpstream.zoned.cidr.blocks")]
)
def test_the_zone_is_that_of_the_longest_block_of_addresses_unless_the_client_names_one(profile, setting):
    blocks = "westeurope/1@10.0.0.0/8<>westeurope/2@10.1.0.0/16,10.2.0.0/16,fd00::/8<>westeurope/3@10.2.3.0/24"
    sim = cluster_as(profile, **{setting: blocks})
    for address, number in (("10.9.9.9", 0), ("10.1.9.9", 1), ("10.2.3.4", 2), ("fd00::7", 1), ("::ffff:10.2.3.4", 2)):
        assert {leader % 3 for leader in led(sim, "app", address=address)} == {number}, address
    assert set(led(sim, NAMED[profile], address="10.2.3.4")) <= AT_HOME
    elsewhere = {leader % 3 for number in range(20) for leader in led(sim, f"app{number}", address="192.168.0.1")}
    assert elsewhere == {0, 1, 2}


def test_blocks_that_are_none_are_refused_at_the_start():
    with pytest.raises(ValueError, match=r"'10.0.0.0/99' does not appear to be an IPv4 or IPv6 network"):
        cluster_as("automq", **{"automq.zone.cidr.blocks": "a@10.0.0.0/99"})


def test_as_inkless_with_managed_replicas_a_replica_in_the_zone_leads_and_who_is_down_is_not_in_sync():
    sim = cluster_as("inkless-managed")
    for one in shown(sim, NAMED["inkless-managed"]):
        assert sorted(broker % 3 for broker in one.replica_nodes) == [0, 1, 2]
        assert (one.isr_nodes, one.offline_replicas) == (one.replica_nodes, [])
        assert one.leader_id in one.replica_nodes
    sim.cluster.cluster_control.stop(4, 0)
    for one in shown(sim, NAMED["inkless-managed"]):
        assert one.leader_id == 1, "any broker of the zone, before a replica elsewhere"
        assert one.offline_replicas == [4] * (4 in one.replica_nodes)
        assert one.isr_nodes == [broker for broker in one.replica_nodes if broker != 4]


def test_as_inkless_only_replicas_serve_a_tiered_topic():
    sim = cluster_as("inkless-managed", **{"default.replication.factor": 2})
    configs = {"diskless.enable": "true", "remote.storage.enable": "true"}
    sim.cluster.replication_control.create("tiered", 12, configs=configs)

    def tiered() -> list[MetadataResponse.Topic.Partition]:
        request = MetadataRequest(topics=[MetadataRequest.Topic(name="tiered")])
        return sim.ask(request, version=12, client_id=NAMED["inkless-managed"]).topics[0].partitions

    assert all(one.leader_id in one.replica_nodes for one in tiered())
    for broker in (0, 1, 2):
        sim.cluster.cluster_control.stop(broker, 0)
    for one in tiered():
        alive = [broker for broker in one.replica_nodes if broker > 2]
        assert (one.leader_id in alive) if alive else (one.leader_id == UNKNOWN)
        assert one.error_code == (ErrorCode.NONE if alive else ErrorCode.LEADER_NOT_AVAILABLE)
    assert any(one.leader_id == UNKNOWN for one in tiered())
