"""The grade, and a certificate's forms for programs: JSON and JUnit XML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree as ET

import msgspec

from kafka_rack.locality import Prices
from kafka_rack.locality.traffic import TrafficKey
from mockbroker.testing.certify.checks import ESSENTIAL, FAIL, NOT_SEEN, PASS, CertifyCheck, checks_of
from mockbroker.testing.certify.facts import WireFacts

GRADES = (("A", 90), ("B", 75), ("C", 60), ("D", 40), ("E", 20), ("F", 0))
"""The least percentage of each."""
TERABYTE = 10**12


@dataclass(frozen=True, slots=True)
class Certificate:
    """``percent`` is the share of the weights of the checks that were seen and passed; ``grade`` follows from it."""

    command: tuple[str, ...]
    checks: tuple[CertifyCheck, ...]
    percent: int
    grade: str
    facts: WireFacts
    prices: Prices

    def reaches(self, wanted: str) -> bool:
        """True if this is as good as a grade, or as a percentage such as ``80`` or ``80%``."""
        if wanted.rstrip("%").isdigit():
            return self.percent >= int(wanted.rstrip("%"))
        order = [grade for grade, _ in GRADES]
        return order.index(self.grade) <= order.index(wanted.upper())


def certificate_of(command: Sequence[str], facts: WireFacts, prices: Prices) -> Certificate:
    """Judge the facts."""
    checks = tuple(checks_of(facts))
    percent = percent_of(checks)
    return Certificate(tuple(command), checks, percent, grade_of(checks), facts, prices)


def percent_of(checks: Sequence[CertifyCheck]) -> int:
    """The share that passed of what was seen, by weight, rounded down."""
    seen = sum(check.weight for check in checks if check.verdict != NOT_SEEN)
    passed = sum(check.weight for check in checks if check.verdict == PASS)
    return 100 * passed // seen if seen else 0


def grade_of(checks: Sequence[CertifyCheck]) -> str:
    """A letter: F where records are lost, no better than D where an essential check fails, else by percentage.

    >>> from mockbroker.testing.certify.checks import CertifyCheck
    >>> grade_of([CertifyCheck("fetch_rack", "", 3, "pass", ""), CertifyCheck("no_loss", "", 4, "pass", "")])
    'A'
    >>> grade_of([CertifyCheck("fetch_rack", "", 3, "fail", ""), CertifyCheck("no_loss", "", 97, "pass", "")])
    'D'
    """
    failed = {check.id for check in checks if check.verdict == FAIL}
    if "no_loss" in failed:
        return "F"
    percent = percent_of(checks)
    found = next(grade for grade, least in GRADES if percent >= least)
    return max(found, "D") if failed & set(ESSENTIAL) else found


@dataclass(frozen=True, slots=True)
class Crossing:
    """Bytes of one category: all, those that crossed, those of them that a fix saves, and what crossing costs.

    ``a_terabyte_costs`` is the price of moving 10^12 bytes in the same proportions, ``avoidable_of_it`` its part that a
    fix saves for certain.
    """

    category: str
    bytes: int
    crossed: int
    avoidable: int
    perhaps_avoidable: int
    a_terabyte_costs: Decimal
    avoidable_of_it: Decimal
    currency: str


def crossings(certificate: Certificate) -> list[Crossing]:
    """One for each category that was seen."""
    found = []
    for category in ("consume", "produce", "other"):
        sizes = {key: size for key, size in certificate.facts.traffic.items() if key.category == category}
        total = sum(sizes.values())
        if not total:
            continue
        crossed = {key: size for key, size in sizes.items() if key.locality == "cross"}
        saved = {key: size for key, size in crossed.items() if key.saves}
        perhaps = sum(size for key, size in crossed.items() if key.at_most and not key.saves)
        costs = price(certificate, crossed, total), price(certificate, saved, total)
        amounts = (total, sum(crossed.values()), sum(saved.values()), perhaps)
        found.append(Crossing(category, *amounts, *costs, certificate.prices.currency))
    return found


def price(certificate: Certificate, sizes: Mapping[TrafficKey, int], total: int) -> Decimal:
    """The cost of these bytes if ``total`` were a terabyte."""
    money = Decimal(0)
    for key, size in sizes.items():
        sender, receiver = key.broker_rack or "", key.client_rack or ""
        if key.category == "produce":
            sender, receiver = receiver, sender
        money += certificate.prices.cost(sender, receiver, size * TERABYTE // total)
    return money.quantize(Decimal("0.000001"))


def to_json(certificate: Certificate) -> dict[str, Any]:
    """Everything, for programs. Money is text, exact."""
    facts = certificate.facts
    followed = facts.tallies["preferred_replica"]
    reasons: Counter[tuple[str, str, str | None]] = Counter()
    for key, size in facts.traffic.items():
        reasons[key.category, key.locality, key.reason] += size
    return {
        "command": list(certificate.command),
        "racks": facts.racks,
        "grade": certificate.grade,
        "percent": certificate.percent,
        "checks": [check.to_json() for check in certificate.checks],
        "clients": [
            {
                "rack": client.rack,
                "client_id": client.client_id,
                "software": client.software,
                "group": client.group,
                "calls": dict(sorted(client.calls.items())),
                "fetch_versions": sorted(client.fetch_versions),
                "produce_versions": sorted(client.produce_versions),
                "fetch_racks": dict(sorted(client.fetch_racks.items())),
                "subscription": client.subscription._asdict() if client.subscription else None,
                "assigned": sorted([topic, index] for topic, index in client.assignment),
            }
            for _, client in sorted(facts.clients.items(), key=lambda one: (one[0][0], one[0][1] or ""))
        ],
        "bytes": [
            {"category": category, "locality": locality, "reason": reason, "bytes": size}
            for (category, locality, reason), size in sorted(reasons.items(), key=str)
        ],
        "crossings": msgspec.to_builtins(crossings(certificate)),
        "redirects": {"followed": followed.right, "not_followed": followed.wrong},
        "fed": facts.fed,
        "acknowledged": facts.acknowledged_records,
        "outage_rack": facts.outage_rack,
        "unfinished": facts.unfinished,
        "cut_short": facts.cut_short,
        "failures": facts.failures,
    }


def junit_of(
    checks: Sequence[CertifyCheck], subject: str, properties: Mapping[str, str], host: str, started: str, seconds: float
) -> str:
    """JUnit XML: a test case for each check, skipped if it neither passed nor failed.

    Args:
        subject: the program or server.
        host: the machine's name.
        started: as ``2026-01-31T12:00:00``.
    """
    failed = sum(check.verdict == FAIL for check in checks)
    skipped = sum(check.verdict not in (PASS, FAIL) for check in checks)
    counts = {"tests": str(len(checks)), "failures": str(failed), "errors": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(
        suites,
        "testsuite",
        {
            "name": "kafka-rack certify",
            "timestamp": started,
            "hostname": host,
            **counts,
            "skipped": str(skipped),
            "time": f"{seconds:.3f}",
        },
    )
    listed = ET.SubElement(suite, "properties")
    for name, value in properties.items():
        ET.SubElement(listed, "property", {"name": name, "value": value})
    for check in checks:
        case = ET.SubElement(suite, "testcase", {"classname": "kafka-rack.certify", "name": check.id, "time": "0.000"})
        if check.verdict == FAIL:
            failure = ET.SubElement(case, "failure", {"message": printable(check.evidence), "type": "certify"})
            failure.text = printable(f"{check.question}? {check.evidence}; {check.remedy}")
        elif check.verdict != PASS:
            ET.SubElement(case, "skipped", {"message": printable(check.evidence)})
    ET.SubElement(suite, "system-out").text = printable(subject)
    ET.SubElement(suite, "system-err").text = ""
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def printable(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return "".join(one if one in "\t\n" or one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)
