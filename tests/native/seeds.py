"""``python -m tests.native.seeds``: writes what the targets of native/fuzz begin with, from fixtures/."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path

import protocol
from protocol import registry
from tests.fixture_data import CAPTURES, capture_names, captured_frames, golden_vectors

CORPUS = Path(__file__).resolve().parents[2] / "native" / "fuzz" / "corpus"
LINES, CHARACTERS, PACKETS = 20, 2_000, 30
"""The size of a piece of a capture."""


def main() -> None:
    """Write bodies of messages, record batches, lines of captures and packets."""
    kinds = [(key, kind) for key in sorted(registry.APIS) for kind in ("request", "response")]
    versions = [(*kind, version) for kind in kinds for version in protocol.message_class(*kind).valid_versions]
    numbers = {version: number.to_bytes(2, "big") for number, version in enumerate(versions)}
    for vector in golden_vectors():
        if (number := numbers.get((vector.api_key, vector.kind, vector.version))) is not None:
            for target in ("decode", "walk"):
                write(target, number + vector.body)
    for name in capture_names():
        for frame in captured_frames(name):
            if frame.api_key == 0 and frame.kind == "request":
                _, message = protocol.read_request(frame.data)
                for topic in message.topic_data:
                    for partition in topic.partition_data:
                        write("batches", partition.records or b"")
        lines = gzip.decompress((CAPTURES / f"{name}.jsonl.gz").read_bytes()).splitlines(keepends=True)
        for start in range(0, len(lines), LINES):
            write("lines", b"".join(line for line in lines[start : start + LINES] if len(line) < CHARACTERS))
    for file in CAPTURES.glob("*.pcap.gz"):
        header, *packets = packets_of(gzip.decompress(file.read_bytes()))
        for start in range(0, len(packets), PACKETS):
            write("packets", header + b"".join(packets[start : start + PACKETS]))
    for file in CAPTURES.glob("*.pcapng.gz"):
        write("packets", gzip.decompress(file.read_bytes())[:CHARACTERS])


def packets_of(content: bytes) -> Iterator[bytes]:
    """The header of a pcap, and its packets with theirs."""
    yield content[:24]
    at = 24
    while at < len(content):
        begins, at = at, at + 16 + int.from_bytes(content[at + 8 : at + 12], "little")
        yield content[begins:at]


def write(target: str, data: bytes) -> None:
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)


if __name__ == "__main__":
    main()
