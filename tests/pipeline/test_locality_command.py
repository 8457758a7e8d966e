"""`kafka-rack pipeline locality`: what it prints and writes, in money worked out here, and as on a laptop."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

import pytest

from kafka_rack.cli import main
from tests.cli_tree import commands, options_of
from tests.fixture_data import CAPTURES, capture_summary, captured_frames
from tests.on_spark import complaints
from tests.pipeline.written_capture import RACKS

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


def test_the_command_tells_bytes_and_money_in_json_and_a_page(tmp_path):
    (tmp_path / "prices.toml").write_text(PRICES)
    (tmp_path / "racks").write_text("az-c@client:live-writer\n")
    given = (CAPTURES / f"{NAME}.jsonl.gz", "--out", tmp_path / "out", "--window", "1s", "--top", "100", "--quiet")
    done = run(*given, "--prices", tmp_path / "prices.toml", "--client-racks", tmp_path / "racks", "--format", "json")
    assert (done.returncode, complaints(done.stderr)) == (0, "")
    result = json.loads(done.stdout)
    assert result == json.loads((tmp_path / "out" / "locality.json").read_text())
    cost: defaultdict[str, Fraction] = defaultdict(Fraction)
    for row in result["apis"]["top"]:
        cost[row["api"]] += Fraction(row["cost"])  # record batches and the rest

    fetched = [line for line in capture_summary(NAME)["fetch_locality"] if line["who"] == "consumer"]
    fetches = sum(
        line["request_bytes"] * price(line["client_rack"], line["broker_rack"])
        + line["response_bytes"] * price(line["broker_rack"], line["client_rack"])
        for line in fetched
    )
    assert fetches > 0
    assert abs(cost["Fetch"] - fetches) < Fraction(1, 10**15)
    produces = sum(
        size * (price("az-c", rack) if way == "req" else price(rack, "az-c"))
        for (rack, way), size in produced_by_broker(NAME).items()
    )
    assert produces > 0
    assert abs(cost["Produce"] - produces) < Fraction(1, 10**15)

    sizes = [line["request_bytes"] + line["response_bytes"] for line in capture_summary(NAME)["counts"]]
    assert result["total"]["bytes"] == sum(sizes)
    page = (tmp_path / "out" / "locality.html").read_text()
    assert page.count("<svg") >= 2
    assert not re.search(r"(src|href)\s*=\s*[\"']?\s*(https?:|//|file:)|@import|url\(|<script", page)


OF_SPARK = {"--master", "--spark-conf", "--tasks", "--spark-log", "--quiet"}
OF_STREAMS = {"--stream", "--once", "--every", "--checkpoint"}
ALIKE = [
    ["--prices", "PRICES", "--free-replication", "--client-racks", "RACKS", "--window", "1s", "--top", "1"],
    ["--prices", "gcp", "--ports", "9092", "--addresses", "0:az-z=:9092,1:az-y=:9093", "--format", "json"],
    ["--forecast", "racks=3,rf=3,in=300MiB/s,readers=2"],
]
"""Every option that both commands have, but --out."""


def test_the_job_has_the_options_of_the_laptops_command():
    found = dict(commands())
    ours, theirs = (
        {name: option.help for option in options_of(found[f"kafka-rack {words}"]) for name in option.opts}
        for words in ("locality", "pipeline locality")
    )
    ours.pop("--out")  # of the job, a folder anywhere
    assert ours.keys() == {word for words in ALIKE for word in words if word.startswith("--")}
    assert {name: text for name, text in theirs.items() if name in ours} == ours
    assert theirs.keys() - ours.keys() - {"-h"} == {"--out", *OF_SPARK, *OF_STREAMS}


@pytest.mark.parametrize("options", ALIKE, ids=" ".join)
def test_the_job_prints_and_writes_what_the_laptops_command_does(spark, tmp_path, capsys, options):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for name in ("java41-range.pcap.gz", "kcat.jsonl.gz"):
        (folder / name).write_bytes((CAPTURES / name).read_bytes())
    (tmp_path / "PRICES").write_text("currency = 'EUR'\negress = 0.005\ningress = 0")
    (tmp_path / "RACKS").write_text("az-c@client:live-writer\n")
    arguments = [str(tmp_path / word) if word in ("PRICES", "RACKS") else word for word in options]
    if "--forecast" not in options:
        arguments += [str(folder), "--out", str(out)]

    def run(*words: str):
        code = main([*words, *arguments])
        written = {path.name: path.read_bytes() for path in out.iterdir()} if out.exists() else {}
        return code, capsys.readouterr().out, written

    assert run("locality") == run("pipeline", "locality")
