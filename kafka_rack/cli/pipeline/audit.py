"""Audit a fleet: many clusters' descriptions in, tables of violations, what-ifs and repairs out, on Spark.

IN is a file or a folder of them: `.json` as `kafka-rack audit --layout` takes it, `.jsonl` with one such a line, plain
or gzip. A text `name` in it names the cluster. What cannot be read is in the table `problems`. Below --out:
  clusters    a row each, the worst first    what_if   the cost of each rack's and each broker's failure
  violations  a row for each partition       repairs   the fewest moves that mend shared racks
and audit.json. Exit code 3 when anything was found, 1 when a description could not be read.

Examples:
  kafka-rack pipeline audit fleet/ --out audits/
  kafka-rack pipeline audit eu.json us.jsonl.gz --out audits/ --min-insync-replicas 2 --ignore skew --format json
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from kafka_rack.audit import KINDS
from kafka_rack.cli import DONE, FAILED, FINDINGS, CommandError, UsageError
from kafka_rack.cli.commands.audit import add_judging_arguments
from kafka_rack.cli.options.brokers import add_broker_arguments, brokers_of
from kafka_rack.cli.options.places import check_places
from kafka_rack.cli.output.tables import table
from kafka_rack.cli.pipeline.running import (
    add_spark_arguments,
    add_tasks_argument,
    check_spark_arguments,
    run_on_spark,
    say_done,
    told_in_one_line,
)
from kafka_rack.plurals import counted

if TYPE_CHECKING:
    from kafka_rack.pipeline.audit.job import Fleet

MAX_CLUSTERS, MAX_PROBLEMS = 20, 5
"""What a screen takes; the tables have all."""
MAX_TASKS = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="+", metavar="IN", help="descriptions of clusters, or folders of them")
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="where the tables go; an earlier run's are replaced"
    )
    add_judging_arguments(parser)
    add_broker_arguments(parser)
    add_tasks_argument(parser, "how many tasks; tables do not depend on it")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="of the summary")
    add_spark_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    check_arguments(arguments)
    given = bool(arguments.brokers or arguments.brokers_file)
    if not given and (arguments.racks or arguments.fenced):
        raise UsageError("--racks and --fenced go with --brokers or --brokers-file, of descriptions that name none")
    brokers = brokers_of(arguments) if given else None
    from kafka_rack.pipeline.session import INSTALL_SPARK

    try:
        from kafka_rack.pipeline.audit.job import NothingToAudit, as_json, audit_fleet
        from kafka_rack.pipeline.audit.rows import AuditQuestion
    except ImportError as error:
        raise CommandError(f"{INSTALL_SPARK} ({error})") from None
    asked = AuditQuestion(arguments.min_insync_replicas, arguments.skew, tuple(arguments.ignore))
    since_s = time.monotonic()

    def work(spark: Any) -> Fleet:
        how = {"asked": asked, "brokers": brokers, "tasks": arguments.tasks}
        return audit_fleet(spark, arguments.inputs, arguments.out, **how)

    with told_in_one_line(arguments.out):
        try:
            fleet = run_on_spark(arguments, work, "auditing")
        except NothingToAudit as error:
            raise CommandError(str(error)) from None
    sys.stdout.write(as_json(fleet) if arguments.format == "json" else as_text(fleet, arguments.out))
    say_done(arguments, counted(len(fleet.clusters), "cluster"), since_s)
    if fleet.problems:
        return FAILED
    return FINDINGS if fleet.bad_clusters else DONE


def check_arguments(arguments: argparse.Namespace) -> None:
    """Refuse what makes no sense before Spark starts. Raises UsageError."""
    if arguments.min_insync_replicas is not None and arguments.min_insync_replicas < 1:
        raise UsageError(f"--min-insync-replicas: expected 1 or more, got {arguments.min_insync_replicas}")
    if not arguments.skew >= 1:
        raise UsageError(f"--skew: expected 1 or more, got {arguments.skew:g}")
    if arguments.tasks is not None and not 1 <= arguments.tasks <= MAX_TASKS:
        raise UsageError(f"--tasks: expected 1 to {MAX_TASKS}, got {arguments.tasks}")
    check_places(arguments.inputs, arguments.out)
    check_spark_arguments(arguments)


def as_text(fleet: Fleet, out: str) -> str:
    """One screen: the worst clusters, what was found, what could not be read."""
    total = len(fleet.clusters)
    lines = [f"{counted(total, 'cluster')}, {counted(fleet.partitions, 'partition')}: findings in {fleet.bad_clusters}"]
    bad = [row for row in fleet.clusters if row["findings"]]
    if bad:
        columns = ["cluster", "worst finding", "partitions with it", "of", "findings", "brokers", "racks"]
        columns += ["worst rack", "unwritable without it", "lost with it", "moves to mend"]
        names = ["cluster", "worst", "worst_partitions", "partitions", "findings", "brokers", "racks"]
        names += ["worst_rack", "worst_rack_unwritable", "worst_rack_lost", "repair_moves"]
        lines += ["", table(columns, [[row[name] for name in names] for row in bad[:MAX_CLUSTERS]])]
        if len(bad) > MAX_CLUSTERS:
            lines.append(f"and {len(bad) - MAX_CLUSTERS} more with findings: see the table clusters")
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
    return "\n".join([*lines, "", f"tables and audit.json below {out}", ""])
