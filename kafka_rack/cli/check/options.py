"""What captures are to be checked for, and under which settings."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from kafka_rack.cli.options.whole_numbers import whole_number

if TYPE_CHECKING:
    from kafka_rack.consistency import HistorySettings
    from kafka_rack.consistency.topic_patterns import TopicPatterns

TOPIC_SETTINGS = {
    "unclean-leader-election": "this topic had unclean.leader.election.enable=true; * in names stands for anything",
    "deletes-records": "retention or DeleteRecords removed records of this topic meanwhile",
    "compacts": "this topic has cleanup.policy=compact",
}
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
    for option, meaning in TOPIC_SETTINGS.items():
        parser.add_argument(f"--{option}", action="append", default=[], metavar="TOPIC", help=meaning)
    parser.add_argument("--reads-to-end", action="store_true", help="readers went on until nothing more came")
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


def history_settings(arguments: argparse.Namespace) -> HistorySettings:
    from kafka_rack.consistency.wire import WIRE_SETTINGS

    return replace(WIRE_SETTINGS, reads_to_end=arguments.reads_to_end)


def topic_patterns(arguments: argparse.Namespace) -> TopicPatterns:
    """What the command line says of topics."""
    from kafka_rack.consistency.topic_patterns import TopicPatterns

    return TopicPatterns(
        history_settings(arguments),
        tuple(arguments.unclean_leader_election),
        tuple(arguments.deletes_records),
        tuple(arguments.compacts),
    )
