"""kafka-rack audit: what is wrong with a cluster's racks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kafka_rack.audit import DEFAULT_SKEW, KINDS, Audit, Finding
from kafka_rack.audit import audit as audited
from kafka_rack.cli import DONE, FINDINGS
from kafka_rack.cli.command import Arguments, command, option, section
from kafka_rack.cli.options.cluster import (
    about,
    chosen_topics,
    layout_given,
    layout_options,
    plan_in_file,
    topics_argument,
)
from kafka_rack.cli.options.shared import format_option
from kafka_rack.cli.options.types import Number, OneName, WholeNumber, Words
from kafka_rack.cli.output.results import show_as
from kafka_rack.cli.output.tables import table
from kafka_rack.cluster_layout import after_plan
from kafka_rack.plurals import counted
from kafka_rack.reassignment import current_plan_of

judging_options = section(
    "Findings",
    option(
        "--min-insync-replicas",
        WholeNumber(1),
        "min.insync.replicas of topics that do not report it; default: 1, as in Kafka.",
    ),
    option(
        "--min-insync-racks",
        WholeNumber(1),
        "Report partitions whose in-sync replicas are in fewer racks than this (KIP-1290).",
        default=1,
    ),
    option(
        "--skew",
        Number(1, "TIMES"),
        "Report a broker with more than this many times its even share of leaders or replicas.",
        default=DEFAULT_SKEW,
    ),
    option(
        "--ignore", OneName("KIND", lambda: sorted(KINDS)), "Leave out this finding; repeat for more.", multiple=True
    ),
)


@command()
@topics_argument
@layout_options
@option("--plan", Words("FILE|-"), "Audit the cluster as it will be after this plan of reassignments.")
@judging_options
@format_option
def audit(arguments: Arguments) -> int:
    """Find what is wrong with a cluster's racks, real or in a file; exit code 3 if anything is.

    Finds copies that share a rack while another has none, more replicas than racks, partitions that a failed rack makes
    unwritable or loses, uneven racks and skew, missing racks, and rack names that almost match.

    KIND is in-sync-racks, lost-with-rack, missing-racks, rack-names, replication-factor-above-racks, shared-rack, skew,
    uneven-racks, unknown-brokers, unwritable-now or unwritable-with-rack.

    Examples:
      kafka-rack audit --bootstrap-server localhost:9092
      kafka-rack audit orders payments --layout cluster.json --format json
      kafka-rack audit --layout plan.json --brokers 0:a,1:a,2:b --min-insync-replicas 2
    """
    layout = layout_given(arguments)
    if arguments.plan:
        entries = plan_in_file(arguments.plan)
        about(arguments.plan, lambda: current_plan_of(layout, entries))
        layout = after_plan(layout, entries)
    layout = chosen_topics(layout, arguments.topics)
    least, racks = arguments.min_insync_replicas, arguments.min_insync_racks
    found = audited(layout, min_insync_replicas=least, min_insync_racks=racks, skew=arguments.skew)
    findings = [finding for finding in found.findings if finding.kind not in arguments.ignore]
    show_as(arguments.format, audit_json(found, findings), audit_tables(found, findings))
    return FINDINGS if findings else DONE


def audit_json(found: Audit, findings: Sequence[Finding]) -> dict[str, Any]:
    partitions = [[{"topic": name, "partition": number} for name, number in one.partitions] for one in findings]
    return {
        "partitions": found.partitions,
        "findings": [asdict(one) | {"partitions": own} for one, own in zip(findings, partitions, strict=True)],
        "racks": [asdict(rack) for rack in found.racks],
        "brokers": [asdict(broker) for broker in found.brokers],
    }


def audit_tables(found: Audit, findings: Sequence[Finding]) -> str:
    racks = table(
        ["rack", "brokers", "leaders", "replicas", "unwritable without it", "lost with it"],
        [[rack.rack, rack.brokers, rack.leaders, rack.replicas, rack.unwritable, rack.lost] for rack in found.racks],
    )
    brokers = table(
        ["broker", "rack", "leaders", "replicas", ""],
        [[one.broker, one.rack, one.leaders, one.replicas, "down" if one.fenced else ""] for one in found.brokers],
    )
    if findings:
        lines = [[finding.kind, finding.where, finding.text] for finding in findings]
        said = table(["finding", "where", "what"], lines)
    else:
        said = f"Nothing found in {counted(found.partitions, 'partition')}."
    return f"{said}\n\n{racks}\n\n{brokers}"
