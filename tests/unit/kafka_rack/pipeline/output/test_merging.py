"""Small files of earlier batches of a stream become larger ones; a batch that is written again is still there once."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from kafka_rack.pipeline.output import merging
from kafka_rack.pipeline.output.commits import TEMPORARY, commit, decide, settle
from kafka_rack.pipeline.output.merging import change_of, how_many, merges_of, write_merged
from kafka_rack.pipeline.output.writing import prepare, put_in_place, read_table, write_block
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_tables.stored import stored_files
from kafka_rack.wire_tables.tables import TABLES
from tests.fixture_data import CAPTURES
from tests.pipeline.line_blocks import line_blocks

RUN = "run@nowhere"


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """A capture in a dozen blocks, each a batch of a stream, and the tables that the stream has written."""
    folder = tmp_path_factory.mktemp("stream")
    (folder / "a.jsonl").write_bytes(gzip.decompress((CAPTURES / "kcat.jsonl.gz").read_bytes()))
    (file,) = find_files([str(folder / "a.jsonl")])[0]
    blocks = line_blocks(file, 12)
    assert len(blocks) >= 10
    prepare(folder / "out")
    for block in blocks:
        write_batch(folder / "out", block)
    return blocks, folder / "out"


@pytest.fixture
def blocks(stream):
    return stream[0]


@pytest.fixture
def out(stream, tmp_path):
    """The stream's tables, for a test of its own."""
    return Path(shutil.copytree(stream[1], tmp_path / "out"))


def write_batch(out, block):
    written = list(write_block(block, Options(), out / TEMPORARY / RUN))
    put_in_place(out, RUN, [(block.file.path, block.start, block.end)], written, whole=False)


def rows_of(out):
    return {table: read_table(out, table) for table in TABLES}


def files_of(out):
    return {table: len(stored_files(out, table)) for table in TABLES}


def merge(out, block, *, dies_decided=False):
    merges = merges_of(out, [block])
    run = out / TEMPORARY / RUN
    for one in merges:
        write_merged(out, run, one)
    if dies_decided:
        decide(run, change_of(merges))
    elif merges:
        commit(out, run, change_of(merges))
    return merges


def test_files_of_earlier_batches_become_one_with_the_same_rows(blocks, out):
    rows, files = rows_of(out), files_of(out)
    assert files["frames"] > 10
    assert merge(out, blocks[-1])
    assert rows_of(out) == rows
    left = files_of(out)
    assert left["frames"] == 3  # what is merged, the last batch, and the file of no rows
    assert all(left[table] <= files[table] for table in TABLES)


def test_a_batch_that_is_written_again_after_merging_is_there_once(blocks, out):
    rows = rows_of(out)
    merge(out, blocks[-1])
    write_batch(out, blocks[-1])
    assert rows_of(out) == rows


def test_merging_that_dies_once_it_is_decided_is_ended_by_the_next_run(blocks, out):
    rows = rows_of(out)
    assert merge(out, blocks[-1], dies_decided=True)
    assert rows_of(out) == rows
    settle(out)
    assert rows_of(out) == rows
    assert files_of(out)["frames"] == 3


def test_a_capture_that_is_decoded_anew_replaces_what_was_merged(blocks, out, tmp_path):
    merge(out, blocks[-1])
    first = list(write_block(blocks[0], Options(), out / TEMPORARY / RUN))
    put_in_place(out, RUN, [(blocks[0].file.path, 0, 0)], first, whole=True)
    (tmp_path / "alone").mkdir()
    prepare(tmp_path / "alone")
    write_batch(tmp_path / "alone", blocks[0])
    assert rows_of(out) == rows_of(tmp_path / "alone")


def test_nothing_is_merged_of_the_batch_itself_or_of_other_captures(blocks, out):
    assert merges_of(out, blocks) == []
    assert merges_of(out, [blocks[3]]) == []  # three files before it are too few


def test_each_row_is_written_again_a_few_times_only():
    """A stream of 4,096 batches of a megabyte each, which are merged every eighth."""
    mebibyte = 1 << 20
    sizes, rewritten, most = [], 0, 0
    for batch in range(4096):
        sizes.append(mebibyte)
        if batch % merging.EVERY_BATCHES == merging.EVERY_BATCHES - 1:
            count = how_many(sizes[:-1])
            if count:
                total = sum(sizes[-1 - count : -1])
                rewritten += total
                sizes[-1 - count : -1] = [total]
        most = max(most, len(sizes))
    assert rewritten <= 6 * 4096 * mebibyte
    assert most <= 4096 / 32
    assert max(sizes) <= merging.MAX_BYTES
