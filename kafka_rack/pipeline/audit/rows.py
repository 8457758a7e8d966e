"""A cluster's rows in the tables of a fleet's audit, and the order of clusters by how badly off they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from kafka_rack.audit import DEFAULT_SKEW, KINDS, Audit, Finding, audit
from kafka_rack.cluster_layout import ClusterLayout
from kafka_rack.errors import KafkaRackError
from kafka_rack.failures import what_ifs
from kafka_rack.pipeline.audit.descriptions import Described
from kafka_rack.pipeline.tables import schema_of
from kafka_rack.rack_names import rack_hints
from kafka_rack.reassignment import repair

Row = dict[str, Any]


def column_of(kind: str) -> str:
    """The column that counts findings of a kind.

    >>> column_of("lost-with-rack")
    'lost_with_rack'
    """
    return kind.replace("-", "_")


WHICH = "cluster string, file string, line int"
"""Which cluster a row is of: ``line`` where a file has one a line."""
SCHEMAS = {
    "clusters": schema_of(
        f"{WHICH}, worst string, worst_partitions int, findings int, brokers int, racks int, topics int, "
        f"partitions int, diskless_topics int, {', '.join(f'{column_of(kind)} int' for kind in KINDS)}, "
        "brokers_without_rack array<int>, hints array<string>, worst_rack string, worst_rack_unwritable int, "
        "worst_rack_lost int, repair_moves int, repair_partitions int, repair_left_alone int, repair_note string"
    ),
    "violations": schema_of(
        f"{WHICH}, kind string, where string, topic string, partition int, replicas array<int>, rack string, "
        "brokers array<int>, detail string"
    ),
    "what_if": schema_of(
        f"{WHICH}, fails string, rack string, broker int, unwritable int, lost int, busiest_broker int, "
        "busiest_leaders int"
    ),
    "repairs": schema_of(
        f"{WHICH}, topic string, partition int, source int, target int, source_rack string, target_rack string, "
        "takes_leader boolean, reason string"
    ),
    "problems": schema_of("file string, line int, reason string"),
}


class AuditQuestion(NamedTuple):
    """The question of an audit, as ``kafka-rack audit`` takes it; ``ignore`` are kinds of findings to leave out."""

    min_insync_replicas: int | None = None
    skew: float = DEFAULT_SKEW
    ignore: tuple[str, ...] = ()
    min_insync_racks: int = 1


def rows_of(described: Described, asked: AuditQuestion = AuditQuestion()) -> dict[str, list[Row]]:  # noqa: B008 - it cannot change
    """Audit a cluster: its rows by table. Diskless topics are only counted: they have no replicas to judge."""
    layout = described.layout.without_diskless()
    least, racks = asked.min_insync_replicas, asked.min_insync_racks
    found = audit(layout, min_insync_replicas=least, min_insync_racks=racks, skew=asked.skew)
    findings = [one for one in found.findings if one.kind not in asked.ignore]
    moves, plan = repair_rows(layout)
    what_if = [asdict(one) for one in what_ifs(layout, min_insync_replicas=asked.min_insync_replicas)]
    cluster = {
        **counts(findings),
        "brokers": len(layout.brokers),
        "racks": len(layout.racks),
        "topics": len(layout.topics),
        "partitions": found.partitions,
        "diskless_topics": len(described.layout.topics) - len(layout.topics),
        "brokers_without_rack": sorted(broker.id for broker in layout.brokers if broker.rack is None),
        "hints": rack_hints(broker.rack for broker in layout.brokers),
        **worst_rack(found),
        **plan,
    }
    tables = {"clusters": [cluster], "violations": violations(layout, findings), "what_if": what_if, "repairs": moves}
    which = {"cluster": described.cluster, "file": described.file, "line": described.line}
    return {name: [{**which, **row} for row in rows] for name, rows in tables.items()}


def counts(findings: Sequence[Finding]) -> Row:
    """Findings by kind, and the worst kind with the partitions that it touches; None if nothing was found."""
    kinds = Counter(one.kind for one in findings)
    worst = next((kind for kind in KINDS if kinds[kind]), None)
    touched = {partition for one in findings if one.kind == worst for partition in one.partitions}
    return {
        "worst": worst,
        "worst_partitions": len(touched),
        "findings": len(findings),
        **{column_of(kind): kinds[kind] for kind in KINDS},
    }


def worst_rack(found: Audit) -> Row:
    """The rack whose failure takes most: by partitions lost, then unwritable; the first by name among equals."""
    racks = [load for load in found.racks if load.rack is not None]
    if not racks:
        return {"worst_rack": None, "worst_rack_unwritable": None, "worst_rack_lost": None}
    worst = min(racks, key=lambda load: (-(load.lost or 0), -(load.unwritable or 0), load.rack or ""))
    return {"worst_rack": worst.rack, "worst_rack_unwritable": worst.unwritable, "worst_rack_lost": worst.lost}


def violations(layout: ClusterLayout, findings: Iterable[Finding]) -> list[Row]:
    """A row for each partition of each finding; one for a finding about no partition."""
    rows = []
    for one in findings:
        said: Row = {"kind": one.kind, "where": one.where, "rack": one.rack, "detail": one.text}
        said["brokers"] = list(one.brokers)
        if not one.partitions:
            rows.append({**said, "topic": None, "partition": None, "replicas": None})
        for topic, number in one.partitions:
            replicas = list(layout.topics[topic].partitions[number].replicas)
            rows.append({**said, "topic": topic, "partition": number, "replicas": replicas})
    return rows


def repair_rows(layout: ClusterLayout) -> tuple[list[Row], Row]:
    """The moves of the plan that repairs rack violations, and its counts; a note in their place without a plan."""
    try:
        plan = repair(layout)
    except KafkaRackError as error:
        nothing = dict.fromkeys(("repair_moves", "repair_partitions", "repair_left_alone"))
        return [], {**nothing, "repair_note": str(error)}
    return [asdict(move) for move in plan.moves], {
        "repair_moves": len(plan.moves),
        "repair_partitions": len(plan.entries),
        "repair_left_alone": len(plan.left_alone),
        "repair_note": None,
    }


def severity(row: Mapping[str, Any]) -> tuple[int, int, int, str, str, int]:
    """Sorts clusters, the worst first: by the worst kind of finding, the partitions that it touches, all
    findings, then the name and its place.
    """
    rank = len(KINDS) if row["worst"] is None else list(KINDS).index(row["worst"])
    return rank, -row["worst_partitions"], -row["findings"], row["cluster"], row["file"], row["line"] or 0
