"""The fuzzing corpus, fixtures/fuzz/corpus.jsonl: one input a line, and how it was made of the golden vectors.

``python -m tests.fuzz.corpus`` writes the file anew. For atheris an input is the index of a message version, two bytes,
then the body: so a fuzzer that knows only bytes wanders from one message to another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import protocol
from tests.fixture_data import FIXTURES, golden_vectors

PATH = FIXTURES / "fuzz/corpus.jsonl"
LONGEST = 300  # bytes; what a reader can be led to does not get more with length


@dataclass(frozen=True, slots=True)
class Input:
    """Bytes to be read as a message version; ``origin`` says where they come from."""

    message: str
    version: int
    body: bytes
    origin: str


@cache
def message_versions() -> tuple[tuple[Any, int], ...]:
    """Every message version, by name and version."""
    return tuple((message, version) for message in protocol.messages() for version in message.valid_versions)


def corpus() -> Iterator[Input]:
    """The inputs of the file."""
    for line in PATH.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        yield Input(one["message"], one["version"], bytes.fromhex(one["hex"]), one["origin"])


def packed(message: Any, version: int, body: bytes) -> bytes:
    """An input as atheris has it."""
    return message_versions().index((message, version)).to_bytes(2, "big") + body


def unpacked(data: bytes) -> tuple[Any, int, bytes]:
    """Message, version and body of what atheris made: any two bytes mean some message version."""
    message, version = message_versions()[int.from_bytes(data[:2], "big") % len(message_versions())]
    return message, version, data[2:]


def unpack_into(folder: Path) -> None:
    """Lay the corpus out as files, one an input, as atheris reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, one in enumerate(corpus()):
        (folder / f"{number:04d}").write_bytes(packed(protocol.named_class(one.message), one.version, one.body))


def made_of_golden_vectors() -> Iterator[Input]:
    """Of each message the longest vector of its lowest and of its highest version that is not too long."""
    for message in protocol.messages():
        for version in sorted({message.valid_versions.lowest, message.valid_versions.highest}):
            vectors = [vector for vector in golden_vectors(message.name) if vector.version == version]
            if not vectors:
                continue  # KIP-36's own messages, which Kafka never released
            by_length = sorted(vectors, key=lambda vector: len(vector.body))
            fitting = [vector for vector in by_length if len(vector.body) <= LONGEST] or by_length[:1]
            yield Input(message.name, version, fitting[-1].body, "golden")


def write() -> None:
    """Write the file: what is made of the vectors, then what was found by fuzzing and is in it already."""
    found = [one for one in corpus() if one.origin != "golden"] if PATH.exists() else []
    PATH.parent.mkdir(exist_ok=True)
    lines = [
        json.dumps({"message": one.message, "version": one.version, "hex": one.body.hex(), "origin": one.origin})
        for one in [*made_of_golden_vectors(), *found]
    ]
    PATH.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
