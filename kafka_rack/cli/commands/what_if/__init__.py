"""What would have been: a capture's clients, groups and topics under other settings, before and after side by side.

CAPTURE is a file or a folder of them, as `kafka-rack serve --capture` or tcpdump write them. The records written and
read stay the same; who talks to which broker, who reads what in a group, and where replicas are follows from what is
to be different. The answer: bytes by rack and their price, the load of each broker, and each group's rebalances, with
the partitions that stop and move in them. docs/what-if.md says how each is worked out. Needs no Spark.

Examples:
  kafka-rack what-if trace.jsonl --set client.rack=auto --set replica.selector.class=rack-aware
  kafka-rack what-if captures/ --protocol consumer --client-racks racks.txt
  kafka-rack what-if captures/ --diskless 'logs-*' --set client.rack=auto --prices prices.toml --format json
  kafka-rack what-if captures/ --placer copyset --replication-factor 3
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from kafka_rack.cli import DONE, CommandError
from kafka_rack.cli.commands.what_if.options import (
    add_change_arguments,
    add_reading_arguments,
    change_asked_for,
    prices_given,
    rules_given,
)
from kafka_rack.cli.options.places import not_read
from kafka_rack.errors import KafkaRackError
from kafka_rack.printable import printable

MAX_PROBLEMS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("captures", nargs="+", metavar="CAPTURE", help="captures, or folders of them")
    add_change_arguments(parser)
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    change = change_asked_for(arguments)
    rules, prices = rules_given(arguments), prices_given(arguments)
    from kafka_rack.wire_capture.captures import Options
    from kafka_rack.wire_capture.files import find_files

    try:
        options = Options.parse(arguments.ports, arguments.brokers)
        files, refused = find_files(arguments.captures)
    except (ValueError, OSError) as error:
        raise not_read(error) from None
    try:
        from kafka_rack.what_if.reading import Nothing, read_workload
    except ImportError as error:
        raise CommandError(f"what-if adds rows up with pyarrow: pip install pyarrow ({error})") from None
    from kafka_rack.cli.commands.what_if.text import as_json, as_text
    from kafka_rack.what_if import compare

    for path, reason in refused:
        sys.stderr.write(printable(f"kafka-rack what-if: {path}: {reason}") + "\n")
    if not files:
        raise CommandError(f"expected captures, got none in {', '.join(arguments.captures)}")
    problems: list[dict[str, Any]] = []
    try:
        workload = read_workload(files, options, rules, problems.append)
        compared = compare(workload, change, prices)
    except Nothing as error:
        raise CommandError(f"{', '.join(arguments.captures)}: {error}") from None
    except KafkaRackError as error:
        raise CommandError(str(error)) from None
    for problem in problems[:MAX_PROBLEMS]:
        where = f"{problem['file']}, byte {problem['offset']}: {problem['reason']}"
        sys.stderr.write(printable(f"kafka-rack what-if: {where}") + "\n")
    if len(problems) > MAX_PROBLEMS:
        sys.stderr.write(f"kafka-rack what-if: and {len(problems) - MAX_PROBLEMS} places more\n")
    sys.stdout.write(as_json(compared) if arguments.format == "json" else as_text(compared, prices))
    return DONE
