"""Answers made comparable: random values get names, times are told apart only from "now", lists have one order.

What is done by a field's name stands in the tables here; a new API with random values of its own gets a line there.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from dataclasses import dataclass, field
from typing import Any

import protocol
from protocol.records import iter_batches, iter_records
from protocol.records.batches import BatchHeader

LEFT_OUT = frozenset({"throttleTimeMs", "acquisitionLockTimeoutMs"})
NAMED = {
    "producerId": "producer",
    "sessionId": "session",
}
"""Numbers that a cluster makes up: fields by the word for what they count. 0 and less stand for none, but a producer
id may be 0."""
ANY = {
    "clusterId": "<cluster>",
    "controllerId": "<broker>",
    "host": "<host>",
    "port": "<port>",
    "logDir": "<directory>",
    "directoryId": "<directory>",
    "brokerEpoch": "<epoch>",
    "clientInstanceId": "<client>",
}
"""What differs between two runs without meaning anything: fields by what stands for each value that is there."""
TIMES = frozenset(
    {
        "timestamp",
        "logAppendTimeMs",
        "baseTimestamp",
        "maxTimestamp",
        "transactionStartTimeMs",
        "lastTimestamp",
        "issueTimestampMs",
        "expiryTimestampMs",
        "maxTimestampMs",
        "lastFetchTimestamp",
        "lastCaughtUpTimestamp",
    }
)
KEEPS_ITS_ORDER = frozenset({"records", "batches", "protocols", "replicaNodes", "replicas", "values"})
TEXT = re.compile(r"(Message|text)$")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
ID = re.compile(r"[A-Za-z0-9_-]{22}")
HOUR_MS = 3_600_000


@dataclass(slots=True)
class Names:
    """The random values that a scenario has met, by the names that stand for them."""

    begun_ms: int
    by_value: dict[Any, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def know(self, value: Any, name: str) -> None:
        """Give a value a name of its own."""
        self.by_value[value] = name

    def name(self, value: Any, word: str) -> str:
        """The name of a value: ``<producer 1>`` for the first of its kind."""
        key = value if isinstance(value, str) else (word, value)
        if key not in self.by_value:
            self.counts[word] = self.counts.get(word, 0) + 1
            self.by_value[key] = f"<{word} {self.counts[word]}>"
        return self.by_value[key]

    def time(self, value: int) -> int | str:
        """``T+5`` for a time that the scenario itself gave, ``<now>`` for the broker's."""
        if 0 <= value - self.begun_ms < 100_000 and (value - self.begun_ms) in GIVEN_TIMES:
            return f"T+{value - self.begun_ms}"
        return "<now>" if abs(value - self.begun_ms) < HOUR_MS else value


GIVEN_TIMES = frozenset(range(100)) | frozenset(range(1000, 100_000, 1000))
"""Milliseconds after its begin that a scenario gives to records: a broker's own time is hardly ever one of them."""


def normal(answer: Any, names: Names, api: str = "") -> Any:
    """An answer as it is kept and compared."""
    return named(ordered(known(opened(answer), names)), names)


def known(value: Any, names: Names) -> Any:
    """Random values that have a name already by that name, so that lists are sorted by it."""
    if isinstance(value, dict):
        return {key: known(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [known(one, names) for one in value]
    return names.by_value.get(value, value) if isinstance(value, str) else value


def opened(value: Any, name: str = "") -> Any:
    """Records as lists of batches, Kafka's whole answer else; what is left out is gone."""
    if isinstance(value, dict):
        return {key: opened(one, key) for key, one in value.items() if key not in LEFT_OUT}
    if isinstance(value, list):
        return [opened(one, name) for one in value]
    if name == "records" and isinstance(value, str):
        return batches_of(b64decode(value))
    return value


def ordered(value: Any, name: str = "") -> Any:
    """Lists in one order, by all in them that is not random."""
    if isinstance(value, dict):
        return {key: ordered(one, key) for key, one in value.items()}
    if isinstance(value, list):
        values = [ordered(one, name) for one in value]
        return values if name in KEEPS_ITS_ORDER else sorted(values, key=lambda one: json.dumps(masked(one)))
    return value


def masked(value: Any, name: str = "") -> Any:
    """A value without what is random in it, for sorting."""
    if isinstance(value, dict):
        return {key: masked(one, key) for key, one in sorted(value.items())}
    if isinstance(value, list):
        return [masked(one, name) for one in value]
    if name in NAMED or name in ANY or name in TIMES or TEXT.search(name):
        return "~"
    if name in ("topicId", "memberId") and isinstance(value, str) and ID.fullmatch(value) and value != ZERO_ID:
        return "~"
    return UUID.sub("~", value) if isinstance(value, str) else value


def named(value: Any, names: Names, name: str = "") -> Any:
    """Random values by their names."""
    if isinstance(value, dict):
        return {key: named(one, names, key) for key, one in value.items()}
    if isinstance(value, list):
        return [named(one, names, name) for one in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        if name in NAMED:
            return names.name(value, NAMED[name]) if value > 0 or (name == "producerId" and value == 0) else value
        if name in TIMES and value > HOUR_MS:
            return names.time(value)
        return ANY[name] if name in ANY and value >= 0 else value
    if isinstance(value, str):
        if value.startswith("<"):
            return value  # known already
        if name in ANY and value:
            return ANY[name]
        if name == "topicId" and value != ZERO_ID:
            return names.name(value, "id")
        if name == "memberId" and ID.fullmatch(value) and not value.startswith("AAAA"):
            return names.name(value, "member")
        return UUID.sub(lambda found: names.name(found[0], "uuid"), value)
    return value


def batch_fields(header: BatchHeader) -> dict[str, int]:
    """What stands in a batch's header, by Kafka's names."""
    return {
        "baseOffset": header.base_offset,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "magic": header.magic,
        "attributes": header.attributes,
        "lastOffsetDelta": header.last_offset_delta,
        "baseTimestamp": header.base_timestamp,
        "maxTimestamp": header.max_timestamp,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "baseSequence": header.base_sequence,
        "count": header.record_count,
    }


def batches_of(data: bytes) -> Any:
    """Records opened: each batch's header, and its records; text where these are no records."""
    try:
        batches = list(iter_batches(data))
    except protocol.ProtocolError:
        return f"{len(data)} bytes that are no records"
    kept = []
    for header in batches:
        if header.partial:
            kept.append({"cut off after": len(data) - header.position})
            continue
        whole = data[header.position : header.position + header.size]
        try:
            records = list(iter_records(whole))
        except protocol.ProtocolError:
            kept.append({"baseOffset": header.base_offset, "unreadable": header.size})
            continue
        kept.append(
            {
                **batch_fields(header),
                "records": [
                    {
                        "timestamp": one.timestamp,
                        "offset": one.offset,
                        "key": text_of(one.key),
                        "value": text_of(one.value),
                        "headers": [[name, text_of(value)] for name, value in one.headers],
                    }
                    for one in records
                ],
            }
        )
    return kept


def text_of(data: bytes | None) -> str | None:
    """Bytes as text, or as 0x and their digits where they are none."""
    if data is None:
        return None
    return data.decode() if data.isascii() and data.decode().isprintable() else "0x" + data.hex()
