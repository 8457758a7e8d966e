"""Look for anomalies in captures: lost, doubled, reordered and aborted records, partitions with two owners.

CAPTURE is a file or a folder of them: lines of JSON as `kafka-rack serve --capture` writes them, pcap or pcapng, plain
or gzip. Files that go on from each other are one recording, each recording is a history of its own; with --together all
files are one, say one from each broker. Of each anomaly it says whether Kafka permits it, and why; docs/consistency.md
has what each means and what the wire cannot prove. Exit code 3 when something was found that Kafka does not permit.

Examples:
  kafka-rack check trace.jsonl
  kafka-rack check captures/ --format json
  kafka-rack check a.pcap b.pcap c.pcap --together --ports 9092 --compacts '*-changelog'
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from kafka_rack.cli import DONE, FINDINGS, CommandError, UsageError
from kafka_rack.cli.options.whole_numbers import whole_number
from kafka_rack.printable import printable

if TYPE_CHECKING:
    from kafka_rack.consistency import HistorySettings
    from kafka_rack.consistency.captures import CheckedCapture

TOPIC_SETTINGS = {
    "unclean-leader-election": "this topic had unclean.leader.election.enable=true; * in names stands for anything",
    "deletes-records": "retention or DeleteRecords removed records of this topic meanwhile",
    "compacts": "this topic has cleanup.policy=compact",
}
MAX_RECORDS = 1_000_000
MAX_EXAMPLES = 3
MAX_PROBLEMS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("captures", nargs="+", metavar="CAPTURE", help="captures, or folders of them")
    parser.add_argument("--together", action="store_true", help="all files are one history")
    parser.add_argument("--ports", metavar="P,P,...", help="the brokers' ports in packets; recognised if not given")
    parser.add_argument(
        "--brokers",
        metavar="ID[@RACK]=[HOST]:PORT,...",
        help="which broker listens where in packets;\nlearned from Metadata if not given",
    )
    for option, meaning in TOPIC_SETTINGS.items():
        parser.add_argument(f"--{option}", action="append", default=[], metavar="TOPIC", help=meaning)
    parser.add_argument("--reads-to-end", action="store_true", help="readers went on until nothing more came")
    parser.add_argument(
        "--examples",
        type=whole_number(1_000_000, least=0),
        default=MAX_EXAMPLES,
        metavar="N",
        help=f"how many of each kind to show; {MAX_EXAMPLES}",
    )
    parser.add_argument(
        "--max-batches",
        type=whole_number(1 << 40, least=2),
        default=MAX_RECORDS,
        metavar="N",
        help=f"how many batches to remember at a time; {MAX_RECORDS:,}",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of what it prints")


def run(arguments: argparse.Namespace) -> int:
    from kafka_rack.consistency.captures import check_capture, recordings
    from kafka_rack.consistency.wire import WIRE_SETTINGS
    from kafka_rack.wire_capture.captures import Options
    from kafka_rack.wire_capture.files import find_files

    try:
        options = Options.parse(arguments.ports, arguments.brokers)
        files, refused = find_files(arguments.captures)
    except (ValueError, FileNotFoundError) as error:
        raise UsageError(str(error)) from None
    for path, reason in refused:
        sys.stderr.write(f"kafka-rack check: {path}: {reason}\n")
    if not files:
        raise CommandError(f"expected captures, got none in {', '.join(arguments.captures)}")
    settings = replace(WIRE_SETTINGS, reads_to_end=arguments.reads_to_end)
    checked = [
        check_capture(
            recording,
            options,
            settings,
            settings_of_topic=partial(settings_of_topic, arguments, settings),
            max_examples=arguments.examples,
            max_records=arguments.max_batches,
            beside=arguments.together,
        )
        for recording in ([files] if arguments.together else recordings(files))
    ]
    for one in checked:
        for problem in one.problems[:MAX_PROBLEMS]:
            sys.stderr.write(f"kafka-rack check: {problem.file}, byte {problem.offset}: {printable(problem.reason)}\n")
        if len(one.problems) > MAX_PROBLEMS:
            sys.stderr.write(f"kafka-rack check: and {len(one.problems) - MAX_PROBLEMS} more in {one.name}\n")
    is_consistent = all(one.report.is_consistent for one in checked)
    print(as_json(checked, is_consistent=is_consistent) if arguments.format == "json" else as_text(checked))
    return DONE if is_consistent else FINDINGS


def settings_of_topic(arguments: argparse.Namespace, settings: HistorySettings, label: str) -> HistorySettings:
    """What the command line says of a topic."""
    from kafka_rack.consistency.wire import topic_of

    def names(patterns: list[str]) -> bool:
        return any(fnmatchcase(topic_of(label), pattern) for pattern in patterns)

    return replace(
        settings,
        unclean_leader_election=names(arguments.unclean_leader_election),
        deletes_records=names(arguments.deletes_records),
        compacts=names(arguments.compacts),
    )


def as_text(checked: list[CheckedCapture]) -> str:
    parts = []
    for one in checked:
        since = f" (times count from {started(one)})" if one.report.counts else ""
        parts.append(f"{one.name}: {one.report}".replace("\n", f"{since}\n", 1))
    return "\n\n".join(parts)


def as_json(checked: list[CheckedCapture], *, is_consistent: bool) -> str:
    return json.dumps(
        {
            "is_consistent": is_consistent,
            "captures": [
                {
                    "name": one.name,
                    "files": list(one.paths),
                    "started": started(one),
                    **one.report.to_json(),
                    "problems": [problem._asdict() for problem in one.problems],
                }
                for one in checked
            ],
        },
        indent=2,
    )


def started(checked: CheckedCapture) -> str | None:
    """The time of the first frame."""
    if checked.started_us is None:
        return None
    return datetime.fromtimestamp(checked.started_us / 1e6, UTC).isoformat(timespec="milliseconds")
