"""Large messages are read while the garbage collector waits, and it is as it was before whatever happens."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import protocol
from protocol import reference
from protocol.apis.fetch import FetchResponse
from protocol.apis.metadata import MetadataResponse
from protocol.codec import codec
from protocol.compiler.decode import INTERN_FROM, PAUSE_FROM, decoder_source
from protocol.fuzz import huge_lengths
from protocol.layouts import layout

Partition = MetadataResponse.Topic.Partition


def metadata(partitions: int) -> bytes:
    made = [
        Partition(partition_index=number, replica_nodes=[1, 2, 3], isr_nodes=[1, 2]) for number in range(partitions)
    ]
    return protocol.encode(MetadataResponse(topics=[MetadataResponse.Topic(name="orders", partitions=made)]), 12)


def broken(data: bytes) -> bytes:
    """As large, but the count of brokers, behind the throttle time, is no varint, which is found out at once."""
    return data[:4] + b"\xff" * 6 + data[10:]


LARGE, VERY_LARGE = metadata(500), metadata(30_000)
EACH_SIZE = pytest.mark.parametrize("data", [LARGE, VERY_LARGE], ids=["large", "very large"])


@pytest.fixture
def eager_collector() -> Iterator[list[str]]:
    """A collector that sets out at every tenth new list; what it did."""
    seen: list[str] = []

    def note(phase: str, _: dict[str, int]) -> None:
        seen.append(phase)

    before = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(10, 10, 10)
    yield seen
    gc.set_threshold(*before)
    gc.callbacks.remove(note)


@pytest.fixture
def switched_off() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_the_samples_take_both_ways():
    assert PAUSE_FROM < len(LARGE) < INTERN_FROM < len(VERY_LARGE)


@EACH_SIZE
def test_a_large_message_is_read_without_a_collection(data, eager_collector):
    read = codec(MetadataResponse, 12).decode
    read(data)
    gc.collect()
    eager_collector.clear()
    message = read(data)
    collections = len(eager_collector)  # makes no list itself, as that would set one off
    assert collections == 0
    assert message[1] == len(data)
    assert gc.isenabled()


@EACH_SIZE
def test_the_collector_is_on_again_after_an_error_and_while_that_is_explained(data, monkeypatch):
    on_while_explaining = []
    explain = reference.decode

    def explained(*arguments, **named):
        on_while_explaining.append(gc.isenabled())
        return explain(*arguments, **named)

    monkeypatch.setattr(reference, "decode", explained)
    with pytest.raises(protocol.DecodeError):
        protocol.decode(3, "response", 12, broken(data))
    assert on_while_explaining == ([True] if protocol.backend() == "python" else [])  # Rust finds its own words
    assert gc.isenabled()


@EACH_SIZE
@pytest.mark.usefixtures("switched_off")
def test_a_collector_that_was_off_stays_off(data):
    protocol.decode(3, "response", 12, data)
    assert not gc.isenabled()
    with pytest.raises(protocol.DecodeError):
        protocol.decode(3, "response", 12, broken(data))
    assert not gc.isenabled()


def test_the_collector_is_on_again_after_an_interrupt():
    def interrupted(*_):
        raise KeyboardInterrupt

    source = decoder_source(layout(MetadataResponse, 12))
    names = [name for name, value in source.namespace.items() if value is MetadataResponse]
    source.namespace |= dict.fromkeys(names, interrupted) | {"explain": interrupted}
    with pytest.raises(KeyboardInterrupt):
        source.run("interrupted")(LARGE)
    assert gc.isenabled()


def test_hostile_lengths_leave_the_collector_on():
    partitions = [FetchResponse.Topic.Partition(partition_index=number, records=b"r" * 9) for number in range(120)]
    data = protocol.encode(FetchResponse(responses=[FetchResponse.Topic(partitions=partitions)]), 13)
    assert len(data) > PAUSE_FROM
    for damaged in [data[:-1], data + b"x", *list(huge_lengths(FetchResponse, 13, data))[:10]]:
        with pytest.raises(protocol.DecodeError):
            protocol.decode(1, "response", 13, damaged)
        assert gc.isenabled()
