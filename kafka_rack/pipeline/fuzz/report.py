"""The files of a run: one for each failure, the coverage table and a summary; and the reader of a failure."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import msgspec

import protocol
from kafka_rack.pipeline.fuzz.checks import CHECKS
from kafka_rack.pipeline.fuzz.codecs import CodecSource
from kafka_rack.pipeline.fuzz.job import FuzzRun
from kafka_rack.pipeline.fuzz.results import Failure, coverage_rows, never_exercised
from kafka_rack.pipeline.tables import schema_of, small_table, write_table, write_text
from protocol.fuzz.generation import MARKS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAILURES, COVERAGE, SUMMARY = "failures", "coverage.parquet", "summary.json"
SCHEMA = schema_of(
    "message string, version int, field string, "
    + ", ".join(f"{name} long" for name in ("examples", "present", *MARKS))
)


class Replay(Failure, kw_only=True):
    """A failure's file: the failure, and the command that replays it.

    ``codec`` and ``kafka_clients`` are those of the command line, None if not set; ``replay`` is the command.
    """

    seed: int
    codec: str | None = None
    kafka_clients: str | None = None
    replay: str = ""


def summary_of(run: FuzzRun) -> dict[str, Any]:
    """A run as JSON values: the examples, each check's results, failures, fields never exercised."""
    results, plan = run.results, run.plan
    return {
        "seed": plan.seed,
        "messages": len(plan.versions),
        "message_versions": plan.message_versions,
        "examples_of_each": plan.examples,
        "examples": results.examples,
        "kafka": run.kafka,
        "checks": {name: msgspec.to_builtins(results.tally(name)) for name in CHECKS if name in run.checks},
        "unfit": dict(sorted(results.unfit.items())),
        "failures": [
            {
                **{name: getattr(one, name) for name in ("message", "version", "check", "kind", "count", "minimised")},
                "file": f"{FAILURES}/{file_name(one)}",
            }
            for one in results.sorted_failures
        ],
        "fields": sum(len(one.counts) // 32 for one in results.coverage.values()),
        "never_exercised": never_exercised(coverage_rows(results)),
    }


def file_name(failure: Failure) -> str:
    """The file name of a failure: one for each fault of a message version, the same in every run."""
    return f"{failure.message}-v{failure.version}-{failure.check}-{crc32(failure.kind.encode()):08x}.json"


def write(
    spark: SparkSession,
    run: FuzzRun,
    summary: dict[str, Any],
    out: str,
    *,
    codec: CodecSource | None,
    kafka_clients: str | None,
) -> None:
    """Write a run below ``out``; replaces coverage and summary of an earlier run. Raises OSError."""
    for one in run.results.sorted_failures:
        path = f"{FAILURES}/{file_name(one)}"
        replay = Replay(
            **msgspec.structs.asdict(one),
            seed=run.plan.seed,
            codec=codec.spec if codec is not None and one.check == "codec" else None,
            kafka_clients=kafka_clients if one.check == "java" else None,
        )
        write_text(spark, out, path, as_json(replay, f"{out.rstrip('/')}/{path}"))
    write_table(small_table(spark, coverage_rows(run.results), SCHEMA), out, COVERAGE)
    write_text(spark, out, SUMMARY, json.dumps(summary, indent=2) + "\n")


def replay_command(path: str, replay: Replay) -> str:
    parts = ["kafka-rack", "pipeline", "fuzz", "--replay", path]
    if replay.codec:
        parts += ["--codec", replay.codec]
    if replay.kafka_clients:
        parts += ["--kafka-clients-jar", replay.kafka_clients]
    return shlex.join(parts)


def as_json(replay: Replay, path: str) -> str:
    """The text of a failure's file; ``value`` has the fields that are not at their defaults, by Kafka's names."""
    replay.replay = replay_command(path, replay)
    return json.dumps(msgspec.to_builtins(replay), indent=2, ensure_ascii=False) + "\n"


def read(path: Path) -> Replay:
    """Read a failure's file.

    Raises: ValueError: not a failure's file, with the reason. OSError.
    """
    try:
        found = msgspec.convert(json.loads(path.read_text(encoding="utf-8")), Replay)  # infinite numbers are no JSON
        message = protocol.named_class(found.message)
    except (msgspec.ValidationError, ValueError, protocol.ProtocolError) as error:
        raise ValueError(f"{path} is no failure that a run of fuzz wrote: {error}") from None
    if found.check not in CHECKS:
        raise ValueError(f"{path}: check: expected one of {', '.join(CHECKS)}, got {found.check!r}")
    if found.version not in message.valid_versions:
        raise ValueError(
            f"{path}: {found.message} version {found.version}, but it has versions {message.valid_versions}"
        )
    return found
