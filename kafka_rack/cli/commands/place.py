"""kafka-rack place: replicas over brokers and racks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

import click

from kafka_rack.cli import DONE, UsageError
from kafka_rack.cli.command import Arguments, command, option, say, section
from kafka_rack.cli.options.brokers import MAX_BROKERS, broker_options, brokers_of
from kafka_rack.cli.options.placement import DEFAULT_PLACER, placement_options, replicas_placed, rotation_of
from kafka_rack.cli.options.types import MAX_ID, WholeNumber, Words, check_size
from kafka_rack.cli.output.replicas import replicas_json, replicas_table
from kafka_rack.cli.output.tables import table
from kafka_rack.placement import CLASS_SETTING, START_INDEX_SETTING, UsableBroker, reassignment_json
from kafka_rack.rack_names import rack_hints
from mockbroker.state.settings import UnknownSettingError, names_without_effect


@command()
@broker_options
@section(
    "Topic",
    option("--topic", Words("TOPIC"), "Name of the topic, for --format reassignment.", default="topic"),
    option("--partitions", WholeNumber(1), "Number of partitions.", required=True),
    option("--replication-factor", WholeNumber(1, MAX_BROKERS), "Replicas of each partition.", required=True),
    option("--start-partition", WholeNumber(), "Number of the first partition.", default=0),
)
@placement_options
@option(
    "--format",
    click.Choice(["table", "json", "reassignment"]),
    "Print a table for people, JSON for programs, or the JSON of Kafka's reassignment tool.",
    default="table",
)
def place(arguments: Arguments) -> int:
    """Place a topic's replicas over brokers and racks, as Kafka or a placer of your own does.

    Examples:
      kafka-rack place --brokers 6 --racks a,b,c --partitions 12 --replication-factor 3
      kafka-rack place --brokers 0:rack1,1:rack3,2:rack3,3:rack2 --partitions 12 --replication-factor 3
      kafka-rack place --brokers 9 --partitions 9 --replication-factor 3 --placer broker-replica --format reassignment
    """
    first, partitions, replicas = arguments.start_partition, arguments.partitions, arguments.replication_factor
    check_size(partitions, replicas)
    if first + partitions - 1 > MAX_ID:
        raise UsageError(f"--start-partition {first}: partitions are numbered up to {MAX_ID}")
    brokers, settings = brokers_of(arguments), settings_of(arguments)
    rows = replicas_placed(
        arguments, brokers, settings, partitions=partitions, replication_factor=replicas, first=first
    )
    for hint in rack_hints(broker.rack for broker in brokers):
        say(f"hint: {hint}")
    print(answer(arguments, brokers, rows))
    return DONE


def settings_of(arguments: Arguments) -> dict[str, str]:
    """The placer's settings, by their names in a broker's configuration."""
    settings = rotation_of(arguments) or {START_INDEX_SETTING: "0"}
    settings |= dict(arguments.set)
    try:
        names_without_effect(settings, (), {CLASS_SETTING: arguments.placer or DEFAULT_PLACER, **settings})
    except UnknownSettingError as error:
        raise UsageError(str(error)) from None
    return settings


def answer(arguments: Arguments, brokers: Sequence[UsableBroker], rows: Sequence[Sequence[int]]) -> str:
    """The placement in the requested format."""
    if arguments.format == "reassignment":
        # The tool's form numbers partitions from 0, so a later start is cut out of a whole layout.
        entries = json.loads(reassignment_json({arguments.topic: rows}))
        for entry in entries["partitions"]:
            entry["partition"] += arguments.start_partition
        return json.dumps(entries, separators=(",", ":"))
    rack_of, first = {broker.id: broker.rack for broker in brokers}, arguments.start_partition
    leaders = Counter(row[0] for row in rows)
    replicas = Counter(broker for row in rows for broker in row)
    loads = [
        {"broker": broker.id, "rack": broker.rack, "leaders": leaders[broker.id], "replicas": replicas[broker.id]}
        for broker in sorted(brokers)
    ]
    if arguments.format == "json":
        partitions = replicas_json(rows, rack_of, first)
        placer = arguments.placer or DEFAULT_PLACER
        return json.dumps({"placer": placer, "partitions": partitions, "brokers": loads}, indent=2)
    by_broker = table(["broker", "rack", "leaders", "replicas"], [list(load.values()) for load in loads])
    return f"{replicas_table(rows, rack_of, first)}\n\n{by_broker}"
