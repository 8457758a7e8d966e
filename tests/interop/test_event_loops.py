"""``kafka-rack serve`` on each event loop it can run on, with clients of every library at once."""

from __future__ import annotations

import asyncio

import pytest

from kafka_rack.cli.serving.running import LOOPS
from tests.interop.client_process import LIBRARIES, consume, produce, values
from tests.interop.serving import serving

TOPICS = ("orders", "events")  # classic, diskless
PARTITIONS, COUNT = 3, 60


@pytest.mark.parametrize("loop", LOOPS)
async def test_every_library_reads_what_every_library_wrote(tmp_path, loop):
    pytest.importorskip(loop)
    topics = ("--topic", f"orders:{PARTITIONS}:3", "--diskless-topic", f"events:{PARTITIONS}")
    async with serving(tmp_path, "--loop", loop, "--port", "0", *topics) as served:
        servers = {"servers": served.servers}
        writing = [
            produce(library, topic, values(at * COUNT, (at + 1) * COUNT, PARTITIONS), acks="all", **servers)
            for topic in TOPICS
            for at, library in enumerate(LIBRARIES)
        ]
        for topic_answers in await asyncio.gather(*writing):
            assert all(isinstance(answer, list) for answer in topic_answers)
        count = len(TOPICS) * len(LIBRARIES) * COUNT
        reading = [consume(library, TOPICS, count, group=library, **servers) for library in LIBRARIES]
        for library, seen in zip(LIBRARIES, await asyncio.gather(*reading), strict=True):
            for topic in TOPICS:
                read = sorted(int(record.value or -1) for record in seen if record.topic == topic)
                assert read == list(range(len(LIBRARIES) * COUNT)), (library, topic)
        assert await served.end() == (0, [])
