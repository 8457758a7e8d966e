"""What the public functions cost above the compiled ones, for a tiny message; and what the peers take for the same.

`python -m tests.bench.calls` prints the table alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from time import thread_time
from typing import Any

import protocol
from protocol.codec import codec

from .measure import machine
from .peers import Sample, kafka_python, kio

VERSION = 1
ROUNDS, CALLS = 41, 5_000
NAME = "MetadataRequest"
MAX_OF_KIO = 0.5
"""The aim of the native codec: ``protocol.decode`` takes this part of kio's time."""


def rows() -> dict[str, list[Callable[[], Any]]]:
    """The calls by a name for the table: decode, then encode."""
    prepared = codec(protocol.named_class(NAME), VERSION)
    message = prepared.message(topics=[prepared.message.Topic(name="events")])
    data = prepared.encode(message)
    prepared.decode(data)
    decode, encode = prepared.decoder(), prepared.encoder()
    key, kind = prepared.message.api_key, prepared.message.kind
    found = {
        "compiled function": [lambda: decode(data), lambda: encode(message)],
        "protocol.decode, encode": [
            lambda: protocol.decode(key, kind, VERSION, data),
            lambda: protocol.encode(message, VERSION),
        ],
        "protocol.decode_named": [lambda: protocol.decode_named(NAME, VERSION, data)],
    }
    sample = Sample(NAME, key, kind, VERSION, data)
    for name, peer in (("kio", kio), ("kafka-python", kafka_python)):
        if (paths := peer(sample)) is not None:
            found[name] = [paths.decode, paths.encode]
    frame = protocol.request_frame(message, VERSION, correlation_id=1, client_id="app")[4:]
    found["protocol.read_request, request_frame: header and body"] = [
        lambda: protocol.read_request(frame),
        lambda: protocol.request_frame(message, VERSION, correlation_id=1, client_id="app"),
    ]
    return found


def medians(calls: list[Callable[[], Any]]) -> list[float]:
    """The median seconds of one call of each, run in turns; less what an empty call takes."""
    calls = [lambda: None, *calls]
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, found in zip(calls, times, strict=True):
            start = thread_time()
            for _ in range(CALLS):
                call()
            found.append((thread_time() - start) / CALLS)
    empty, *taken = map(statistics.median, times)
    return [time - empty for time in taken]


def main() -> None:
    """Print the table."""
    print(machine())
    print()
    found = rows()
    decode = medians([calls[0] for calls in found.values()])
    encode = medians([calls[1] for calls in found.values() if len(calls) > 1])
    left = iter(encode)
    print(f"{NAME} v{VERSION} of one topic, {len(sample_bytes())} bytes")
    print(f"{'':55} {'decode':>10} {'above':>9} {'encode':>10} {'above':>9}")
    for (label, calls), decoding in zip(found.items(), decode, strict=True):
        line = f"{label:55} {decoding * 1e9:>7,.0f} ns {(decoding - decode[0]) * 1e9:>6,.0f} ns"
        if len(calls) > 1:
            encoding = next(left)
            line += f" {encoding * 1e9:>7,.0f} ns {(encoding - encode[0]) * 1e9:>6,.0f} ns"
        print(line)
    by_label = dict(zip(found, decode, strict=True))
    if "kio" in by_label:
        part = by_label["protocol.decode, encode"] / by_label["kio"]
        print(f"protocol.decode takes {part:.2f} of kio's time; aim: {MAX_OF_KIO}")


def sample_bytes() -> bytes:
    """The bytes that are read."""
    message = protocol.named_class(NAME)
    return protocol.encode(message(topics=[message.Topic(name="events")]), VERSION)


if __name__ == "__main__":
    main()
