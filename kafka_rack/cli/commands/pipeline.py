"""Spark jobs: over captures of Kafka's wire, grids of clusters, fleets, and every message.

Each job has its own --help.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from importlib.util import find_spec

from kafka_rack.cli import epilog
from kafka_rack.cli.parser import HelpFormatter

# Job -> what it does. Its module is kafka_rack.cli.pipeline.<job> with ``add_arguments(parser)`` and
# ``run(arguments) -> exit code``, as a subcommand's.
JOBS = {
    "decode": "captures to tables",
    "locality": "bytes and money by rack, and what was avoidable",
    "availability": "what outages cost, over grids of clusters",
    "fuzz": "compatibility of every message and version",
    "audit": "placements of a fleet of clusters",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    jobs = parser.add_subparsers(metavar="JOB", title="jobs", dest="job", required=True)
    for job, meaning in JOBS.items():
        if find_spec(module_name(job)) is None:
            continue
        module = import_module(module_name(job))
        one = jobs.add_parser(
            job, help=meaning, description=module.__doc__, epilog=epilog(), formatter_class=HelpFormatter
        )
        module.add_arguments(one)


def run(arguments: argparse.Namespace) -> int:
    return int(import_module(module_name(arguments.job)).run(arguments))


def module_name(job: str) -> str:
    return f"kafka_rack.cli.pipeline.{job}"
