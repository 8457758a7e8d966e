"""Assign partitions to the consumers of a group as Kafka's assignors do.

The group and the cluster are live, or come from a JSON file, or are made up from a few words. A file says:
  {"assignor": "range",
   "cluster": {"nodes": [[0, "a"], [1, "b"]], "topics": {"orders": [[0, 1], [1, 0]]}},
   "members": {"one": {"topics": ["orders"], "rack": "a"}}}
Optional: topic_ids in the cluster; instance_id, owned, generation and user_data in a member.
A cluster with "brokers", as the other tools have it, is taken too.

Examples:
  kafka-rack assign group.json
  kafka-rack assign group.json --assignor cooperative-sticky --format json
  kafka-rack assign --bootstrap-server localhost:9092 --group readers --rack-of 10.0.1.=az1
  kafka-rack assign --brokers 3 --racks a,b,c --topic orders:12:1 --consumers 3 --consumer-racks a,b,c
"""

from __future__ import annotations

import argparse
import json
from itertools import groupby
from typing import Any

from kafka_rack.assignment import ASSIGNORS, Assignment, assign
from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.live.cluster import add_cluster_arguments, cluster_of
from kafka_rack.cli.live.group import live_group
from kafka_rack.cli.options.brokers import add_broker_arguments, brokers_of, rack_list
from kafka_rack.cli.options.layout import json_given
from kafka_rack.cli.options.whole_numbers import MAX_BROKERS, MAX_CONSUMERS, MAX_ID, number_in, shown
from kafka_rack.cli.output.tables import table
from kafka_rack.cluster_layout import layout_of_json
from kafka_rack.errors import InputError, KafkaRackError, PartitionAssignorError
from kafka_rack.placement import MAX_REPLICAS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE | -", help="the group and the cluster as JSON")
    parser.add_argument(
        "--assignor",
        choices=list(ASSIGNORS),
        metavar="NAME",
        help=f"one of {', '.join(ASSIGNORS)}; default: the file's, else range",
    )
    parser.add_argument(
        "--format", choices=["table", "json"], default="table", help="for people or for programs; default: table"
    )
    parser.add_argument(
        "--rack-of",
        action="append",
        default=[],
        metavar="PREFIX=RACK",
        help="where members are that name no rack, by the start of their id, client id or address",
    )
    add_cluster_arguments(parser, required=False)
    parser.add_argument("--group", metavar="ID", help="a group of the live cluster: what its next rebalance would give")
    made_up = parser.add_argument_group("without a file")
    add_broker_arguments(made_up)  # type: ignore[arg-type]
    made_up.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="NAME:PARTITIONS[:REPLICAS]",
        help=f"placed over racks; at most {MAX_REPLICAS} replicas",
    )
    made_up.add_argument(
        "--consumers", metavar="N | ID:RACK,...", help=f"up to {MAX_CONSUMERS}; each subscribes to all topics"
    )
    made_up.add_argument(
        "--consumer-racks", metavar="a,b,c", help="with a number: consumer i is in rack i, going round"
    )


def run(arguments: argparse.Namespace) -> int:
    group = group_of(arguments)
    place_members(group["members"], arguments.rack_of)
    assignor = arguments.assignor or group.get("assignor") or "range"
    cluster, members = group["cluster"], group["members"]
    try:
        answer = assign(assignor, cluster, members)
    except PartitionAssignorError as error:
        raise CommandError(str(error)) from error
    except KafkaRackError as error:
        raise UsageError(f"{arguments.file or arguments.group or 'arguments'}: {error}") from error
    print(assignment_json(assignor, answer) if arguments.format == "json" else assignment_table(members, answer))
    return 0


def group_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The group from where the arguments say."""
    if bool(arguments.bootstrap_server) != bool(arguments.group):
        raise UsageError("--bootstrap-server and --group go together")
    if arguments.file:
        if arguments.group:
            raise UsageError("give a FILE or a live group, not both")
        return group_in_file(arguments.file)
    if arguments.group:
        with cluster_of(arguments) as cluster:
            return live_group(cluster, arguments.group)
    return group_of_words(arguments)


def place_members(members: Any, rules: list[str]) -> None:
    """Give members that name no rack the one of the first rule that fits."""
    pairs = []
    for rule in rules:
        prefix, equals, rack = rule.rpartition("=")
        if not equals or not prefix or not rack:
            raise UsageError(f"--rack-of: expected PREFIX=RACK, got {rule!r}")
        pairs.append((prefix, rack))
    if not pairs or not isinstance(members, dict):
        return
    for name, member in members.items():
        if isinstance(member, dict) and not member.get("rack"):
            said = (name, str(member.get("client_id", "")), str(member.get("host", "")))
            fitting = (rack for prefix, rack in pairs if any(text.startswith(prefix) for text in said))
            member["rack"] = next(fitting, member.get("rack"))


def group_in_file(path: str) -> dict[str, Any]:
    """The group of a JSON file, or of standard input for ``-``."""
    said = json_given(path)
    if isinstance(said, dict) and isinstance(said.get("input"), dict):
        said = said["input"]  # a line of recorded answers
    if not isinstance(said, dict) or not isinstance(said.get("cluster"), dict) or "members" not in said:
        raise UsageError(f"{path}: expected an object with cluster and members")
    if "brokers" in said["cluster"]:
        said["cluster"] = cluster_of_layout(said["cluster"], path)
    if "topic_ids" in said:
        said["cluster"] = {**said["cluster"], "topic_ids": said["topic_ids"]}
    return said


def cluster_of_layout(said: dict[str, Any], path: str) -> dict[str, Any]:
    """A cluster as the other tools write it, in the form that assign takes."""
    try:
        layout = layout_of_json(said)
    except InputError as error:
        raise UsageError(f"{path}: cluster: {error}") from error
    nodes = [[broker.id, broker.rack] for broker in layout.brokers if not broker.fenced]
    return {"nodes": nodes, "topics": layout.replicas_by_topic()}


def group_of_words(arguments: argparse.Namespace) -> dict[str, Any]:
    """A group made up from ``--brokers``, ``--topic`` and ``--consumers``."""
    if not arguments.topic or not arguments.consumers:
        raise UsageError("give a FILE, a live group, or --brokers, --topic and --consumers")
    brokers = brokers_of(arguments)
    topics = dict(topic_of(text, brokers) for text in arguments.topic)
    cluster = {"nodes": [[broker.id, broker.rack] for broker in brokers], "topics": topics}
    members = {
        name: {"topics": sorted(topics), "rack": rack}
        for name, rack in consumers_of(arguments.consumers, rack_list(arguments.consumer_racks))
    }
    return {"cluster": cluster, "members": members}


def topic_of(text: str, brokers: Any) -> tuple[str, list[list[int]]]:
    """A topic as name:partitions:replicas, placed as Kafka places it over racks from the first broker on."""
    from kafka_rack.placement import place

    name, *numbers = text.split(":")
    if not name or not 1 <= len(numbers) <= 2 or not all(number.isdecimal() for number in numbers):
        raise UsageError(f"--topic: expected NAME:PARTITIONS or NAME:PARTITIONS:REPLICAS, got {shown(text)!r}")
    partitions = number_in(f"--topic {name}: partitions", numbers[0], MAX_ID)
    replicas = number_in(f"--topic {name}: replicas", numbers[1], MAX_BROKERS) if len(numbers) == 2 else 1
    placer = "rack-aware" if all(broker.rack for broker in brokers) else "unaware"
    try:
        return name, place(placer, brokers, 0, partitions, replicas, start_index=0, next_replica_shift=0)
    except KafkaRackError as error:
        raise UsageError(f"--topic {shown(text)}: {error}") from error


def consumers_of(text: str, racks: list[str | None]) -> list[tuple[str, str | None]]:
    """Consumers as a number, or as one:a,two:b."""
    if text.strip().removeprefix("-").isdecimal():
        count = number_in("--consumers", text, MAX_CONSUMERS, 1)
        width = len(str(count - 1))
        return [
            (f"consumer-{number:0{width}}", racks[number % len(racks)] if racks else None) for number in range(count)
        ]
    if racks:
        raise UsageError("--consumer-racks goes with a number of consumers; in a list each has its own, as one:a,two:b")
    found = []
    for word in text.split(","):
        name, _, rack = word.strip().partition(":")
        if not name:
            raise UsageError(f"--consumers {text}: a consumer without a name")
        found.append((name, rack or None))
    return found


def grouped(pairs: list[tuple[str, int]]) -> list[list[Any]]:
    """[topic, [partitions]] of sorted pairs."""
    return [[topic, [number for _, number in run]] for topic, run in groupby(pairs, key=lambda pair: pair[0])]


def assignment_json(assignor: str, answer: Assignment) -> str:
    assigned = {member: grouped(pairs) for member, pairs in sorted(answer.items())}
    return json.dumps({"assignor": assignor, "assignment": assigned}, indent=2)


def assignment_table(members: dict[str, Any], answer: Assignment) -> str:
    rows = [
        [member, members[member].get("rack"), len(pairs), "; ".join(f"{t} {runs(ps)}" for t, ps in grouped(pairs))]
        for member, pairs in sorted(answer.items())
    ]
    return table(["member", "rack", "count", "partitions"], rows)


def runs(numbers: list[int]) -> str:
    """Numbers in short: 0-3,7.

    >>> runs([0, 1, 2, 3, 7])
    '0-3,7'
    """
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in found)
