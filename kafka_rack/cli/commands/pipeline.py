"""kafka-rack pipeline: jobs on Spark, one module of ``kafka_rack.cli.pipeline`` each."""

from __future__ import annotations

from kafka_rack.cli.command import LazyGroup

JOBS = {
    "decode": "Decode captures into tables.",
    "locality": "Price the bytes that cross racks in captures.",
    "availability": "Compute what outages cost, over grids of clusters.",
    "audit": "Audit the placements of a fleet of clusters.",
    "fuzz": "Fuzz the codec, or one of your own.",
}
pipeline = LazyGroup(
    "pipeline",
    package="kafka_rack.cli.pipeline",
    commands={"Jobs": JOBS},
    hint="Each job has its own --help.",
    help="""Run a job on Spark: over captures of Kafka's protocol, grids of clusters, fleets, and every message.

locality and availability have the same options and results as the commands of these names.""",
)
