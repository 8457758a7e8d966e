"""What would have been: captures under other settings, before and after side by side, their rows added up on Spark.

IN is a capture, a folder of them, or a folder of tables as `kafka-rack pipeline decode` writes them. The answer is that
of `kafka-rack what-if`, printed, and whole in what-if.json below --out: bytes by rack and their price, the load of each
broker, each group's rebalances. docs/what-if.md says how each is worked out.

Examples:
  kafka-rack pipeline what-if trace/ --out answers/ --set client.rack=auto --set replica.selector.class=rack-aware
  kafka-rack pipeline what-if tables/ --out answers/ --protocol consumer --client-racks racks.txt
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.options.places import check_places
from kafka_rack.cli.pipeline.running import (
    add_spark_arguments,
    check_spark_arguments,
    run_on_spark,
    spark_for,
    told_in_one_line,
)
from kafka_rack.cli.pipeline.small_inputs import tell_of_command
from kafka_rack.cli.what_if.options import (
    add_change_arguments,
    add_reading_arguments,
    change_asked_for,
    prices_given,
    rules_given,
)
from kafka_rack.errors import KafkaRackError
from kafka_rack.storage import location


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="+", metavar="IN", help="captures, folders of them, or decoded tables")
    parser.add_argument("--out", required=True, metavar="DIR", help="where what-if.json goes")
    add_change_arguments(parser)
    add_reading_arguments(parser)
    add_spark_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    from kafka_rack.pipeline.spark.session import INSTALL_SPARK
    from kafka_rack.wire_capture.captures import Options

    change = change_asked_for(arguments)
    rules, prices = rules_given(arguments), prices_given(arguments)
    check_spark_arguments(arguments)
    check_places(arguments.inputs, arguments.out)
    try:
        Options.parse(arguments.ports, arguments.brokers)
    except ValueError as error:
        raise UsageError(str(error)) from None
    try:
        from kafka_rack.pipeline.output.formats import FormatMissing
        from kafka_rack.pipeline.output.staging import clear
        from kafka_rack.pipeline.output.writing import SchemaMismatch
        from kafka_rack.pipeline.what_if.job import what_if
        from kafka_rack.what_if.reading import Nothing
    except ImportError as error:
        raise CommandError(f"{INSTALL_SPARK} ({error})") from None
    from kafka_rack.cli.what_if.text import as_json, as_text

    options = {name: getattr(arguments, name) for name in ("ports", "brokers") if getattr(arguments, name)}

    def work(spark: Any) -> Any:
        return what_if(spark, arguments.inputs, arguments.out, change, prices, rules, source_options=options)

    with told_in_one_line(arguments.out):
        tell_of_command(arguments, "what-if")
        try:
            compared = run_on_spark(spark_for, arguments, work, "adding up")
        except (Nothing, KafkaRackError, SchemaMismatch, FormatMissing) as error:
            raise CommandError(f"{', '.join(arguments.inputs)}: {error}") from None
        except KeyboardInterrupt:
            clear(location(arguments.out))  # tasks may still have written while they were cancelled
            raise
    sys.stdout.write(as_json(compared) if arguments.format == "json" else as_text(compared, prices))
    return DONE
