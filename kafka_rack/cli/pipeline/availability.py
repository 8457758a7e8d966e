"""kafka-rack pipeline availability: ``kafka-rack availability`` on Spark, with tables."""

from __future__ import annotations

import sys
from typing import Any

from kafka_rack.cli import DONE
from kafka_rack.cli.command import Arguments, command
from kafka_rack.cli.commands.availability import as_text, grid_options, points_given
from kafka_rack.cli.options.places import check_places
from kafka_rack.cli.options.shared import format_option
from kafka_rack.cli.pipeline.running import job_module, required_out_option, run_on_spark, spark_options
from kafka_rack.pipeline.availability.survey import Survey, as_json, survey_of
from kafka_rack.plurals import counted


@command()
@grid_options
@required_out_option
@spark_options
@format_option
def availability(arguments: Arguments) -> int:
    """Compute what outages cost over a grid of clusters: every combination of the values.

    Answers are those of kafka-rack availability with the same seed and trials: exact, or tried with their standard
    error. The table skipped lists impossible combinations with the reason.

    Examples:
      kafka-rack pipeline availability --broker-counts 6-48/3 --rack-counts none,3 --partitions 54 \\
        --replication-factor 3 --placers broker-replica,copyset --failures 1,2,3 --rack-failures 0,1 --out survey/
      kafka-rack pipeline availability --grid grid.toml --trials 1000000 --out survey/
      kafka-rack pipeline availability --kafka-1736 --out kafka-1736/
    """
    check_places([], arguments.out)
    points, skipped = points_given(arguments)
    job, seed = job_module("availability.job"), arguments.seed or 0

    def work(spark: Any) -> Survey:
        how = {"seed": seed, "trials": arguments.trials}
        answers = job.answer_points(spark, points, tasks=arguments.tasks, **how)
        found = survey_of(points, answers, skipped, **how)
        job.write(spark, found, arguments.out)
        return found

    found = run_on_spark(arguments, work, lambda _: counted(len(points), "point"))
    sys.stdout.write(as_json(found) if arguments.format == "json" else as_text(found, arguments.out))
    return DONE
