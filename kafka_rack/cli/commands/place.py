"""Place a topic's replicas over brokers and racks, as Kafka or a placer of your own would.

Examples:
  kafka-rack place --brokers 6 --racks a,b,c --partitions 12 --replication-factor 3
  kafka-rack place --brokers 0:rack1,1:rack3,2:rack3,3:rack2,4:rack2,5:rack1 --partitions 12 --replication-factor 3
  kafka-rack place --brokers 9 --partitions 9 --replication-factor 3 --placer broker-replica --format reassignment
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence

from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.options.brokers import add_broker_arguments, brokers_of
from kafka_rack.cli.options.placers import placer_help
from kafka_rack.cli.options.whole_numbers import MAX_BROKERS, MAX_ID, MAX_SEED, check_size, whole_number
from kafka_rack.cli.output.tables import table
from kafka_rack.errors import KafkaRackError, MissingRackError, PlacerSettingsError
from kafka_rack.placement import (
    CLASS_SETTING,
    DISABLED,
    ENFORCED,
    MAX_REPLICAS,
    SCATTER_WIDTH_SETTING,
    SEED_SETTING,
    SHIFT_SETTING,
    START_INDEX_SETTING,
    STATE_FILE_SETTING,
    UNEVEN_SETTING,
    UsableBroker,
    close_placer,
    load_placer,
    place_checked,
    reassignment_json,
)
from kafka_rack.rack_names import rack_hints
from mockbroker.state.setting_names import UnknownSettingError, names_without_effect


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_broker_arguments(parser)
    parser.add_argument("--topic", default="topic", help="the topic's name, for --format reassignment; default: topic")
    count, index = whole_number(MAX_ID), whole_number(MAX_ID)
    parser.add_argument(
        "--partitions",
        type=count,
        required=True,
        metavar="N",
        help=f"how many; times the replication factor at most {MAX_REPLICAS} replicas",
    )
    parser.add_argument(
        "--replication-factor",
        type=whole_number(MAX_BROKERS),
        required=True,
        metavar="N",
        help="replicas of each partition",
    )
    parser.add_argument(
        "--start-partition", type=index, default=0, metavar="N", help="number of the first partition; default: 0"
    )
    parser.add_argument("--placer", default="rack-aware", metavar="NAME", help=placer_help())
    parser.add_argument(
        "--start-index", type=index, metavar="N", help="place of the first leader in the list of brokers; default: 0"
    )
    parser.add_argument(
        "--next-replica-shift", type=index, metavar="N", help="first shift of followers; default: that of --start-index"
    )
    parser.add_argument(
        "--seed",
        type=whole_number(MAX_SEED),
        metavar="N",
        help="draw both, and all else, as java.util.Random does",
    )
    parser.add_argument(
        "--ignore-racks",
        "--disable-rack-aware",
        action="store_true",
        help="place as if no broker had a rack; without it brokers partly without are refused",
    )
    parser.add_argument("--scatter-width", type=whole_number(MAX_BROKERS), metavar="N", help="of placer copyset")
    parser.add_argument("--uneven-last-group", action="store_true", help="of placers broker-replica and copyset")
    parser.add_argument("--state-file", metavar="FILE", help="of placers new-brokers, decommissioned-brokers, capacity")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="any other setting of the placer"
    )
    parser.add_argument(
        "--format",
        choices=["table", "json", "reassignment"],
        default="table",
        help="table for people, json for programs, or what Kafka's reassignment tool reads; default: table",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.start_partition < 0:
        raise UsageError(f"--start-partition: expected 0 or more, got {arguments.start_partition}")
    if arguments.seed is not None and (arguments.start_index, arguments.next_replica_shift) != (None, None):
        raise UsageError("--seed draws the start index and the shift: give one or the other")
    check_size(arguments.partitions, arguments.replication_factor)
    if arguments.start_partition + arguments.partitions - 1 > MAX_ID:
        raise UsageError(f"--start-partition {arguments.start_partition}: partitions are numbered up to {MAX_ID}")
    brokers = brokers_of(arguments)
    try:
        placer = load_placer(settings_of(arguments))
        try:
            rows = place_checked(
                placer,
                arguments.start_partition,
                arguments.partitions,
                arguments.replication_factor,
                brokers,
                rack_mode=DISABLED if arguments.ignore_racks else ENFORCED,
            )
        finally:
            close_placer(placer)
    except PlacerSettingsError as error:
        raise UsageError(str(error).replace(f"{CLASS_SETTING}:", "--placer:", 1)) from error
    except MissingRackError as error:
        raise CommandError(f"{error} with --ignore-racks") from error
    except KafkaRackError as error:
        raise CommandError(str(error)) from error
    for hint in rack_hints(broker.rack for broker in brokers):
        sys.stderr.write(f"kafka-rack place: hint: {hint}\n")
    print(answer(arguments, brokers, rows))
    return 0


def settings_of(arguments: argparse.Namespace) -> dict[str, str]:
    """The placer's settings, by their names in a broker's configuration."""
    settings = {CLASS_SETTING: arguments.placer}
    if arguments.seed is not None:
        settings[SEED_SETTING] = str(arguments.seed)
    else:
        settings[START_INDEX_SETTING] = str(arguments.start_index or 0)
    if arguments.next_replica_shift is not None:
        settings[SHIFT_SETTING] = str(arguments.next_replica_shift)
    if arguments.scatter_width is not None:
        settings[SCATTER_WIDTH_SETTING] = str(arguments.scatter_width)
    if arguments.uneven_last_group:
        settings[UNEVEN_SETTING] = "true"
    if arguments.state_file:
        settings[STATE_FILE_SETTING] = arguments.state_file
    for pair in arguments.set:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set: expected KEY=VALUE, got {pair!r}")
        settings[key.strip()] = value
    try:
        names_without_effect(settings, (), settings)
    except UnknownSettingError as error:
        raise UsageError(str(error)) from None
    return settings


def answer(arguments: argparse.Namespace, brokers: Sequence[UsableBroker], rows: Sequence[Sequence[int]]) -> str:
    """The placement in the form asked for."""
    if arguments.format == "reassignment":
        # The tool's form numbers partitions from 0, so a later start is cut out of a whole layout.
        entries = json.loads(reassignment_json({arguments.topic: rows}))
        for entry in entries["partitions"]:
            entry["partition"] += arguments.start_partition
        return json.dumps(entries, separators=(",", ":"))
    rack_of = {broker.id: broker.rack for broker in brokers}
    leaders = Counter(row[0] for row in rows)
    replicas = Counter(broker for row in rows for broker in row)
    partitions = [
        {
            "partition": arguments.start_partition + number,
            "replicas": list(row),
            "racks": [rack_of[broker] for broker in row],
        }
        for number, row in enumerate(rows)
    ]
    loads = [
        {"broker": broker.id, "rack": broker.rack, "leaders": leaders[broker.id], "replicas": replicas[broker.id]}
        for broker in sorted(brokers)
    ]
    if arguments.format == "json":
        return json.dumps({"placer": arguments.placer, "partitions": partitions, "brokers": loads}, indent=2)
    by_partition = table(
        ["partition", "replicas", "racks"],
        [
            [
                arguments.start_partition + number,
                ",".join(map(str, row)),
                ",".join(rack_of[broker] or "-" for broker in row),
            ]
            for number, row in enumerate(rows)
        ],
    )
    by_broker = table(["broker", "rack", "leaders", "replicas"], [list(load.values()) for load in loads])
    return f"{by_partition}\n\n{by_broker}"
