"""kafka-rack availability: what outages cost. ``kafka-rack pipeline availability`` is the same on Spark."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_rack.availability import DEFAULT_TRIALS, PLACERS, kafka_1736_table, steps_of
from kafka_rack.availability.kafka_1736 import NOTE
from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.command import Arguments, Decorator, command, flag, option, section, together
from kafka_rack.cli.options.shared import format_option, racks_option, seed_option
from kafka_rack.cli.options.text_files import read_json
from kafka_rack.cli.options.types import FILE, MAX_BROKERS, Name, WholeNumber, Words
from kafka_rack.cli.output.tables import table
from kafka_rack.errors import InputError
from kafka_rack.pipeline.availability.grid import (
    AXES,
    KAFKA_1736_GRID,
    UNSET,
    Point,
    Skipped,
    grids_of,
    points_of,
    values_in_text,
)
from kafka_rack.pipeline.availability.survey import Survey, as_json, row_or_reason, survey_of
from kafka_rack.plurals import counted

MAX_TRIALS = 100_000_000
MAX_STEPS = 500_000_000
"""Of one row without Spark: about two minutes of a core."""
MAX_ROWS = 24
"""Of more rows a screen shows a summary by placer."""
LISTS = {"brokers": "--broker-counts", "racks": "--rack-counts", "placer": "--placers"}
OPTIONS = {name: f"--{name.replace('_', '-')}" for name in AXES} | LISTS
"""Axis -> its option; several values of those that name one value elsewhere come from a file alone."""
HEADINGS = {
    "replication_factor": "rf",
    "min_insync_replicas": "min.isr",
    "p_any_unwritable": "p(any unwritable)",
    "p_any_lost": "p(any lost)",
}


def axis(name: str, help_text: str) -> Decorator[Any]:
    kinds: dict[str, Any] = {"placer": Name("NAME,...", lambda: ("all", *PLACERS)), "partitions": WholeNumber(1)}
    kinds |= dict.fromkeys(("replication_factor", "min_insync_replicas", "scatter_width"), WholeNumber(1, MAX_BROKERS))
    return option(OPTIONS[name], kinds.get(name, Words("N,...")), help_text)


grid_options = together(
    section(
        "Clusters and outages",
        axis("brokers", "Numbers of brokers: values such as 6,9,12, or ranges such as 6-48/3."),
        racks_option,
        axis("racks", "Numbers of racks, instead of their names; none: brokers without racks."),
        axis("partitions", "Number of partitions."),
        axis("replication_factor", "Replicas of each partition."),
        axis("min_insync_replicas", "min.insync.replicas; default: 2, or 1 with one replica."),
        axis("placer", f"Placers of the replicas: all, or some of {', '.join(PLACERS)}; default: rack-aware."),
        axis("scatter_width", "Scatter width of placer copyset."),
        flag("--uneven-last-group", "Let placers broker-replica and copyset form a last group of another size."),
        axis("failures", "Numbers of brokers that fail, besides those of failed racks."),
        axis("rack_failures", "Numbers of racks that fail as a whole; default: 0."),
        option("--grid", FILE, "Read values from JSON or TOML, such as partitions = [12, 96]; options replace them."),
        flag("--kafka-1736", "Answer for the clusters of the issue KAFKA-1736."),
    ),
    option(
        "--trials",
        WholeNumber(1, MAX_TRIALS),
        "Simulate this many outages where counting them all would take too long.",
        default=DEFAULT_TRIALS,
    ),
    seed_option,
)


@command()
@grid_options
@format_option
def availability(arguments: Arguments) -> int:
    """Compute what an outage costs: how likely it makes partitions unwritable, or loses their last replica.

    Examples:
      kafka-rack availability --broker-counts 6,9,12 --partitions 54 --replication-factor 3 --failures 2 --placers all
      kafka-rack availability --broker-counts 12 --racks a,b,c --partitions 96 --replication-factor 3 --failures 1
      kafka-rack availability --kafka-1736
    """
    trials, seed = arguments.trials, arguments.seed or 0
    if arguments.kafka_1736:
        found = Survey(seed, trials, kafka_1736=[row.as_dict() for row in kafka_1736_table()])
    else:
        points, skipped = points_given(arguments)
        for point in points:
            check_steps(point, trials)
        answers = [row_or_reason(point, seed, trials) for point in points]
        found = survey_of(points, answers, skipped, seed=seed, trials=trials)
        if not found.rows:
            raise CommandError(found.skipped[0]["reason"])
    sys.stdout.write(as_json(found) if arguments.format == "json" else as_text(found))
    return DONE


def points_given(arguments: Arguments) -> tuple[list[Point], list[Skipped]]:
    """The grid of a file, of KAFKA-1736 or of the options; options replace the axes of both others."""
    if arguments.grid and arguments.kafka_1736:
        raise UsageError("--grid and --kafka-1736 are both grids: expected one")
    texts = {name: getattr(arguments, flag[2:].replace("-", "_")) for name, flag in OPTIONS.items()}
    if arguments.racks:
        if texts["racks"] is not None:
            raise UsageError("expected --racks or --rack-counts, got both")
        if None in arguments.racks or len({*arguments.racks}) < len(arguments.racks):
            raise UsageError("--racks: expected different names, such as a,b,c")
        texts["racks"] = str(len(arguments.racks))
    given: dict[str, tuple[Any, ...]] = {}
    for name, text in texts.items():
        try:
            given |= {name: values_in_text(name, str(text))} if text is not None else {}
        except InputError as error:
            raise UsageError(f"{OPTIONS[name]}:{str(error).partition(':')[2]}") from None
    missing = [OPTIONS[name] for name in AXES if name not in {**UNSET, **given}]
    if missing and not arguments.grid and not arguments.kafka_1736:
        raise UsageError(f"expected {', '.join(missing)}, or --grid or --kafka-1736")
    grids: list[dict[str, tuple[Any, ...]]] = [dict(KAFKA_1736_GRID)] if arguments.kafka_1736 else [{}]
    try:
        if arguments.grid:
            grids = grids_of(read_json(arguments.grid))
        return points_of([{**grid, **given} for grid in grids], uneven_last_group=arguments.uneven_last_group)
    except InputError as error:
        raise UsageError(f"{arguments.grid}: {error}" if arguments.grid else str(error)) from None


def check_steps(point: Point, trials: int) -> None:
    """Refuse work that takes longer than anyone waits. Raises CommandError."""
    steps = steps_of(point.question, trials)
    if steps > MAX_STEPS:
        raise CommandError(
            f"--broker-counts {point.question.brokers} with placer {point.question.placer} would take about "
            f"{steps / MAX_STEPS:,.0f} times the two minutes that a row may take: choose fewer brokers, partitions, "
            "failures or trials, or kafka-rack pipeline availability"
        )


def as_text(found: Survey, out: str | None = None) -> str:
    """One screen: the rows, or a summary of each placer if they are many, and a conclusion."""
    parts = []
    if found.rows:
        parts = [found.said, by_placer(found.rows) if len(found.rows) > MAX_ROWS else all_rows(found.rows)]
    if found.kafka_1736:
        columns = ["brokers", "broker-replica", "the issue's", "its noise", "random: uniform sets", "random: unaware"]
        columns += ["the issue's", "share unwritable"]
        cells = [
            [f"{value:.6f}" if isinstance(value, float) else value for value in row.values()]
            for row in found.kafka_1736
        ]
        parts.append(
            "KAFKA-1736: the chance that any of 54 partitions (RF 3, min.insync.replicas 2) is unwritable when 2 "
            f"brokers fail, exact\n\n{table(columns, cells)}"
        )
    if found.skipped:
        reasons = Counter(one["reason"] for one in found.skipped)
        (reason, count), more = reasons.most_common(1)[0], len(reasons) - 1
        skipped = f"{counted(len(found.skipped), 'combination')} skipped"
        parts.append(f"{skipped}, {count} of them: {reason}" if more else f"{skipped}: {reason}")
    parts.append(NOTE if found.kafka_1736 and not found.rows else conclusion(found.rows))
    if out is not None:
        parts.append(f"Tables and availability.json are in {out}")
    return "\n\n".join(part for part in parts if part) + "\n"


def conclusion(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows with the lowest and the highest risk, in a sentence each.

    >>> row = {"placer": "unaware", "brokers": 6, "failures": 1, "rack_failures": 0}
    >>> conclusion([{**row, "p_any_unwritable": 0.5, "p_any_lost": 0.0}])
    'With placer unaware on 6 brokers, 50 % of outages of 1 broker make a partition unwritable, and 0 % lose one.'
    """
    risks = sorted(rows, key=lambda row: (row["p_any_lost"], row["p_any_unwritable"]))
    if not risks:
        return ""
    first, last = sentence(risks[0]), sentence(risks[-1])
    if len(risks) == 1:
        return f"W{first[1:]}"
    if risk_of(risks[0]) == risk_of(risks[-1]):
        return f"All {len(risks)} rows have the same risk: {first}"
    return f"Lowest risk: {first}\nHighest risk: {last}"


def risk_of(row: Mapping[str, Any]) -> tuple[float, float]:
    return row["p_any_unwritable"], row["p_any_lost"]


def sentence(row: Mapping[str, Any]) -> str:
    failed = [counted(row["rack_failures"], "rack")] if row["rack_failures"] else []
    failed += [counted(row["failures"], "broker")] if row["failures"] or not failed else []
    unwritable, lost = (f"{100 * chance:.3g} %" for chance in risk_of(row))
    return (
        f"with placer {row['placer']} on {row['brokers']} brokers, {unwritable} of outages of {' and '.join(failed)} "
        f"make a partition unwritable, and {lost} lose one."
    )


def all_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Every row, with the columns that vary and the answers."""
    asked = ["brokers", "racks", "partitions", "replication_factor", "min_insync_replicas", "placer"]
    asked += ["asked_scatter_width", "failures", "rack_failures"]
    varying = [
        name for name in asked if name in ("brokers", "placer") or len({json.dumps(row[name]) for row in rows}) > 1
    ]
    answers = ["p_any_unwritable", "share_unwritable", "p_any_lost", "copysets", "scatter_width", "method", "error"]
    columns = [*varying, *answers, "worst_leader_load"]
    headings = [HEADINGS.get(name, name.replace("_", " ")) for name in columns]
    return table(headings, [[row[name] for name in columns] for row in rows])


def by_placer(rows: Sequence[Mapping[str, Any]]) -> str:
    """For each placer the range of its chances."""
    lines = []
    for placer in sorted({row["placer"] for row in rows}):
        own = [row for row in rows if row["placer"] == placer]
        tried = [row["error"] for row in own if row["error"]]
        chances = [[row[name] for row in own] for name in ("p_any_unwritable", "p_any_lost")]
        figures = [figure for found in chances for figure in (min(found), sum(found) / len(found), max(found))]
        lines.append([placer, len(own), len(tried), *figures, max(tried, default=None)])
    columns = [f"{which} p({what})" for what in ("unwritable", "lost") for which in ("least", "mean", "most")]
    return table(["placer", "rows", "tried", *columns, "largest error"], lines)
