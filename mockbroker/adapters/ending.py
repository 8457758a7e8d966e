"""The orderly end of a cluster: what was taken is answered, in bounded time.

Brokers accept no more connections and read no more requests. Waiting fetches are answered with existing records; other
calls that wait have until the time is over, as for replicas in sync. Then each connection ends from the broker's side,
and stays open until its client has read its answers.

Source: SocketServer.stopProcessingRequests and BrokerServer.shutdown, Apache Kafka 4.4, which also answer what is in
their queue and no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.adapters.runtime import Runtime
    from mockbroker.adapters.sockets import Node

FINISH_S = 0.6  # so that a process ends within a second
LOOK_S = 0.005


async def finish(runtime: Runtime, nodes: Iterable[Node], within_s: float, busy_ms: int) -> None:
    """Answer the received requests, for at most ``within_s`` seconds.

    Args:
        busy_ms: connections that said nothing for longer are not waited for, once they are answered.
    """
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + within_s
    listening = [node for node in nodes if node.accepts]
    for node in listening:
        node.refuse()
    runtime.engine.finish(runtime.now_ms())
    just_now = runtime.now_ms() - busy_ms
    answering = [client for node in listening for client in node.clients]
    for client in answering:
        client.take_no_more()
    reading = []
    while answering and loop.time() < ends_at:
        runtime.settle()
        answered = [client for client in answering if client.is_answered]
        for client in answered:
            client.stop()
            if client.connection.now_ms >= just_now:
                client.close(linger=True)
                reading.append(client)
        answering = [client for client in answering if not client.is_answered and not client.transport.is_closing()]
        if answering:
            await asyncio.sleep(LOOK_S)
    while reading and loop.time() < ends_at:
        await asyncio.sleep(LOOK_S)
        reading = [client for client in reading if not client.transport.is_closing()]
