"""`kafka-rack pipeline locality` as a process: what it prints and writes, in money worked out here, and as a stream."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from datetime import UTC
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.fixture_data import CAPTURES, capture_summary, captured_frames
from tests.on_spark import complaints
from tests.pipeline.written_capture import RACKS, SECOND, traffic
from tests.progress import end_of, wait_until

ROOT = Path(__file__).resolve().parents[2]
LOCALITY = [sys.executable, "-m", "kafka_rack.cli", "pipeline", "locality", "--master", "local[1]"]
NAME = "java41-range"
PRICES = """
currency = "EUR"
unit = "GiB"
egress = 0.01
ingress = 0.03
[[pairs]]
from = "az-a"
to = "az-b"
egress = 0.5
ingress = 0
"""
PRODUCE = 0


def price(sender: str, receiver: str) -> Fraction:
    """Of one byte, as the file above says it."""
    if sender == receiver:
        return Fraction(0)
    return Fraction("0.5" if (sender, receiver) == ("az-a", "az-b") else "0.04") / 2**30


def produced_by_broker(name: str) -> Counter[tuple[str, str]]:
    """Bytes of Produce frames by the broker's rack and way, out of the capture's lines."""
    found: Counter[tuple[str, str]] = Counter()
    for frame in captured_frames(name):
        if frame.api_key == PRODUCE:
            way = "req" if frame.kind == "request" else "resp"
            found[RACKS[frame.broker], way] += len(frame.data) + 4
    return found


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*LOCALITY, *map(str, arguments)]
    return subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)


def test_the_command_tells_bytes_and_money_in_json_tables_and_a_page(tmp_path):
    (tmp_path / "prices.toml").write_text(PRICES)
    (tmp_path / "racks").write_text("az-c@client:live-writer\n")
    given = (CAPTURES / f"{NAME}.jsonl.gz", "--out", tmp_path / "out", "--window", "1s", "--quiet")
    done = run(*given, "--prices", tmp_path / "prices.toml", "--client-racks", tmp_path / "racks", "--format", "json")
    assert (done.returncode, complaints(done.stderr)) == (0, "")
    result = json.loads(done.stdout)
    assert result == json.loads((tmp_path / "out" / "locality.json").read_text())
    by_category = {row["category"]: row for row in result["categories"]}

    fetched = [line for line in capture_summary(NAME)["fetch_locality"] if line["who"] == "consumer"]
    consumed = sum(
        line["request_bytes"] * price(line["client_rack"], line["broker_rack"])
        + line["response_bytes"] * price(line["broker_rack"], line["client_rack"])
        for line in fetched
    )
    assert consumed > 0
    assert abs(Fraction(by_category["consume"]["cost"]) - consumed) < Fraction(1, 10**15)
    produced = sum(
        size * (price("az-c", rack) if way == "req" else price(rack, "az-c"))
        for (rack, way), size in produced_by_broker(NAME).items()
    )
    assert produced > 0
    assert abs(Fraction(by_category["produce"]["cost"]) - produced) < Fraction(1, 10**15)

    rows = pq.read_table(tmp_path / "out" / "locality" / "traffic").to_pylist()
    sizes = [line["request_bytes"] + line["response_bytes"] for line in capture_summary(NAME)["counts"]]
    assert sum(row["bytes"] for row in rows) == result["total"]["bytes"] == sum(sizes)
    page = (tmp_path / "out" / "locality.html").read_text()
    assert page.count("<svg") >= 2
    assert not re.search(r"(src|href)\s*=\s*[\"']?\s*(https?:|//|file:)|@import|url\(|<script", page)


FIRST = gzip.decompress((CAPTURES / "kafka-python.jsonl.gz").read_bytes())
SECOND_ONE = gzip.decompress((CAPTURES / "kcat.jsonl.gz").read_bytes())


@contextmanager
def streaming(folder, out):
    command = [*LOCALITY, "--stream", "--every", "0.5", "--window", "1s", "--format", "json", folder, "--out", out]
    with subprocess.Popen(
        [*map(str, command)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def bytes_told(process):
    """Of the next batch."""
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return json.loads(line)["total"]["bytes"]


def bytes_of(content):
    lines = [line for line in content.splitlines(keepends=True) if b'"dir"' in line and line.endswith(b"\n")]
    return sum(json.loads(line)["n"] + 4 for line in lines)


def in_order(rows):
    """Rows, whatever their order and whatever object stands for UTC."""
    return sorted(repr(row | {"window_start": row["window_start"].astimezone(UTC)}) for row in rows)


def rows_in(out):
    return in_order(pq.read_table(out / "locality" / "traffic").to_pylist())


@pytest.fixture
def folder(tmp_path):
    growing = tmp_path / "growing"
    growing.mkdir()
    (growing / "kafka-python.jsonl").write_bytes(FIRST[: len(FIRST) // 2])
    return growing


def grow(folder):
    with (folder / "kafka-python.jsonl").open("ab") as growing:
        growing.write(FIRST[len(FIRST) // 2 :])


def test_a_stream_sums_up_all_that_there_is_and_ends_cleanly_when_told(folder, tmp_path):
    out = tmp_path / "out"
    with streaming(folder, out) as process:
        assert bytes_told(process) == bytes_of(FIRST[: len(FIRST) // 2])
        grow(folder)
        assert bytes_told(process) == bytes_of(FIRST)
        process.send_signal(signal.SIGTERM)
        said, told = end_of(process, "the end of a stream that was told to")
        assert (said, complaints(told)) == ("", "")
        assert process.returncode == 0
    wanted = traffic(folder, tmp_path / "plain", SECOND)
    assert rows_in(out) == in_order(wanted)
    assert not (out / "_temporary").exists()


def test_a_stream_that_was_killed_in_a_batch_goes_on_where_it_was(folder, tmp_path):
    out = tmp_path / "out"
    with streaming(folder, out) as process:
        assert bytes_told(process)
        grow(folder)
        (folder / "kcat.jsonl").write_bytes(SECOND_ONE)
        begun = out / "_checkpoint" / "offsets" / "1"
        wait_until(lambda: begun.exists() or process.poll() is not None, "the second batch")
        assert process.poll() is None
        process.kill()
    done = run("--once", "--window", "1s", folder, "--out", out)
    assert (done.returncode, complaints(done.stderr)) == (0, "")
    assert "known to cross racks" in done.stdout
    wanted = traffic(folder, tmp_path / "plain", SECOND)
    assert rows_in(out) == in_order(wanted)
    assert sorted(path.name for path in out.iterdir()) == [
        "_checkpoint",
        "_state",
        "decoded",
        "locality",
        "locality.html",
        "locality.json",
    ]


def test_a_checkpoint_that_lies_in_a_file_is_wrong_usage_in_one_line(folder, tmp_path):
    (tmp_path / "file").write_text("")
    done = run("--once", folder, "--out", tmp_path / "out", "--checkpoint", tmp_path / "file" / "inner")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("kafka-rack pipeline locality: ")
    assert "expected a folder, got" in done.stderr
