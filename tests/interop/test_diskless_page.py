"""Every example of docs/diskless.md does what the page says, in the client's own language."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from mockbroker import MockCluster
from tests.interop.client_process import FETCH, PRODUCE, ROOT
from tests.interop.fetched import fetched, needs_programs, skipped_without_tools
from tests.interop.java_client import run_java_client
from tests.progress import while_it_works

PAGE = ROOT / "docs" / "diskless.md"
ADDRESS = "127.0.0.1:9092"
RACK, TOPIC = "b", "events"
BUILD_QUIET_S = 180.0  # the first build of a Go program takes its time
KAFKAJS, FRANZ_GO = "2.2.4", "v1.22.2"
JAVA = "4.4.0"


def blocks(language: str, heading: str) -> list[str]:
    """The fenced blocks in one language under one heading."""
    sections = re.split(r"^##+ (.*)$", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    section = sections[sections.index(heading) + 1]
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return [text for found, text in fenced if found == language]


@pytest.fixture
async def cluster():
    async with MockCluster(6, diskless_topics={TOPIC: 6}) as running:
        yield running


def text_for(cluster: MockCluster, language: str, heading: str) -> str:
    """The page's one example, with the cluster's address in it."""
    (block,) = blocks(language, heading)
    assert ADDRESS in block
    return block.replace(ADDRESS, cluster.bootstrap_servers.split(",")[0])


def assert_served_at_home(cluster: MockCluster) -> None:
    calls = [call for call in cluster.journal if call.api_key in {PRODUCE, FETCH}]
    assert {call.api_key for call in calls} == {PRODUCE, FETCH}
    assert {(call.client_rack, call.rack) for call in calls} == {(RACK, RACK)}


async def run(*command: str | Path, folder: Path = ROOT) -> str:
    """What a program prints."""
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        cwd=folder,
        env={**os.environ, "CGO_ENABLED": "0"},  # Go's own resolver will do; the C one takes long to build
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with while_it_works(str(command[0]), quiet_s=BUILD_QUIET_S):
            printed, complaints = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, complaints.decode()[-2000:]
    return printed.decode()


@pytest.mark.parametrize("heading", ["librdkafka and confluent-kafka", "aiokafka", "kafka-python"])
async def test_the_python_example_writes_and_reads_in_its_own_rack(cluster, heading):
    assert await run(sys.executable, "-c", text_for(cluster, "python", heading)) == "b'hello'\n"
    assert_served_at_home(cluster)


async def test_the_java_example_writes_and_reads_in_its_own_rack(cluster):
    lines = text_for(cluster, "properties", "Java").splitlines()
    settings = {name.replace(".", "_"): value for name, _, value in (line.partition("=") for line in lines)}
    sent = await run_java_client(JAVA, "produce", TOPIC, 1, **settings)
    read = await run_java_client(JAVA, "consume", TOPIC, 1, **settings, group_id="g", auto_offset_reset="earliest")
    assert read == sent
    assert_served_at_home(cluster)


async def test_the_kafkajs_example_writes_and_reads_in_its_own_rack(cluster):
    folder = await asyncio.to_thread(kafkajs)
    program = text_for(cluster, "js", "kafkajs").replace("new Kafka({", "new Kafka({ logLevel: 0,")
    assert await run("node", "-e", program, folder=folder) == "hello\n"
    assert_served_at_home(cluster)


async def test_the_franz_go_example_writes_and_reads_in_its_own_rack(cluster):
    folder = await asyncio.to_thread(franz_go)
    (folder / "main.go").write_text(text_for(cluster, "go", "franz-go"))
    assert await run("go", "run", ".", folder=folder) == "hello\n"
    assert_served_at_home(cluster)


async def test_the_listener_example_prints_what_the_page_shows():
    (program,) = blocks("python", "One listener per rack")
    (shown,) = blocks("", "One listener per rack")
    assert await run(sys.executable, "-c", program) == shown


def kafkajs() -> Path:
    """A folder in which kafkajs can be required; skips where it cannot be had."""
    with skipped_without_tools():
        needs_programs("node", "npm")
        fetch = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", ".", f"kafkajs@{KAFKAJS}"]
        return fetched("kafkajs", "node_modules/kafkajs", fetch)


def franz_go() -> Path:
    """A folder with a Go module that knows franz-go; skips where it cannot be had."""
    with skipped_without_tools():
        needs_programs("go")
        fetch = ["go", "get", f"github.com/twmb/franz-go/pkg/kgo@{FRANZ_GO}"]
        return fetched("franz-go", "go.sum", fetch, {"go.mod": "module kafka-rack/interop\n\ngo 1.21\n"})
