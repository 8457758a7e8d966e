"""kafka-rack assign: partitions to the members of a group."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import click

from kafka_rack.assignment import ASSIGNORS, Assignment
from kafka_rack.assignment import assign as assigned
from kafka_rack.cli import DONE, UsageError
from kafka_rack.cli.command import Arguments, argument, command, option, section
from kafka_rack.cli.options.brokers import broker_options, brokers_of
from kafka_rack.cli.options.cluster import about, bootstrap_option, cluster_of, real_cluster_options
from kafka_rack.cli.options.shared import client_racks_option, format_option
from kafka_rack.cli.options.text_files import racks_file, read_json
from kafka_rack.cli.options.types import MAX_CONSUMERS, Listed, Type, Words, check_size, shown, topic_of, whole_number
from kafka_rack.cli.output.results import show_as
from kafka_rack.cli.output.tables import table
from kafka_rack.cluster_layout import layout_of_json
from kafka_rack.errors import KafkaRackError, PartitionAssignorError
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.placement import UsableBroker, place
from mockbroker.adapters.real_cluster.group import live_group


class PlannedTopic(Words):
    """A topic to be placed: its name, partitions and replicas."""

    form = "NAME:PARTITIONS[:REPLICAS]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        name, partitions, replicas = topic_of(value)
        if partitions is None:
            self.refuse(self.form, value, param, ctx)
        check_size(partitions, replicas or 1)
        return name, partitions, replicas or 1


class Consumers(Type):
    """A number of consumers, or a list such as one:a,two:b."""

    name = "N|ID:RACK,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | list[tuple[str, str | None]]:
        if value.strip().removeprefix("-").isdecimal():
            count = whole_number(value, 1, MAX_CONSUMERS)
            if count is None:
                self.refuse(f"a number from 1 to {MAX_CONSUMERS}, or names such as one:a,two:b", value, param, ctx)
            return count
        found = []
        for word in value.split(","):
            name, _, rack = word.strip().partition(":")
            if not name:
                self.fail(f"{value}: a consumer without a name", param, ctx)
            found.append((name, rack or None))
        return found


@command()
@argument("file", required=False, metavar="[FILE|-]", type=Words("FILE|-"))
@option("--assignor", click.Choice(list(ASSIGNORS)), "Assignor; default: that of the group, else range.")
@client_racks_option
@section(
    "Group of a real cluster",
    bootstrap_option(required=False),
    *real_cluster_options,
    option("--group", Words("ID"), "Show what the next rebalance of this group would assign."),
)
@broker_options
@section(
    "Made-up group",
    option(
        "--topic",
        PlannedTopic("TOPIC"),
        "A topic, placed over racks: NAME:PARTITIONS[:REPLICAS]; repeat for more.",
        multiple=True,
    ),
    option("--consumers", Consumers(), "Number of consumers, or their names and racks; each reads all topics."),
    option("--consumer-racks", Listed("a,b,c"), "Racks of the consumers, in turn."),
)
@format_option
def assign(arguments: Arguments) -> int:
    """Assign partitions to the consumers of a group as Kafka's assignors do.

    The group comes from a real cluster, from a few options, or from a JSON file such as:

      {"assignor": "range",
       "cluster": {"nodes": [[0, "a"], [1, "b"]], "topics": {"orders": [[0, 1], [1, 0]]}},
       "members": {"one": {"topics": ["orders"], "rack": "a"}}}

    The cluster may have topic_ids; a member may have instance_id, owned, generation and user_data. A cluster with
    "brokers", as kafka-rack inspect prints it, works too.

    Examples:
      kafka-rack assign group.json --assignor cooperative-sticky
      kafka-rack assign --bootstrap-server localhost:9092 --group readers --client-racks racks.txt
      kafka-rack assign --brokers 3 --racks a,b,c --topic orders:12:1 --consumers 3 --consumer-racks a,b,c
    """
    group = group_of(arguments)
    place_members(group["members"], racks_file(arguments.client_racks))
    assignor = arguments.assignor or group.get("assignor") or "range"
    members = group["members"]
    try:
        answer = assigned(assignor, group["cluster"], members)
    except PartitionAssignorError:
        raise
    except KafkaRackError as error:
        raise UsageError(f"{arguments.file or arguments.group or 'arguments'}: {error}") from error
    found = {member: grouped(pairs) for member, pairs in sorted(answer.items())}
    show_as(arguments.format, {"assignor": assignor, "assignment": found}, assignment_table(members, answer))
    return DONE


def group_of(arguments: Arguments) -> dict[str, Any]:
    """The group from the source that the arguments name."""
    if bool(arguments.bootstrap_server) != bool(arguments.group):
        raise UsageError("--bootstrap-server and --group need each other")
    if arguments.file:
        if arguments.group:
            raise UsageError("expected a FILE or a group of a real cluster, got both")
        return group_in_file(arguments.file)
    if arguments.group:
        with cluster_of(arguments) as cluster:
            return live_group(cluster, arguments.group)
    if not arguments.topic or not arguments.consumers:
        raise UsageError("expected a FILE, a group of a real cluster, or --brokers, --topic and --consumers")
    brokers = brokers_of(arguments)
    topics = {name: placed(brokers, name, partitions, replicas) for name, partitions, replicas in arguments.topic}
    members: dict[str, Any] = {name: {"topics": sorted(topics), "rack": rack} for name, rack in consumers_of(arguments)}
    return {
        "cluster": {"nodes": [[broker.id, broker.rack] for broker in brokers], "topics": topics},
        "members": members,
    }


def place_members(members: Any, rules: RackRules | None) -> None:
    """Set the rack of members that report none by their address, or by their client id (else their member id)."""
    if rules is None or not isinstance(members, dict):
        return
    for name, member in members.items():
        if isinstance(member, dict) and not member.get("rack"):
            by_address = rules.of_address(str(member.get("host", "")).lstrip("/"))
            member["rack"] = by_address or rules.of_client_id(str(member.get("client_id") or name))


def group_in_file(path: str) -> dict[str, Any]:
    """The group of a JSON file, or of standard input for ``-``."""
    said = read_json(path)
    if isinstance(said, dict) and isinstance(said.get("input"), dict):
        said = said["input"]  # a line of recorded answers
    if not isinstance(said, dict) or not isinstance(said.get("cluster"), dict) or "members" not in said:
        raise UsageError(f"{path}: expected an object with cluster and members")
    cluster = said["cluster"]
    if "brokers" in cluster:
        layout = about(f"{path}: cluster", lambda: layout_of_json(cluster))
        nodes = [[broker.id, broker.rack] for broker in layout.brokers if not broker.fenced]
        said["cluster"] = {"nodes": nodes, "topics": layout.replicas_by_topic()}
    if "topic_ids" in said:
        said["cluster"] = {**said["cluster"], "topic_ids": said["topic_ids"]}
    return said


def placed(brokers: list[UsableBroker], name: str, partitions: int, replicas: int) -> list[list[int]]:
    """A topic as Kafka places it over racks, from the first broker on."""
    placer = "rack-aware" if all(broker.rack for broker in brokers) else "unaware"
    try:
        return place(placer, brokers, 0, partitions, replicas, start_index=0, next_replica_shift=0)
    except KafkaRackError as error:
        raise UsageError(f"--topic {shown(f'{name}:{partitions}:{replicas}')}: {error}") from error


def consumers_of(arguments: Arguments) -> list[tuple[str, str | None]]:
    """The consumers of ``--consumers`` with their racks."""
    found, racks = arguments.consumers, arguments.consumer_racks or []
    if isinstance(found, int):
        width = len(str(found - 1))
        return [
            (f"consumer-{number:0{width}}", racks[number % len(racks)] if racks else None) for number in range(found)
        ]
    if racks:
        raise UsageError("--consumer-racks needs a number of --consumers; in a list each has its rack, such as one:a")
    return list(found)


def grouped(pairs: list[tuple[str, int]]) -> list[list[Any]]:
    """[topic, [partitions]] of sorted pairs."""
    return [[topic, [number for _, number in run]] for topic, run in groupby(pairs, key=lambda pair: pair[0])]


def assignment_table(members: dict[str, Any], answer: Assignment) -> str:
    rows = [
        [member, members[member].get("rack"), len(pairs), "; ".join(f"{t} {runs(ps)}" for t, ps in grouped(pairs))]
        for member, pairs in sorted(answer.items())
    ]
    return table(["member", "rack", "count", "partitions"], rows)


def runs(numbers: list[int]) -> str:
    """Numbers in short.

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
