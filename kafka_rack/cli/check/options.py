"""Which captures are checked as one history, and how much of it is remembered."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fnmatch import fnmatchcase

from kafka_rack.cli.options.whole_numbers import whole_number

MAX_RECORDS = 1_000_000
MAX_EXAMPLES = 3


def add_check_arguments(parser: argparse.ArgumentParser) -> None:
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
    parser.add_argument(
        "--max-batches",
        type=whole_number(1 << 40, least=2),
        default=MAX_RECORDS,
        metavar="N",
        help=f"how many batches to remember at a time; default: {MAX_RECORDS:,}",
    )


def lossy_topics(patterns: list[str]) -> Callable[[str], bool]:
    """Whether what a history calls a topic matches one of these patterns.

    >>> lossy_topics(["*-changelog"])("store-changelog (made anew, 1)")
    True
    """
    from kafka_rack.consistency.wire import topic_of

    return lambda label: any(fnmatchcase(topic_of(label), pattern) for pattern in patterns)
