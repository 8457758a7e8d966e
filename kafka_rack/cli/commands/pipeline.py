"""kafka-rack pipeline: jobs on Spark, one module of ``kafka_rack.cli.pipeline`` each."""

from __future__ import annotations

from importlib import import_module

import click

from kafka_rack.cli.command import Group

JOBS = {
    "decode": "Decode captures into tables.",
    "locality": "Price the bytes that cross racks in captures.",
    "availability": "Compute what outages cost, over grids of clusters.",
    "audit": "Audit the placements of a fleet of clusters.",
    "fuzz": "Fuzz the codec, or one of your own.",
}


class Jobs(Group):
    """The jobs; a job's module is imported when the job runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(JOBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in JOBS:
            return None
        found: click.Command = getattr(import_module(f"kafka_rack.cli.pipeline.{cmd_name}"), cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Jobs"):
            formatter.write_dl(list(JOBS.items()))


pipeline = Jobs(
    "pipeline",
    help="""Run a job on Spark: over captures of Kafka's protocol, grids of clusters, fleets, and every message.

Each job has its own --help. locality and availability have the same options and results as the commands of these names.
""",
)
