"""Propose where replicas should move, start the moves and look after them, on a live cluster or for a file.

--generate gives what Kafka's own kafka-reassign-partitions gives, byte for byte where the seed is the same: every
partition placed anew. --repair moves as few replicas as can be until no partition has two replicas in a rack while
another rack has none; leaders stay. Both print the plan of now, which takes everything back.

--execute, --verify and --cancel do what Kafka's tool does with the same files. --verify exits with 3 while anything
moves or is elsewhere than the plan has it; with --wait it looks again until nothing moves any more. Once it says that
all is done, the throttles are gone.

Examples:
  kafka-rack reassign --generate --bootstrap-server localhost:9092 --topic orders --broker-list 0,1,2,3
  kafka-rack reassign --repair --layout cluster.json --output plan.json --rollback back.json
  kafka-rack reassign --execute --bootstrap-server localhost:9092 --reassignment-json-file plan.json
  kafka-rack reassign --execute --throttle 50000000 --bootstrap-server localhost:9092 --reassignment-json-file plan.json
  kafka-rack reassign --verify --wait 3600 --bootstrap-server localhost:9092 --reassignment-json-file plan.json
  kafka-rack reassign --cancel --bootstrap-server localhost:9092 --reassignment-json-file plan.json
  kafka-rack reassign --list --bootstrap-server localhost:9092
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.live.reassignment import CURRENT, cancel, execute, list_moves, verify
from kafka_rack.cli.options.brokers import id_list
from kafka_rack.cli.options.layout import (
    add_layout_arguments,
    add_output_arguments,
    json_given,
    layout_given,
    say_hints,
    told,
    wanted_topics,
)
from kafka_rack.cli.options.whole_numbers import MAX_SEED, whole_number
from kafka_rack.cli.output.tables import table
from kafka_rack.cli.output.whole_files import write_whole
from kafka_rack.cluster_layout import ClusterLayout
from kafka_rack.errors import InputError, KafkaRackError, MissingRackError
from kafka_rack.placement import DISABLED, ENFORCED, UsableBroker
from kafka_rack.plurals import counted
from kafka_rack.reassignment import Entry, Repair, current_plan_of, entries_of, plan_json, propose, repair

PROPOSED = "Proposed partition reassignment configuration"
"""The heading of Kafka's own tool."""
MAX_WAIT_S = 7 * 86_400
MAX_RATE = 2**63 - 1
ON_LIVE_CLUSTERS = {"execute": execute, "verify": verify, "cancel": cancel, "list": list_moves}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--generate", action="store_true", help="Kafka's own proposal: all partitions placed anew")
    what.add_argument("--repair", action="store_true", help="the fewest moves that mend rack violations")
    what.add_argument("--execute", action="store_true", help="start the moves of a plan on a live cluster")
    what.add_argument("--verify", action="store_true", help="how far these moves are; once all are done, no throttles")
    what.add_argument("--cancel", action="store_true", help="call off those of these moves that are under way")
    what.add_argument("--list", action="store_true", help="the moves under way on a live cluster")
    add_layout_arguments(parser)
    parser.add_argument(
        "--topic", action="append", metavar="NAME", help="of --generate and --repair; repeatable; default: all"
    )
    parser.add_argument(
        "--topics-to-move-json-file", metavar="FILE", help='the same as {"topics": [{"topic": "orders"}], "version": 1}'
    )
    parser.add_argument("--broker-list", metavar="ID,...", help="of --generate: where to; default: all that are up")
    parser.add_argument(
        "--disable-rack-aware",
        "--ignore-racks",
        action="store_true",
        help="of --generate: as if no broker had a rack; without it brokers partly without are refused",
    )
    parser.add_argument(
        "--seed",
        type=whole_number(MAX_SEED),
        metavar="N",
        help="of --generate: the seed of java.util.Random; default: drawn",
    )
    parser.add_argument(
        "--reassignment-json-file", metavar="FILE | -", help="of --execute, --verify and --cancel: the plan"
    )
    parser.add_argument(
        "--throttle",
        type=whole_number(MAX_RATE, least=0),
        metavar="BYTES",
        help="of --execute: bytes a second that each broker may send, and receive, for these moves; default: no limit",
    )
    parser.add_argument(
        "--wait",
        type=whole_number(MAX_WAIT_S, least=0),
        metavar="SECONDS",
        help="of --verify: look again until nothing moves any more, at most so long; default: look once",
    )
    parser.add_argument("--preserve-throttles", action="store_true", help="of --verify and --cancel: let throttles be")
    parser.add_argument("--output", metavar="FILE", help="write the proposed plan, for --execute or Kafka's own tool")
    parser.add_argument("--rollback", metavar="FILE", help="write the plan of now, which takes everything back")
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    check(arguments)
    for name, work in ON_LIVE_CLUSTERS.items():
        if getattr(arguments, name):
            return work(arguments)
    layout = layout_given(arguments)
    say_hints(arguments, layout)
    try:
        return generate(arguments, layout) if arguments.generate else mend(arguments, layout)
    except MissingRackError as error:
        way_out = " with --disable-rack-aware" if arguments.generate else ""
        raise CommandError(f"{error}{way_out}") from error
    except KafkaRackError as error:
        raise CommandError(str(error)) from error


def check(arguments: argparse.Namespace) -> None:
    """Refuse options that the chosen work does not know, before anything is done."""
    chosen = next(name for name in ("generate", "repair", *ON_LIVE_CLUSTERS) if getattr(arguments, name))
    belongs = {
        "broker_list": ("generate",),
        "disable_rack_aware": ("generate",),
        "seed": ("generate",),
        "topics_to_move_json_file": ("generate", "repair"),
        "topic": ("generate", "repair"),
        "output": ("generate", "repair"),
        "rollback": ("generate", "repair", "execute"),
        "reassignment_json_file": ("execute", "verify", "cancel"),
        "throttle": ("execute",),
        "wait": ("verify",),
        "preserve_throttles": ("verify", "cancel"),
    }
    for option, works in belongs.items():
        if getattr(arguments, option) not in (None, False) and chosen not in works:
            raise UsageError(f"--{option.replace('_', '-')} does not go with --{chosen}")
    if chosen in ON_LIVE_CLUSTERS and (arguments.layout or not arguments.bootstrap_server):
        raise UsageError(f"--{chosen} is for a live cluster: give it by --bootstrap-server")
    if chosen in belongs["reassignment_json_file"] and not arguments.reassignment_json_file:
        raise UsageError(f"--{chosen} needs a plan: give it by --reassignment-json-file")
    if arguments.topic and arguments.topics_to_move_json_file:
        raise UsageError("give the topics by --topic or by --topics-to-move-json-file")
    if arguments.output and arguments.output == arguments.rollback:
        raise UsageError(f"--output and --rollback are both {arguments.output}")


# a proposal


def generate(arguments: argparse.Namespace, layout: ClusterLayout) -> int:
    """Kafka's own proposal."""
    topics = topics_to_move(arguments, layout)
    brokers = brokers_to_use(arguments, layout)
    seed = random.randrange(1 << 48) if arguments.seed is None else arguments.seed
    current = topics.replicas_by_topic()
    rack_mode = DISABLED if arguments.disable_rack_aware else ENFORCED
    proposed = propose(current, brokers, seed=seed, rack_mode=rack_mode)
    now, then = entries_of(current), entries_of(proposed)
    write_plans(arguments, now, then)
    if arguments.format == "json":
        print(json.dumps({"seed": seed, **plans_json(now, then)}, indent=2))
    else:
        print(f"{CURRENT}\n{plan_json(now)}\n\n{PROPOSED}\n{plan_json(then)}")
    return 0


def topics_to_move(arguments: argparse.Namespace, layout: ClusterLayout) -> ClusterLayout:
    """The topics that are named; else all that are not Kafka's own."""
    path = arguments.topics_to_move_json_file
    if path:
        said = json_given(path)
        arguments.topic = told(path, lambda: names_in(said))
    if arguments.topic or arguments.repair:
        return wanted_topics(arguments, layout)
    return layout.only(name for name, topic in layout.topics.items() if not topic.internal)


def names_in(said: Any) -> list[str]:
    """The topics of Kafka's topics-to-move file, which must name some."""
    topics = said.get("topics") if isinstance(said, dict) else None
    if not isinstance(topics, list) or not topics:
        raise InputError('expected {"topics": [{"topic": NAME}, ...], "version": 1} with at least one topic, got none')
    names = [entry.get("topic") if isinstance(entry, dict) else None for entry in topics]
    for at, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise InputError(f"topic at place {at}: expected an object with the name of a topic, got {topics[at]!r}")
        if name in names[:at]:
            raise InputError(f"topic {name} is given twice")
    return [str(name) for name in names]


def brokers_to_use(arguments: argparse.Namespace, layout: ClusterLayout) -> list[UsableBroker]:
    """The brokers that are up, or those of them that ``--broker-list`` names."""
    up = [broker for broker in layout.brokers if not broker.fenced]
    if arguments.broker_list is None:
        return up
    wanted = id_list(arguments.broker_list, "--broker-list")
    if not wanted:
        raise UsageError("--broker-list names no broker")
    if len(wanted) < len(arguments.broker_list.split(",")):
        raise UsageError(f"--broker-list {arguments.broker_list}: a broker is given twice")
    unknown = sorted(wanted - {broker.id for broker in up})
    if unknown:
        known = any(broker.id == unknown[0] for broker in layout.brokers)
        raise CommandError(f"--broker-list: broker {unknown[0]} is {'not up' if known else 'not in the cluster'}")
    return [broker for broker in up if broker.id in wanted]


def mend(arguments: argparse.Namespace, layout: ClusterLayout) -> int:
    """The fewest moves that mend rack violations."""
    mended = repair(layout, topics_to_move(arguments, layout).topics)
    now = current_plan_of(layout, mended.entries)
    write_plans(arguments, now, mended.entries)
    print(repair_json(mended, now) if arguments.format == "json" else repair_tables(mended, now, layout))
    return 0


def repair_json(mended: Repair, now: Sequence[Entry]) -> str:
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
        for move in mended.moves
    ]
    brokers = [
        {"broker": broker, "replicas": count, "replicas_after": mended.after[broker]}
        for broker, count in sorted(mended.before.items())
    ]
    left_alone = [{"topic": name, "partition": number, "reason": why} for name, number, why in mended.left_alone]
    return json.dumps(
        {"moves": moves, "brokers": brokers, "left_alone": left_alone, **plans_json(now, mended.entries)}, indent=2
    )


def repair_tables(mended: Repair, now: Sequence[Entry], layout: ClusterLayout) -> str:
    alone = [f"- {name}-{number} is left alone: {why}" for name, number, why in mended.left_alone]
    if not mended.moves:
        parts = ["No partition has two replicas in a rack while another rack has none: nothing moves."]
        return "\n".join([*parts, *alone])
    taken = sum(move.takes_leader for move in mended.moves)
    leaders = f"{taken} of them lead now" if taken else "no leader moves"
    head = f"{counted(len(mended.moves), 'replica')} of {counted(len(mended.entries), 'partition')} to move; {leaders}."
    moves = table(
        ["partition", "from", "rack", "to", "rack", "why"],
        [
            [
                f"{move.topic}-{move.partition}",
                move.source,
                move.source_rack,
                move.target,
                move.target_rack,
                move.reason,
            ]
            for move in mended.moves
        ],
    )
    racks = layout.rack_of
    brokers = table(
        ["broker", "rack", "replicas", "after"],
        [[broker, racks[broker], count, mended.after[broker]] for broker, count in sorted(mended.before.items())],
    )
    plans = f"{CURRENT}\n{plan_json(now)}\n\n{PROPOSED}\n{plan_json(mended.entries)}"
    return "\n\n".join([head, moves, brokers, *(["\n".join(alone)] if alone else []), plans])


def plans_json(now: Sequence[Entry], then: Sequence[Entry]) -> Mapping[str, Any]:
    return {"current": json.loads(plan_json(now)), "proposed": json.loads(plan_json(then))}


def write_plans(arguments: argparse.Namespace, now: Sequence[Entry], then: Sequence[Entry]) -> None:
    """The way back first: where it cannot be written, there is no plan either."""
    if arguments.rollback:
        write_whole(arguments.rollback, plan_json(now) + "\n")
    if arguments.output:
        write_whole(arguments.output, plan_json(then) + "\n")
