"""kafka-rack reassign: proposals of where replicas should move."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.command import Arguments, Group, option
from kafka_rack.cli.options.cluster import chosen_topics, hints, layout_given, layout_options, topics_argument
from kafka_rack.cli.options.placement import ignore_racks_option
from kafka_rack.cli.options.shared import format_option, out_option, seed_option
from kafka_rack.cli.options.types import Numbers
from kafka_rack.cli.output.results import show_as
from kafka_rack.cli.output.tables import table
from kafka_rack.cli.output.whole_files import write_whole
from kafka_rack.cluster_layout import ClusterLayout
from kafka_rack.placement import DISABLED, ENFORCED, UsableBroker
from kafka_rack.plurals import counted
from kafka_rack.reassignment import Entry, Repair, current_plan_of, entries_of, plan_json, propose
from kafka_rack.reassignment import repair as repaired

CURRENT, PROPOSED = "Current partition replica assignment", "Proposed partition reassignment configuration"
"""The headings of Kafka's own tool."""
PLAN, ROLLBACK = "plan.json", "rollback.json"

reassign = Group(
    "reassign",
    help="""Propose where replicas should move, for a real cluster or a file.

generate prints the proposal of Kafka's kafka-reassign-partitions, byte for byte if the seed is the same. repair moves
the fewest replicas until no partition has two replicas in one rack while another rack has none; leaders stay.
kafka-reassign-partitions starts, throttles, verifies and cancels the moves of the plan.

Examples:
  kafka-rack reassign repair --bootstrap-server localhost:9092 --out moves/
  kafka-reassign-partitions.sh --bootstrap-server localhost:9092 --execute --reassignment-json-file moves/plan.json""",
)


@reassign.command("generate")
@topics_argument
@layout_options
@option("--to-brokers", Numbers("ID,..."), "Move to these brokers; default: all that are up.")
@ignore_racks_option
@seed_option
@out_option
@format_option
def generate(arguments: Arguments) -> int:
    """Propose to place every partition again, as Kafka does; all topics but Kafka's own unless some are named.

    --out writes plan.json, and rollback.json, which undoes it.
    """
    layout = layout_given(arguments)
    hints(layout)
    names = arguments.topics or [name for name, topic in layout.topics.items() if not topic.internal]
    current = chosen_topics(layout, names).replicas_by_topic() if names else {}
    brokers = brokers_to_use(arguments.to_brokers, layout)
    seed = random.randrange(1 << 48) if arguments.seed is None else arguments.seed
    proposed = propose(current, brokers, seed=seed, rack_mode=DISABLED if arguments.ignore_racks else ENFORCED)
    now, then = entries_of(current), entries_of(proposed)
    write_plans(arguments.out, now, then)
    show_as(arguments.format, {"seed": seed, **plans_json(now, then)}, plans_text(now, then))
    return DONE


@reassign.command("repair")
@topics_argument
@layout_options
@out_option
@format_option
def repair(arguments: Arguments) -> int:
    """Propose the fewest moves after which no rack holds two replicas without need.

    --out writes plan.json, and rollback.json, which undoes it.
    """
    layout = layout_given(arguments)
    hints(layout)
    found = repaired(layout, chosen_topics(layout, arguments.topics).topics)
    now = current_plan_of(layout, found.entries)
    write_plans(arguments.out, now, found.entries)
    show_as(arguments.format, repair_json(found, now), repair_tables(found, now, layout))
    return DONE


def brokers_to_use(wanted: Sequence[int] | None, layout: ClusterLayout) -> list[UsableBroker]:
    """The brokers that are up, or those of them that ``--to-brokers`` names."""
    up = [broker for broker in layout.brokers if not broker.fenced]
    if wanted is None:
        return up
    if len(set(wanted)) < len(wanted):
        raise UsageError(f"--to-brokers {','.join(map(str, wanted))}: a broker is listed twice")
    for broker in sorted({*wanted} - {broker.id for broker in up}):
        known = broker in layout.rack_of
        raise CommandError(f"--to-brokers: broker {broker} is {'not up' if known else 'not in the cluster'}")
    return [broker for broker in up if broker.id in wanted]


def repair_json(found: Repair, now: Sequence[Entry]) -> dict[str, Any]:
    moves = [
        {
            "topic": move.topic,
            "partition": move.partition,
            "from": move.source,
            "from_rack": move.source_rack,
            "to": move.target,
            "to_rack": move.target_rack,
            "takes_leader": move.takes_leader,
            "reason": move.reason,
        }
        for move in found.moves
    ]
    brokers = [
        {"broker": broker, "replicas": count, "replicas_after": found.after[broker]}
        for broker, count in sorted(found.before.items())
    ]
    left_alone = [{"topic": name, "partition": number, "reason": why} for name, number, why in found.left_alone]
    return {"moves": moves, "brokers": brokers, "left_alone": left_alone, **plans_json(now, found.entries)}


def repair_tables(found: Repair, now: Sequence[Entry], layout: ClusterLayout) -> str:
    alone = [f"- {name}-{number} is left alone: {why}" for name, number, why in found.left_alone]
    if not found.moves:
        return "\n".join(
            ["No partition has two replicas in a rack while another rack has none: nothing moves.", *alone]
        )
    taken = sum(move.takes_leader for move in found.moves)
    leaders = f"{taken} of them lead now" if taken else "no leader moves"
    moves = [
        [f"{move.topic}-{move.partition}", move.source, move.source_rack, move.target, move.target_rack, move.reason]
        for move in found.moves
    ]
    racks = layout.rack_of
    brokers = [[broker, racks[broker], count, found.after[broker]] for broker, count in sorted(found.before.items())]
    parts = [
        f"{counted(len(found.moves), 'replica')} of {counted(len(found.entries), 'partition')} to move; {leaders}.",
        table(["partition", "from", "rack", "to", "rack", "why"], moves),
        table(["broker", "rack", "replicas", "after"], brokers),
        *(["\n".join(alone)] if alone else []),
        plans_text(now, found.entries),
    ]
    return "\n\n".join(parts)


def plans_text(now: Sequence[Entry], then: Sequence[Entry]) -> str:
    return f"{CURRENT}\n{plan_json(now)}\n\n{PROPOSED}\n{plan_json(then)}"


def plans_json(now: Sequence[Entry], then: Sequence[Entry]) -> Mapping[str, Any]:
    return {"current": json.loads(plan_json(now)), "proposed": json.loads(plan_json(then))}


def write_plans(out: str | None, now: Sequence[Entry], then: Sequence[Entry]) -> None:
    """Write rollback.json first: without it there is no plan either."""
    if out is not None:
        for name, entries in ((ROLLBACK, now), (PLAN, then)):
            write_whole(str(Path(out, name)), plan_json(entries) + "\n", make_folders=True)
