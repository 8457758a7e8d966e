"""What would have been: a capture's clients, groups and topics under other settings, before and after side by side.

CAPTURE is a file or a folder of them, as `kafka-rack serve --capture` or tcpdump write them. The records written and
read stay the same; who talks to which broker, who reads what in a group, and where replicas are follows from what is
to be different. The answer: bytes by rack and their price, the load of each broker, and each group's rebalances, with
the partitions that stop and move in them. docs/cost.md says how each is worked out. Needs no Spark.

Examples:
  kafka-rack what-if trace.jsonl --set client.rack=auto --set replica.selector.class=rack-aware
  kafka-rack what-if captures/ --protocol consumer --client-racks racks.txt
  kafka-rack what-if captures/ --diskless 'logs-*' --set client.rack=auto --prices prices.toml --format json
  kafka-rack what-if captures/ --placer copyset --replication-factor 3
"""

from __future__ import annotations

import argparse
import sys

from kafka_rack.cli import DONE, FAILED, CommandError
from kafka_rack.cli.commands.what_if.options import (
    add_change_arguments,
    add_reading_arguments,
    change_asked_for,
    rules_given,
    selector_captured,
)
from kafka_rack.cli.options.locality import prices_of
from kafka_rack.cli.options.places import not_read
from kafka_rack.errors import KafkaRackError
from kafka_rack.printable import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("captures", nargs="+", metavar="CAPTURE", help="captures, or folders of them")
    add_change_arguments(parser)
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    change = change_asked_for(arguments)
    rules, prices, captured_with = rules_given(arguments), prices_of(arguments), selector_captured(arguments)
    from kafka_rack.wire_capture.captures import Options
    from kafka_rack.wire_capture.files import find_files, unread_inputs

    try:
        options = Options.parse(arguments.ports, arguments.brokers)
        files, refused = find_files(arguments.captures)
    except (ValueError, OSError) as error:
        raise not_read(error) from None
    from kafka_rack.cli.commands.what_if.text import as_json, as_text
    from kafka_rack.what_if import compare
    from kafka_rack.what_if.reading import Nothing, read_workloads

    try:
        workloads = read_workloads(files, options, rules, captured_with)
        workloads.completeness.refused.update(refused)
        compared = compare(workloads.clusters, change, prices, workloads.completeness)
    except Nothing as error:
        raise CommandError(f"{', '.join(arguments.captures)}: {error}") from None
    except KafkaRackError as error:
        raise CommandError(str(error)) from None
    sys.stdout.write(as_json(compared) if arguments.format == "json" else as_text(compared))
    for given in unread_inputs(arguments.captures, workloads.read):
        sys.stderr.write(f"kafka-rack what-if: {printable(given)}: not one frame could be read\n")
        return FAILED
    return DONE
