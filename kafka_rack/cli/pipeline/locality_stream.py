"""`kafka-rack pipeline locality` as a stream: results anew after each batch, until it is told to end.

It starts, waits and ends as `kafka-rack pipeline decode` does.
"""

from __future__ import annotations

import argparse
import json
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from kafka_rack.cli.output.locality import as_text
from kafka_rack.cli.pipeline.captures import stopped_by_signals, stream_options, wait_for
from kafka_rack.locality.amounts import money_text

if TYPE_CHECKING:
    from kafka_rack.locality.settings import Settings


def follow(spark: Any, arguments: argparse.Namespace, settings: Settings) -> None:
    """Stream until all is read (--once), SIGINT, SIGTERM or an error: a line a batch, in the end one screen.

    A signal ends it between two batches, as it does where captures are decoded only.
    """
    from kafka_rack.pipeline.locality import job as locality

    out = arguments.out
    last: dict[str, Any] = {}

    def told(batch: int, result: dict[str, Any]) -> None:
        last.update(result)
        sys.stdout.write(as_line(batch, result, arguments.format))
        sys.stdout.flush()

    with stopped_by_signals() as stopped:
        how = stream_options(arguments)
        wait_for(locality.follow(spark, arguments.inputs, out, settings=settings, on_result=told, **how), stopped)
    if arguments.once and not last and not stopped.is_set():
        locality.results_until_now(spark, out, settings, told)
    if arguments.format == "table":
        sys.stdout.write("\n" + as_text(last) if last else "no frame yet in any input\n")


def as_line(batch: int, result: dict[str, Any], form: str) -> str:
    """What a batch came to. Batch -1 is what there was before the first."""
    if form == "json":
        return json.dumps({"batch": batch, **result}) + "\n"
    total, currency = result["total"], result["prices"]["currency"]
    name = f"batch {batch}" if batch >= 0 else "so far"
    crossed = f"{total['cross_bytes']} bytes across racks of {total['bytes']}"
    return f"{name}: {crossed}, {total['unknown_bytes']} unknown, {money_text(Decimal(total['cost']), currency)}\n"
