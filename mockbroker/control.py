"""The control API: HTTP on loopback, to look at a running cluster and to stop and start brokers and racks.

    GET  /healthz                       {"status": "ok"}
    GET  /cluster                       brokers, racks, topics
    POST /brokers/{id}/stop and /start  {"brokers": [ids that changed]}
    POST /racks/{rack}/stop and /start  the same

A POST is answered when the change has taken effect; 409 where there is nothing to change, 404 for what is not there,
405 for the wrong method, 400 for what is not HTTP. Errors are ``{"error": "..."}``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import unquote

import h11

from mockbroker.server import MockCluster
from mockbroker.state.brokers import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.topics import Topic
from protocol.uuids import uuid_to_text

LARGEST_BODY = 1 << 16
READ_BYTES = 1 << 16
IDLE_S = 60.0

Answer = tuple[HTTPStatus, Any]


class ControlError(Exception):
    """A request that cannot be carried out, with its HTTP status."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(status, message)
        self.status, self.message = status, message


class ControlServer:
    """Serves the control API of one cluster; an async context manager. ``port`` is the one it has."""

    def __init__(self, cluster: MockCluster, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.cluster, self.host, self.port = cluster, host, port
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.StreamWriter, None] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self.host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._open):
            writer.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = None
        try:
            await self._converse(reader, writer)
        except (TimeoutError, ConnectionError):
            pass
        finally:
            self._open.pop(writer, None)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until it ends."""
        http = h11.Connection(h11.SERVER)
        method, path, body_size = "", "", 0
        while True:
            try:
                event = http.next_event()
            except h11.RemoteProtocolError as error:
                await send(http, writer, HTTPStatus.BAD_REQUEST, {"error": str(error)})
                return
            if event is h11.NEED_DATA:
                http.receive_data(await asyncio.wait_for(reader.read(READ_BYTES), IDLE_S))
            elif isinstance(event, h11.Request):
                method, path, body_size = event.method.decode(), event.target.decode().split("?", 1)[0], 0
            elif isinstance(event, h11.Data):
                body_size += len(event.data)
                if body_size > LARGEST_BODY:
                    return
            elif isinstance(event, h11.EndOfMessage):
                status, answer = await self._answer(method, path)
                await send(http, writer, status, answer)
                if http.our_state is not h11.DONE:
                    return
                http.start_next_cycle()
            else:
                return

    async def _answer(self, method: str, path: str) -> Answer:
        try:
            return await self._route(method, [unquote(part) for part in path.strip("/").split("/")])
        except ControlError as error:
            return (error.status, {"error": error.message})
        except OSError as error:
            return (HTTPStatus.CONFLICT, {"error": error.strerror or str(error)})

    async def _route(self, method: str, parts: list[str]) -> Answer:
        cluster = self.cluster
        match parts:
            case ["healthz"]:
                only(method, "GET")
                return (HTTPStatus.OK, {"status": "ok"})
            case ["cluster"]:
                only(method, "GET")
                return (HTTPStatus.OK, describe(cluster.state))
            case ["brokers", broker_id, ("stop" | "start") as command]:
                only(method, "POST")
                number = known_broker(cluster.state, broker_id)
                change = cluster.stop_broker if command == "stop" else cluster.start_broker
                return done(command, [number] if await change(number) else [], f"broker {number}")
            case ["racks", rack, ("stop" | "start") as command]:
                only(method, "POST")
                if rack not in cluster.state.racks():
                    racks = ", ".join(cluster.state.racks()) or "none"
                    raise ControlError(HTTPStatus.NOT_FOUND, f"there is no rack {rack!r}; the racks: {racks}")
                commands: dict[str, Callable[[str], Awaitable[list[int]]]] = {
                    "stop": cluster.stop_rack,
                    "start": cluster.start_rack,
                }
                return done(command, await commands[command](rack), f"rack {rack}")
            case _:
                raise ControlError(HTTPStatus.NOT_FOUND, f"there is nothing at /{'/'.join(parts)}")


def only(method: str, allowed: str) -> None:
    if method != allowed:
        raise ControlError(HTTPStatus.METHOD_NOT_ALLOWED, f"{method} is not possible here, {allowed} is")


def known_broker(state: Cluster, text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) not in state.brokers:
        brokers = ", ".join(str(broker_id) for broker_id in state.brokers)
        raise ControlError(HTTPStatus.NOT_FOUND, f"there is no broker {text!r}; the brokers: {brokers}")
    return int(text)


def done(command: str, changed: list[int], what: str) -> Answer:
    if not changed:
        state = "stopped" if command == "stop" else "running"
        raise ControlError(HTTPStatus.CONFLICT, f"{what} is {state} already")
    return (HTTPStatus.OK, {"brokers": changed})


def describe(state: Cluster) -> dict[str, Any]:
    """A cluster as JSON."""
    return {
        "cluster_id": state.id,
        "controller": state.controller_id(),
        "brokers": [broker_as_json(broker) for broker in state.brokers.values()],
        "racks": {rack: rack_as_json(state, rack) for rack in state.racks()},
        "topics": [topic_as_json(state.topics[name]) for name in sorted(state.topics)],
    }


def broker_as_json(broker: Broker) -> dict[str, Any]:
    return {
        "id": broker.id,
        "rack": broker.rack,
        "online": broker.online,
        "listeners": [
            {"name": listener.name, "host": listener.host, "port": listener.port, "rack": listener.rack}
            for listener in broker.listeners
        ],
    }


def rack_as_json(state: Cluster, rack: str) -> dict[str, Any]:
    brokers = state.brokers_in(rack)
    return {
        "brokers": [broker.id for broker in brokers],
        "online": [broker.id for broker in brokers if broker.online],
    }


def topic_as_json(topic: Topic) -> dict[str, Any]:
    """A topic with its partitions; a diskless one has no leader and no replicas of its own."""
    return {
        "name": topic.name,
        "id": uuid_to_text(topic.id),
        "diskless": topic.diskless,
        "partitions": [
            {
                "partition": partition.index,
                "leader": None if topic.diskless else partition.leader,
                "leader_epoch": partition.leader_epoch,
                "replicas": list(partition.replicas),
                "isr": list(partition.isr),
                "start_offset": partition.log.start_offset,
                "high_watermark": partition.log.high_watermark,
                "size_bytes": partition.log.size_bytes,
            }
            for partition in topic.partitions
        ],
    }


async def send(http: h11.Connection, writer: asyncio.StreamWriter, status: HTTPStatus, answer: Any) -> None:
    if http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return
    body = (json.dumps(answer) + "\n").encode()
    headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
    if status is HTTPStatus.BAD_REQUEST:
        headers.append(("connection", "close"))
    start = h11.Response(status_code=int(status), reason=status.phrase.encode(), headers=headers)
    pieces = [http.send(start), http.send(h11.Data(data=body)), http.send(h11.EndOfMessage())]
    writer.write(b"".join(piece for piece in pieces if piece))
    await writer.drain()
