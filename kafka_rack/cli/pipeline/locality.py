"""kafka-rack pipeline locality: ``kafka-rack locality`` on Spark, a task for each capture."""

from __future__ import annotations

from functools import partial
from typing import Any

from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.command import Arguments, command
from kafka_rack.cli.options.locality import forecasts, locality_options, print_result, settings_of
from kafka_rack.cli.options.shared import out_option, packets_options
from kafka_rack.cli.pipeline.captures import (
    capture_options,
    check_stream,
    follow,
    inputs_argument,
    say_batch,
    stream_options,
)
from kafka_rack.cli.pipeline.running import job_module, run_on_spark, spark_options
from kafka_rack.plurals import counted


@command()
@inputs_argument
@out_option
@locality_options
@packets_options
@stream_options
@spark_options
def locality(arguments: Arguments) -> int:
    """Price the bytes that cross racks in many captures: how many, what of it was avoidable, and why it crossed.

    IN is a capture or a folder of them. Options and results are those of kafka-rack locality: locality.html, a page for
    people, and locality.json. --forecast reads no capture and needs no Spark. A stream adds new files to the result.

    Examples:
      kafka-rack pipeline locality trace/ --out locality/
      kafka-rack pipeline locality s3a://traces/ --out locality/ --client-racks racks.txt --window 5m
      kafka-rack pipeline locality trace/ --out locality/ --stream
    """
    if forecasts(arguments, arguments.inputs, "IN"):
        return DONE
    if not arguments.out:
        raise UsageError("--out is missing")
    options, settings = capture_options(arguments), settings_of(arguments)
    check_stream(arguments)
    job = job_module("locality")
    if arguments.stream or arguments.once:

        def show(batch: int, result: dict[str, Any]) -> None:
            say_batch(arguments, batch, result["summary"]["lines"]["client"], result)

        return follow(arguments, partial(job.measure_stream, settings=settings, options=options, on_batch=show))

    how = {"options": options, "tasks": arguments.tasks}
    try:
        result, unread = run_on_spark(
            arguments,
            lambda spark: job.measure(spark, arguments.inputs, arguments.out, settings, **how),
            lambda found: counted(found[0]["span"]["captures"], "capture"),
        )
    except job.NothingToMeasure as error:
        raise CommandError(f"{', '.join(arguments.inputs)}: {error}") from None
    return print_result(arguments, result, unread)
