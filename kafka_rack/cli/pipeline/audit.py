"""kafka-rack pipeline audit: ``kafka-rack audit`` for a fleet of clusters."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kafka_rack.audit import KINDS
from kafka_rack.cli import DONE, FAILED, FINDINGS, CommandError, UsageError
from kafka_rack.cli.command import Arguments, command
from kafka_rack.cli.commands.audit import judging_options
from kafka_rack.cli.options.brokers import broker_options, brokers_of
from kafka_rack.cli.options.places import check_places
from kafka_rack.cli.options.shared import format_option
from kafka_rack.cli.output.results import first_rows
from kafka_rack.cli.output.tables import table
from kafka_rack.cli.pipeline.captures import inputs_argument
from kafka_rack.cli.pipeline.running import job_module, required_out_option, run_on_spark, spark_options
from kafka_rack.plurals import counted

if TYPE_CHECKING:
    from kafka_rack.pipeline.audit.job import Fleet

MAX_CLUSTERS, MAX_PROBLEMS = 20, 5
"""Of more, a screen names the table that has them."""


@command()
@inputs_argument
@required_out_option
@judging_options
@broker_options
@spark_options
@format_option
def audit(arguments: Arguments) -> int:
    """Audit a fleet: read descriptions of clusters, write tables of violations, what-ifs and repairs.

    IN is a file or a folder of them: .json as kafka-rack audit --layout reads it, .jsonl with one a line, plain or
    gzip. A text name in it names the cluster. --brokers describes the brokers of descriptions that name none.

    Tables below --out, and audit.json:
      clusters    a row each, the worst first    what_if   the cost of each rack's and each broker's failure
      violations  a row for each partition       repairs   the fewest moves that fix shared racks
      problems    what could not be read

    Exit code 3 if anything was found, 1 if a description could not be read.

    Examples:
      kafka-rack pipeline audit fleet/ --out audits/
      kafka-rack pipeline audit eu.json us.jsonl.gz --out audits/ --min-insync-replicas 2 --ignore skew --format json
    """
    check_places(arguments.inputs, arguments.out)
    if arguments.brokers is None and (arguments.racks or arguments.fenced):
        raise UsageError("--racks and --fenced need --brokers")
    brokers = None if arguments.brokers is None else brokers_of(arguments)
    job = job_module("audit.job")
    ignored = tuple(arguments.ignore)
    asked = job.AuditQuestion(arguments.min_insync_replicas, arguments.skew, ignored, arguments.min_insync_racks)

    how = {"asked": asked, "brokers": brokers, "tasks": arguments.tasks}
    try:
        fleet: Fleet = run_on_spark(
            arguments,
            lambda spark: job.audit_fleet(spark, arguments.inputs, arguments.out, **how),
            lambda found: counted(len(found.clusters), "cluster"),
        )
    except job.NothingToAudit as error:
        raise CommandError(str(error)) from None
    sys.stdout.write(job.as_json(fleet) if arguments.format == "json" else as_text(fleet, arguments.out))
    if fleet.problems:
        return FAILED
    return FINDINGS if fleet.bad_clusters else DONE


def as_text(fleet: Fleet, out: str) -> str:
    """One screen: the worst clusters, what was found, what could not be read."""
    total = len(fleet.clusters)
    lines = [f"{counted(total, 'cluster')}, {counted(fleet.partitions, 'partition')}: findings in {fleet.bad_clusters}"]
    bad = [row for row in fleet.clusters if row["findings"]]
    if bad:
        columns = ["cluster", "worst finding", "partitions with it", "of", "findings", "brokers", "racks"]
        columns += ["worst rack", "unwritable without it", "lost with it", "moves to fix"]
        names = ["cluster", "worst", "worst_partitions", "partitions", "findings", "brokers", "racks"]
        names += ["worst_rack", "worst_rack_unwritable", "worst_rack_lost", "repair_moves"]
        rows, more = [[row[name] for name in names] for row in bad], " with findings: see the table clusters"
        lines += ["", first_rows(columns, rows, MAX_CLUSTERS, "cluster", more)]
        kinds = [
            [kind, sum(row[kind.replace("-", "_")] > 0 for row in bad), count, KINDS[kind]]
            for kind, count in fleet.findings.items()
            if count
        ]
        lines += ["", table(["finding", "clusters", "findings", "what"], kinds)]
    if fleet.problems:
        lines += ["", f"{counted(len(fleet.problems), 'place')} could not be read:"]
        for row in fleet.problems[:MAX_PROBLEMS]:
            where = row["file"] if row["line"] is None else f"{row['file']}, line {row['line']}"
            lines.append(f"  {where}: {row['reason']}")
        if len(fleet.problems) > MAX_PROBLEMS:
            lines.append(f"  and {len(fleet.problems) - MAX_PROBLEMS} more: see the table problems")
    return "\n".join([*lines, "", f"Tables and audit.json are in {out}", ""])
