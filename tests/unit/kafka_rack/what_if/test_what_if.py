"""What would have been, on workloads made by hand: who talks to whom, and that no byte is lost on the way."""

from __future__ import annotations

from decimal import Decimal

import pytest

from kafka_rack.errors import InputError
from kafka_rack.locality.completeness import Completeness
from kafka_rack.locality.prices import Prices, price_list, read_prices
from kafka_rack.locality.traffic import TrafficKey
from kafka_rack.what_if import WhatIfChange, Workload, change_of
from kafka_rack.what_if import compare as compare_clusters
from kafka_rack.what_if.flows import as_it_would_be
from kafka_rack.what_if.groups import GroupHistory
from kafka_rack.what_if.workload import (
    ClientPosition,
    MemberSeen,
    ObservedGeneration,
    ObservedGroup,
    ObservedPartition,
)

A, B, C = ("at-a", "10.0.0.1"), ("at-b", "10.0.0.2"), ("at-c", "10.0.0.3")
RACKS = {0: "a", 1: "b", 2: "c"}
NEAR = change_of({"client.rack": "auto", "replica.selector.class": "rack-aware"})
SECOND = 1_000_000


def workload(**given):
    """Three racks, three partitions with a replica everywhere; each client reads from the leader in the next rack."""
    layouts = {
        number: ObservedPartition((number, (number + 1) % 3, (number + 2) % 3), number, frozenset(RACKS))
        for number in range(3)
    }
    made = {
        "last": 10 * SECOND,
        "brokers": dict(RACKS),
        "topics": {"orders": layouts},
        "groups": {
            "readers": ObservedGroup(
                "classic",
                "range",
                [
                    ObservedGeneration(
                        0,
                        {name: MemberSeen(client, ("orders",)) for name, client in (("ma", A), ("mb", B), ("mc", C))},
                        {"ma": [("orders", 1)], "mb": [("orders", 2)], "mc": [("orders", 0)]},
                    )
                ],
            )
        },
    }
    positions = {A: ClientPosition("a"), B: ClientPosition("b"), C: ClientPosition("c")}
    positions = given.setdefault("positions", positions)
    produced = {(A, "orders", 0, 0): 900, (A, "orders", 1, 1): 400}
    consumed = {
        (A, "readers", "orders", 1, 1): 600,
        (B, "readers", "orders", 2, 2): 700,
        (C, "readers", "orders", 0, 0): 800,
    }
    consumed = given.pop("consumed", consumed)
    found = Workload(**(made | given))
    found.flows = dict(
        [
            *(flow(found, positions, "produce", client, None, *at, size) for (client, *at), size in produced.items()),
            *(flow(found, positions, "consume", *at, size) for at, size in consumed.items()),
            *(
                flow(found, {}, "replication", (f"broker-{follower}-fetcher-0", ""), None, *at, size)
                for (follower, *at), size in found.replicated.items()
            ),
        ]
    )
    return found


def flow(given, positions, category, client, group, topic, partition, broker, size):
    """A flow as the ledger has it of a client at a position."""
    rack, named, zone = positions.get(client, ClientPosition())
    if category == "replication":
        rack = given.brokers[int(client[0].split("-")[1])]
    broker_rack = given.brokers.get(broker)
    key = TrafficKey(
        0,
        "",
        category,
        "",
        *client,
        group,
        topic,
        partition,
        rack,
        "request" if named else "client_id" if zone else "racks_file",
        named or zone,
        broker,
        broker_rack,
        "unknown" if None in (rack, broker_rack) else "local" if rack == broker_rack else "cross",
    )
    return key, (1, size, 0, size, 1, 0) if category == "produce" else (1, 0, size, size, 1, 0)


def compare(given, change, prices=None):
    return compare_clusters([given], change, prices)


def test_readers_that_name_their_racks_read_within_them_where_brokers_look_at_racks():
    compared = compare(workload(), NEAR)
    assert compared.measured.bills["consume"].bytes == {"local": 0, "cross": 2100, "unknown": 0}
    assert compared.after.bills["consume"].bytes == {"local": 2100, "cross": 0, "unknown": 0}


def test_without_the_selector_a_rack_changes_nothing_and_that_is_said():
    compared = compare(workload(), change_of({"client.rack": "auto"}))
    flows = as_it_would_be(workload(), change_of({"client.rack": "auto"})).flows
    leaders = {(flow.topic, flow.broker) for flow in flows if flow.category == "consume"}
    assert leaders == {("orders", broker) for broker in RACKS}
    assert compared.after.bills["consume"].total == 2100
    assert any("no rack-aware replica selector" in note for note in compared.notes)


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_it_says_that_librdkafkas_sticky_assignors_are_not_predicted(assignor):
    with_it, without = (compare(workload(), WhatIfChange(assignor=name)).notes for name in (assignor, "range"))
    assert [note for note in with_it if f"those of {assignor} in Kafka's Java client" in note]
    assert not any("librdkafka" in note for note in without)


def test_a_zone_in_the_client_id_is_no_rack_in_fetch():
    """Brokers of classic topics do not look at it, whatever selector they have."""
    given = workload(positions={one: ClientPosition(rack, None, rack) for one, rack in ((A, "a"), (B, "b"))})
    compared = compare(given, change_of({"replica.selector.class": "rack-aware"}))
    assert compared.after.bill(["consume"]).bytes == compared.measured.bill(["consume"]).bytes
    assert compared.measured.bill(["consume"]).bytes["cross"] == 600 + 700


def test_where_the_model_is_not_near_what_was_measured_nothing_is_predicted():
    """Readers were served by followers, and nothing in the capture says that brokers have a selector."""
    named = {one: ClientPosition(rack, rack) for one, rack in ((A, "a"), (B, "b"), (C, "c"))}
    near = {
        (A, "readers", "orders", 1, 0): 600,
        (B, "readers", "orders", 2, 1): 700,
        (C, "readers", "orders", 0, 2): 800,
    }
    compared = compare(workload(positions=named, consumed=near), change_of({"client.rack": "auto"}))
    assert compared.refused == {"consume"}
    assert any(note.startswith("consume is not predicted: 0 bytes crossed racks, but") for note in compared.notes)
    told = workload(positions=named, consumed=near, reads_from_followers=True)
    assert compare(told, change_of({"client.rack": "auto"})).refused == frozenset()


def test_two_clusters_with_the_same_broker_ids_stay_apart():
    other = workload(
        brokers={0: "x", 1: "y", 2: "z"},
        positions={A: ClientPosition("x"), B: ClientPosition("y"), C: ClientPosition("z")},
    )
    both = compare_clusters([workload(), other], NEAR)
    assert both.measured.bill(["consume"]).bytes == {"local": 0, "cross": 2 * 2100, "unknown": 0}
    assert both.after.bill(["consume"]).bytes == {"local": 2 * 2100, "cross": 0, "unknown": 0}
    assert both.brokers[0, 1], both.brokers[1, 1] == ("b", "y")


def test_nothing_is_said_about_the_selector_where_all_readers_read_diskless_topics():
    compared = compare(workload(), WhatIfChange(diskless=("*",), client_rack="auto"))
    assert not any("selector" in note for note in compared.notes)


@pytest.mark.parametrize("reason", ["version_too_old", "share_group"])
def test_clients_that_can_only_read_from_leaders_do_so_whatever_rack_they_name(reason):
    given = workload(groups={})
    given.flows = {
        key._replace(reason=reason) if key.client_id == A[0] and key.category == "consume" else key: amounts
        for key, amounts in given.flows.items()
    }
    compared = compare(given, NEAR)
    assert compared.after.bills["consume"].bytes["cross"] == 600
    assert any(note.startswith("1 client of share groups, or that fetch with a version") for note in compared.notes)


def test_a_rack_that_no_broker_has_leads_to_the_leaders():
    change = change_of({"client.rack": "z", "replica.selector.class": "rack-aware", "group.protocol": "classic"})
    assert {flow.broker for flow in as_it_would_be(workload(), change).flows if flow.client_id == A[0]} >= {0, 1}


def test_a_replica_out_of_sync_serves_nobody():
    given = workload()
    given.topics["orders"][1] = ObservedPartition((1, 0, 2), 1, frozenset({1, 2}))
    assert WhatIfChange(reads_from_followers=True, client_rack="auto") == NEAR
    flows = [flow for flow in as_it_would_be(given, NEAR).flows if flow.category == "consume"]
    assert all(flow.broker != 0 or flow.topic != "orders" or flow.client_rack == "a" for flow in flows)
    reads_of_a = [flow for flow in flows if flow.client_id == A[0]]
    assert {flow.broker for flow in reads_of_a} <= {0, 1}


def test_no_byte_of_clients_is_lost_or_made_whatever_differs():
    changes = [
        NEAR,
        WhatIfChange(protocol="consumer"),
        WhatIfChange(assignor="rack-uniform", client_rack="auto"),
        WhatIfChange(diskless=("*",), client_rack="auto"),
        WhatIfChange(diskless=("*",)),
        WhatIfChange(placer="striped"),
        WhatIfChange(placer="rack-aware", replication_factor=2),
    ]
    for change in changes:
        compared = compare(workload(), change)
        for category in ("produce", "consume"):
            before, after = (outcome.bills[category].total for outcome in (compared.measured, compared.after))
            assert before == after, (change, category)


def test_diskless_topics_are_served_within_racks_and_copied_by_no_broker():
    compared = compare(workload(), WhatIfChange(diskless=("ord*",), client_rack="auto"))
    assert compared.after.bills["produce"].bytes == {"local": 1300, "cross": 0, "unknown": 0}
    assert compared.after.bills["replication"].total == 0
    assert sum(load.leaders for load in compared.after.brokers.values()) == 0


def test_objects_of_diskless_topics_are_priced():
    """Two requests at one broker make two objects, which each of three racks reads once."""
    prices = read_prices("[store]\nput = 5\nget = 0.4", "p.toml")
    change = WhatIfChange(diskless=("*",), client_rack="auto")
    compared = compare_clusters([workload()], change, prices, Completeness([(0, 10 * SECOND)]))
    assert compared.after.store == (2, 6, Decimal("0.0124"))
    assert compared.measured.store == (0, 0, 0)
    assert "object storage: about 2 writes and 6 reads, $0.012 measured" in compared.notes[0]
    without_fees = compare_clusters([workload()], change, price_list("azure"), Completeness([(0, 10 * SECOND)]))
    assert "about 2 writes and 6 reads, which these prices have no fees for; " in without_fees.notes[0]


def test_clients_of_diskless_topics_that_name_no_rack_are_sent_anywhere():
    after = compare(workload(), WhatIfChange(diskless=("orders",))).after
    assert {broker for (_, broker), load in after.brokers.items() if load.bytes_in} == set(RACKS)


def test_fewer_replicas_are_fetched_by_fewer_followers():
    compared = compare(workload(), WhatIfChange(placer="rack-aware", replication_factor=2))
    assert compared.measured.bills["replication"].total == 2 * (900 + 400)
    assert compared.after.bills["replication"].total == 900 + 400
    assert any("estimated from what was produced" in note for note in compared.notes)


def test_captured_replication_stays_as_it_is_where_nothing_moves():
    replicated = {(1, "orders", 0, 0): 900, (2, "orders", 0, 0): 900}
    compared = compare(workload(replicated=replicated), NEAR)
    assert compared.measured.bills["replication"].total == compared.after.bills["replication"].total == 1800
    assert compared.after.bills["replication"].bytes["cross"] == 1800


def test_a_follower_of_two_leaders_takes_from_each_what_it_took_in_whatever_order():
    """Of a topic whose layout nobody told; cut captures on two workers gave all of it to either leader."""
    replicated = {(1, "untold", 0, 0): 900, (1, "untold", 0, 2): 90}
    turned = dict(reversed(replicated.items()))
    for given in (replicated, turned):
        found = compare(workload(replicated=given), NEAR)
        without = compare(workload(replicated={(1, "untold", 0, 1): 0}), NEAR)
        for side, other in ((found.measured, without.measured), (found.after, without.after)):
            out = {one: load.bytes_out - other.brokers[0, one].bytes_out for (_, one), load in side.brokers.items()}
            assert out == {0: 900, 1: 0, 2: 90}


def test_money_is_of_each_direction():
    compared = compare(workload(), NEAR, Prices())
    crossed = compared.measured.bills["consume"]
    assert crossed.cost == Decimal(2100) * Decimal("0.02") / 10**9
    assert compared.after.bills["consume"].cost == 0


def test_eager_groups_stop_whole_and_cooperative_ones_what_moves():
    members = {name: MemberSeen(client, ("orders",)) for name, client in (("ma", A), ("mb", B), ("mc", C))}
    owned = {"ma": [("orders", 0)], "mb": [("orders", 1)], "mc": [("orders", 2)]}
    two = {name: seen for name, seen in members.items() if name != "mc"}
    generations = [
        ObservedGeneration(0, members, owned),
        ObservedGeneration(5 * SECOND, two, {"ma": [("orders", 0), ("orders", 1)], "mb": [("orders", 2)]}),
    ]
    given = workload(groups={"readers": ObservedGroup("classic", "range", generations)})
    eager = compare(given, WhatIfChange(assignor="roundrobin"))
    history = eager.measured.groups["readers"]
    assert (history.members, history.rebalances, history.stopped, history.moved) == (3, 1, 3, 2)
    assert eager.after.groups["readers"].stopped == 3
    calm = compare(given, WhatIfChange(protocol="consumer")).after.groups["readers"]
    assert (calm.protocol, calm.assignor, calm.rebalances, calm.stopped, calm.moved) == ("consumer", "uniform", 1, 1, 1)
    careful = compare(given, WhatIfChange(assignor="cooperative-sticky")).after.groups["readers"]
    assert careful.protocol == "classic"
    assert careful.stopped == careful.moved == 1


def test_bytes_of_a_window_go_to_the_member_that_has_the_partition_then():
    place = ("orders", 0)
    history = GroupHistory("classic", "range", readers={place: [(0, 5 * SECOND, A), (5 * SECOND, 9 * SECOND, B)]})
    assert history.readers_between(place, 7 * SECOND, 8 * SECOND) == {B: SECOND}
    assert history.readers_between(place, 4 * SECOND, 7 * SECOND) == {A: SECOND, B: 2 * SECOND}
    assert history.readers_between(place, 9 * SECOND, 10 * SECOND) == {B: 1}
    assert history.readers_between(("orders", 1), 0, SECOND) == {}


def test_a_group_whose_generations_were_not_seen_is_there_all_the_same():
    given = workload(groups={"late": ObservedGroup("classic", None)})
    compared = compare(given, NEAR)
    assert (compared.measured.groups["late"].rebalances, compared.after.groups["late"].members) == (0, 0)


def test_a_group_with_an_assignor_of_its_own_is_left_as_it_is_and_that_is_said():
    given = workload()
    given.groups["readers"].assignor = "ours"
    after = compare(given, NEAR).after
    assert after.groups["readers"].note == "its assignor ours is not one of Kafka's, so it is left as it is"
    assert after.bills["consume"].bytes["cross"] == 0


@pytest.mark.parametrize("protocol", ["share", "streams"])
def test_a_group_of_another_protocol_is_left_as_it_is_and_that_is_said(protocol):
    given = workload()
    given.groups["readers"].protocol = protocol
    after = compare(given, NEAR).after
    assert after.groups["readers"].note == f"groups of the {protocol} protocol are left as they are"
    assert after.bills["consume"].bytes["cross"] == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"client.rak": "auto"}, "did you mean client.rack?"),
        ({"replica.selector.class": "nearest"}, "expected module:Class or one of leader"),
        ({"client.rack": ""}, "expected a rack"),
        (
            {"group.protocol": "classic", "group.remote.assignor": "uniform"},
            "assignor of the classic protocol: expected one of range",
        ),
        ({"group.protocol": "share"}, "expected classic or consumer"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_would_be_right(settings, said):
    with pytest.raises(InputError, match=said):
        change_of(settings)


def test_a_coordinators_assignor_alone_means_the_consumer_protocol():
    assert change_of({"group.remote.assignor": "uniform"}).protocol == "consumer"
    java = change_of({"partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"})
    assert java.assignor == "cooperative-sticky"


# rack-aware partitioners


def written_by_java(**given):
    """The producer in rack a wrote 900 bytes to partition 0, which is led there, and 400 to partition 1 in rack b."""
    found = workload(**given)
    found.flows = {
        key._replace(reason="unaware_partitioner", saves=True)
        if key.category == "produce" and key.partition
        else key: size
        for key, size in found.flows.items()
    }
    return found


AWARE = change_of({"partitioner.rack.aware": "true"})


def test_writes_of_an_aware_partitioner_move_to_leaders_in_its_rack_with_what_is_read_and_copied_of_them():
    replicated = {
        (2, "orders", 1, 1): 400,
        (0, "orders", 1, 1): 400,
        (1, "orders", 0, 0): 900,
        (2, "orders", 0, 0): 900,
    }
    after = as_it_would_be(written_by_java(replicated=replicated), AWARE)
    sizes = {}
    for key, amounts in after.flows.items():
        kind = (key.category, key.client_id, key.partition, key.broker)
        sizes[kind] = sizes.get(kind, 0) + amounts[1] + amounts[2]
    assert sizes == {
        ("produce", "at-a", 0, 0): 1300,
        ("consume", "at-c", 0, 0): 1400,  # who reads partition 0, also in place of the reader of partition 1
        ("consume", "at-b", 2, 2): 700,
        ("replication", "broker-1-fetcher-0", 0, 0): 1300,
        ("replication", "broker-2-fetcher-0", 0, 0): 1300,
    }
    assert after.skews == {"orders": 3.0}
    assert as_it_would_be(written_by_java(), WhatIfChange()).skews == {"orders": 2.077}  # 900 of 1300 in one of three


def test_writes_of_clients_that_cannot_choose_by_rack_stay_and_a_note_says_so():
    after = as_it_would_be(workload(), AWARE)
    assert after.skews == {"orders": 2.077}
    assert "no Java client of 4.4 or newer is seen to write records without keys to other racks" in after.notes


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ({"partitioner.rack.aware": "false"}, {}),
        ({"partitioner.rack.aware": "true", "client.rack": "a"}, {}),
        ({"partitioner.rack.aware": "true"}, {"placer": "rack-aware"}),
    ],
)
def test_an_aware_partitioner_is_not_combined_with_what_moves_leaders_or_racks(settings, more):
    with pytest.raises(
        InputError, match=r"partitioner\.rack\.aware: expected true, without a placer or another client"
    ):
        change_of(settings, **more)
