"""Client metrics: what brokers ask of which clients, and what clients push (KIP-714).

Each broker knows its own clients and forgets them when they go; subscriptions are configs. What is pushed is kept only
where ``client.telemetry.enable`` is set: without a receiver Kafka does not tell clients of it either.

Source: ClientMetricsManager, ClientMetricsInstance, Apache Kafka 4.4.
"""

from __future__ import annotations

import base64
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.state.configs.effective import CLIENT_METRICS
from mockbroker.state.configs.group_rules import parsed_matches
from mockbroker.state.errors import ApiError
from mockbroker.state.topics.topic import random_uuid
from protocol import ZERO_UUID
from protocol.error_codes import ErrorCode
from protocol.records.checksum import crc32c

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.timers import Timers

DEFAULT_INTERVAL_MS = 300_000
ALL_METRICS = "*"
MAX_CLIENTS = 16384  # of one broker
FORGET_MS = 60_000
RESERVED_IDS = (ZERO_UUID, bytes(15) + b"\x01")
COMPRESSION_TYPES = (4, 3, 1, 2)  # zstd, lz4, gzip, snappy: in this order the broker likes them
MAX_COMPRESSION_TYPE = 4
MAX_KEPT_BYTES = 4 << 20
ENABLED = "client.telemetry.enable"
MAX_BYTES = "telemetry.max.bytes"


class Push(NamedTuple):
    """What one client pushed once: ``metrics`` as it came, ``names`` what it has, in OpenTelemetry's format."""

    broker: int
    client_instance_id: str
    client_id: str | None
    time_ms: int
    subscription_id: int
    is_last: bool
    compression_type: int
    metrics: bytes
    names: tuple[str, ...]


@dataclass(slots=True)
class ClientInstance:
    """One client, and what one broker asks of it."""

    id: bytes
    attributes: dict[str, str | None]
    connection: int
    metrics: tuple[str, ...]
    push_interval_ms: int
    subscription_id: int
    subscriptions_version: int
    last_get_ms: int | None = None
    last_push_ms: int | None = None
    is_terminating: bool = False
    last_error: ErrorCode = ErrorCode.NONE

    def may_get(self, now_ms: int) -> bool:
        """Whether it is time to ask for the subscription again; if so, now counts as the last time."""
        last_ms = max(self.last_get_ms or 0, self.last_push_ms or 0)
        asked_before = self.last_get_ms is not None or self.last_push_ms is not None
        if asked_before and now_ms - last_ms < self.push_interval_ms:
            return False
        self.last_get_ms = now_ms
        return True

    def may_push(self, now_ms: int) -> bool:
        """Whether it is time for a push; if so, now counts as the last time."""
        last_ms = self.last_push_ms
        has_asked = self.last_get_ms is not None and (last_ms is None or self.last_get_ms > last_ms)
        if not has_asked and last_ms is not None and now_ms - last_ms < self.push_interval_ms:
            return False
        self.last_push_ms = now_ms
        return True


@dataclass(slots=True, eq=False)
class ClientMetrics:
    """The clients of all brokers, and what they pushed: of that the latest, up to some MiB."""

    cluster: Cluster
    clients: dict[int, OrderedDict[bytes, ClientInstance]] = field(default_factory=dict)  # by broker, oldest first
    pushes: deque[Push] = field(default_factory=deque)
    version: int = 0
    kept_bytes: int = 0
    timers: Timers[tuple[int, bytes]] = field(init=False)

    def __post_init__(self) -> None:
        self.cluster.configs.on_change(self._configs_changed)
        self.timers = self.cluster.timers.subsystem("client metrics", self._expired)

    def subscribe(
        self, broker_id: int, client_id: bytes, attributes: dict[str, str | None], connection: int, now_ms: int
    ) -> ClientInstance:
        """What a client is to push; without an id it is given one. Raises ApiError: THROTTLING_QUOTA_EXCEEDED."""
        if client_id == ZERO_UUID:
            client_id = random_uuid(self.cluster.rng)
        client = self._client(broker_id, client_id, attributes, connection, now_ms)
        may_ask_again = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        if not client.may_get(now_ms) and client.last_error not in may_ask_again:
            raise too_early(client)
        client.last_error = ErrorCode.NONE
        return client

    def push(
        self,
        broker_id: int,
        client_id: bytes,
        attributes: dict[str, str | None],
        connection: int,
        now_ms: int,
        *,
        subscription_id: int,
        compression_type: int,
        metrics: bytes,
        is_last: bool,
    ) -> None:
        """Take in what a client pushes.

        Raises ApiError: INVALID_REQUEST for no id, and after a last push; THROTTLING_QUOTA_EXCEEDED,
            UNKNOWN_SUBSCRIPTION_ID, UNSUPPORTED_COMPRESSION_TYPE, TELEMETRY_TOO_LARGE; INVALID_RECORD for bytes that
            cannot be read.
        """
        if client_id in RESERVED_IDS:
            raise ApiError(ErrorCode.INVALID_REQUEST, "expected the id of a client instance, got none")
        client = self._client(broker_id, client_id, attributes, connection, now_ms)
        try:
            self._check_push(client, now_ms, subscription_id, compression_type, metrics, is_last=is_last)
            if metrics and self.cluster.settings[ENABLED]:
                found = names_in(metrics, compression_type, self.cluster.configs.broker(broker_id, MAX_BYTES))
                self._keep(
                    Push(
                        broker_id,
                        uuid_text(client_id),
                        attributes.get("client_id"),
                        now_ms,
                        subscription_id,
                        is_last,
                        compression_type,
                        metrics,
                        found,
                    )
                )
        except ApiError as error:
            client.last_error = ErrorCode(error.code)
            raise
        finally:
            client.is_terminating = is_last
        client.last_error = ErrorCode.NONE

    def connection_closed(self, broker_id: int, connection: int) -> None:
        """A client's connection has ended: the broker forgets who came by it."""
        clients = self.clients.get(broker_id, OrderedDict())
        for client in [one for one in clients.values() if one.connection == connection]:
            self._forget(broker_id, client.id)

    # inside

    def _check_push(
        self,
        client: ClientInstance,
        now_ms: int,
        subscription_id: int,
        compression_type: int,
        metrics: bytes,
        *,
        is_last: bool,
    ) -> None:
        if client.is_terminating:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"expected nothing after the last push of {uuid_text(client.id)}")
        if not client.may_push(now_ms) and not is_last:
            raise too_early(client)
        if subscription_id != client.subscription_id:
            raise ApiError(
                ErrorCode.UNKNOWN_SUBSCRIPTION_ID,
                f"expected subscription {client.subscription_id}, got {subscription_id}",
            )
        if not 0 <= compression_type <= MAX_COMPRESSION_TYPE:
            raise ApiError(
                ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"expected a compression type of 0 to 4, got {compression_type}"
            )
        limit = self.cluster.configs.broker(None, MAX_BYTES)
        if len(metrics) > limit:
            raise ApiError(ErrorCode.TELEMETRY_TOO_LARGE, f"expected {limit} bytes at most, got {len(metrics)}")

    def _client(
        self, broker_id: int, client_id: bytes, attributes: dict[str, str | None], connection: int, now_ms: int
    ) -> ClientInstance:
        clients = self.clients.setdefault(broker_id, OrderedDict())
        client = clients.get(client_id)
        if client is None or client.subscriptions_version < self.version:
            if client is None:
                attributes = {"client_instance_id": uuid_text(client_id), **attributes}
            else:
                attributes = client.attributes
            metrics, interval_ms = self._subscribed(attributes)
            number = subscription_number(metrics, interval_ms, client_id)
            client = ClientInstance(client_id, attributes, connection, metrics, interval_ms, number, self.version)
            clients[client_id] = client
        clients.move_to_end(client_id)
        if len(clients) > MAX_CLIENTS:
            self._forget(broker_id, next(iter(clients)))
        self.timers.set((broker_id, client_id), now_ms + max(FORGET_MS, 3 * client.push_interval_ms))
        return client

    def _subscribed(self, attributes: dict[str, str | None]) -> tuple[tuple[str, ...], int]:
        """The metrics that a client is to push, and how often."""
        metrics: set[str] = set()
        interval_ms = DEFAULT_INTERVAL_MS
        configs = self.cluster.configs
        for name in configs.resources(CLIENT_METRICS):
            patterns = parsed_matches(configs.client_metrics(name, "match"))
            known = {key: text for key, text in attributes.items() if text is not None}
            if all(key in known and pattern.fullmatch(known[key]) for key, pattern in patterns.items()):
                metrics.update(configs.client_metrics(name, "metrics"))
                interval_ms = min(interval_ms, configs.client_metrics(name, "interval.ms"))
        return (ALL_METRICS,) if ALL_METRICS in metrics else tuple(sorted(metrics)), interval_ms

    def _keep(self, push: Push) -> None:
        self.pushes.append(push)
        self.kept_bytes += len(push.metrics)
        while self.kept_bytes > MAX_KEPT_BYTES and len(self.pushes) > 1:
            self.kept_bytes -= len(self.pushes.popleft().metrics)

    def _configs_changed(self, kind: str, _resource: str, _names: frozenset[str]) -> None:
        if kind == CLIENT_METRICS:
            self.version += 1

    def _expired(self, key: tuple[int, bytes], _now_ms: int) -> None:
        self.clients.get(key[0], OrderedDict()).pop(key[1], None)

    def _forget(self, broker_id: int, client_id: bytes) -> None:
        self.clients[broker_id].pop(client_id, None)
        self.timers.cancel((broker_id, client_id))


def too_early(client: ClientInstance) -> ApiError:
    return ApiError(
        ErrorCode.THROTTLING_QUOTA_EXCEEDED, f"expected one request in {client.push_interval_ms} ms, got another"
    )


def uuid_text(raw: bytes) -> str:
    """An id as Kafka writes it."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def subscription_number(metrics: Iterable[str], interval_ms: int, client_id: bytes) -> int:
    """What tells one set of metrics from another: 32 bits, with a sign."""
    checksum = crc32c(f"[{', '.join(metrics)}]{interval_ms}".encode())
    folded = 0
    for start in range(0, 16, 4):
        folded ^= int.from_bytes(client_id[start : start + 4], "big")
    number = checksum ^ folded
    return number - (1 << 32) if number >= 1 << 31 else number


# OpenTelemetry's MetricsData, as far as names: resource_metrics = 1, scope_metrics = 2, metrics = 2, name = 1


def names_in(metrics: bytes, compression_type: int, max_bytes: int) -> tuple[str, ...]:
    """The names of the metrics in a push, sorted. Raises ApiError: INVALID_RECORD."""
    from protocol.errors import ProtocolError
    from protocol.records.compression import CompressionCodec, decompress

    try:
        data = decompress(CompressionCodec(compression_type), metrics, limit=max_bytes)
        found = {
            bytes(name).decode()
            for resource in fields_of(memoryview(data), 1)
            for scope in fields_of(resource, 2)
            for metric in fields_of(scope, 2)
            for name in fields_of(metric, 1)
        }
    except (ProtocolError, ValueError, IndexError) as error:
        raise ApiError(ErrorCode.INVALID_RECORD, f"expected metrics of OpenTelemetry, got {error}") from None
    return tuple(sorted(found))


def fields_of(message: memoryview, number: int) -> Iterator[memoryview]:
    """The fields of this number in a protobuf message that have a length. Raises ValueError, IndexError."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        wire_type = key & 7
        if wire_type == 2:
            length, at = varint(message, at)
            if at + length > len(message):
                raise ValueError(f"a field of {length} bytes where {len(message) - at} are left")
            if key >> 3 == number:
                yield message[at : at + length]
            at += length
        elif wire_type == 0:
            _, at = varint(message, at)
        elif wire_type in (1, 5):
            at += 8 if wire_type == 1 else 4
        else:
            raise ValueError(f"wire type {wire_type}")


def varint(message: memoryview, at: int) -> tuple[int, int]:
    """A number, and where the next field begins. Raises IndexError, ValueError."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
