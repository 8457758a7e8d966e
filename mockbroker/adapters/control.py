"""The control API: HTTP on loopback, to look at a running cluster and to stop and start brokers and racks.

    GET  /healthz                       {"status": "ok"}
    GET  /cluster                       brokers, racks, topics; in ZooKeeper mode also what is registered there
    POST /brokers/{id}/stop and /start  {"brokers": [ids that changed]}
    POST /racks/{rack}/stop and /start  the same
    POST /brokers/{id}/lag              {"records": N}: have its followers be N records behind, 0 ends it
    POST /racks/{rack}/lag              the same, for each broker of the rack
    POST /brokers/{id}/software         {"release": "0.10.0", "inter.broker.protocol.version": "0.9.0"}, or one of them:
                                        what it runs from its next start on, in ZooKeeper mode

HEAD is answered as GET, without the body. A POST is answered when the change has taken effect; 409 where there is
nothing to change, 404 for what is not there, 405 for the wrong method, with ``Allow``, 400 for what is not HTTP or a
body that will not do, 413 for one above 64 KiB. Errors are ``{"error": "..."}``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, NamedTuple, Self
from urllib.parse import unquote

import h11

from mockbroker.adapters.server import MockCluster
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.releases import PROTOCOL_SETTING
from mockbroker.state.topics.topic import Topic
from mockbroker.state.zookeeper.controller import ZooKeeperMode
from mockbroker.state.zookeeper.registry import BROKER_IDS
from protocol.uuids import uuid_to_text

MAX_BODY_BYTES = 1 << 16
MAX_DISCARDED = 1 << 24  # of a body that is too large, read to its end so that the client gets its answer
READ_BYTES = 1 << 16
IDLE_S = 60.0

READING, CHANGING = ("GET", "HEAD"), ("POST",)


class Answer(NamedTuple):
    """What is sent: ``body`` as JSON; ``allow`` has the methods that are possible, where another was used."""

    status: HTTPStatus
    body: Any
    allow: tuple[str, ...] = ()


class ControlError(Exception):
    """A request that cannot be carried out, with its HTTP status, and with the methods that are possible."""

    def __init__(self, status: HTTPStatus, message: str, allow: tuple[str, ...] = ()) -> None:
        super().__init__(status, message, allow)
        self.status, self.message, self.allow = status, message, allow


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
        method, path, body, size = "", "", bytearray(), 0
        while True:
            try:
                event = http.next_event()
            except h11.RemoteProtocolError as error:
                await send(http, writer, method, Answer(HTTPStatus.BAD_REQUEST, {"error": str(error)}))
                return
            if event is h11.NEED_DATA:
                http.receive_data(await asyncio.wait_for(reader.read(READ_BYTES), IDLE_S))
            elif isinstance(event, h11.Request):
                method, path = event.method.decode(), event.target.decode().split("?", 1)[0]
                body, size = bytearray(), 0
            elif isinstance(event, h11.Data):
                size += len(event.data)
                if size <= MAX_BODY_BYTES:
                    body += event.data
                elif size > MAX_DISCARDED:
                    return
            elif isinstance(event, h11.EndOfMessage):
                answer = too_large(size) or await self._answer(method, path, bytes(body))
                await send(http, writer, method, answer)
                if http.our_state is not h11.DONE:
                    return
                http.start_next_cycle()
            else:
                return

    async def _answer(self, method: str, path: str, body: bytes) -> Answer:
        try:
            return await self._route(method, [unquote(part) for part in path.strip("/").split("/")], body)
        except ControlError as error:
            return Answer(error.status, {"error": error.message}, error.allow)
        except OSError as error:
            return Answer(HTTPStatus.CONFLICT, {"error": error.strerror or str(error)})

    async def _route(self, method: str, parts: list[str], body: bytes) -> Answer:
        cluster = self.cluster
        match parts:
            case ["healthz"]:
                only(method, READING)
                return Answer(HTTPStatus.OK, {"status": "ok"})
            case ["cluster"]:
                only(method, READING)
                return Answer(HTTPStatus.OK, describe(cluster.state))
            case ["brokers", broker_id, ("stop" | "start") as command]:
                only(method, CHANGING)
                number = known_broker(cluster.state, broker_id)
                change = cluster.stop_broker if command == "stop" else cluster.start_broker
                return done(command, [number] if await change(number) else [], f"broker {number}")
            case ["brokers", broker_id, "lag"]:
                only(method, CHANGING)
                return self._set_lag([known_broker(cluster.state, broker_id)], body)
            case ["brokers", broker_id, "software"]:
                only(method, CHANGING)
                return self._configure(known_broker(cluster.state, broker_id), body)
            case ["racks", rack, "lag"]:
                only(method, CHANGING)
                return self._set_lag([broker.id for broker in known_rack(cluster.state, rack)], body)
            case ["racks", rack, ("stop" | "start") as command]:
                only(method, CHANGING)
                known_rack(cluster.state, rack)
                commands: dict[str, Callable[[str], Awaitable[list[int]]]] = {
                    "stop": cluster.stop_rack,
                    "start": cluster.start_rack,
                }
                return done(command, await commands[command](rack), f"rack {rack}")
            case _:
                raise ControlError(HTTPStatus.NOT_FOUND, f"there is nothing at /{'/'.join(parts)}")

    def _set_lag(self, broker_ids: list[int], body: bytes) -> Answer:
        records = json_object(body, ("records",)).get("records")
        if not isinstance(records, int) or isinstance(records, bool) or records < 0:
            raise ControlError(HTTPStatus.BAD_REQUEST, f'records {records!r}: {{"records": N}} is wanted, N from 0')
        for broker_id in broker_ids:
            self.cluster.set_follower_lag(broker_id, records)
        return Answer(HTTPStatus.OK, {"brokers": broker_ids, "records": records})

    def _configure(self, broker_id: int, body: bytes) -> Answer:
        given = json_object(body, ("release", PROTOCOL_SETTING))
        for name, value in given.items():
            if not isinstance(value, str):
                raise ControlError(HTTPStatus.BAD_REQUEST, f'{name} {value!r}: text is wanted, as "0.10.0"')
        if not given:
            raise ControlError(HTTPStatus.BAD_REQUEST, f"release or {PROTOCOL_SETTING} is wanted, or both")
        try:
            self.cluster.configure_broker(broker_id, emulate=given.get("release"), protocol=given.get(PROTOCOL_SETTING))
        except ValueError as error:
            raise ControlError(HTTPStatus.CONFLICT, str(error)) from None
        return Answer(HTTPStatus.OK, {"brokers": [broker_id]})


def too_large(size: int) -> Answer | None:
    """The answer to a body of so many bytes, None where it may be read."""
    if size <= MAX_BODY_BYTES:
        return None
    message = f"the body has more than {MAX_BODY_BYTES} bytes"
    return Answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": message})


def json_object(body: bytes, names: tuple[str, ...]) -> dict[str, Any]:
    """The JSON object of a body, with these names and no others. Raises ControlError: 400."""
    try:
        given = json.loads(body or b"{}")
    except ValueError as error:
        raise ControlError(HTTPStatus.BAD_REQUEST, f"the body is no JSON: {error}") from None
    except RecursionError:
        raise ControlError(HTTPStatus.BAD_REQUEST, "the body is no JSON that can be read: too deeply nested") from None
    if not isinstance(given, dict) or not given.keys() <= set(names):
        raise ControlError(HTTPStatus.BAD_REQUEST, f"the body: a JSON object with {' and '.join(names)} is wanted")
    return given


def known_rack(state: Cluster, rack: str) -> list[Broker]:
    if rack not in state.racks():
        racks = ", ".join(state.racks()) or "none"
        raise ControlError(HTTPStatus.NOT_FOUND, f"there is no rack {rack!r}; the racks: {racks}")
    return state.brokers_in(rack)


def only(method: str, allowed: tuple[str, ...]) -> None:
    if method not in allowed:
        raise ControlError(HTTPStatus.METHOD_NOT_ALLOWED, f"expected {allowed[0]}, got {method}", allowed)


def known_broker(state: Cluster, text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) not in state.brokers:
        brokers = ", ".join(str(broker_id) for broker_id in state.brokers)
        raise ControlError(HTTPStatus.NOT_FOUND, f"there is no broker {text!r}; the brokers: {brokers}")
    return int(text)


def done(command: str, changed: list[int], what: str) -> Answer:
    if not changed:
        state = "stopped" if command == "stop" else "running"
        raise ControlError(HTTPStatus.CONFLICT, f"{what} is {state} already")
    return Answer(HTTPStatus.OK, {"brokers": changed})


def describe(state: Cluster) -> dict[str, Any]:
    """A cluster as JSON."""
    shown: dict[str, Any] = {
        "cluster_id": state.id,
        "mode": "kraft" if state.zookeeper is None else "zookeeper",
        "controller": state.controller_id(),
        "brokers": [broker_as_json(state, broker) for broker in state.brokers.values()],
        "racks": {rack: rack_as_json(state, rack) for rack in state.racks()},
        "topics": [topic_as_json(state.topics[name]) for name in sorted(state.topics)],
    }
    if state.zookeeper is not None:
        shown["zookeeper"] = zookeeper_as_json(state.zookeeper)
    return shown


def zookeeper_as_json(zookeeper: ZooKeeperMode) -> dict[str, Any]:
    """The controller's epoch, what it could not read, the registrations; what each broker runs, and was told last."""
    last = {delivery.update.broker_id: delivery for delivery in zookeeper.deliveries}
    return {
        "controller_epoch": zookeeper.controller_epoch,
        "problem": zookeeper.problem,
        "registrations": {
            f"{BROKER_IDS}/{broker_id}": json.loads(zookeeper.registry.registration(broker_id))
            for broker_id in zookeeper.registry.broker_ids()
        },
        "brokers": [
            {
                "id": broker_id,
                "release": str(software.release),
                PROTOCOL_SETTING: str(software.protocol),
                "update_metadata": None
                if broker_id not in last
                else {
                    "version": last[broker_id].update.version,
                    "controller": last[broker_id].update.controller_id,
                    "outcome": last[broker_id].outcome,
                },
                "knows_brokers": sorted(zookeeper.caches[broker_id].brokers),
            }
            for broker_id, software in sorted(zookeeper.running.items())
        ],
    }


def broker_as_json(state: Cluster, broker: Broker) -> dict[str, Any]:
    return {
        "id": broker.id,
        "rack": broker.rack,
        "online": broker.online,
        "follower_lag": state.replication.lags.get(broker.id, 0),
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
                "high_watermark": partition.high_watermark,
                "end_offset": partition.log.end_offset,
                "size_bytes": partition.log.size_bytes,
            }
            for partition in topic.partitions
        ],
    }


async def send(http: h11.Connection, writer: asyncio.StreamWriter, method: str, answer: Answer) -> None:
    """Send an answer, without its body where only the head was wanted."""
    if http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return
    body = (json.dumps(answer.body) + "\n").encode()
    headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
    if answer.allow:
        headers.append(("allow", ", ".join(answer.allow)))
    if answer.status is HTTPStatus.BAD_REQUEST:
        headers.append(("connection", "close"))
    events: list[h11.Event] = [
        h11.Response(status_code=int(answer.status), reason=answer.status.phrase.encode(), headers=headers)
    ]
    if method != "HEAD":
        events.append(h11.Data(data=body))
    pieces = [http.send(event) for event in [*events, h11.EndOfMessage()]]
    writer.write(b"".join(piece for piece in pieces if piece))
    await writer.drain()
