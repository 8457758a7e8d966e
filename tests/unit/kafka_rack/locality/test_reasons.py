"""Why bytes crossed: the reason, and whether its fix saves them for certain, perhaps or not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.locality.reasons import CATEGORIES, REASONS, Facts, judge

CLUSTER = frozenset({"az-a", "az-b", "az-c"})
READER = Facts("consume", "az-a", "az-a", "request", "az-b", api_version=13, cluster_racks=CLUSTER, replica_here=True)
SILENT = replace(READER, told_rack=None, told_in=None)
WRITER = Facts("produce", "az-a", broker_rack="az-b", cluster_racks=CLUSTER, keyed=False, leader_here=True)
NEW_WRITER, OTHER_WRITER = (replace(WRITER, has_partitioner=has) for has in (True, False))
DISKLESS = replace(WRITER, diskless=True, told_rack="az-a", told_in="client_id")


@pytest.mark.parametrize(
    ("facts", "reason", "saves", "at_most"),
    [
        (READER, "not_redirected", True, True),
        (replace(READER, redirected=True), "redirect", False, False),
        (replace(READER, whole=False), "empty_fetch", False, False),
        (replace(READER, replica_here=False), "no_in_sync_replica", False, True),
        (replace(READER, replica_here=None), "not_redirected", False, True),
        (SILENT, "no_client_rack", True, True),
        (replace(SILENT, replica_here=None), "no_client_rack", False, True),
        (replace(SILENT, api_version=10), "version_too_old", True, True),
        (replace(SILENT, api_version=11), "no_client_rack", True, True),
        (replace(READER, share=True), "share_group", False, True),
        (replace(READER, share=True, replica_here=False), "share_group", False, False),
        (NEW_WRITER, "unaware_partitioner", True, True),
        (replace(NEW_WRITER, leader_here=None), "unaware_partitioner", False, True),
        (OTHER_WRITER, "unkeyed_produce", False, False),
        (replace(OTHER_WRITER, leader_here=None), "unkeyed_produce", False, False),
        (WRITER, "unaware_partitioner", False, True),
        (replace(NEW_WRITER, leader_here=False), "no_leader_in_rack", False, True),
        (replace(WRITER, keyed=True), "keyed_produce", False, False),
        (replace(WRITER, keyed=None), "produce_not_read", False, True),
        (DISKLESS, "diskless_elsewhere", False, True),
        (replace(DISKLESS, told_in=None), "diskless_without_zone", True, True),
        (replace(DISKLESS, told_in=None, client_rack="az-z"), "diskless_without_zone", False, True),
        (Facts("replication", "az-a", broker_rack="az-b"), "replication", False, False),
        (Facts("other", "az-a", broker_rack="az-b"), "cluster_work", False, False),
    ],
)
def test_what_crossed_has_its_reason(facts, reason, saves, at_most):
    verdict = judge(facts)
    assert (verdict.locality, verdict.reason, verdict.saves, verdict.at_most) == ("cross", reason, saves, at_most)


@pytest.mark.parametrize(
    ("facts", "reason", "at_most"),
    [
        (replace(SILENT, client_rack=None), "no_client_rack", True),
        (replace(SILENT, client_rack=None, api_version=4), "version_too_old", True),
        (replace(WRITER, client_rack=None), "client_rack_unknown", True),
        (replace(SILENT, client_rack=None, share=True), "client_rack_unknown", True),
        (Facts("other", broker_rack="az-b"), "client_rack_unknown", False),
        (Facts("replication", broker_rack="az-b"), "broker_rack_unknown", False),
        (replace(READER, broker_rack=None), "broker_rack_unknown", True),
    ],
)
def test_what_is_not_known_is_unknown_and_saves_nothing_for_certain(facts, reason, at_most):
    verdict = judge(facts)
    assert (verdict.locality, verdict.reason, verdict.saves, verdict.at_most) == ("unknown", reason, False, at_most)


def test_a_rack_that_no_broker_has_comes_with_the_one_that_was_meant():
    verdict = judge(replace(READER, client_rack="AZ-A", told_rack="AZ-A", replica_here=None))
    assert (verdict.reason, verdict.saves, verdict.at_most) == ("rack_not_in_cluster", False, True)
    assert verdict.detail == "AZ-A is almost az-a: they differ in capitals only"


def test_who_names_no_zone_learns_the_key_of_the_system_or_of_all_that_are_known():
    assert judge(replace(DISKLESS, told_in=None, zone_key="automq_az")).detail == "this cluster reads automq_az=RACK"
    assert judge(replace(DISKLESS, told_in=None)).detail is None
    for form in ("diskless_az=", "automq_az=", "zone_id=", "warpstream_az=", "ws_az=", "zone="):
        assert f" {form}RACK" in REASONS["diskless_without_zone"].action


def test_a_wrong_rack_saves_for_certain_where_the_racks_file_knows_the_right_one():
    verdict = judge(replace(READER, told_rack="zone-1"))
    assert (verdict.reason, verdict.saves, verdict.detail) == ("rack_not_in_cluster", True, "zone-1")


RACKS = st.sampled_from([None, "az-a", "az-b", "az-z"])
YES_OR_NO = st.sampled_from([None, True, False])


@given(
    st.builds(
        Facts,
        category=st.sampled_from(CATEGORIES),
        client_rack=RACKS,
        told_rack=RACKS,
        told_in=st.sampled_from([None, "request", "client_id"]),
        broker_rack=RACKS,
        api_version=st.sampled_from([None, 4, 10, 11, 18]),
        share=st.booleans(),
        cluster_racks=st.sampled_from([frozenset(), CLUSTER]),
        diskless=st.booleans(),
        redirected=st.booleans(),
        whole=st.booleans(),
        replica_here=YES_OR_NO,
        leader_here=YES_OR_NO,
        keyed=YES_OR_NO,
        has_partitioner=YES_OR_NO,
    )
)
def test_every_verdict_agrees_with_its_racks_and_its_reason(facts):
    verdict = judge(facts)
    known = facts.client_rack is not None and facts.broker_rack is not None
    same = "local" if facts.client_rack == facts.broker_rack else "cross"
    assert verdict.locality == (same if known else "unknown")
    if verdict.locality == "local":
        assert verdict.reason is None
        assert not verdict.at_most
    else:
        reason = REASONS[verdict.reason]
        assert verdict.at_most or not verdict.saves
        assert reason.avoidable != "no" or not verdict.at_most
