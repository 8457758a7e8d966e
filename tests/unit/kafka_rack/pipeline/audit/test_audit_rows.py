"""A cluster's rows: counted by hand, equal to the audit's own figures, and held to a second way of counting."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.audit import KINDS, audit
from kafka_rack.cluster_layout import ClusterLayout, LayoutPartition, LayoutTopic, layout_of_json
from kafka_rack.failures import what_ifs
from kafka_rack.pipeline.audit.descriptions import Described
from kafka_rack.pipeline.audit.rows import SCHEMAS, AuditQuestion, rows_of, severity
from kafka_rack.placement import UsableBroker

BROKEN = {
    "brokers": [[0, "a"], [1, "a"], [2, "b"], [3, "b"]],
    "topics": {
        "orders": {"partitions": [[0, 1], [0, 2], [3, 1]], "min_insync_replicas": 2},
        "events": {"partitions": [{"replicas": [2, 0], "isr": [2], "leader": 2}], "min_insync_replicas": 2},
        "logs": {"partitions": [[3]], "diskless": True},
    },
}
"""orders-0 has both copies in rack a; events-0 has one copy in sync and needs two."""


def rows(said, asked=AuditQuestion(), name="here"):  # noqa: B008 - it cannot change
    return rows_of(Described(name, f"{name}.json", None, layout_of_json(said)), asked)


def test_the_clusters_row_counts_what_is_wrong():
    row = rows(BROKEN)["clusters"][0]
    assert (row["cluster"], row["file"], row["line"]) == ("here", "here.json", None)
    assert (row["brokers"], row["racks"], row["topics"], row["partitions"], row["diskless_topics"]) == (4, 2, 2, 4, 1)
    assert (row["worst"], row["worst_partitions"]) == ("unwritable-now", 1)
    assert (row["shared_rack"], row["unwritable_now"], row["lost_with_rack"], row["missing_racks"]) == (1, 1, 1, 0)
    # Rack a: orders-0 lost, all others left with one copy of the two they need. Rack b: the same three, none lost.
    assert (row["worst_rack"], row["worst_rack_unwritable"], row["worst_rack_lost"]) == ("a", 4, 1)
    assert (row["repair_moves"], row["repair_partitions"], row["repair_note"]) == (1, 1, None)


def test_each_partition_of_a_finding_is_a_violation():
    found = {
        (row["kind"], row["topic"], row["partition"], tuple(row["replicas"]), row["rack"])
        for row in rows(BROKEN)["violations"]
    }
    three = [("orders", 1, (0, 2)), ("orders", 2, (3, 1)), ("events", 0, (2, 0))]
    assert found == {
        ("unwritable-now", "events", 0, (2, 0), None),
        ("shared-rack", "orders", 0, (0, 1), None),
        ("lost-with-rack", "orders", 0, (0, 1), "a"),
        *(("unwritable-with-rack", *one, rack) for one in three for rack in "ab"),
    }


def test_each_failure_has_its_cost():
    found = [
        (row["rack"], row["broker"], row["unwritable"], row["lost"], row["busiest_broker"], row["busiest_leaders"])
        for row in rows(BROKEN)["what_if"]
    ]
    # Leaders now: 0 leads orders-0 and -1, 3 orders-2, 2 events-0.
    assert found == [
        ("a", None, 4, 1, 2, 2),
        ("b", None, 3, 0, 0, 3),
        ("a", 0, 3, 0, 2, 2),
        ("a", 1, 2, 0, 0, 2),
        ("b", 2, 2, 0, 0, 3),
        ("b", 3, 1, 0, 0, 2),
    ]


def test_a_repair_moves_the_copy_that_shares_a_rack_and_keeps_the_leader():
    (move,) = rows(BROKEN)["repairs"]
    assert (move["topic"], move["partition"], move["source"], move["source_rack"], move["target_rack"]) == (
        "orders", 0, 1, "a", "b",
    )  # fmt: skip


def test_without_racks_there_is_no_plan_but_a_note():
    found = rows({"brokers": [[0], [1]], "topics": {"orders": [[0, 1]]}})
    row = found["clusters"][0]
    assert (row["brokers_without_rack"], row["worst"], row["worst_rack"]) == ([0, 1], "missing-racks", None)
    assert row["repair_moves"] is None
    assert row["repair_note"] == "no broker has a rack, so there is nothing to restore: set broker.rack first"
    assert [row["detail"] for row in found["violations"]] == ["no broker has a rack: set broker.rack"]


def test_kinds_to_ignore_are_left_out_of_counts_and_violations():
    found = rows(BROKEN, AuditQuestion(ignore=("unwritable-now", "lost-with-rack", "unwritable-with-rack")))
    assert (found["clusters"][0]["worst"], found["clusters"][0]["findings"]) == ("shared-rack", 1)
    assert {row["kind"] for row in found["violations"]} == {"shared-rack"}


def test_the_default_for_min_insync_replicas_is_that_of_the_audit():
    said = {"brokers": [[0, "a"], [1, "b"]], "topics": {"orders": [[0, 1]]}}
    assert [row["unwritable"] for row in rows(said)["what_if"]] == [0, 0, 0, 0]
    assert [row["unwritable"] for row in rows(said, AuditQuestion(2))["what_if"]] == [1, 1, 1, 1]


def test_clusters_stand_by_their_worst_finding_then_by_how_much_it_touches():
    fine = {"brokers": [[0, "a"], [1, "b"]], "topics": {"orders": [[0, 1]]}}
    lost_one = {"brokers": [[0, "a"], [1, "b"]], "topics": {"orders": [[0, 1], [0]]}}
    lost_two = {"brokers": [[0, "a"], [1, "b"]], "topics": {"orders": [[1], [0]]}}
    given = {"b-fine": fine, "a-fine": fine, "one": lost_one, "two": lost_two, "now": BROKEN}
    found = sorted((rows(said, name=name)["clusters"][0] for name, said in given.items()), key=severity)
    assert [row["cluster"] for row in found] == ["now", "two", "one", "a-fine", "b-fine"]


def test_a_survivor_that_is_not_up_takes_over_nothing():
    said = {"brokers": [[0, "a"], [1, "b", True], [2, "c"]], "topics": {"orders": [[0, 1, 2]]}}
    by_rack = {one.rack: one for one in what_ifs(layout_of_json(said)) if one.broker is None}
    assert (by_rack["a"].busiest_broker, by_rack["a"].busiest_leaders) == (2, 1)


def test_where_nothing_is_left_nobody_leads():
    (rack, broker) = what_ifs(layout_of_json({"brokers": [[4, "a"]], "topics": {"orders": [[4]]}}))
    assert (rack.unwritable, rack.lost, rack.busiest_broker, rack.busiest_leaders) == (1, 1, None, 0)
    assert (broker.unwritable, broker.lost, broker.busiest_broker) == (1, 1, None)


@st.composite
def layouts(draw: st.DrawFn) -> ClusterLayout:
    """Small clusters of every kind: racks missing, brokers down, leaders elsewhere or nowhere."""
    racks = st.sampled_from(["a", "b", "B", "c", None])
    brokers = [UsableBroker(n, draw(racks), draw(st.integers(0, 5)) == 0) for n in range(draw(st.integers(1, 6)))]
    rng = Random(draw(st.integers(0, 10_000)))
    topics = {}
    for name in ("events", "orders"):
        partitions = []
        for _ in range(draw(st.integers(1, 5))):
            replicas = tuple(rng.sample(range(len(brokers)), rng.randint(1, len(brokers))))
            isr = tuple(sorted(rng.sample(replicas, rng.randint(0, len(replicas)))))
            partitions.append(LayoutPartition(replicas, rng.choice([None, -1, *replicas]), rng.choice([None, isr])))
        topics[name] = LayoutTopic(tuple(partitions), rng.choice([None, 1, 2, 3]))
    return ClusterLayout(tuple(brokers), topics)


@given(layouts(), st.sampled_from([None, 2]))
def test_rows_are_what_the_audit_says(layout, least):
    found = rows_of(Described("x", "x.json", 1, layout), AuditQuestion(least))
    said = audit(layout, min_insync_replicas=least)
    by_rack = {row["rack"]: row for row in found["what_if"] if row["fails"] == "rack"}
    assert {rack: (row["unwritable"], row["lost"]) for rack, row in by_rack.items()} == {
        load.rack: (load.unwritable, load.lost) for load in said.racks if load.rack is not None
    }
    assert {kind: found["clusters"][0][kind.replace("-", "_")] for kind in KINDS} == {
        kind: sum(one.kind == kind for one in said.findings) for kind in KINDS
    }
    assert len(found["violations"]) == sum(max(1, len(one.partitions)) for one in said.findings)
    for name, schema in SCHEMAS.items():
        listed = found["clusters"] if name == "clusters" else found.get(name, [])
        assert all(set(row) == set(schema.names) for row in listed)
        pa.Table.from_pylist(list(listed), schema=schema)


@given(layouts())
def test_a_failure_costs_what_walking_every_partition_gives(layout):
    up = {broker.id for broker in layout.brokers if not broker.fenced}
    for one in what_ifs(layout):
        gone = {b.id for b in layout.brokers if (b.rack == one.rack if one.broker is None else b.id == one.broker)}
        leads = dict.fromkeys(sorted(up - gone), 0)
        lost = unwritable = 0
        for name, _, partition in layout.each_partition():
            left = [broker for broker in partition.replicas if broker not in gone]
            hit = len(left) < len(partition.replicas)
            lost += hit and not left
            unwritable += hit and len(left) < (layout.topics[name].min_insync_replicas or 1)
            leader = partition.replicas[0] if partition.leader is None else partition.leader
            if leader in gone:
                leader = next((broker for broker in left if broker in up), -1)
            if leader in leads:
                leads[leader] += 1
        assert (one.lost, one.unwritable, one.busiest_leaders) == (lost, unwritable, max(leads.values(), default=0))
        assert one.busiest_broker == max(leads, key=lambda b: (leads[b], -b), default=None)


@pytest.mark.parametrize("name", ["violations", "what_if", "repairs"])
def test_each_tables_rows_say_which_cluster_they_are_of(name):
    for row in rows(BROKEN)[name]:
        assert (row["cluster"], row["file"], row["line"]) == ("here", "here.json", None)
