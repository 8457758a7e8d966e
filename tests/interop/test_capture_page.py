"""docs/capture.md: its commands, run on loopback with real clients, lose nothing and yield the bill."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from kafka_rack.cli import main
from mockbroker import MockCluster
from tests.progress import wait_until

confluent_kafka = pytest.importorskip("confluent_kafka", reason="confluent-kafka is missing: pip install '.[clients]'")

PAGE = (Path(__file__).parents[2] / "docs/capture.md").read_text(encoding="utf-8")
SHELL = re.findall(r"^ *```sh\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
TOPIC, RECORDS, VALUE = "orders", 3_000, b"v" * 1_000


def may_capture() -> bool:
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
    except (AttributeError, OSError):
        return False
    return shutil.which("tcpdump") is not None


def command_for(broker: int, port: int, folder: Path) -> str:
    """The page's first block for a broker: another folder, file and port, and files of 1 MB."""
    (block,) = [block for block in SHELL if block.startswith("mkdir -p /var/tmp/kafka")]
    changes = {
        "/var/tmp/kafka": str(folder),
        "broker-0": f"broker-{broker}",
        "port 9092": f"port {port}",
        "-C 64": "-C 1",
    }
    for old, new in changes.items():
        assert old in block
        block = block.replace(old, new)
    return block.replace("tcpdump", "exec tcpdump")


def work(servers: str) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "client.id": "writer"})
    for number in range(RECORDS):
        producer.produce(TOPIC, VALUE, partition=number % 3)
    assert producer.flush(60) == 0
    settings = {"bootstrap.servers": servers, "client.id": "reader", "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = confluent_kafka.Consumer({**settings, "client.rack": "a"})
    consumer.subscribe([TOPIC])
    read, until = 0, time.monotonic() + 60
    while read < RECORDS and time.monotonic() < until:
        read += len(consumer.consume(500, 1))
    consumer.close()
    assert read == RECORDS


@pytest.mark.skipif(not may_capture(), reason="tcpdump, and the right to capture, are missing")
def test_the_captures_of_three_brokers_lose_nothing_and_have_the_bytes_that_the_cluster_counted(tmp_path, capsys):
    folder = tmp_path / "kafka"

    def bill() -> dict:
        assert main(["locality", str(folder), "--out", str(tmp_path / "bill"), "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)

    def moved() -> dict[str, int]:
        return {row["category"]: row["bytes"] for row in bill()["categories"] if row["category"] in counted}

    def all_are_in_the_files() -> bool:
        """A dump that is ended drops the packets that the kernel has not handed over to it."""
        for dump in dumps:
            dump.send_signal(signal.SIGUSR2)  # writes what it holds back
        return moved() == counted

    with ExitStack() as stack:
        cluster = stack.enter_context(MockCluster(racks="abc", topics={TOPIC: (3, 3)}))
        ports = [int(server.rpartition(":")[2]) for server in cluster.bootstrap_servers.split(",")]
        dumps = [
            stack.enter_context(
                subprocess.Popen(["sh", "-c", command_for(broker, port, folder)], stderr=subprocess.PIPE, text=True)
            )
            for broker, port in enumerate(ports)
        ]
        for dump in dumps:
            stack.callback(dump.kill)
            assert "listening on" in next(line for line in dump.stderr if "listening on" in line)
        work(cluster.bootstrap_servers)
        counted: Counter[str] = Counter()
        for flow in cluster.traffic.snapshot()["flows"]:
            if flow["category"] in ("produce", "consume"):
                counted[flow["category"]] += flow["bytes"]
        wait_until(all_are_in_the_files, f"the bytes that the cluster counted, {dict(counted)}", moved)
        for dump in dumps:
            dump.send_signal(signal.SIGINT)
            assert "0 packets dropped by kernel" in dump.stderr.read()
    assert len(list(folder.glob("broker-*.pcap1"))) >= 1, "rotated"
    result = bill()
    known = result["completeness"]
    assert (known["missing_bytes"], known["unreadable_frames"], known["problems"], known["refused"]) == (0, 0, [], [])
    assert not known["replication_captured"]
    assert moved() == counted
    assert result["span"]["captures"] == 3
    assert (tmp_path / "bill" / "locality.html").exists()
