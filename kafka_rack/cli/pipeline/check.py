"""Look for lost, doubled, reordered and aborted records in many captures at once, on Spark.

IN is a capture or a folder of them. Files that go on from each other are one recording; recordings are checked side by
side, each by one task, as `kafka-rack check` does it. Below --out:
  recordings  a row each: whether it is consistent      anomalies  a row each, with evidence and Kafka's reason
  problems    what could not be read
and check.json. Exit code 3 when something was found that Kafka does not permit.

Examples:
  kafka-rack pipeline check captures/ --out checks/
  kafka-rack pipeline check a.pcap b.pcap --together --ports 9092 --compacts '*-changelog' --out checks/ --format json
"""

from __future__ import annotations

import argparse

from kafka_rack.cli import DONE, FINDINGS, CommandError, UsageError
from kafka_rack.cli.check.options import add_check_arguments, topic_patterns
from kafka_rack.cli.check.text import as_json, as_text, tell_problems
from kafka_rack.cli.options.places import check_places
from kafka_rack.cli.pipeline.running import (
    add_spark_arguments,
    check_spark_arguments,
    run_on_spark,
    spark_for,
    told_in_one_line,
)
from kafka_rack.cli.pipeline.small_inputs import tell_of_command
from kafka_rack.storage import location


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="+", metavar="IN", help="captures, or folders of them")
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="where the tables go; an earlier run's are replaced"
    )
    add_check_arguments(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of what it prints")
    add_spark_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    from kafka_rack.pipeline.spark.session import INSTALL_SPARK
    from kafka_rack.wire_capture.captures import Options

    check_spark_arguments(arguments)
    check_places(arguments.inputs, arguments.out)
    try:
        options = Options.parse(arguments.ports, arguments.brokers)
    except ValueError as error:
        raise UsageError(str(error)) from None
    try:
        from kafka_rack.pipeline.check.job import NothingToCheck, check_captures
        from kafka_rack.pipeline.output.staging import clear
    except ImportError as error:
        raise CommandError(f"{INSTALL_SPARK} ({error})") from None
    with told_in_one_line(arguments.out):
        tell_of_command(arguments, "check")
        try:
            checked = run_on_spark(
                spark_for,
                arguments,
                lambda spark: check_captures(
                    spark,
                    arguments.inputs,
                    arguments.out,
                    topic_patterns(arguments),
                    options,
                    max_examples=arguments.examples,
                    max_records=arguments.max_batches,
                    together=arguments.together,
                ),
                "checking",
            )
        except NothingToCheck as error:
            raise CommandError(str(error)) from None
        except KeyboardInterrupt:
            clear(location(arguments.out))  # tasks may still have written while they were cancelled
            raise
    tell_problems(checked, "kafka-rack pipeline check")
    print(as_json(checked) if arguments.format == "json" else as_text(checked))
    return DONE if all(one.report.is_consistent for one in checked) else FINDINGS
