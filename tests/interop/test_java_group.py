"""A live group of Java consumers gets exactly what `kafka-rack assign` prints for it."""

from __future__ import annotations

import asyncio
import json

import pytest

from kafka_rack.cli import main
from mockbroker import MockCluster
from tests.interop.fetched import java_program, skipped_without_tools
from tests.interop.java_assignors import SOURCES, jars
from tests.progress import while_it_works

TOPICS = {"orders": (14, 1), "users": (14, 2), "clicks": (5, 1)}
JOIN_TOGETHER = {"group.initial.rebalance.delay.ms": 3_000}  # the program has all of them join at one moment
PACKAGE = "org.apache.kafka.clients.consumer"
CLASSES = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}


async def java_group(cluster: MockCluster, assignor: str, racks: list[str]) -> dict[str, tuple[str, list]]:
    """Member id -> (rack, its partitions as [topic, [partitions]]) once the group is quiet."""
    with skipped_without_tools():
        program = await asyncio.to_thread(lambda: java_program(SOURCES / "LiveGroup.java", jars()))
    process = await asyncio.create_subprocess_exec(
        "java",
        "-XX:TieredStopAtLevel=1",
        *program,
        cluster.bootstrap_servers,
        ",".join(TOPICS),
        f"{PACKAGE}.{CLASSES[assignor]}",
        ",".join(racks),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with while_it_works("a group of Java consumers", lambda: len(cluster.journal)):
            printed, complaints = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode == 0, complaints.decode()[-2000:]
    found = {}
    for line in printed.decode().splitlines():
        member, rack, *parts = line.split()
        owned: dict[str, list[int]] = {}
        for part in parts:
            topic, _, number = part.rpartition("-")
            owned.setdefault(topic, []).append(int(number))
        found[member] = rack, [[topic, sorted(numbers)] for topic, numbers in sorted(owned.items())]
    return found


@pytest.mark.parametrize(
    ("assignor", "racks"),
    [
        ("range", "a,b,c,a"),
        ("range", "b,b,c,-"),
        ("roundrobin", "a,b,c,a"),
        ("sticky", "a,b,c,a"),
        ("cooperative-sticky", "a,b,c,a"),
        ("cooperative-sticky", "b,b,c,-"),
    ],
)
async def test_java_consumers_get_what_assign_prints(assignor, racks, tmp_path, capsys):
    async with MockCluster(6, ("a", "b", "c"), topics=TOPICS, settings=JOIN_TOGETHER) as cluster:
        found = await java_group(cluster, assignor, racks.split(","))
        layout = {
            "nodes": [[broker.id, broker.rack] for broker in cluster.state.brokers.values()],
            "topics": {
                topic: [list(partition.replicas) for partition in cluster.state.topics[topic].partitions]
                for topic in TOPICS
            },
        }
    members = {
        member: {"topics": list(TOPICS), "rack": None if rack == "-" else rack} for member, (rack, _) in found.items()
    }
    path = tmp_path / "group.json"
    path.write_text(json.dumps({"assignor": assignor, "cluster": layout, "members": members}))
    assert main(["assign", str(path), "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)["assignment"]
    assert {member: owned for member, (_, owned) in found.items()} == printed
