"""``--capture x.pcapng``: what the pipeline reads of it is what it reads of the capture in lines of the same run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_rack.wire_tables.reading import decode_paths
from kafka_rack.wire_tables.tables import TABLES
from mockbroker import MockCluster
from mockbroker.adapters.capture import Capture, Tap
from tests.interop.test_capture import work
from tests.progress import run

pytest.importorskip("aiokafka", reason="aiokafka is missing: pip install '.[clients]'")

HIDDEN = ("offset", "capture", "file")
"""Where a row is in its file, and what the file is called."""


class EventClock:
    """The time of the last event, so that both captures note it at the same time."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us, self.last_us = now_us, now_us()

    def call_arrived(self, _: object) -> None:
        self.last_us = self._now_us()

    call_ended = call_arrived


def beside(cluster: MockCluster, path: Path) -> Capture:
    """Another capture of the same run, with the same events at the same times, and files of as many notes."""
    first = cluster._runtime.capture
    assert first is not None
    clock, call_path = EventClock(first.now_us), cluster.engine.path
    first.now_us = lambda: clock.last_us
    second = Capture(path, now_us=first.now_us, describe=first._describe, file_bytes=1 << 30)
    second._file_limit = first._file_limit
    call_path.arrivals.insert(0, clock.call_arrived)
    call_path.arrivals.append(second.call_arrived)
    call_path.observers.insert(0, clock)
    call_path.observers.append(second)
    open_first, close_first, taps = first.connection, first.closed, dict[int, Tap]()

    def connection(number: int, *where: Any) -> Tap:
        clock.call_arrived(None)
        tap = open_first(number, *where)
        taps[number] = second.connection(number, *where)
        return tap

    def closed(tap: Tap, unread_bytes: int) -> None:
        clock.call_arrived(None)
        close_first(tap, unread_bytes)
        second.closed(taps.pop(tap.number), unread_bytes)

    first.connection, first.closed = connection, closed
    return second


def tables(folder: Path) -> dict[str, list[dict]]:
    """The rows of each table, by their frames: in what order they are made is nobody's concern."""
    rows = decode_paths([str(folder)])
    return {
        table: sorted(
            ({name: value for name, value in row.items() if name not in HIDDEN} for row in rows.as_dicts(table)),
            key=lambda row: (row.get("frame", 0), repr(row)),
        )
        for table in TABLES
    }


@pytest.fixture(params=[1 << 30, 20_000], ids=["one file", "rotated"])
async def captured(request, tmp_path):
    """The folders of lines and of packets, and the journal's calls."""
    lines, packets = tmp_path / "lines", tmp_path / "packets"
    async with MockCluster(
        topics={"orders": (6, 3)},
        settings={"replica.selector.class": "rack-aware"},
        capture=lines / "trace.jsonl",
        capture_bytes=request.param,
    ) as cluster:
        second = beside(cluster, packets / "trace.pcapng")
        await work(cluster)
    second.close()
    return lines, packets, list(cluster.journal)


async def test_every_table_is_the_same(captured):
    lines, packets, journal = captured
    found = tables(packets)
    assert found == tables(lines)
    assert len(found["calls"]) > 100
    assert found["problems"] == []
    assert len([row for row in found["frames"] if row["direction"] == "request"]) == len(journal)


async def test_tshark_dissects_a_real_clients_requests_and_finds_no_fault_in_its_tcp(captured):
    if shutil.which("tshark") is None:
        pytest.skip("tshark is missing: apt-get install tshark")
    _, packets, journal = captured
    requests = 0
    for file in sorted(packets.iterdir()):
        faults = "tcp.analysis.flags || tcp.checksum.status == Bad || ip.checksum.status == Bad"
        checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
        ran = run(["tshark", "-r", str(file), *checks, "-Y", faults])
        assert (ran.returncode, ran.stdout) == (0, "")
        ran = run(["tshark", "-r", str(file), "-d", "tcp.port==1024-65535,kafka", "-Y", "kafka"])
        requests += len(re.findall(r"Kafka \w+ v\d+ Request", ran.stdout))
    assert requests >= len(journal)  # a file that follows another repeats what waits for its answer


async def test_a_cluster_writes_packets_into_a_file_of_that_name(tmp_path):
    async with MockCluster(topics={"orders": 1}, capture=tmp_path / "trace.pcapng") as cluster:
        await work(cluster)
    found = tables(tmp_path)
    assert found["problems"] == []
    assert {row["broker_rack"] for row in found["frames"]} <= {"a", "b", "c"}
    assert len([row for row in found["frames"] if row["direction"] == "request"]) == len(list(cluster.journal))
