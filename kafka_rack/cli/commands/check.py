"""Find records in captures that were lost, duplicated, reordered, or read though they were aborted.

CAPTURE is a file or a folder of them: lines of JSON as `kafka-rack serve --capture` writes them, pcap or
pcapng, plain or gzip. Files that go on from each other are one recording, each recording is a history of its own; with
--together all files are one, say one from each broker. docs/consistency.md has what each anomaly means and what the
wire cannot prove. Exit code 3 when something was found.

Examples:
  kafka-rack check trace.jsonl
  kafka-rack check captures/ --format json
  kafka-rack check a.pcap b.pcap c.pcap --together --ports 9092 --lossy '*-changelog'
"""

from __future__ import annotations

import argparse
import sys

from kafka_rack.cli import DONE, FINDINGS, CommandError
from kafka_rack.cli.check.options import add_check_arguments, lossy_topics
from kafka_rack.cli.check.text import as_json, as_text, tell_problems
from kafka_rack.cli.options.places import not_read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("captures", nargs="+", metavar="CAPTURE", help="captures, or folders of them")
    add_check_arguments(parser)
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
            max_records=arguments.max_batches,
            beside=arguments.together,
        )
        for recording in ([files] if arguments.together else recordings(files))
    ]
    tell_problems(checked, "kafka-rack check")
    print(as_json(checked) if arguments.format == "json" else as_text(checked))
    return DONE if all(one.report.is_consistent for one in checked) else FINDINGS
