"""What the pipeline's benchmark reads is what real clients sent, over and over; and what it counts is all that ran."""

from __future__ import annotations

import csv
import gzip
import json
import os
import struct
import subprocess
import sys
from contextlib import nullcontext

import pytest

from kafka_rack.wire_tables.reading import decode_paths
from tests.bench import cluster, kfake
from tests.bench.pipeline import bare, inputs, packets, processes
from tests.fixture_data import CAPTURES, capture_names, capture_summary


def frames_by_api():
    """API key -> frames of all captures, requests and responses, as their summaries have them."""
    found = {}
    for name in capture_names():
        for one in capture_summary(name)["counts"]:
            found[one["api_key"]] = found.get(one["api_key"], 0) + one["request"] + one["response"]
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return inputs.capture_of(tmp_path_factory.mktemp("bench") / "two.jsonl", 2)


def test_a_round_holds_the_frames_of_every_capture(made):
    found = {}
    for frame in bare.frames_of(made.path):
        found[frame.api_key] = found.get(frame.api_key, 0) + 1
    assert found == {key: 2 * count for key, count in frames_by_api().items()}
    assert made.frames == sum(found.values())


def test_rounds_follow_each_other_with_connections_of_their_own_and_all_are_closed(made):
    lines = [json.loads(line) for line in made.path.read_bytes().splitlines()[1:]]
    lines = [line for line in lines if line.get("ev") != "checkpoint"]
    half = len(lines) // 2
    first, second = lines[:half], lines[half:]
    assert max(line["t"] for line in first) < min(line["t"] for line in second)
    assert not {line["conn"] for line in first} & {line["conn"] for line in second}
    for part in (first, second):
        opened = [line["conn"] for line in part if line.get("ev") == "open"]
        assert sorted(opened) == sorted(line["conn"] for line in part if line.get("ev") == "close")


def frames_seen_by_tshark(name):
    """The frames that tshark found in a capture's packets."""
    with gzip.open(CAPTURES / f"{name}.tshark.tsv.gz", "rt") as file:
        return sum(row["kafka_len"].count(",") + 1 for row in csv.DictReader(file, delimiter="\t") if row["kafka_len"])


def test_packets_are_those_of_the_captures_with_clients_of_their_own(tmp_path):
    made = packets.packets_of(tmp_path / "two.pcap", 2)
    rows = decode_paths([str(made.path)], only=["frames", "problems"])
    frames = rows.as_dicts("frames")
    assert len(frames) == 2 * sum(map(frames_seen_by_tshark, packets.NAMES))
    assert rows.as_dicts("problems") == []
    assert {row["client_addr"].rsplit(":", 1)[0] for row in frames} == {"127.1.0.0", "127.1.0.1"}


def test_packets_keep_right_ip_checksums(tmp_path):
    packet = next(packets.read_packets(packets.packets_of(tmp_path / "one.pcap", 1).path.read_bytes()))
    total = sum(struct.unpack_from(">10H", packets.with_client(packet, bytes((127, 1, 2, 3))), packets.ETHERNET))
    assert (total & 0xFFFF) + (total >> 16) == 0xFFFF


def test_too_little_room_is_one_line(tmp_path):
    with pytest.raises(SystemExit, match=r"MB are free, but .* MB are wanted; TMPDIR names another place$"):
        inputs.room_for(tmp_path, 1 << 60)


@pytest.mark.skipif(not processes.PROC.is_dir(), reason="there is no /proc, so only this process's own time is told")
def test_the_processes_below_count_too():
    spin = "import sys, time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\nsys.stdin.read()"
    before = processes.cpu_seconds()
    with subprocess.Popen([sys.executable, "-c", spin], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        assert child.pid in {process.pid for process in processes.tree(os.getpid())}
        assert processes.cpu_seconds() - before >= 0.25
        child.stdin.close()


def test_without_go_the_benchmark_of_the_cluster_says_so_in_place_of_a_ratio(monkeypatch, capsys):
    kfake.built.cache_clear()
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(cluster, "rows", lambda start: [])
    for name, figure in (("process_start_s", 0.3), ("floor_s", 0.2)):
        monkeypatch.setattr(cluster, name, lambda figure=figure: figure)
    for name in ("throughput", "prepared_throughput"):
        monkeypatch.setattr(cluster, name, lambda bootstrap: (10.0, 20.0))
    monkeypatch.setattr(cluster, "serving", lambda *options: nullcontext((["127.0.0.1:1"], 0)))
    cluster.main()
    printed = capsys.readouterr().out
    assert "process start to first Metadata: 1.50 times" in printed
    assert "consume: 20 MB/s, no ratio to kfake: go is not installed" in printed
