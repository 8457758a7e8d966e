"""One call as the journal reports it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

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

    sequence: int
    at_ms: int
    latency_ms: int
    broker: int
    rack: str | None
    client_id: str | None
    client_address: str
    principal: str
    client_rack: str | None
    client_rack_source: str | None
    connection: int
    api: str
    api_key: int
    version: int
    topics: Mapping[str, tuple[int, ...]]
    groups: tuple[str, ...]
    request_bytes: int
    response_bytes: int
    traffic: dict[str, int] | None
    redirects: dict[str, list[int]] | None
    errors: tuple[str, ...]
    faults: tuple[str, ...]
    category: str
    locality: str
    locality_reason: str | None
    avoidable: str | None
    detail: str | None
    ending: str
    reason: str | None
    shares: tuple[Share, ...]

    @property
    def broker_id(self) -> int:
        """The id of the broker that was called, as ``broker``."""
        return self.broker

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
        """The JSON form of the entry: its fields without ``shares``."""
        found = {name: list(value) if isinstance(value, tuple) else value for name, value in self._asdict().items()}
        del found["shares"]
        return {**found, "topics": {name: list(partitions) for name, partitions in self.topics.items()}}
