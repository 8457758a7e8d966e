"""A stream on S3 that ends at the worst moments: tables are whole at once, and it goes on exactly once.

From some change on the store refuses all changes, those of the driver, of its workers and of Spark's checkpoint alike,
as if each had been killed before it. What they would have tidied up is refused as well.
"""

from __future__ import annotations

import gzip
from uuid import uuid4

import pytest
from pyspark.errors import StreamingQueryException

from kafka_rack.pipeline.decode import job
from kafka_rack.pipeline.output import merging, staging
from kafka_rack.storage import StorageSettings, use_settings
from kafka_rack.wire_tables.tables import TABLES
from tests.fixture_data import CAPTURES
from tests.object_store.conftest import BUCKET
from tests.object_store.places import expected
from tests.object_store.test_killed import found, key_of

LINES = gzip.decompress((CAPTURES / "kafka-python.jsonl.gz").read_bytes()).splitlines(keepends=True)
BEGUN, DONE = "_checkpoint/offsets/[0-9]", "_checkpoint/commits/[0-9]"
MOMENTS = {
    "a batch begins": (1, BEGUN),
    "workers write": (3, "PUT .*/_temporary/.*parquet"),
    "it is decided": (1, "PUT .*/commit.json"),
    "tables take their places": (4, "COPY .*/out/[a-z]+/.*parquet"),
    "small files are merged": (2, "PUT .*/commit.json"),
    "what was merged goes": (3, "DELETE .*/out/[a-z]+/capture.*parquet"),
    "the batch is done": (1, DONE),
}


@pytest.fixture
def place(store, monkeypatch):
    """The URL of a folder. Who goes on there is another process than the one that ended."""
    use_settings(StorageSettings.of(store.settings))
    for module in (job, merging, staging):
        monkeypatch.setattr(module, "run_name", lambda: f"1-{uuid4().hex}@elsewhere")
    return f"s3a://{BUCKET}/streams-{uuid4().hex}"


def grown(count):
    """A capture as it was after each of ``count`` + 1 parts of it."""
    for number in range(1, count + 2):
        yield b"".join(LINES[: len(LINES) * number // (count + 1)])


def ends_at(store, run, after, matching):
    """A run that ends before a change of the store's."""
    store.close_gate(after, matching, how="refuse")
    with pytest.raises(StreamingQueryException):
        run()
    assert store.gate_is_closed
    store.open_gate()


def decoding(spark, place, **options):
    stream = job.decode_stream(
        spark, [f"{place}/in"], f"{place}/out", f"{place}/out/_checkpoint", available_now=True, **options
    )
    stream.awaitTermination()


def test_a_stream_of_parquet_goes_on_exactly_once(spark, store, place, tmp_path, monkeypatch):
    monkeypatch.setattr(job, "EVERY_BATCHES", 1)
    monkeypatch.setattr(merging, "MIN_FILES", 2)
    contents = grown(len(MOMENTS) + 1)
    for _ in range(2):
        store.put(f"{key_of(place)}/in/a.jsonl", next(contents))
        decoding(spark, place)
    old = found(store, place, tmp_path)
    for moment, (after, matching) in MOMENTS.items():
        content = next(contents)
        store.put(f"{key_of(place)}/in/a.jsonl", content)
        ends_at(store, lambda: decoding(spark, place), after, matching)
        between, new = found(store, place, tmp_path), expected(tmp_path, a=content)
        assert all(set(old[table]) <= set(between[table]) <= set(new[table]) for table in TABLES), moment
        decoding(spark, place)
        old = found(store, place, tmp_path)
        assert old == new, moment
