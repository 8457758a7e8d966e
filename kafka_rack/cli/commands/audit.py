"""Find what is wrong with a cluster's racks, live or in a file; exit code 3 when there is anything.

Copies that share a rack while another has none, more replicas than racks, partitions that one failed rack makes
unwritable or takes altogether, uneven racks and skew, missing racks, and rack names that almost match.

Examples:
  kafka-rack audit --bootstrap-server localhost:9092
  kafka-rack audit --layout cluster.json --format json
  kafka-rack audit --layout plan.json --brokers 0:a,1:a,2:b --min-insync-replicas 2
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

from kafka_rack.audit import DEFAULT_SKEW, KINDS, Audit, Finding, audit
from kafka_rack.cli import DONE, FINDINGS, UsageError
from kafka_rack.cli.options.layout import (
    add_layout_arguments,
    add_output_arguments,
    layout_given,
    plan_in_file,
    told,
    wanted_topics,
)
from kafka_rack.cli.options.whole_numbers import MAX_ID, whole_number
from kafka_rack.cli.output.tables import table
from kafka_rack.cluster_layout import after_plan
from kafka_rack.plurals import counted
from kafka_rack.reassignment import current_plan_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_layout_arguments(parser)
    parser.add_argument("--topic", action="append", metavar="NAME", help="look at this topic; repeatable; default: all")
    parser.add_argument("--plan", metavar="FILE", help="look at the cluster as it will be once this plan is done")
    add_judging_arguments(parser)
    add_output_arguments(parser)


def add_judging_arguments(parser: argparse.ArgumentParser) -> None:
    """What is a finding, for one cluster or a fleet."""
    parser.add_argument(
        "--min-insync-replicas",
        type=whole_number(MAX_ID),
        metavar="N",
        help="of topics whose own is not known; default: 1, as Kafka's",
    )
    parser.add_argument(
        "--skew",
        type=float,
        default=DEFAULT_SKEW,
        metavar="TIMES",
        help=f"how many times its even share of leaders or replicas a broker may hold; default: {DEFAULT_SKEW:g}",
    )
    parser.add_argument(
        "--ignore", action="append", default=[], choices=sorted(KINDS), metavar="KIND", help="findings to leave out"
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.min_insync_replicas is not None and arguments.min_insync_replicas < 1:
        raise UsageError(f"--min-insync-replicas: expected 1 or more, got {arguments.min_insync_replicas}")
    if not arguments.skew >= 1:
        raise UsageError(f"--skew: expected 1 or more, got {arguments.skew:g}")
    layout = layout_given(arguments)
    if arguments.plan:
        entries = plan_in_file(arguments.plan)
        told(arguments.plan, lambda: current_plan_of(layout, entries))
        layout = after_plan(layout, entries)
    layout = wanted_topics(arguments, layout)
    found = audit(layout, min_insync_replicas=arguments.min_insync_replicas, skew=arguments.skew)
    findings = [finding for finding in found.findings if finding.kind not in arguments.ignore]
    print(audit_json(found, findings) if arguments.format == "json" else audit_tables(found, findings))
    return FINDINGS if findings else DONE


def audit_json(found: Audit, findings: Sequence[Finding]) -> str:
    return json.dumps(
        {
            "partitions": found.partitions,
            "findings": [
                {
                    **asdict(finding),
                    "partitions": [{"topic": name, "partition": number} for name, number in finding.partitions],
                }
                for finding in findings
            ],
            "racks": [asdict(rack) for rack in found.racks],
            "brokers": [asdict(broker) for broker in found.brokers],
        },
        indent=2,
    )


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
