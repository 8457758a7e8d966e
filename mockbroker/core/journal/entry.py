"""One call as the journal reports it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from mockbroker.state.security.protocols import ANONYMOUS

LENGTH_BYTES = 4
"""The size of the length field in front of each frame on the wire."""
NO_TOPICS: Mapping[str, tuple[int, ...]] = MappingProxyType({})


class Share(NamedTuple):
    """A call's record batches of one partition, as sent, and why they crossed; both frames if a call has none.

    The bytes of the frames outside the shares are of category other: ``JournalEntry.other_bytes``. ``reason``,
    ``avoidable`` and ``detail`` are None for bytes that stayed in their rack.
    """

    topic: str | None
    partition: int | None
    request_bytes: int
    response_bytes: int
    record_bytes: int
    reason: str | None = None
    avoidable: str | None = None
    detail: str | None = None

    @property
    def bytes(self) -> int:
        """The bytes of request and response together."""
        return self.request_bytes + self.response_bytes


class JournalEntry(NamedTuple):
    """One call. Times in ms, sizes in bytes of the whole frame without its length field.

    ``rack`` is the broker's; ``client_rack`` the client's if known, and ``client_rack_source`` its source:
    ``request``, ``client.id``, ``listener``, ``connection``, ``client``, ``replica`` or ``broker``.
    ``principal`` is the authenticated principal of the connection, before that ``User:ANONYMOUS``.
    ``ending`` is a value of ``Ending``; ``reason`` says why the connection was closed, if it was. ``api_key`` is -1
    for bytes that are no request, and ``api`` empty.

    ``traffic`` has the record bytes of each topic that a Produce wrote or a Fetch read here, None for other calls. It
    lacks topics whose readers were only redirected: ``redirects`` has the brokers that they were sent to (KIP-392).

    ``topics`` has the partitions of each topic that the request names, none if it names the topic as a whole.
    ``errors`` are the names of the errors in the response, ``faults`` the ids of the faults that hit the call.
    ``category``, ``locality``, ``locality_reason``, ``avoidable`` and ``detail`` come from ``kafka_rack.locality``; for
    a call with several partitions they are those of the reason with most bytes; ``shares`` has each partition's.
    """

    at_ms: int
    broker_id: int
    rack: str | None
    client_id: str | None
    client_rack: str | None
    client_address: str
    connection: int
    api_key: int
    version: int
    request_bytes: int
    response_bytes: int
    traffic: dict[str, int] | None
    redirects: dict[str, list[int]] | None = None
    client_rack_source: str | None = None
    ending: str = "answered"
    reason: str | None = None
    sequence: int = 0
    latency_ms: int = 0
    api: str = ""
    topics: Mapping[str, tuple[int, ...]] = NO_TOPICS
    groups: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    category: str = "other"
    locality: str = "unknown"
    locality_reason: str | None = None
    avoidable: str | None = None
    detail: str | None = None
    shares: tuple[Share, ...] = ()
    principal: str = ANONYMOUS

    @property
    def broker(self) -> int:
        """The id of the broker that was called."""
        return self.broker_id

    @property
    def bytes(self) -> int:
        """The bytes of both frames with their length fields, as sent over the wire."""
        answered = self.response_bytes + LENGTH_BYTES if self.response_bytes else 0
        requested = self.request_bytes + LENGTH_BYTES if self.request_bytes else 0
        return requested + answered

    @property
    def other_bytes(self) -> int:
        """The frames' bytes that are not record batches; all of them if the call has no batches."""
        return self.bytes if self.category == "other" else self.bytes - sum(share.bytes for share in self.shares)

    def to_json(self) -> dict[str, Any]:
        """The JSON form of the entry."""
        found = {name: getattr(self, name) for name in JSON_FIELDS}
        found["topics"] = {name: list(partitions) for name, partitions in self.topics.items()}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


JSON_FIELDS = (
    *("sequence", "at_ms", "latency_ms", "broker", "rack", "client_id", "client_address", "principal", "client_rack"),
    *("client_rack_source", "connection", "api", "api_key", "version", "topics", "groups", "request_bytes"),
    *("response_bytes", "traffic", "redirects", "errors", "faults", "category", "locality", "locality_reason"),
    *("avoidable", "detail", "ending", "reason"),
)
"""The fields of ``to_json``, in order."""
