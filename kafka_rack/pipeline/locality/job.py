"""The job ``locality``: decoded tables, or captures, to bytes and money by rack, with what was avoidable.

Two jobs on Spark read the tables that decoding wrote, each file in the task that needs it: one gathers what each
capture told about racks, the other judges and adds up; every other table is made from its sums. All
results are written beside what is there and put in its place at the end, so readers see one run or the other.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_rack.locality.amounts import window_for
from kafka_rack.locality.page import report
from kafka_rack.locality.settings import Settings
from kafka_rack.pipeline.decode import job
from kafka_rack.pipeline.locality.facts import facts
from kafka_rack.pipeline.locality.files import Block, Capture, captures_in, shared_out
from kafka_rack.pipeline.locality.result import SUMS, collect_result
from kafka_rack.pipeline.locality.told import Told, told_by
from kafka_rack.pipeline.locality.verdicts import ADDED, JUDGED_SCHEMA, KEYS, SAVES, Judge, Priced
from kafka_rack.pipeline.output.commits import settle
from kafka_rack.pipeline.output.staging import staged
from kafka_rack.pipeline.output.writing import SCHEMA_FILE, SchemaMismatch
from kafka_rack.wire_tables.tables import SCHEMA_VERSION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

RESULT, PAGE, TABLES = "locality.json", "locality.html", "locality"
DECODED = "decoded"
"""Below the results, where a stream keeps its decoded tables."""
TOLD, PARTS = "told", "parts"
TASKS_PER_CORE = 4
WHOLE_BYTES = 64 << 20
"""Captures whose tables are larger than that are judged block by block, each in a task of its own."""
NOTHING_BACK = "nothing long"
MOST_PARTS = 64
"""Sums of so many pieces of ``traffic`` are kept apart before they are added up."""
Work = Callable[[Sequence[int]], Iterable[pa.RecordBatch]]
"""What a task does with the numbers of its pieces."""
LOCALITIES = ("local", "cross", "unknown")
GROUPINGS: dict[str, tuple[str, ...]] = {
    "rack_pairs": ("client_rack", "broker_rack", "category", "locality"),
    "topics": ("topic", "category"),
    "clients": ("client_id", "client_host", "client_rack", "category"),
    "groups": ("group_id", "topic"),
    "apis": ("api", "category"),
    "windows": ("window_start", "category"),
    "reasons": ("reason", "detail", "locality"),
}
"""Table -> the columns that it sums by; bytes by locality beside the sums of ``COUNTS``."""
FILES = (*(f"{TABLES}/{name}" for name in ("traffic", *GROUPINGS)), PAGE, RESULT)
"""What a run writes, the JSON last: a program that sees it sees all."""


def is_decoded(path: Path) -> bool:
    """Whether a folder holds decoded tables.

    Raises: SchemaMismatch: of another version.
    """
    told = path / SCHEMA_FILE
    if not told.is_file():
        return False
    try:
        found = json.loads(told.read_bytes())
        version = found.get("schema_version")
    except (ValueError, AttributeError):
        raise SchemaMismatch(f"{told} does not say which version the tables beside it are of") from None
    if version != SCHEMA_VERSION:
        raise SchemaMismatch(f"{path} holds tables of schema version {version}, but this reads {SCHEMA_VERSION}")
    if not (path / "frames").is_dir():
        raise SchemaMismatch(f"{path} has a {SCHEMA_FILE}, but no table frames beside it; decode into it again")
    return True


def measure(
    spark: SparkSession,
    inputs: Sequence[str],
    out: Path,
    settings: Settings,
    *,
    partitions: int | None = None,
    source_options: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Captures, and folders of decoded tables, to results below ``out``.

    Returns: what ``locality.json`` holds.

    Raises: FileNotFoundError: an input that is not there. SchemaMismatch: tables of another version. NothingToMeasure.
    """
    folders = [Path(given).resolve() for given in inputs if is_decoded(Path(given))]
    captures = [given for given in inputs if not is_decoded(Path(given))]
    for tables in folders:
        settle(tables)
    with staged(out, FILES) as folder:
        if captures:
            decoded = folder.resolve() / DECODED
            job.decode(spark, captures, decoded, partitions=partitions, source_options=source_options)
            folders.append(decoded)
        return results(spark, folders, folder, settings, out)


def follow(
    spark: SparkSession,
    inputs: Sequence[str],
    out: Path,
    checkpoint: Path,
    settings: Settings,
    *,
    source_options: dict[str, str] | None = None,
    available_now: bool = False,
    every: str = "5 seconds",
    on_result: Callable[[int, dict[str, Any]], None] | None = None,
) -> StreamingQuery:
    """The same over growing folders: each micro-batch decodes what is new and sums up all that there is.

    A stream that starts again writes the batch that it was in once more, in its own place, so results are always those
    of a batch over the same files. They are made anew at the start too, since prices may have changed meanwhile.
    """
    decoded = out / DECODED

    def told(batch: int, _: job.Summary) -> None:
        sum_up(spark, out, settings, on_result, batch)

    out.mkdir(parents=True, exist_ok=True)
    if not available_now:
        sum_up(spark, out, settings, on_result)
    return job.decode_stream(
        spark,
        inputs,
        decoded,
        checkpoint,
        source_options=source_options,
        available_now=available_now,
        every=every,
        on_batch=told,
    )


def sum_up(
    spark: SparkSession,
    out: Path,
    settings: Settings,
    on_result: Callable[[int, dict[str, Any]], None] | None = None,
    batch: int = -1,
) -> None:
    """Results of what a stream has decoded until now; none as long as there is no frame."""
    decoded = (out / DECODED).resolve()
    if not (decoded / "frames").is_dir() or not is_decoded(decoded):
        return
    try:
        with staged(out, FILES) as folder:
            result = results(spark, [decoded], folder, settings, out)
    except NothingToMeasure:
        return
    if on_result is not None:
        on_result(batch, result)


class NothingToMeasure(Exception):
    """No input has a frame."""


def results(
    spark: SparkSession, folders: Sequence[Path], target: Path, settings: Settings, out: Path
) -> dict[str, Any]:
    """Every result of some decoded tables, below ``target``."""
    target = target.resolve()
    where = target / TABLES
    where.mkdir(parents=True)
    captures = captures_in(folders)
    spans = tell(spark, captures, target / TOLD)
    if not spans:
        raise NothingToMeasure("no frame in any input: is it a capture of Kafka's wire?")
    span_us = max(last for _, last in spans.values()) - min(first for first, _ in spans.values())
    window_us = settings.window_us or window_for(span_us)
    measure_traffic(spark, {number: captures[number] for number in spans}, target, window_us, settings)
    write_groupings(where)
    found = collect_result(where, settings.prices, spans, window_us, settings.top)
    result = {"schema": 1, "out": str(out), "racks_file": settings.racks_file, **found}
    (target / RESULT).write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (target / PAGE).write_text(report(result), encoding="utf-8")
    return result


class Piece(NamedTuple):
    """What is judged in one go: a capture, or a block of a large one; ``number`` is the capture's."""

    number: int
    blocks: list[Block]
    whole: bool

    @property
    def size(self) -> int:
        return sum(block.size for block in self.blocks)

    @property
    def name(self) -> str:
        return f"{self.number:06d}-{self.blocks[0].start:015d}"


def pieces_of(captures: Mapping[int, Capture]) -> list[Piece]:
    found = []
    for number, capture in captures.items():
        if capture.size <= WHOLE_BYTES or len(capture.blocks) == 1:
            found.append(Piece(number, capture.blocks, whole=True))
        else:
            found += [Piece(number, [block], whole=False) for block in capture.blocks]
    return found


def over(spark: SparkSession, sizes: Sequence[int], work: Work, ddl: str) -> DataFrame:
    """``work`` over numbers of pieces, in tasks of about as many bytes each."""
    shares = shared_out(sizes, TASKS_PER_CORE * spark.sparkContext.defaultParallelism)

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for share in batch.column("id").to_pylist():
                yield from work(shares[share])

    return spark.range(0, len(shares), 1, len(shares)).mapInArrow(task, ddl)


def tell(spark: SparkSession, captures: Sequence[Capture], folder: Path) -> dict[int, tuple[int, int]]:
    """Write what each capture tells into a file by its number; gives first and last moments, of those with frames."""
    folder.mkdir()
    if not captures:
        return {}

    def write(numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
        for number in numbers:
            told = told_by(captures[number])
            if told is not None:
                (folder / str(number)).write_bytes(pickle.dumps(told))
                values = [[number], [told.first], [told.last]]
                yield pa.RecordBatch.from_arrays([pa.array(one, pa.int64()) for one in values], ["n", "first", "last"])

    spans = over(spark, [capture.size for capture in captures], write, "n long, first long, last long")
    return {row["n"]: (row["first"], row["last"]) for row in spans.collect()}


def measure_traffic(
    spark: SparkSession, captures: Mapping[int, Capture], target: Path, window_us: int, settings: Settings
) -> None:
    """The table ``traffic``. What is of a large capture comes in pieces, which are then added up."""
    pieces = pieces_of(captures)
    told_by_number, traffic, parts = target / TOLD, target / TABLES / "traffic", target / PARTS
    rules, price = settings.rules, Priced(settings.prices)
    traffic.mkdir()
    parts.mkdir()

    def judge_pieces(numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
        ended = []
        for number in numbers:
            piece = pieces[number]
            told: Told = pickle.loads((told_by_number / str(piece.number)).read_bytes())  # noqa: S301 - our own
            judge = Judge(told.capture, told.cluster, rules)
            for block in piece.blocks:
                for fact, amount in facts(block, told, window_us):
                    judge.add(fact, amount)
            if piece.whole:
                ended.append(price(judge.rows()))
            else:
                write(judge.rows(), parts / f"{piece.name}.parquet")
        if ended:
            write(pa.concat_tables(ended), traffic / f"part-{pieces[min(numbers)].name}.parquet")
        yield from ()

    over(spark, [piece.size for piece in pieces], judge_pieces, NOTHING_BACK).collect()
    large = sorted({piece.number for piece in pieces if not piece.whole})

    def add_up_pieces(numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
        for number in numbers:
            found = JUDGED_SCHEMA.empty_table()
            for path in sorted(parts.glob(f"{large[number]:06d}-*.parquet")):
                found = added_up(pa.concat_tables([found, pq.read_table(path)]), [*KEYS, *SAVES], ADDED)
            write(price(found), traffic / f"part-{large[number]:06d}.parquet")
        yield from ()

    if large:
        over(spark, [captures[number].size for number in large], add_up_pieces, NOTHING_BACK).collect()


def write(rows: pa.Table, path: Path) -> None:
    """A file that is there whole or not at all, however often a task is tried."""
    beside = path.with_name(f".{path.name}.{uuid4().hex}")
    pq.write_table(rows, beside, compression="lz4")
    beside.replace(path)


def write_groupings(where: Path) -> None:
    """Every table of ``GROUPINGS`` out of ``traffic``, some rows at a time; in each, the largest crossers first.

    With the sums come the bytes that stayed, crossed, or nobody knows.
    """
    parts: dict[str, list[pa.Table]] = {name: [] for name in GROUPINGS}
    for path in sorted((where / "traffic").glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                rows = file.read_row_group(number)
                for locality in LOCALITIES:
                    own = pc.if_else(pc.equal(rows["locality"], locality), rows["bytes"], 0)
                    rows = rows.append_column(f"{locality}_bytes", own)
                for name, grouping in GROUPINGS.items():
                    parts[name].append(added_up(rows, grouping, SUMS))
                    if len(parts[name]) > MOST_PARTS:
                        parts[name] = [added_up(pa.concat_tables(parts[name]), grouping, SUMS)]
    largest = [(column, "descending") for column in ("cross_bytes", "unknown_bytes", "bytes")]
    for name, grouping in GROUPINGS.items():
        own = added_up(pa.concat_tables(parts[name]), grouping, SUMS)
        own = own.sort_by([*largest, *((column, "ascending") for column in grouping)])
        (where / name).mkdir()
        pq.write_table(own, where / name / "part-0.parquet")


def added_up(rows: pa.Table, grouping: Sequence[str], sums: Sequence[str]) -> pa.Table:
    """The sums by some columns, all under their names of before."""
    found = rows.group_by([*grouping], use_threads=False).aggregate([(name, "sum") for name in sums])
    return found.select([*grouping, *(f"{name}_sum" for name in sums)]).rename_columns([*grouping, *sums])
