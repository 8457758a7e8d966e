"""``kafka-rack serve`` as a process: its addresses, its control API and its end."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from tests.interop.client_process import ROOT
from tests.progress import while_it_works


class Served:
    """A running ``kafka-rack serve``: its addresses, its control API, and what it wrote to standard error."""

    def __init__(self, process: asyncio.subprocess.Process, servers: str, control: httpx.AsyncClient) -> None:
        self.process, self.servers, self.control = process, servers, control

    async def end(self, number: int = signal.SIGTERM) -> tuple[int, list[str]]:
        """Exit code and complaints after a signal."""
        self.process.send_signal(number)
        async with while_it_works("the end of kafka-rack serve"):
            _, errors = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, errors.decode().splitlines()


@asynccontextmanager
async def serving(folder: Path, *options: str) -> AsyncIterator[Served]:
    file = folder / "bootstrap"
    command = ["serve", "--control-port", "0", "--bootstrap-file", str(file), *options]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "kafka_rack.cli",
        *command,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        async with while_it_works("the banner of kafka-rack serve"):
            while True:
                line = (await process.stdout.readline()).decode()
                assert line, (await process.communicate())[1].decode()
                if line.startswith("dashboard: "):
                    break
        address = line.split()[-1]
        async with httpx.AsyncClient(base_url=address, timeout=None) as control:
            yield Served(process, file.read_text().strip(), control)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
