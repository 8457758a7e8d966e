"""A transactional producer of somebody's library as a process: what it is told, and what it says.

Each program takes the addresses, a transactional id and the transaction's time-out in ms, and does what its lines say:

    init                                   get a producer id, fence whoever had the transactional id
    begin, commit, abort
    send TOPIC PARTITION VALUE             one record, acknowledged
    offset GROUP TOPIC PARTITION OFFSET    a group's offset, as part of the transaction
    read TOPIC COUNT                       the first values that a reader of committed records is given
    pipe FROM TO GROUP COUNT               records of a topic into another in upper case, exactly once
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.interop.client_process import ROOT
from tests.interop.fetched import (
    fetched,
    java_program,
    maven_jars,
    needs_programs,
    one_at_a_time,
    skipped_without_tools,
)
from tests.progress import run, while_it_works

HERE = Path(__file__).parent
PYTHON = {"confluent-kafka": "with_confluent", "aiokafka": "with_aiokafka", "kafka-python": "with_kafka_python"}
JAVA = {"java 4.4": "4.4.0", "java 2.4": "2.4.1"}
LIBRARIES = (*JAVA, *PYTHON, "franz-go", "kafkajs")
FRANZ_GO, KAFKAJS = "v1.22.2", "2.2.4"


class RefusedError(Exception):
    """The library raised an error; ``name`` is its name there."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.name = name


class Transactor:
    """A program at work. Calling it with a line gives its answer. Raises RefusedError."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def __call__(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{line}\n".encode())
        async with while_it_works(f"the answer to {line!r}"):
            answer = (await self.process.stdout.readline()).decode().strip()
        if not answer:
            assert self.process.stderr is not None
            raise AssertionError((await self.process.stderr.read()).decode()[-2000:])
        said, _, rest = answer.partition(" ")
        if said == "ok":
            return rest
        name, _, text = rest.partition(" ")
        raise RefusedError(name, text)

    async def do(self, *lines: str) -> list[str]:
        """The answers to several lines, in their order."""
        return [await self(line) for line in lines]


@asynccontextmanager
async def transactor(
    library: str, bootstrap_servers: str, transactional_id: str, timeout_ms: int = 60_000
) -> AsyncIterator[Transactor]:
    """A producer of a library, which is not initialised yet. Leaving it ends the process."""
    with skipped_without_tools():
        command, environment = await asyncio.to_thread(program, library)
    process = await asyncio.create_subprocess_exec(
        *command,
        bootstrap_servers,
        transactional_id,
        str(timeout_ms),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    try:
        yield Transactor(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def program(library: str) -> tuple[list[str], dict[str, str]]:
    """What runs a library's program, and its environment. Raises ToolMissingError."""
    if library in PYTHON:
        return ([sys.executable, "-W", "ignore", "-m", f"tests.interop.transactors.{PYTHON[library]}"], {})
    if library in JAVA:
        version = JAVA[library]
        pom, jar = HERE / "java" / "pom.xml", f"kafka-clients-{version}.jar"
        jars = maven_jars(f"kafka-clients-{version}", pom, jar, f"kafka.version={version}")
        light = ["-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]
        return (["java", *light, *java_program(HERE / "java" / "Transactor.java", jars)], {})
    if library == "kafkajs":
        needs_programs("node", "npm")
        fetch = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", ".", f"kafkajs@{KAFKAJS}"]
        modules = fetched("kafkajs", "node_modules/kafkajs", fetch) / "node_modules"
        return (["node", str(HERE / "transactors" / "with_kafkajs.js")], {"NODE_PATH": str(modules)})
    return ([str(franz_go())], {})


def franz_go() -> Path:
    """The program of franz-go, built where its source has changed. Raises ToolMissingError."""
    needs_programs("go")
    fetch = ["go", "get", f"github.com/twmb/franz-go/pkg/kgo@{FRANZ_GO}"]
    folder = fetched("franz-go-transactor", "go.sum", fetch, {"go.mod": "module transactor\n\ngo 1.21\n"})
    source, built, kept = HERE / "transactors" / "with_franz_go.go", folder / "transactor", folder / "main.go"
    with one_at_a_time(folder):
        if not built.exists() or not kept.exists() or kept.read_bytes() != source.read_bytes():
            kept.write_bytes(source.read_bytes())
            done = run(["go", "build", "-o", "transactor", "."], cwd=folder)
            assert done.returncode == 0, done.stderr
    return built
