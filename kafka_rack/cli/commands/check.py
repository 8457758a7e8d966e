"""Find records in captures that were lost, duplicated, reordered, or read though they were aborted.

CAPTURE is a file or a folder of them: lines of JSON as `kafka-rack serve --capture` writes them, pcap or
pcapng, plain or gzip. Files that go on from each other are one recording, each recording is a history of its own; with
--together all files are one, say one from each broker. docs/journal.md has what each anomaly means and what the
wire cannot prove. Exit code 3 when something was found.

Examples:
  kafka-rack check trace.jsonl
  kafka-rack check captures/ --format json
  kafka-rack check a.pcap b.pcap c.pcap --together --ports 9092 --lossy '*-changelog'
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from kafka_rack.cli import DONE, FINDINGS, CommandError
from kafka_rack.cli.options.places import not_read
from kafka_rack.cli.options.whole_numbers import whole_number
from kafka_rack.printable import printable

if TYPE_CHECKING:
    from kafka_rack.consistency.captures import CheckedCapture

MAX_EXAMPLES = 3
MAX_PROBLEMS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("captures", nargs="+", metavar="CAPTURE", help="captures, or folders of them")
    parser.add_argument("--together", action="store_true", help="all files are one history")
    parser.add_argument("--ports", metavar="P,P,...", help="the brokers' ports in packets; default: recognised")
    parser.add_argument(
        "--brokers",
        metavar="ID[@RACK]=[HOST]:PORT,...",
        help="which broker listens where in packets;\ndefault: learned from Metadata",
    )
    parser.add_argument(
        "--lossy",
        action="append",
        default=[],
        metavar="TOPIC",
        help="report no lost or reordered writes of this topic, which compaction, retention, DeleteRecords or\n"
        "unclean leader election may cause; * in names matches anything",
    )
    parser.add_argument(
        "--examples",
        type=whole_number(1_000_000, least=0),
        default=MAX_EXAMPLES,
        metavar="N",
        help=f"how many of each kind to show; default: {MAX_EXAMPLES}",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of what it prints")


def run(arguments: argparse.Namespace) -> int:
    from kafka_rack.consistency.captures import check_capture, recordings
    from kafka_rack.wire_capture.captures import Options
    from kafka_rack.wire_capture.files import find_files

    try:
        options = Options.parse(arguments.ports, arguments.brokers)
        files, refused = find_files(arguments.captures)
    except (ValueError, OSError) as error:
        raise not_read(error) from None
    for path, reason in refused:
        sys.stderr.write(f"kafka-rack check: {path}: {reason}\n")
    if not files:
        raise CommandError(f"expected captures, got none in {', '.join(arguments.captures)}")
    checked = [
        check_capture(
            recording,
            options,
            is_lossy=lossy_topics(arguments.lossy),
            max_examples=arguments.examples,
            beside=arguments.together,
        )
        for recording in ([files] if arguments.together else recordings(files))
    ]
    tell_problems(checked)
    print(as_json(checked) if arguments.format == "json" else as_text(checked))
    return DONE if all(one.report.is_consistent for one in checked) else FINDINGS


def lossy_topics(patterns: list[str]) -> Callable[[str], bool]:
    """Returns a test whether a history's name of a topic matches one of these patterns.

    >>> lossy_topics(["*-changelog"])("store-changelog (made anew, 1)")
    True
    """
    from kafka_rack.consistency.wire import topic_of

    return lambda label: any(fnmatchcase(topic_of(label), pattern) for pattern in patterns)


def as_text(checked: list[CheckedCapture]) -> str:
    parts = []
    for one in checked:
        since = f" (times count from {one.started})" if one.report.counts else ""
        parts.append(f"{one.name}: {one.report}".replace("\n", f"{since}\n", 1))
    return "\n\n".join(parts)


def as_json(checked: list[CheckedCapture]) -> str:
    is_consistent = all(one.report.is_consistent for one in checked)
    return json.dumps(
        {"is_consistent": is_consistent, "captures": [one.as_json() for one in checked]},
        indent=2,
    )


def tell_problems(checked: list[CheckedCapture]) -> None:
    """Reports on stderr the parts that could not be read."""
    for one in checked:
        for problem in one.problems[:MAX_PROBLEMS]:
            sys.stderr.write(f"kafka-rack check: {problem.file}, byte {problem.offset}: {printable(problem.reason)}\n")
        if len(one.problems) > MAX_PROBLEMS:
            sys.stderr.write(f"kafka-rack check: and {len(one.problems) - MAX_PROBLEMS} more in {one.name}\n")
