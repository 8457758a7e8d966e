"""Readers of fixtures/: what a test needs at collection time, when there are no pytest fixtures yet.

Each gives plain values and is read once a process. Nothing here uses the code under test.
"""

from __future__ import annotations

import base64
import gzip
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CAPTURES = FIXTURES / "captures"


@dataclass(frozen=True, slots=True)
class GoldenVector:
    """One message's body as Kafka's own classes write it, beside the JSON that they print for it."""

    message: str
    api_key: int
    kind: Literal["request", "response", "data"]
    version: int
    body: bytes
    json: Any
    source: str

    @property
    def label(self) -> str:
        """For pytest's ids: ``MetadataRequest-v14-...``, with enough of the bytes to tell vectors apart."""
        return f"{self.message}-v{self.version}-{self.body[:6].hex()}-{len(self.body)}"


@dataclass(frozen=True, slots=True)
class CapturedFrame:
    """One frame between a real client and a real broker: header and body, without the length prefix.

    ``api_key`` and ``version`` of a response are those of its request; ``index`` counts the capture's frames from 0.
    """

    index: int
    time_us: int
    connection: int
    broker: int
    kind: Literal["request", "response"]
    api_key: int
    version: int
    correlation_id: int
    data: bytes


@cache
def kafka_schemas() -> dict[str, dict[str, Any]]:
    """Each message's schema by its name."""
    return {
        message["name"]: message
        for message in json.loads((FIXTURES / "kafka/schemas.json").read_text(encoding="utf-8"))["messages"]
    }


@cache
def kafka_errors() -> list[dict[str, Any]]:
    """Kafka's errors as ``{"code", "name", "retriable"}``, by number."""
    errors: list[dict[str, Any]] = json.loads((FIXTURES / "kafka/error_codes.json").read_text(encoding="utf-8"))
    return errors


@cache
def golden_vectors(message: str | None = None) -> tuple[GoldenVector, ...]:
    """The golden vectors of one message, or all 2,595."""
    if message is not None:
        return tuple(vector for vector in golden_vectors() if vector.message == message)
    return tuple(
        GoldenVector(
            message=line["message"],
            api_key=line["api_key"],
            kind=line["kind"],
            version=line["version"],
            body=bytes.fromhex(line["hex"]),
            json=line["json"],
            source=line["source"],
        )
        for path in sorted((FIXTURES / "golden").glob("*.jsonl.gz"))
        for line in json_lines(path)
    )


@cache
def error_response_vectors() -> list[dict[str, Any]]:
    """What Kafka's request classes answer when they fail; fixtures/error_responses/README.md says what is in a line."""
    return [line for path in sorted((FIXTURES / "error_responses").glob("*.jsonl.gz")) for line in json_lines(path)]


@cache
def transactions_of_kafka() -> list[dict[str, Any]]:
    """What a real cluster answers about transactions; fixtures/transactions/README.md says what is in a line."""
    return list(json_lines(FIXTURES / "transactions/kafka-4.1.0.jsonl.gz"))


def oracle(name: str) -> list[dict[str, Any]]:
    """The recorded answers of Kafka's Java classes, or of others; fixtures/oracle/README.md says what is in a line."""
    return list(json_lines(FIXTURES / f"oracle/{name}.jsonl.gz"))


def capture_names() -> list[str]:
    """Every capture, by name."""
    return sorted(path.name.removesuffix(".summary.json") for path in CAPTURES.glob("*.summary.json"))


def capture_summary(name: str) -> dict[str, Any]:
    """What a decoder should find in a capture."""
    summary: dict[str, Any] = json.loads((CAPTURES / f"{name}.summary.json").read_text(encoding="utf-8"))
    return summary


def capture_json(name: str) -> list[dict[str, Any]]:
    """Some of a capture's frames, by ``frame`` index, with the JSON that Kafka's own converter gives for the body."""
    return list(json_lines(CAPTURES / f"{name}.json-oracle.jsonl.gz"))


def captured_frames(name: str) -> Iterator[CapturedFrame]:
    """A capture's frames in the order of their arrival, responses paired with their requests."""
    brokers: dict[int, int] = {}
    asked: dict[tuple[int, int], tuple[int, int]] = {}
    index = 0
    for line in json_lines(CAPTURES / f"{name}.jsonl.gz"):
        if line.get("ev") == "open":
            brokers[line["conn"]] = line["broker"]
        if "dir" not in line:
            continue
        data, connection = base64.b64decode(line["data"]), line["conn"]
        if line["dir"] == "req":
            api_key, version, correlation_id = struct.unpack_from(">hhi", data)
            asked[connection, correlation_id] = api_key, version
        else:
            (correlation_id,) = struct.unpack_from(">i", data)
            api_key, version = asked.pop((connection, correlation_id))
        yield CapturedFrame(
            index=index,
            time_us=line["t"],
            connection=connection,
            broker=brokers[connection],
            kind="request" if line["dir"] == "req" else "response",
            api_key=api_key,
            version=version,
            correlation_id=correlation_id,
            data=data,
        )
        index += 1


def json_lines(path: Path) -> Iterator[Any]:
    """The JSON values of a gzipped file with one a line."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
