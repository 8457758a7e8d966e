"""The demo's course, where its clients do not what they should."""

from __future__ import annotations

import asyncio
import re
from types import SimpleNamespace

import pytest

from kafka_rack.cli import CommandError
from kafka_rack.cli.commands.demo.plan import WorkerPlan
from kafka_rack.cli.commands.demo.scenario import Worker, check_all_run


def worker(rack: str, returncode: int | None, said: bytes = b"") -> Worker:
    found = Worker(WorkerPlan("confluent-kafka", rack, "127.0.0.1:9092", "result.json"))
    stderr = asyncio.StreamReader()
    stderr.feed_data(said)
    stderr.feed_eof()
    found.process = SimpleNamespace(returncode=returncode, stderr=stderr)
    return found


@pytest.mark.parametrize(("said", "shown"), [(b"", "exit code -11"), (b"Traceback\nOSError: no\n", "OSError: no")])
async def test_a_client_that_has_ended_by_itself_is_told_of_with_its_last_words(said, shown):
    await check_all_run([worker("a", None)])
    with pytest.raises(CommandError, match=re.escape(f"confluent-kafka in rack b has ended: {shown}")):
        await check_all_run([worker("a", None), worker("b", -11, said), worker("c", None)])
