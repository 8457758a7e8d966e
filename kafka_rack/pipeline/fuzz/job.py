"""The job ``fuzz``: chunks of examples over Spark's tasks, and failures minimised by other tasks.

A chunk depends only on its seed, and results can be added in any order, so the results do not depend on the number of
tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

import protocol
from kafka_rack.pipeline.fuzz.checks import Disagreement, FuzzCheck, checks_for
from kafka_rack.pipeline.fuzz.codecs import CodecSource
from kafka_rack.pipeline.fuzz.java import FUNCTION, NAME, JavaCheck, KafkaSide, judged, kafka_side, question
from kafka_rack.pipeline.fuzz.plan import ExampleChunk, FuzzPlan
from kafka_rack.pipeline.fuzz.results import Coverage, Failure, Results
from kafka_rack.pipeline.fuzz.work import Asker, messages_of, minimised, run_chunk
from kafka_rack.pipeline.tables import schema_of
from protocol.codec import decode_as

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASKS_PER_CORE = 8
MAX_MINIMISED_BY_JAVA = 50
"""The driver calls Kafka's classes for that, one example after the other."""
FOUND_DDL = "found binary"
ASKED_DDL = "chunk long, example long, class string, version int, data binary, tree string"

Batches = Iterable[pa.RecordBatch]
Task = Callable[[Batches], Iterator[pa.RecordBatch]]


class FuzzRun(msgspec.Struct):
    """A run and its findings. ``kafka`` is the release of Kafka's classes, None if these were not used."""

    plan: FuzzPlan
    checks: tuple[str, ...]
    results: Results
    kafka: str | None = None


def fuzz(
    spark: SparkSession,
    plan: FuzzPlan,
    checks: Sequence[str],
    *,
    codec: CodecSource | None = None,
    jars: Sequence[Path] = (),
    tasks: int | None = None,
) -> FuzzRun:
    """Run a plan.

    Args:
        checks: names in ``checks.CHECKS``.
        codec: the user's, for the check ``codec``.
        jars: with Kafka's classes, for the check ``java``; default: those on Spark's class path.
        tasks: the number of tasks; default: a few per core. The results do not depend on it.

    Raises: CodecError, KafkaMissing.
    """
    checks_for(checks, codec.load() if codec is not None else None)  # reports missing parts before any work
    chunks = sum(1 for _ in plan.chunks())
    tasks = min(tasks or TASKS_PER_CORE * spark.sparkContext.defaultParallelism, chunks)
    with kafka_side(spark, jars) if NAME in checks else nullcontext() as side:
        in_python = tuple(name for name in checks if name != NAME)
        run = chunk_runner(plan, in_python, codec)
        results = added(spark.range(0, chunks, 1, tasks).mapInArrow(run, FOUND_DDL))
        if side is not None:
            asked = spark.range(0, chunks, 1, tasks).mapInArrow(asker(plan, side), ASKED_DDL)
            answered = asked.selectExpr("chunk", "example", "data", f"{FUNCTION}(class, version, data, tree) AS answer")
            judge = answer_judge(plan, names_of_today=side.names_of_today)
            results.add(added(answered.mapInArrow(judge, FOUND_DDL)))
        make_small(spark, results, in_python, codec, side, tasks)
    return FuzzRun(plan, tuple(checks), results, side.release if side is not None else None)


def added(found: DataFrame) -> Results:
    """The sum of the tasks' results."""
    results = Results()
    for row in found.collect():
        results.add(msgspec.msgpack.decode(row.found, type=Results))
    return results


def packed(found: Any) -> pa.RecordBatch:
    """One value as the row for the driver."""
    return pa.RecordBatch.from_pylist([{"found": msgspec.msgpack.encode(found)}], schema=schema_of(FOUND_DDL))


@cache
def checks_here(names: tuple[str, ...], codec: CodecSource | None) -> list[FuzzCheck]:
    """The checks of a worker, created once."""
    return checks_for(names, codec.load() if codec is not None else None)


def chunk_runner(plan: FuzzPlan, names: tuple[str, ...], codec: CodecSource | None) -> Task:
    """A task: runs the chunks with the given numbers through all checks in Python."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        results, chunks = Results(), list(plan.chunks())
        for batch in batches:
            for at in batch.column("id").to_pylist():
                run_chunk(chunks[at], plan.seed, checks_here(names, codec), results)
        yield packed(results)

    return run


def asker(plan: FuzzPlan, side: KafkaSide) -> Task:
    """A task: the inputs for Kafka's classes, from the messages of chunks."""
    seed, chunks = plan.seed, list(plan.chunks())
    names = [side.classes[one.message] if side.supports(one.message, one.version) else None for one in chunks]

    def ask(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for at in batch.column("id").to_pylist():
                if names[at] is not None:
                    yield pa.RecordBatch.from_pylist([*questions(at)], schema=schema_of(ASKED_DDL))

    def questions(at: int) -> Iterator[dict[str, Any]]:
        chunk = chunks[at]
        message = protocol.named_class(chunk.message)
        for example, found in messages_of(chunk, seed, Coverage()):
            try:
                data, tree = question(message, chunk.version, found)
            except protocol.ProtocolError:
                continue  # other checks report that it cannot be encoded
            asked = {"class": names[at], "version": chunk.version, "data": data, "tree": tree}
            yield {"chunk": at, "example": example, **asked}

    return ask


def answer_judge(plan: FuzzPlan, *, names_of_today: bool) -> Task:
    """A task: the faults in the answers of Kafka's classes."""
    chunks = list(plan.chunks())

    def judge(batches: Batches) -> Iterator[pa.RecordBatch]:
        results = Results()
        for batch in batches:
            for row in batch.to_pylist():
                chunk = chunks[row["chunk"]]
                value, fault = answer_fault(chunk, row["data"], row["answer"], names_of_today=names_of_today)
                results.tally(NAME).asked += 1
                Asker(chunk, results).tell(NAME, row["example"], value, fault)
        yield packed(results)

    return judge


def answer_fault(
    chunk: ExampleChunk, data: bytes, answer: str, *, names_of_today: bool
) -> tuple[Any, Disagreement | None]:
    """The message, and the fault in Kafka's answer, if any."""
    message = protocol.named_class(chunk.message)
    try:
        value = decode_as(message, chunk.version, data)
    except protocol.DecodeError as error:
        return data, Disagreement("not read by ours", data.hex(), str(error))
    return value, judged(message, chunk.version, value, answer, names_of_today=names_of_today)


# -- failures made small -----------------------------------------------------------------------------------------------


def make_small(
    spark: SparkSession,
    results: Results,
    names: tuple[str, ...],
    codec: CodecSource | None,
    side: KafkaSide | None,
    tasks: int,
) -> None:
    """Replace the first example of each failure by the smallest one."""
    failures = [one for _, one in sorted(results.failures.items())]
    mine = [one for one in failures if one.check != NAME]
    if mine:
        work = minimiser([msgspec.msgpack.encode(one) for one in mine], names, codec)
        for row in spark.range(0, len(mine), 1, min(len(mine), tasks)).mapInArrow(work, FOUND_DDL).collect():
            small = msgspec.msgpack.decode(row.found, type=Failure)
            results.failures[small.key] = small
    if side is not None:
        check = JavaCheck(side)
        of_java = [one for one in failures if one.check == NAME][:MAX_MINIMISED_BY_JAVA]
        for one in of_java:
            results.failures[one.key] = minimised(one, check)


def minimiser(failures: Sequence[bytes], names: tuple[str, ...], codec: CodecSource | None) -> Task:
    """A task: minimises the failures with the given numbers."""

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        by_name = {check.name: check for check in checks_here(names, codec)}
        for batch in batches:
            for at in batch.column("id").to_pylist():
                failure = msgspec.msgpack.decode(failures[at], type=Failure)
                yield packed(minimised(failure, by_name[failure.check]))

    return run
