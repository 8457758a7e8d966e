"""How facts are judged, and what the grade makes of it."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest

from kafka_rack.locality import Prices
from kafka_rack.locality.traffic import TrafficKey
from mockbroker.testing.certify.certificate import certificate_of, crossings, grade_of, junit_of, to_json
from mockbroker.testing.certify.checks import CHECKS, CertifyCheck, checks_of
from mockbroker.testing.certify.facts import (
    AcknowledgedBatch,
    ClientFacts,
    MemberSubscription,
    OffsetRanges,
    WireFacts,
)

RACKS = ["a", "b"]


def consumer(rack: str, *told: str, version: int = 12, subscription: MemberSubscription | None = None) -> ClientFacts:
    client = ClientFacts(rack, "worker", subscription=subscription)
    client.fetch_versions[version] = len(told)
    client.fetch_racks.update(told)
    return client


def facts_of(*clients: ClientFacts) -> WireFacts:
    return WireFacts(racks=RACKS, clients={(client.rack, client.client_id): client for client in clients})


def check_of(facts: WireFacts, wanted: str) -> CertifyCheck:
    return next(check for check in checks_of(facts) if check.id == wanted)


def verdict(facts: WireFacts, check: str) -> str:
    return check_of(facts, check).verdict


def test_nothing_is_seen_of_a_program_that_did_nothing():
    assert {check.verdict for check in checks_of(WireFacts(racks=RACKS))} == {"not seen"}


@pytest.mark.parametrize(
    ("told", "expected"),
    [(["a", "a"], "pass"), (["", ""], "fail"), (["a", ""], "fail"), (["b", "b"], "fail"), (["A"], "fail")],
)
def test_fetch_must_name_the_rack_that_the_process_runs_in(told, expected):
    assert verdict(facts_of(consumer("a", *told)), "fetch_rack") == expected


def test_a_version_that_cannot_carry_a_rack_is_named():
    check = check_of(facts_of(consumer("a", "", version=10)), "fetch_rack")
    assert check.verdict == "fail"
    assert "v10" in check.evidence
    assert "no place for it before v11" in check.evidence


@pytest.mark.parametrize(
    ("rack", "words"), [("A", "A is almost a: they differ in capitals only"), ("zone9", "no broker is in zone9")]
)
def test_a_rack_that_no_broker_has_is_named_with_the_one_that_may_be_meant(rack, words):
    check = check_of(facts_of(consumer("a", rack)), "rack_name")
    assert (check.verdict, check.evidence) == ("fail", words)


def test_a_member_must_say_its_own_rack():
    right = consumer("a", "a", subscription=MemberSubscription(3, "a"))
    assert verdict(facts_of(right), "assignor_rack") == "pass"
    wrong = consumer("b", "b", subscription=MemberSubscription(3, None))
    assert verdict(facts_of(right, wrong), "assignor_rack") == "fail"


@pytest.mark.parametrize(("right", "wrong", "expected"), [(3, 1, "pass"), (2, 1, "fail"), (0, 1, "fail")])
def test_one_redirect_in_four_may_be_let_pass(right, wrong, expected):
    facts = facts_of(consumer("a", "a"))
    for number in range(right + wrong):
        facts.tallies["preferred_replica"].note(number < right, "as seen")
    assert verdict(facts, "preferred_replica") == expected


def test_what_was_passed_over_is_lost_and_what_is_unread_has_stalled():
    facts = facts_of(consumer("a", "a"))
    facts.delivered["orders", 0] = {"rack a": OffsetRanges([(0, 5)])}
    facts.outage_rack = "b"
    assert (verdict(facts, "no_loss"), verdict(facts, "goes_on")) == ("pass", "pass")
    facts.unread.append("orders-0: offsets 5 to 9 were not read by rack a by the end")
    assert (verdict(facts, "no_loss"), verdict(facts, "goes_on")) == ("pass", "fail")
    facts.lost.append("orders-0: offsets 2 to 3 were passed over by rack a")
    assert verdict(facts, "no_loss") == "fail"


def test_an_outage_that_was_not_seen_to_its_end_proves_nothing():
    facts = facts_of(consumer("a", "a"))
    facts.outage_rack, facts.cut_short = "b", "outage"
    assert verdict(facts, "goes_on") == "not seen"


def test_idempotent_producers_write_nothing_twice():
    writer = ClientFacts("a", "writer")
    writer.produce_versions[13] = 1
    facts = facts_of(writer)
    facts.acknowledged["orders", 0] = {0: AcknowledgedBatch(1, 1)}
    assert verdict(facts, "no_duplicates") == "not seen"
    writer.calls["InitProducerId"] = 1
    assert verdict(facts, "no_duplicates") == "pass"
    facts.duplicates.append("orders-0: the batch at offset 0 is there again at 1")
    assert verdict(facts, "no_duplicates") == "fail"


def traffic(facts: WireFacts, locality: str, size: int, *, saves: bool = False, category: str = "consume") -> None:
    broker = "a" if locality == "local" else "b"
    reason = None if locality == "local" else "no_client_rack"
    key = TrafficKey(0, "", category, "", client_rack="a", broker_rack=broker)
    key = key._replace(locality=locality, reason=reason, saves=saves, at_most=saves)
    facts.traffic[key] += size


def test_bytes_that_need_not_cross_fail_and_those_that_must_do_not():
    facts = facts_of(consumer("a", ""))
    traffic(facts, "local", 600)
    traffic(facts, "cross", 400)
    assert verdict(facts, "near_reads") == "pass"
    traffic(facts, "cross", 100, saves=True)
    assert verdict(facts, "near_reads") == "fail"


def test_bytes_around_records_do_not_hide_what_need_not_cross():
    facts = facts_of(consumer("a", ""))
    traffic(facts, "local", 9_000, category="other")
    assert verdict(facts, "near_reads") == "not seen"
    traffic(facts, "local", 80)
    traffic(facts, "cross", 20, saves=True)
    assert verdict(facts, "near_reads") == "fail"


def test_readers_that_no_leader_redirects_are_not_judged_by_what_crossed():
    facts = facts_of(consumer("a", "a"))
    traffic(facts, "cross", 100, saves=True)
    assert verdict(facts, "near_reads") == "not seen"


@pytest.mark.parametrize(
    ("able", "right", "wrong", "expected"),
    [
        (True, 3, 1, "pass"),
        (True, 2, 1, "fail"),
        (False, 2, 1, "not seen"),
        (None, 2, 1, "not seen"),
        (False, 4, 0, "not seen"),  # by chance, or by a partitioner of its own
        (True, 0, 0, "not seen"),
    ],
)
def test_only_producers_that_can_choose_partitions_by_rack_must(able, right, wrong, expected):
    client = ClientFacts("a", "writer", has_partitioner=able)
    client.produce_versions[13] = 1
    for number in range(right + wrong):
        client.choices.note(number < right, "orders-1 (leader in b) in rack a")
    assert verdict(facts_of(client), "near_writes") == expected


def test_money_is_that_of_a_terabyte_in_the_same_proportions():
    facts = facts_of(consumer("a", "a"))
    traffic(facts, "local", 600)
    traffic(facts, "cross", 300)
    traffic(facts, "cross", 100, saves=True)
    (consumed,) = crossings(certificate_of(["worker"], facts, Prices()))
    assert (consumed.bytes, consumed.crossed, consumed.avoidable) == (1000, 400, 100)
    assert consumed.a_terabyte_costs == Decimal(8)  # 400 GB at 0.02 $
    assert consumed.avoidable_of_it == Decimal(2)


def graded(**verdicts: str) -> str:
    weights = {name: weight for name, _, weight, _ in CHECKS}
    return grade_of([CertifyCheck(name, "", weights[name], one, "") for name, one in verdicts.items()])


def test_grades_fall_with_what_fails():
    passing = dict.fromkeys((name for name, *_ in CHECKS), "pass")
    assert graded(**passing) == "A"
    assert graded(**{**passing, "leader_hints": "fail"}) == "A"
    assert graded(**{**passing, "assignor_rack": "fail", "out_of_range": "fail"}) == "B"
    assert graded(**{**passing, "fetch_rack": "fail"}) == "D"
    assert graded(**{**passing, "preferred_replica": "fail"}) == "D"
    assert graded(**{**passing, "no_loss": "fail"}) == "F"
    assert graded(fetch_rack="fail", no_duplicates="pass") == "D"
    assert graded(fetch_rack="fail", leader_hints="pass") == "E"
    assert graded(fetch_rack="fail", assignor_rack="fail", leader_hints="pass") == "F"


@pytest.mark.parametrize(
    ("wanted", "reached"), [("A", False), ("b", True), ("F", True), ("75", True), ("75%", True), ("76", False)]
)
def test_a_grade_or_a_percentage_is_reached_or_not(wanted, reached):
    facts = facts_of(consumer("a", "a", subscription=MemberSubscription(0, None)))
    facts.delivered["orders", 0] = {"rack a": OffsetRanges([(0, 5)])}
    certificate = certificate_of(["worker"], facts, Prices())
    assert (certificate.grade, certificate.percent) == ("B", 75)
    passed, failed = 3 + 2 + 4, 2 + 1  # its rack, twice, and no loss; racks of the assignor, and hints
    assert certificate.percent == 100 * passed // (passed + failed)
    assert certificate.reaches(wanted) == reached


def test_junit_has_a_case_for_each_check_with_failures_and_skips_in_the_usual_form():
    facts = facts_of(consumer("a", "\x00"))
    checks = checks_of(facts)
    root = ET.fromstring(junit_of(checks, "./worker <&>", {"grade": "D"}, "host", "2026-01-31T12:00:00", 1.5))
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    required = {"name", "timestamp", "hostname", "tests", "failures", "errors", "time"}
    assert required <= set(suite.attrib)
    assert [child.tag for child in suite] == [
        "properties",
        *["testcase"] * len(CHECKS),
        "system-out",
        "system-err",
    ]
    cases = suite.findall("testcase")
    assert all(set(case.attrib) == {"classname", "name", "time"} for case in cases)
    found = Counter(child.tag for case in cases for child in case)
    verdicts = Counter(check.verdict for check in checks)
    assert (found["failure"], found["skipped"]) == (verdicts["fail"], verdicts["not seen"])
    assert (suite.get("failures"), suite.get("skipped")) == (str(verdicts["fail"]), str(verdicts["not seen"]))
    assert all(set(one.attrib) == {"message", "type"} for one in suite.iter("failure"))
    assert suite.findtext("system-out") == "./worker <&>"


def test_json_says_what_was_asked_and_what_was_seen():
    printed = to_json(certificate_of(["worker"], facts_of(consumer("a", "a")), Prices()))
    assert [check["check"] for check in printed["checks"]] == [name for name, *_ in CHECKS]
    assert printed["clients"][0]["fetch_racks"] == {"a": 1}
