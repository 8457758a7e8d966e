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

import protocol
from kafka_rack.pipeline.fuzz.checks import Disagreement, FuzzCheck, checks_for
from kafka_rack.pipeline.fuzz.codecs import CodecSource
from kafka_rack.pipeline.fuzz.java import FUNCTION, NAME, JavaCheck, KafkaSide, judged, kafka_side, question
from kafka_rack.pipeline.fuzz.plan import ExampleChunk, FuzzPlan
from kafka_rack.pipeline.fuzz.results import Coverage, Failure, Results
from kafka_rack.pipeline.fuzz.work import Asker, messages_of, minimised, run_chunk
from protocol.codec import decode_as

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

TASKS_PER_CORE = 8
MAX_MINIMISED_BY_JAVA = 50
"""The driver calls Kafka's classes for that, one example after the other."""
QUESTIONS_DDL = "chunk long, example long, class string, version int, data binary, tree string"


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
    numbers = spark.sparkContext.parallelize(range(chunks), tasks)
    with kafka_side(spark, jars) if NAME in checks else nullcontext() as side:
        in_python = tuple(name for name in checks if name != NAME)
        results = added(numbers.mapPartitions(chunk_runner(plan, in_python, codec)).collect())
        if side is not None:
            asked = spark.createDataFrame(numbers.flatMap(asker(plan, side)), QUESTIONS_DDL)
            answered = asked.selectExpr("chunk", "example", "data", f"{FUNCTION}(class, version, data, tree) AS answer")
            judge = answer_judge(plan, names_of_today=side.names_of_today)
            results.add(added(answered.rdd.mapPartitions(judge).collect()))
        make_small(spark, results, in_python, codec, side, tasks)
    return FuzzRun(plan, tuple(checks), results, side.release if side is not None else None)


def added(parts: Iterable[Results]) -> Results:
    """The sum of the tasks' results."""
    results = Results()
    for part in parts:
        results.add(part)
    return results


@cache
def checks_here(names: tuple[str, ...], codec: CodecSource | None) -> list[FuzzCheck]:
    """The checks of a worker, created once."""
    return checks_for(names, codec.load() if codec is not None else None)


def chunk_runner(
    plan: FuzzPlan, names: tuple[str, ...], codec: CodecSource | None
) -> Callable[[Iterable[int]], Iterator[Results]]:
    """A task: runs the chunks with these numbers through all checks in Python."""

    def run(numbers: Iterable[int]) -> Iterator[Results]:
        results, chunks = Results(), list(plan.chunks())
        for at in numbers:
            run_chunk(chunks[at], plan.seed, checks_here(names, codec), results)
        yield results

    return run


def asker(plan: FuzzPlan, side: KafkaSide) -> Callable[[int], Iterator[tuple[Any, ...]]]:
    """A task: the inputs for Kafka's classes, from the messages of a chunk, as rows of ``QUESTIONS_DDL``."""
    seed, chunks = plan.seed, list(plan.chunks())
    names = [side.classes[one.message] if side.supports(one.message, one.version) else None for one in chunks]

    def ask(at: int) -> Iterator[tuple[Any, ...]]:
        chunk = chunks[at]
        message = protocol.named_class(chunk.message)
        for example, found in messages_of(chunk, seed, Coverage()) if names[at] is not None else ():
            try:
                yield at, example, names[at], chunk.version, *question(message, chunk.version, found)
            except protocol.ProtocolError:
                continue  # other checks report that it cannot be encoded

    return ask


def answer_judge(plan: FuzzPlan, *, names_of_today: bool) -> Callable[[Iterable[Row]], Iterator[Results]]:
    """A task: the faults in the answers of Kafka's classes."""
    chunks = list(plan.chunks())

    def judge(rows: Iterable[Row]) -> Iterator[Results]:
        results = Results()
        for row in rows:
            chunk = chunks[row.chunk]
            value, fault = answer_fault(chunk, bytes(row.data), row.answer, names_of_today=names_of_today)
            results.tally(NAME).asked += 1
            Asker(chunk, results).tell(NAME, row.example, value, fault)
        yield results

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
    failures = results.sorted_failures
    mine = [one for one in failures if one.check != NAME]
    if mine:
        shared = spark.sparkContext.parallelize(mine, min(len(mine), tasks))
        for small in shared.map(minimiser(names, codec)).collect():
            results.failures[small.key] = small
    if side is not None:
        check = JavaCheck(side)
        of_java = [one for one in failures if one.check == NAME][:MAX_MINIMISED_BY_JAVA]
        for one in of_java:
            results.failures[one.key] = minimised(one, check)


def minimiser(names: tuple[str, ...], codec: CodecSource | None) -> Callable[[Failure], Failure]:
    """A task: minimises a failure."""

    def run(failure: Failure) -> Failure:
        return minimised(failure, next(check for check in checks_here(names, codec) if check.name == failure.check))

    return run
