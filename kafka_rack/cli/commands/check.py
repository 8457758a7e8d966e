"""kafka-rack check: lost, duplicated and reordered records in captures."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from kafka_rack.cli import DONE, FINDINGS, CommandError
from kafka_rack.cli.command import Arguments, argument, command, flag, option, say
from kafka_rack.cli.options.places import not_read
from kafka_rack.cli.options.shared import format_option, packets_options
from kafka_rack.cli.options.types import PATH, WholeNumber, Words
from kafka_rack.cli.output.results import show_as

if TYPE_CHECKING:
    from kafka_rack.consistency.captures import CheckedCapture

MAX_EXAMPLES = 3
MAX_PROBLEMS = 5


@command()
@argument("captures", metavar="CAPTURE...", nargs=-1, required=True, type=PATH)
@flag("--together", "Take all files as one history, such as one file from each broker.")
@packets_options
@option(
    "--lossy",
    Words("TOPIC"),
    "Report no lost or reordered writes of this topic, which compaction, retention, DeleteRecords or unclean "
    "leader election may cause; * matches anything; repeatable.",
    multiple=True,
)
@option("--examples", WholeNumber(0, 1_000_000), "Show this many examples of each anomaly.", default=MAX_EXAMPLES)
@format_option
def check(arguments: Arguments) -> int:
    """Find records in captures that were lost, duplicated, reordered, or read though they were aborted.

    CAPTURE is a file or a folder of them: lines of JSON as `kafka-rack serve --capture` writes them, pcap or pcapng,
    plain or gzip. Files that continue each other are one recording, and each recording is a history of its own.
    docs/journal.md explains each anomaly, and what the wire cannot prove. Exit code 3: an anomaly was found.

    Examples:
      kafka-rack check trace.jsonl
      kafka-rack check captures/ --format json
      kafka-rack check a.pcap b.pcap c.pcap --together --ports 9092 --lossy '*-changelog'
    """
    from kafka_rack.consistency.captures import check_capture, recordings
    from kafka_rack.wire_capture.captures import Options
    from kafka_rack.wire_capture.files import find_files

    try:
        options = Options.parse(arguments.ports, arguments.addresses)
        files, refused = find_files(list(arguments.captures))
    except (ValueError, OSError) as error:
        raise not_read(error) from None
    for path, reason in refused:
        say(f"{path}: {reason}")
    if not files:
        raise CommandError(f"expected captures, got none in {', '.join(arguments.captures)}")
    checked = [
        check_capture(
            recording,
            options,
            is_lossy=lossy_topics(list(arguments.lossy)),
            max_examples=arguments.examples,
            beside=arguments.together,
        )
        for recording in ([files] if arguments.together else recordings(files))
    ]
    say_problems(checked)
    is_consistent = all(one.report.is_consistent for one in checked)
    found = {"is_consistent": is_consistent, "captures": [one.as_json() for one in checked]}
    show_as(arguments.format, found, as_text(checked))
    return DONE if is_consistent else FINDINGS


def lossy_topics(patterns: list[str]) -> Callable[[str], bool]:
    """Returns a test whether a history's name of a topic matches one of these patterns.

    >>> lossy_topics(["*-changelog"])("store-changelog (recreated, 1)")
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


def say_problems(checked: list[CheckedCapture]) -> None:
    """Reports on stderr the parts that could not be read."""
    for one in checked:
        for problem in one.problems[:MAX_PROBLEMS]:
            say(f"{problem.file}, byte {problem.offset}: {problem.reason}")
        if len(one.problems) > MAX_PROBLEMS:
            say(f"and {len(one.problems) - MAX_PROBLEMS} more in {one.name}")
