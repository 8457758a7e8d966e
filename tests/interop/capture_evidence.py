"""What a capture of certify's run shows, read from its raw frames and by none of certify's code.

A listener is named after the rack whose process was given its addresses, a broker's rack stands in the capture's first
line: so each frame has a sender in one rack and a receiver in one.
"""

from __future__ import annotations

import base64
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from protocol.embedded.consumer_protocol import ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned
from protocol.errors import ProtocolError
from protocol.headers import read_request_header, read_response
from protocol.registry import message_class

PRODUCE, FETCH, JOIN_GROUP = 0, 1, 11
LENGTH_BYTES = 4


@dataclass
class Evidence:
    """Counts by rack of the process. ``frame_bytes`` has (own rack?) -> bytes of all frames, lengths included.

    ``sent_on`` has for each answer that named a replica whether the next answer about that partition came from there.
    """

    fetch_racks: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    fetch_versions: set[int] = field(default_factory=set)
    subscription_racks: dict[str, set[str | None]] = field(default_factory=lambda: defaultdict(set))
    frame_bytes: Counter[bool] = field(default_factory=Counter)
    redirects: int = 0
    sent_on: list[bool] = field(default_factory=list)
    pending: dict[tuple[str, int], int] = field(default_factory=dict)
    fetched_at: dict[tuple[str, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    """Rack and partition -> the brokers that gave records of it, each time anew."""


def evidence_in(path: Path) -> Evidence:
    """Read a capture of one file."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    routes = {(route["broker"], route["listener"]): route["rack"] for route in lines[0]["routes"]}
    connections: dict[int, tuple[str, int, str]] = {}
    asked: dict[tuple[int, bytes], tuple[int, int]] = {}
    found = Evidence()
    for line in lines:
        if line.get("ev") == "open":
            listener = line["listener"]
            connections[line["conn"]] = (
                listener.removeprefix("RACK_"),
                line["broker"],
                routes[line["broker"], listener],
            )
        if "dir" not in line:
            continue
        data = base64.b64decode(line["data"])
        rack, broker, broker_rack = connections[line["conn"]]
        found.frame_bytes[rack == broker_rack] += len(data) + LENGTH_BYTES
        if line["dir"] == "req":
            key, version = int.from_bytes(data[:2]), int.from_bytes(data[2:4])
            asked[line["conn"], data[4:8]] = (key, version)
            if key in (FETCH, JOIN_GROUP):
                request(found, rack, key, version, data)
        else:
            key, version = asked.pop((line["conn"], data[:4]))
            if key == FETCH:
                fetched(found, rack, broker, read_response(data, key, version)[1])
    return found


def request(found: Evidence, rack: str, key: int, version: int, data: bytes) -> None:
    from protocol.codec import codec

    _, start = read_request_header(data)
    message, _ = codec(message_class(key, "request"), version).decode(data, start)
    if key == FETCH:
        found.fetch_racks[rack][message.rack_id if version >= 11 else ""] += 1
        found.fetch_versions.add(version)
        return
    for protocol in message.protocols:
        try:
            said = read_versioned(ConsumerProtocolSubscription, bytes(protocol.metadata)).rack_id
        except ProtocolError:
            said = None
        found.subscription_racks[rack].add(said or None)


def fetched(found: Evidence, rack: str, broker: int, response: Any) -> None:
    for topic in response.responses:
        for partition in topic.partitions:
            where, named = (rack, partition.partition_index), partition.preferred_read_replica
            if where in found.pending:
                found.sent_on.append(found.pending.pop(where) == broker)
            if named >= 0:
                found.redirects += 1
                found.pending[where] = named
            if partition.records:
                found.fetched_at[where].append(broker)
