"""Moves of replicas on a live cluster: begun, throttled, looked after, called off, as kafka-reassign-partitions does.

Source: KIP-73, KIP-455; ReassignPartitionsCommand, Apache Kafka 4.1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence

from kafka_rack.cli import DONE, FINDINGS, CommandError, UsageError
from kafka_rack.cli.live.cluster import (
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    LiveBroker,
    LiveCluster,
    Snapshot,
    cluster_of,
    layout_of,
)
from kafka_rack.cli.options.layout import plan_in_file, say_notes, told
from kafka_rack.cli.output.tables import table
from kafka_rack.cli.output.whole_files import write_whole
from kafka_rack.cluster_layout import ClusterLayout
from kafka_rack.java import utf16_key
from kafka_rack.plurals import counted
from kafka_rack.rack_spread import spread_of, usable_racks
from kafka_rack.reassignment import Entry, current_plan_of, plan_json
from kafka_rack.reassignment.throttles import (
    FOLLOWER_RATE,
    LEADER_RATE,
    OF_BROKERS,
    OF_TOPICS,
    MoveUnderWay,
    copying,
    throttled_brokers,
    topic_throttles,
)

CURRENT = "Current partition replica assignment"
"""The heading of Kafka's own tool."""
LOOK_EVERY_S = 1.0
"""How often --wait asks the cluster for the moves under way."""
COMPLETED, IN_PROGRESS, ELSEWHERE = "completed", "in progress", "elsewhere"


def execute(arguments: argparse.Namespace) -> int:
    """Start the moves of a plan, throttled where that is asked for."""
    entries = plan_given(arguments)
    throttle: int | None = arguments.throttle
    with cluster_of(arguments) as cluster:
        snapshot = cluster.snapshot(with_settings=False)
        layout = layout_of(snapshot)
        now = told(arguments.reassignment_json_file, lambda: current_plan_of(layout, entries))
        warn_of_shared_racks(arguments, layout, entries)
        if arguments.rollback:
            write_whole(arguments.rollback, plan_json(now) + "\n")
        if arguments.format == "table":
            print(f"{CURRENT}\n\n{plan_json(now)}\n\nKeep this as the plan that takes everything back.", flush=True)
        if throttle is not None:
            set_throttle(arguments, cluster, snapshot, now, entries)
        left = "" if throttle is None else "; the throttle is set, --cancel takes it away"
        try:
            refused = cluster.reassign(entries)
        except CommandError as error:
            raise CommandError(f"{error}{left}") from None
    begun = len(entries) - len(refused)
    if arguments.format == "json":
        said = {"begun": begun, "refused": refused, "throttle": throttle, "current": json.loads(plan_json(now))}
        print(json.dumps(said, indent=2))
    elif begun:
        how = "--list shows those under way"
        if throttle is not None:
            how += ", and --verify takes the throttle away once they are done: run it until it says so"
        print(f"The moves of {counted(begun, 'partition')} have begun; {how}.")
    if refused:
        left = "" if begun else left
        raise CommandError(f"{len(refused)} of {len(entries)} partitions refused: {'; '.join(refused)}{left}")
    return DONE


def set_throttle(
    arguments: argparse.Namespace, cluster: LiveCluster, snapshot: Snapshot, now: Sequence[Entry], plan: Sequence[Entry]
) -> None:
    """Limit what the moves may take, before they begin: first which replicas, then how fast.

    Raises: CommandError: a topic or a broker refuses; nothing moves.
    """
    copies = copying(cluster.moves_under_way(), now, plan)
    refused = cluster.alter_configs(cluster.first, {(TOPIC_RESOURCE, t): s for t, s in topic_throttles(copies).items()})
    rate = {LEADER_RATE: str(arguments.throttle), FOLLOWER_RATE: str(arguments.throttle)}
    away = []
    for broker in throttled_brokers(copies):
        live = snapshot.brokers.get(broker)
        if live is None or live.fenced:
            away.append(broker)
        else:
            refused += cluster.alter_configs(cluster.connection_to(live), {(BROKER_RESOURCE, str(broker)): rate})
    if refused:
        raise CommandError(f"no throttle, so nothing moves: {'; '.join(refused)}")
    say_notes(arguments, (f"broker {broker} is down: it gets no throttle" for broker in away))
    if arguments.format == "table":
        print(f"The inter-broker throttle limit was set to {arguments.throttle} B/s", flush=True)


def verify(arguments: argparse.Namespace) -> int:
    """How far the moves of a plan have come; takes the throttles away once nothing moves any more."""
    entries = plan_given(arguments)
    with cluster_of(arguments) as cluster:
        under_way = moves_after(cluster, entries, arguments)
        snapshot = cluster.snapshot(with_settings=False)
        moving = {(move.topic, move.partition) for move in under_way}
        states = [state_of(entry, snapshot, moving) for entry in entries]
        if arguments.format == "table":
            print("Status of partition reassignment:")
            for entry, state in zip(entries, states, strict=True):
                print(state_line(entry, *state))
            print()
        cleared = None
        if not under_way and not arguments.preserve_throttles:
            cleared = clear_throttles(arguments, cluster, snapshot, entries)
    elsewhere = sorted(moving - {(entry.topic, entry.partition) for entry in entries})
    if cleared is None and not arguments.preserve_throttles and elsewhere:
        (topic, partition), count = elsewhere[0], counted(len(elsewhere), "partition")
        say_notes(arguments, [f"throttles stay: {count} of other plans still move, first {topic}-{partition}"])
    if arguments.format == "json":
        said = [
            {
                "topic": one.topic,
                "partition": one.partition,
                "state": state,
                "replicas": replicas,
                "target": one.replicas,
            }
            for one, (state, replicas) in zip(entries, states, strict=True)
        ]
        print(json.dumps({"partitions": said, "throttles_cleared": cleared}, indent=2))
    if any(state == IN_PROGRESS for state, _ in states) or (under_way and not arguments.preserve_throttles):
        return FINDINGS
    return DONE if all(state == COMPLETED for state, _ in states) else FINDINGS


def moves_after(cluster: LiveCluster, entries: Sequence[Entry], arguments: argparse.Namespace) -> list[MoveUnderWay]:
    """The moves under way, once none is left to wait for or the seconds of --wait are over.

    Those of other plans are waited for as well, as the throttles are taken away only after them, unless these stay.
    """
    deadline = time.monotonic() + (arguments.wait or 0)
    plan = {(entry.topic, entry.partition) for entry in entries}
    while True:
        moves = cluster.moves_under_way()
        awaited = [move for move in moves if not arguments.preserve_throttles or (move.topic, move.partition) in plan]
        left = deadline - time.monotonic()
        if not awaited or left <= 0:
            return moves
        time.sleep(min(LOOK_EVERY_S, left))


def state_of(entry: Entry, snapshot: Snapshot, moving: set[tuple[str, int]]) -> tuple[str, list[int]]:
    """How far a partition has come, and its replicas now; none for one that is not there."""
    topic = snapshot.topics.get(entry.topic)
    replicas: tuple[int, ...] = ()
    if topic is not None and entry.partition < len(topic.partitions):
        replicas = topic.partitions[entry.partition].replicas
    if (entry.topic, entry.partition) in moving:
        return IN_PROGRESS, list(replicas)
    return COMPLETED if replicas == entry.replicas else ELSEWHERE, list(replicas)


def state_line(entry: Entry, state: str, replicas: Sequence[int]) -> str:
    """A partition's state as Kafka's tool tells it.

    >>> state_line(Entry("orders", 0, (0, 1)), "elsewhere", [1, 2])
    'There is no active reassignment of partition orders-0, but replica set is 1,2 rather than 0,1.'
    """
    name = f"{entry.topic}-{entry.partition}"
    if state == IN_PROGRESS:
        return f"Reassignment of partition {name} is still in progress."
    if state == COMPLETED:
        return f"Reassignment of partition {name} is completed."
    now, target = (",".join(map(str, ids)) for ids in (replicas, entry.replicas))
    return f"There is no active reassignment of partition {name}, but replica set is {now} rather than {target}."


def cancel(arguments: argparse.Namespace) -> int:
    """Call off the moves of a plan that are under way, and take the throttles away."""
    entries = plan_given(arguments)
    wanted = {(entry.topic, entry.partition) for entry in entries}
    with cluster_of(arguments) as cluster:
        active = [move for move in cluster.moves_under_way() if (move.topic, move.partition) in wanted]
        refused = cluster.reassign([(move.topic, move.partition, None) for move in active]) if active else []
        names = [f"{move.topic}-{move.partition}" for move in active]
        if refused:
            raise CommandError(f"{len(refused)} of {len(active)} partitions refused: {'; '.join(refused)}")
        if arguments.format == "table":
            if active:
                plural = "" if len(active) == 1 else "s"
                print(f"Successfully cancelled partition reassignment{plural} for: {','.join(names)}")
            else:
                print("None of the specified partition reassignments are active.")
        cleared = None
        if not arguments.preserve_throttles:
            cleared = clear_throttles(arguments, cluster, cluster.snapshot(with_settings=False), entries)
    if arguments.format == "json":
        print(json.dumps({"cancelled": names, "throttles_cleared": cleared}, indent=2))
    return DONE


def clear_throttles(
    arguments: argparse.Namespace, cluster: LiveCluster, snapshot: Snapshot, entries: Iterable[Entry]
) -> Mapping[str, object]:
    """Take the throttles away from all brokers and the topics of a plan; gives where.

    Raises: CommandError: some may be left.
    """
    entries = list(entries)
    brokers = sorted({*snapshot.brokers, *(broker for entry in entries for broker in entry.replicas)})
    topics = sorted({entry.topic for entry in entries} & snapshot.topics.keys())
    if arguments.format == "table":
        plurals = ["" if len(ids) == 1 else "s" for ids in (brokers, topics)]
        print(f"Clearing broker-level throttles on broker{plurals[0]} {','.join(map(str, brokers))}")
        print(f"Clearing topic-level throttles on topic{plurals[1]} {','.join(topics)}", flush=True)
    left: list[str] = []
    for broker in brokers:
        left += unthrottled(cluster, snapshot.brokers.get(broker), broker)
    nothing = dict.fromkeys(OF_TOPICS)
    if topics:
        left += cluster.alter_configs(cluster.first, {(TOPIC_RESOURCE, topic): nothing for topic in topics})
    if left:
        raise CommandError(f"throttles may be left: {'; '.join(left)}")
    return {"brokers": brokers, "topics": topics}


def unthrottled(cluster: LiveCluster, live: LiveBroker | None, broker: int) -> list[str]:
    """Take the throttles of one broker away, which only it can do; gives why it did not."""
    if live is None or live.fenced:
        return [f"broker {broker} is down"]
    try:
        return cluster.alter_configs(
            cluster.connection_to(live), {(BROKER_RESOURCE, str(broker)): dict.fromkeys(OF_BROKERS)}
        )
    except CommandError as error:
        return [str(error)]


def list_moves(arguments: argparse.Namespace) -> int:
    """The moves that have not ended."""
    with cluster_of(arguments) as cluster:
        moves = cluster.moves_under_way()
    if arguments.format == "json":
        print(json.dumps([move._asdict() for move in moves], indent=2))
    elif not moves:
        print("No partition is being moved.")
    else:
        rows = [
            [f"{name}-{number}", *(",".join(map(str, ids)) or None for ids in rest)] for name, number, *rest in moves
        ]
        print(table(["partition", "replicas", "to come", "to go"], rows))
    return DONE


def plan_given(arguments: argparse.Namespace) -> list[Entry]:
    """The plan of ``--reassignment-json-file``, by topic and partition; it must have some."""
    path = arguments.reassignment_json_file
    entries: list[Entry] = plan_in_file(path)
    if not entries:
        raise UsageError(f"{path}: the plan has no partitions")
    return sorted(entries, key=lambda entry: (utf16_key(entry.topic), entry.partition))


def warn_of_shared_racks(arguments: argparse.Namespace, layout: ClusterLayout, entries: Sequence[Entry]) -> None:
    """Say so where a plan itself puts two replicas into one rack without need."""
    racks, rack_of = usable_racks(layout), layout.rack_of
    shared = [entry for entry in entries if spread_of(entry.replicas, rack_of, racks).misplaced]
    if shared:
        first = f"{shared[0].topic}-{shared[0].partition}"
        sys.stderr.write(
            f"{arguments.program}: note: the plan puts two replicas of {counted(len(shared), 'partition')} into one "
            f"rack while another rack has none, first of {first}\n"
        )
