"""Inputs of a few megabytes: Spark's start takes longer than they do.

Its driver is started with less compiling then, and a job that has a command beside it which needs no Spark says so.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from kafka_rack.pipeline.spark.settings import HERE, administrators_settings, on_this_machine, sets_its_own_environment
from kafka_rack.storage import location
from kafka_rack.wire_tables.stored import is_stored

SMALL_BYTES = 64 << 20
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
QUICK_JAVA = "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Half of the processor time of Spark's start and of a small job went into Java's second compiler, too late to help."""
TOLD_TO_JAVA = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
"""Variables with options for Java; ours could contradict them."""


def quick_settings(arguments: argparse.Namespace, settings: Mapping[str, str]) -> dict[str, str]:
    """What has the driver of a small job on this machine be there sooner; nothing where anybody says how Java runs.

    Args:
        settings: those of the command line.
    """
    from kafka_rack.pipeline.spark.session import running_session, started_elsewhere

    already = {**administrators_settings(), **settings}
    if (
        not runs_here(arguments, already)
        or JAVA_OPTIONS in already
        or any(os.environ.get(name) for name in TOLD_TO_JAVA)
        or sets_its_own_environment()
        or started_elsewhere()
        or running_session() is not None
        or getattr(arguments, "stream", False)
        or bytes_of(getattr(arguments, "inputs", ())) is None
    ):
        return {}
    return {JAVA_OPTIONS: QUICK_JAVA}


def tell_of_command(arguments: argparse.Namespace) -> None:
    """Writes to stderr that `kafka-rack locality` needs no Spark, if inputs are small and Spark would run here."""
    from kafka_rack.pipeline.spark.progress import amount
    from kafka_rack.pipeline.spark.session import running_session, started_elsewhere

    if arguments.quiet or getattr(arguments, "stream", False) or getattr(arguments, "once", False):
        return
    if started_elsewhere():  # who submits has a cluster, and spark-submit puts stderr into the answer
        return
    size = bytes_of(arguments.inputs)
    if not size or running_session() is not None or not runs_here(arguments, administrators_settings()):
        return
    if any(is_stored(location(given)) for given in arguments.inputs):
        return
    note = f"{amount('bytes', size)} of captures need no Spark: kafka-rack locality gives the same answer sooner"
    sys.stderr.write(f"kafka-rack pipeline locality: note: {note}\n")


def runs_here(arguments: argparse.Namespace, already: Mapping[str, str]) -> bool:
    """Whether driver and workers will be on this machine."""
    said = dict(given.partition("=")[::2] for given in arguments.conf)
    return on_this_machine(arguments.master or said.get("spark.master") or already.get("spark.master") or HERE)


def bytes_of(inputs: Iterable[str]) -> int | None:
    """How much there is to read; None where it is much, or lies where asking takes long."""
    total = 0
    for given in inputs:
        place = location(given)
        if not isinstance(place, Path):
            return None
        try:
            for file in place.rglob("*") if place.is_dir() else [place]:
                total += file.stat().st_size if file.is_file() else 0
                if total > SMALL_BYTES:
                    return None
        except OSError:
            return None
    return total
