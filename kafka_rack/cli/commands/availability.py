"""What an outage costs: how likely failed brokers or racks leave partitions unwritable or without a replica.

Examples:
  kafka-rack availability --brokers 6,9,12 --partitions 54 --replication-factor 3 --failures 2 --placer broker-replica
  kafka-rack availability --brokers 12 --racks a,b,c --partitions 96 --replication-factor 3 --failures 1
  kafka-rack availability --kafka-1736        that issue's table, exact
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from kafka_rack.availability import (
    DEFAULT_TRIALS,
    PLACERS,
    Question,
    Row,
    availability_row,
    check_question,
    kafka_1736_table,
    steps_of,
)
from kafka_rack.availability.kafka_1736 import NOTE
from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.options.whole_numbers import (
    MAX_BROKERS,
    MAX_ID,
    MAX_SEED,
    check_size,
    read_number,
    shown,
    whole_number,
)
from kafka_rack.cli.output.tables import table
from kafka_rack.errors import KafkaRackError
from kafka_rack.placement import MAX_REPLICAS, SCATTER_WIDTH_SETTING, UNEVEN_SETTING

MAX_TRIALS = 100_000_000
"""Hours of work; an error of a ten-thousandth takes fewer."""
MAX_STEPS = 500_000_000
"""Of one row: about two minutes of a core."""
HEADINGS = {
    "replication_factor": "rf",
    "min_insync_replicas": "min.isr",
    "rack_failures": "rack failures",
    "p_any_unwritable": "p(any unwritable)",
    "share_unwritable": "share unwritable",
    "p_any_lost": "p(any lost)",
    "scatter_width": "scatter",
    "worst_leader_load": "worst load",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kafka-1736", action="store_true", help="print that issue's table instead")
    parser.add_argument(
        "--brokers", type=numbers, metavar="N,...", help=f"cluster sizes up to {MAX_BROKERS}, a row each"
    )
    parser.add_argument(
        "--racks",
        metavar="a,b,c",
        help="names of racks, to which brokers are dealt in turn; default: brokers without racks",
    )
    parser.add_argument(
        "--rack-count", type=whole_number(MAX_BROKERS), metavar="N", help="racks by their number, in place of names"
    )
    parser.add_argument(
        "--partitions",
        type=whole_number(MAX_ID),
        metavar="N",
        help=f"times the replication factor at most {MAX_REPLICAS} replicas",
    )
    parser.add_argument(
        "--replication-factor", type=whole_number(MAX_BROKERS), metavar="N", help="replicas of each partition"
    )
    parser.add_argument(
        "--min-insync-replicas", type=whole_number(MAX_BROKERS), metavar="N", help="2, or 1 where there is one replica"
    )
    parser.add_argument(
        "--failures",
        type=whole_number(MAX_BROKERS),
        metavar="N",
        help="brokers that fail, beside those of failed racks",
    )
    parser.add_argument(
        "--rack-failures",
        type=whole_number(MAX_BROKERS),
        default=0,
        metavar="N",
        help="racks that fail whole; default: 0",
    )
    parser.add_argument(
        "--placer",
        default="rack-aware",
        metavar="NAME,...",
        help=f"all, or some of {', '.join(PLACERS)}; default: rack-aware",
    )
    parser.add_argument("--scatter-width", type=whole_number(MAX_BROKERS), metavar="N", help="of placer copyset")
    parser.add_argument("--uneven-last-group", action="store_true", help="of placers broker-replica and copyset")
    parser.add_argument(
        "--trials",
        type=whole_number(MAX_TRIALS),
        default=DEFAULT_TRIALS,
        metavar="N",
        help=f"how often to try what cannot be counted; default: {DEFAULT_TRIALS}, at most {MAX_TRIALS}",
    )
    parser.add_argument(
        "--seed",
        type=whole_number(MAX_SEED),
        default=0,
        metavar="N",
        help="equal seeds give equal answers; default: 0",
    )
    parser.add_argument(
        "--format", choices=["table", "json"], default="table", help="for people or for programs; default: table"
    )


def numbers(text: str) -> list[int]:
    """Cluster sizes between commas."""
    return [read_number(word, MAX_BROKERS) for word in text.split(",")]


def run(arguments: argparse.Namespace) -> int:
    if arguments.kafka_1736:
        print(comparison(arguments.format))
        return 0
    wanted = ("brokers", "partitions", "replication_factor", "failures")
    missing = [f"--{name.replace('_', '-')}" for name in wanted if getattr(arguments, name) is None]
    if missing:
        raise UsageError(f"{', '.join(missing)} must be given, or --kafka-1736")
    if arguments.trials < 1:
        raise UsageError(f"--trials: expected 1 or more, got {arguments.trials}")
    check_size(arguments.partitions, arguments.replication_factor)
    settings = {}
    if arguments.scatter_width is not None:
        settings[SCATTER_WIDTH_SETTING] = str(arguments.scatter_width)
    if arguments.uneven_last_group:
        settings[UNEVEN_SETTING] = "true"
    asked = questions(arguments)
    try:
        for question in asked:
            check_question(question)
            check_steps(question, arguments.trials)
        rows = [
            availability_row(question, settings=settings, seed=arguments.seed, trials=arguments.trials)
            for question in asked
        ]
    except KafkaRackError as error:
        raise CommandError(str(error)) from error
    print(answer(rows, arguments.format))
    return 0


def check_steps(question: Question, trials: int) -> None:
    """Refuse, before any work, what would take longer than anyone waits. Raises: CommandError."""
    steps = steps_of(question, trials)
    if steps > MAX_STEPS:
        raise CommandError(
            f"--brokers {question.brokers} with placer {question.placer} would take about {steps / MAX_STEPS:,.0f} "
            "times the two minutes that a row may take: fewer --brokers, --partitions, --failures or --trials are due"
        )


def questions(arguments: argparse.Namespace) -> list[Question]:
    """A question for each cluster size and placer."""
    placers = PLACERS if arguments.placer == "all" else tuple(name.strip() for name in arguments.placer.split(","))
    unknown = [name for name in placers if name not in PLACERS]
    if unknown:
        raise UsageError(f"--placer: expected all or some of {', '.join(PLACERS)}, got {unknown[0]!r}")
    in_sync = arguments.min_insync_replicas
    racks = rack_count(arguments)
    return [
        Question(
            brokers=brokers,
            partitions=arguments.partitions,
            replication_factor=arguments.replication_factor,
            failures=arguments.failures,
            placer=placer,
            racks=racks,
            min_insync_replicas=min(2, arguments.replication_factor) if in_sync is None else in_sync,
            rack_failures=arguments.rack_failures,
        )
        for brokers in arguments.brokers
        for placer in placers
    ]


def rack_count(arguments: argparse.Namespace) -> int | None:
    """How many racks there are, by their names or by --rack-count. Raises UsageError."""
    given: str | None = arguments.racks
    if given is None:
        count: int | None = arguments.rack_count
        return count
    if arguments.rack_count is not None:
        raise UsageError("--racks and --rack-count exclude each other: give names, or their number")
    names = [name.strip() for name in given.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise UsageError(f"--racks: expected different names, as a,b,c, got {shown(given)!r}")
    return len(names)


def answer(rows: Sequence[Row], form: str) -> str:
    """A row each, as a table or as a JSON list."""
    dicts = [row.as_dict() for row in rows]
    if form == "json":
        return json.dumps(dicts, indent=2)
    return table([HEADINGS.get(name, name) for name in dicts[0]], [list(row.values()) for row in dicts])


def comparison(form: str) -> str:
    """KAFKA-1736's table, exact values beside the issue's simulated ones."""
    rows = [row.as_dict() for row in kafka_1736_table()]
    if form == "json":
        return json.dumps({"rows": rows, "note": NOTE}, indent=2)
    columns = [
        "brokers",
        "broker-replica, exact",
        "the issue's",
        "its noise",
        "random: uniform sets, exact",
        "random: Kafka's unaware, exact",
        "the issue's",
        "share unwritable",
    ]
    shown = table(
        columns, [[f"{value:.6f}" if isinstance(value, float) else value for value in row.values()] for row in rows]
    )
    return (
        "The chance that any of 54 partitions (RF 3, min.insync.replicas 2) is unwritable when 2 brokers fail:\n\n"
        f"{shown}\n\n{NOTE}"
    )
