"""What outages cost over a grid of clusters: every combination of the values on its axes, on Spark.

Values stand between commas, ranges are FROM-TO or FROM-TO/STEP, `none` is no racks. What can be counted is exact, the
rest is tried out with its standard error; rows are those of `kafka-rack availability` with the same seed and trials.
Combinations that cannot be are left out and listed in the table `skipped`, each with the reason.

Examples:
  kafka-rack pipeline availability --brokers 6-48/3 --rack-count none,3 --partitions 54 --replication-factor 3 \\
    --placer broker-replica,copyset,rack-aware --failures 1,2,3 --rack-failures 0,1 --out survey/
  kafka-rack pipeline availability --grid grid.toml --trials 1000000 --out survey/
  kafka-rack pipeline availability --kafka-1736 --out kafka-1736/
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.options.brokers import read_json
from kafka_rack.cli.options.places import check_places
from kafka_rack.cli.output.tables import table
from kafka_rack.cli.pipeline.running import (
    add_spark_arguments,
    check_spark_arguments,
    run_on_spark,
    say_done,
    told_in_one_line,
)
from kafka_rack.errors import InputError
from kafka_rack.plurals import counted

if TYPE_CHECKING:
    from kafka_rack.pipeline.availability.grid import Point, Skipped
    from kafka_rack.pipeline.availability.job import Survey

AXIS_HELP = {
    "brokers": "cluster sizes",
    "racks": "how many racks, to which brokers are dealt in turn; default: none",
    "partitions": "partitions",
    "replication_factor": "replicas of each partition",
    "min_insync_replicas": "default: 2, or 1 where there is one replica",
    "placer": "all, or some of broker-replica, copyset, random, rack-aware,\nstriped, unaware; default: rack-aware",
    "scatter_width": "of placer copyset",
    "failures": "brokers that fail, beside those of failed racks",
    "rack_failures": "racks that fail whole; default: 0",
}
DEFAULT_TRIALS, MAX_TRIALS = 20_000, 100_000_000
MAX_ROWS = 24
"""Rows that a screen takes; of more, the summary tells by placer."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="DIR", help="where the tables go")
    for axis, meaning in AXIS_HELP.items():
        metavar = "NAME,..." if axis == "placer" else "N,..."
        parser.add_argument(option_of(axis), dest=axis, metavar=metavar, help=meaning)
    parser.add_argument(
        "--grid",
        metavar="FILE",
        help="axes in JSON or TOML, by their names with _ for -; several grids as a list `grids`;\n"
        "an axis that is given beside it replaces the file's",
    )
    parser.add_argument(
        "--kafka-1736", action="store_true", help="that issue's clusters among larger ones, as the grid"
    )
    parser.add_argument("--uneven-last-group", action="store_true", help="of placers broker-replica and copyset")
    parser.add_argument(
        "--trials",
        type=int,
        default=DEFAULT_TRIALS,
        metavar="N",
        help="how often to try what cannot be counted; default: 20000",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="equal seeds give equal answers; default: 0")
    parser.add_argument(
        "--tasks", type=int, metavar="N", help="how many tasks; default: 3 a core. Answers do not depend on it"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table", help="of what is printed")
    add_spark_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if not 1 <= arguments.trials <= MAX_TRIALS:
        raise UsageError(f"--trials: expected 1 to {MAX_TRIALS}, got {arguments.trials}")
    tasks = arguments.tasks
    if tasks is not None and not 1 <= tasks <= 100_000:
        raise UsageError(f"--tasks: expected 1 to 100000, got {tasks}")
    check_spark_arguments(arguments)
    check_places([], arguments.out)
    points, skipped = points_given(arguments)
    from kafka_rack.pipeline.session import INSTALL_SPARK

    try:
        from kafka_rack.pipeline.availability import job
    except ImportError as error:
        raise CommandError(f"{INSTALL_SPARK} ({error})") from None
    since_s = time.monotonic()

    def work(spark: Any) -> Survey:
        answers = job.answer_points(spark, points, seed=arguments.seed, trials=arguments.trials, tasks=tasks)
        found = job.survey_of(points, answers, skipped, seed=arguments.seed, trials=arguments.trials)
        job.write(spark, found, arguments.out)
        return found

    with told_in_one_line(arguments.out):
        found = run_on_spark(arguments, work, "judging")
    sys.stdout.write(job.as_json(found) if arguments.format == "json" else as_text(found, arguments.out))
    say_done(arguments, counted(len(points), "point"), since_s)
    return DONE


def points_given(arguments: argparse.Namespace) -> tuple[list[Point], list[Skipped]]:
    """The grid of the file, of KAFKA-1736 or of the axes alone; axes on the command line come first."""
    from kafka_rack.pipeline.availability.grid import (
        AXES,
        KAFKA_1736_GRID,
        NEEDED,
        grids_of,
        points_of,
        values_in_text,
    )

    if arguments.grid and arguments.kafka_1736:
        raise UsageError("--grid and --kafka-1736 are both grids: give one")
    try:
        given = {axis: values_in_text(axis, getattr(arguments, axis)) for axis in AXES if getattr(arguments, axis)}
    except InputError as error:
        axis, colon, reason = str(error).partition(":")
        raise UsageError(f"{option_of(axis)}{colon}{reason}") from None
    missing = [f"--{axis.replace('_', '-')}" for axis in NEEDED if axis not in given]
    if missing and not arguments.grid and not arguments.kafka_1736:
        raise UsageError(f"{', '.join(missing)} must be given, or --grid or --kafka-1736")
    grids: list[dict[str, tuple[Any, ...]]] = [dict(KAFKA_1736_GRID)] if arguments.kafka_1736 else [{}]
    try:
        if arguments.grid:
            grids = grids_of(content_of(arguments.grid))
        return points_of([{**grid, **given} for grid in grids], uneven_last_group=arguments.uneven_last_group)
    except InputError as error:
        where = f"{arguments.grid}: " if arguments.grid else ""
        raise UsageError(f"{where}{error}") from None


def option_of(axis: str) -> str:
    """The option of an axis; --racks names racks everywhere."""
    return "--rack-count" if axis == "racks" else f"--{axis.replace('_', '-')}"


def content_of(path: str) -> Any:
    """A file of JSON, or of TOML where its name says so."""
    if not path.lower().endswith(".toml"):
        return read_json(path)
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is no UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from None


def as_text(found: Survey, out: str) -> str:
    """One screen: the rows, or what there is of each placer where they are many."""
    lines = [found.said, ""]
    if len(found.rows) > MAX_ROWS:
        lines += [by_placer(found), ""]
    elif found.rows:
        lines += [all_rows(found), ""]
    if found.kafka_1736:
        columns = ["brokers", "broker-replica", "the issue's", "random: uniform sets", "random: unaware", "the issue's"]
        names = ("brokers", "broker_replica", "issue_broker_replica", "random_uniform", "unaware", "issue_random")
        cells = [
            [f"{row[name]:.6f}" if isinstance(row[name], float) else row[name] for name in names]
            for row in found.kafka_1736
        ]
        lines += ["KAFKA-1736, p(any unwritable) of 54 partitions when 2 brokers fail:", table(columns, cells), ""]
    if found.skipped:
        reasons: dict[str, int] = {}
        for one in found.skipped:
            reasons[one["reason"]] = reasons.get(one["reason"], 0) + 1
        reason, count = max(reasons.items(), key=lambda item: item[1])
        more = f"; {len(found.skipped) - count} for {len(reasons) - 1} other reasons" if len(reasons) > 1 else ""
        skipped = f"{len(found.skipped)} combination{'' if len(found.skipped) == 1 else 's'} skipped"
        lines.append(f"{skipped}: {reason}" if len(reasons) == 1 else f"{skipped}, {count} of them: {reason}{more}")
    lines.append(f"tables and availability.json below {out}")
    return "\n".join(lines) + "\n"


def all_rows(found: Survey) -> str:
    """Every row, with the columns that vary and the answers."""
    asked = ["brokers", "racks", "partitions", "replication_factor", "min_insync_replicas", "placer"]
    asked += ["asked_scatter_width", "failures", "rack_failures"]
    varying = [name for name in asked if name == "placer" or len({json.dumps(row[name]) for row in found.rows}) > 1]
    answers = ["p_any_unwritable", "share_unwritable", "p_any_lost", "copysets", "scatter_width", "method", "error"]
    columns = [*varying, *answers]
    return table([name.replace("_", " ") for name in columns], [[row[name] for name in columns] for row in found.rows])


def by_placer(found: Survey) -> str:
    """For each placer how its chances lie over all its rows."""
    lines = []
    for placer in sorted({row["placer"] for row in found.rows}):
        rows = [row for row in found.rows if row["placer"] == placer]
        tried = [row["error"] for row in rows if row["error"]]
        figures = [
            f(row[name] for row in rows) for name in ("p_any_unwritable", "p_any_lost") for f in (min, mean, max)
        ]
        lines.append([placer, len(rows), len(tried), *figures, max(tried, default=None)])
    chances = [f"{which} p({what})" for what in ("unwritable", "lost") for which in ("least", "mean", "most")]
    return table(["placer", "rows", "tried", *chances, "largest error"], lines)


def mean(values: Any) -> float:
    listed = list(values)
    return float(sum(listed) / len(listed))
