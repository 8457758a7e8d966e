"""Runs the matrix and prints what holds: ``python -m tests.interop.matrix [--target kafka|proxy] [CLIENT ...]``."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.interop.matrix.clients import CLIENTS
from tests.interop.matrix.running import outcomes
from tests.interop.matrix.target import Target, our_cluster, proxy_before, real_kafka

TARGETS = ("kafka-rack", "kafka", "proxy")


async def run(names: list[str], target: str, *, quiet: bool) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    async with AsyncExitStack() as stack:
        running: dict[str, Target] = {}
        proxies: dict[str, Target] = {}

        @asynccontextmanager
        async def kafka(release: str) -> AsyncIterator[Target]:
            if release not in running:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                running[release] = await asyncio.to_thread(stack.enter_context, real_kafka(release, folder))
            yield running[release]

        @asynccontextmanager
        async def proxy(release: str) -> AsyncIterator[Target]:
            if release not in proxies:
                async with kafka(release) as real:
                    proxies[release] = await stack.enter_async_context(proxy_before(real))
            yield proxies[release]

        placed = {"kafka-rack": our_cluster, "kafka": kafka, "proxy": proxy}[target]
        for name in names:
            found[name] = {}
            began = time.monotonic()
            async for scenario, wrong in outcomes(CLIENTS[name], placed, diskless=target == "kafka-rack"):
                found[name][scenario] = wrong
                took, began = time.monotonic() - began, time.monotonic()
                print(f"{name:16} {scenario:18} {'FAILED' if wrong else 'ok':7} {took:5.1f} s", flush=True)
                if wrong and not quiet:
                    print(wrong)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.interop.matrix")
    parser.add_argument("--target", choices=TARGETS, default="kafka-rack")
    parser.add_argument("--quiet", action="store_true", help="do not say why something failed")
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=", ".join(CLIENTS))
    given = parser.parse_args()
    found = asyncio.run(run(given.clients or list(CLIENTS), given.target, quiet=given.quiet))
    return int(any(wrong for row in found.values() for wrong in row.values()))


if __name__ == "__main__":
    sys.exit(main())
