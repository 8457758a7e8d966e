"""What an audit finds, kind by kind, and that it finds nothing where nothing is wrong."""

from __future__ import annotations

import pytest

from kafka_rack.audit import KINDS, audit
from kafka_rack.cluster_layout import ClusterLayout, layout_of_json

EVEN = [[0, "a"], [1, "b"], [2, "c"]]


def found(brokers, topics, **options):
    said = audit(layout_of_json({"brokers": brokers, "topics": topics}), **options)
    return {(one.kind, one.where): one.text for one in said.findings}


def test_a_healthy_cluster_has_no_findings():
    assert found(EVEN, {"t": [[0, 1, 2], [1, 2, 0], [2, 0, 1]]}, min_insync_replicas=2) == {}


def test_two_copies_in_a_rack_are_found_while_another_rack_has_none():
    said = found([[0, "a"], [1, "a"], [2, "b"], [3, "b"]], {"t": [[0, 1], [0, 2]], "u": [[0, 2, 1]]})
    assert (
        said["shared-rack", "t"]
        == "1 of 2 partitions (0); in partition 0 brokers 0 and 1 share rack a, while rack b has no replica"
    )
    assert ("shared-rack", "u") not in said


def test_copies_that_share_a_rack_are_no_violation_where_the_other_rack_is_down():
    said = found([[0, "a"], [1, "a"], [2, "b", True]], {"t": [[0, 1]]})
    assert ("shared-rack", "t") not in said


def test_more_replicas_than_racks_are_found():
    said = found([[0, "a"], [1, "a"], [2, "b"], [3, "b"]], {"t": [[0, 1, 2]]})
    assert said["replication-factor-above-racks", "t"] == "replication factor 3, but there are 2 racks"


def test_partitions_that_a_failed_rack_makes_unwritable_are_told_from_those_it_takes():
    brokers = [[0, "a"], [1, "a"], [2, "b"], [3, "b"]]
    said = audit(layout_of_json({"brokers": brokers, "topics": {"t": [[0, 2, 3], [0, 1]]}}), min_insync_replicas=2)
    by_rack = {one.rack: (one.unwritable, one.lost) for one in said.racks}
    assert by_rack == {"a": (1, 1), "b": (1, 0)}
    texts = [one.text for one in said.findings if one.kind.endswith("with-rack")]
    assert texts == [
        "when rack a fails, no replica is left of 1 of 2 partitions (1)",
        "when rack b fails, 1 of 2 partitions (0) have fewer in-sync replicas than min.insync.replicas 2",
    ]


def test_a_topics_own_min_insync_replicas_comes_before_the_one_given():
    topics = {"t": {"partitions": [[0, 1]], "min_insync_replicas": 2}, "u": [[0, 1]]}
    said = found(EVEN, topics, min_insync_replicas=1)
    assert ("unwritable-with-rack", "t") in said
    assert ("unwritable-with-rack", "u") not in said


def test_what_cannot_be_written_at_this_moment_is_a_finding_of_its_own():
    topics = {"t": {"partitions": [{"replicas": [0, 1, 2], "isr": [0], "leader": 0}], "min_insync_replicas": 2}}
    assert found(EVEN, topics)["unwritable-now", "t"].startswith("1 of 1 partitions (0) have fewer in-sync")


@pytest.mark.parametrize(
    ("isr", "least", "expected"),
    [([0, 1], 2, True), ([0, 2], 2, False), ([0, 2], 3, True), ([0, 1], 1, False), ([0, 3], 2, True)],
)
def test_in_sync_replicas_in_fewer_racks_than_asked_are_found(isr, least, expected):
    brokers = [[0, "a"], [1, "a"], [2, "b"], [3]]
    topics = {"t": {"partitions": [{"replicas": [0, 1, 2, 3], "isr": isr, "leader": 0}]}}
    said = found(brokers, topics, min_insync_racks=least)
    text = f"1 of 1 partitions (0) have in-sync replicas in fewer than {least} racks"
    assert said.get(("in-sync-racks", "t")) == (text if expected else None)


@pytest.mark.parametrize(
    ("brokers", "text"),
    [([[0, "a"], [1], [2]], "brokers 1, 2 without a rack"), ([[0], [1]], "no broker has a rack")],
)
def test_missing_racks_are_found(brokers, text):
    assert found(brokers, {"t": [[0, 1]]})["missing-racks", "cluster"].startswith(text)


def test_rack_names_that_almost_match_are_found():
    said = found([[0, "us-east-1a"], [1, "use1-az1"]], {"t": [[0, 1]]})
    assert said["rack-names", "cluster"].startswith("racks us-east-1a and use1-az1")


def test_uneven_racks_are_found_with_their_sizes():
    said = found([[0, "a"], [1, "a"], [2, "b"]], {"t": [[0, 2]]})
    assert "a: 2, b: 1" in said["uneven-racks", "cluster"]


def test_a_broker_far_above_its_share_is_found_and_one_partition_more_is_not():
    said = found(EVEN, {"t": [[0, 1, 2]] * 6 + [[1, 2, 0]] * 2 + [[2, 0, 1]]})
    assert said["skew", "broker 0"] == "6 leaders, 2 times the even share of 3"
    assert not [where for kind, where in found(EVEN, {"t": [[0, 1, 2]]}) if kind == "skew"]


def test_replicas_on_a_broker_that_the_cluster_does_not_list_are_found():
    listed = layout_of_json({"brokers": EVEN, "topics": {"t": [[0, 1, 2]]}})
    said = audit(ClusterLayout(listed.brokers[:2], listed.topics))
    assert [(one.kind, one.brokers, one.partitions) for one in said.findings] == [
        ("unknown-brokers", (2,), (("t", 0),)),
        ("replication-factor-above-racks", (), (("t", 0),)),
    ]


def test_leaders_are_counted_where_they_are_and_not_where_they_are_preferred():
    said = audit(layout_of_json({"brokers": EVEN, "topics": {"t": [{"replicas": [0, 1], "leader": 1}]}}))
    assert [(one.leaders, one.replicas) for one in said.brokers] == [(0, 1), (1, 1), (0, 0)]
    assert [(one.leaders, one.replicas) for one in said.racks] == [(0, 1), (1, 1), (0, 0)]


def test_findings_come_kind_by_kind_in_the_order_that_is_told():
    brokers = [[0, "a"], [1, "A"], [2, "b"], [3, "b"]]
    kinds = [kind for kind, _ in found(brokers, {"t": [[2, 3]], "u": [[2], [2], [2], [2]]})]
    assert kinds == sorted(kinds, key=list(KINDS).index)
    assert len(set(kinds)) >= 4
