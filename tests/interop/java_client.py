"""The Java client as a process: its jars fetched once into build/, its program run from source.

A test that lacks Java, Maven or the jars is skipped, and says which.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCES = Path(__file__).parent / "java"
JARS = Path(__file__).resolve().parents[2] / "build" / "interop"
FETCH_TIMEOUT_S = 240


class Line(NamedTuple):
    """One record, as acknowledged or as read."""

    partition: int
    offset: int
    value: str


async def run_java_client(version: str, work: str, topic: str, count: int, **settings: str) -> list[Line]:
    """Run ``produce`` or ``consume`` with one release of the Java client.

    Args:
        version: of kafka-clients, as ``4.1.0``.
        settings: the client's own, with underscores for dots.

    Returns: a line for each record that was acknowledged, or read, in the order printed.

    Raises: AssertionError: the program failed; its last words are in the text.
    """
    jars = await asyncio.to_thread(client_jars, version)
    given = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
    process = await asyncio.create_subprocess_exec(
        "java",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        f"{jars}/*",
        str(SOURCES / "RackClient.java"),
        work,
        topic,
        str(count),
        *given,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        printed, complaints = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode == 0, complaints.decode()[-2000:]
    fields = (line.split(" ", 2) for line in printed.decode().splitlines())
    return [Line(int(partition), int(offset), value) for partition, offset, value in fields]


@cache
def client_jars(version: str) -> Path:
    """The folder with kafka-clients and what it needs; skips the test where it cannot be had."""
    for program, package in (("java", "default-jdk-headless"), ("mvn", "maven")):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (Debian, Ubuntu: apt-get install {package})")
    folder = JARS / f"kafka-clients-{version}"
    if not (folder / f"kafka-clients-{version}.jar").exists():
        fetch = ["mvn", "-q", "-B", "-f", SOURCES / "pom.xml", f"-Dkafka.version={version}"]
        fetch += ["dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        done = subprocess.run(fetch, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False)
        if done.returncode:
            pytest.skip(f"Maven could not fetch kafka-clients {version}: {done.stdout.strip()[:200]}")
    return folder
