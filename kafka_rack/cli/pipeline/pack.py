"""Write what `spark-submit` takes where workers have none of it: this package, what it needs, and a program.

Below DIR: kafka_rack.zip, kafka_rack_needs.zip (compiled packages of this environment) and kafka_rack_job.py, whose
arguments are those of `kafka-rack pipeline`. Prints the command to begin with. Neither Spark nor Java is needed here.

With --deploy-mode cluster the driver, a process of the cluster too, finds all of it in kafka_rack_needs.zip.

Examples:
  kafka-rack pipeline pack build/
  spark-submit --master spark://HOST:7077 ... build/kafka_rack_job.py decode captures/ --out tables/
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from kafka_rack.cli import DONE, CommandError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="where the files go; it is made if it is not there")
    parser.add_argument(
        "--deploy-mode",
        choices=("client", "cluster"),
        default="client",
        help="where the driver will run: in this environment, or in the\ncluster; default: client",
    )


def run(arguments: argparse.Namespace) -> int:
    from kafka_rack.pipeline.spark.shipping import NotInstalled, packed_for_submit

    try:
        options, program = packed_for_submit(
            Path(arguments.folder),
            Path(__file__).with_name("submitted.py"),
            with_driver=arguments.deploy_mode == "cluster",
        )
    except NotInstalled as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"{error.filename or arguments.folder}: {error.strerror or error}") from None
    told = ["spark-submit", "--master", "MASTER", *options, program, "JOB"]
    sys.stdout.write(f"{' '.join(shlex.quote(word) for word in told)} ...\n")
    return DONE
