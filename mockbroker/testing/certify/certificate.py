"""The grade, and a certificate's forms for programs: JSON and JUnit XML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

from mockbroker.testing.certify.checks import ESSENTIAL, FAIL, NOT_SEEN, PASS, CertifyCheck, checks_of
from mockbroker.testing.certify.facts import WireFacts

GRADES = (("A", 90), ("B", 75), ("C", 60), ("D", 40), ("E", 20), ("F", 0))
"""The least percentage of each."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """``percent`` is the share of the weights of the checks that were seen and passed; ``grade`` follows from it."""

    command: tuple[str, ...]
    checks: tuple[CertifyCheck, ...]
    percent: int
    grade: str
    facts: WireFacts

    def reaches(self, wanted: str) -> bool:
        """True if this is as good as a grade, or as a percentage such as ``80`` or ``80%``."""
        if wanted.rstrip("%").isdigit():
            return self.percent >= int(wanted.rstrip("%"))
        order = [grade for grade, _ in GRADES]
        return order.index(self.grade) <= order.index(wanted.upper())


def certificate_of(command: Sequence[str], facts: WireFacts) -> Certificate:
    """Judge the facts."""
    checks = tuple(checks_of(facts))
    percent = percent_of(checks)
    return Certificate(tuple(command), checks, percent, grade_of(checks), facts)


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


def to_json(certificate: Certificate) -> dict[str, Any]:
    """Everything, for programs."""
    facts = certificate.facts
    followed = facts.tallies["preferred_replica"]
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
        "bytes": {"consumed": facts.consumed, "crossed": facts.crossed, "avoidable": facts.avoidable},
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
