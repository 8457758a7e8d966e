"""Other codecs behind one shape: what each can read and write, by its own fastest documented path.

A peer is left out of a row when it does not know the message's version, or does not give the same bytes back: a
codec that reads wrongly is not to be measured.
"""

import io
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import protocol
from protocol.codec import codec
from protocol.layouts import layout


class Sample(NamedTuple):
    """The body of one message as bytes."""

    name: str
    api_key: int | None
    kind: str
    version: int
    data: bytes


class Paths(NamedTuple):
    """How a codec reads the bytes of one sample, and how it writes the object that it read from them."""

    decode: Callable[[], Any]
    encode: Callable[[], bytes]


Peer = Callable[[Sample], Paths | None]


def ours(sample: Sample) -> Paths:
    """The compiled codec."""
    prepared = codec(protocol.named_class(sample.name), sample.version)
    data = sample.data
    message = prepared.decode(data)[0]
    prepared.encode(message)
    decode, encode = prepared.decode, prepared.encode
    return checked(sample, lambda: decode(data), lambda: encode(message))


def plain_construct(sample: Sample) -> Paths:
    """The constructs of the same declarations, without a compiler: parse to containers, build from them."""
    construct, data = layout(protocol.named_class(sample.name), sample.version), sample.data
    container = construct.parse(data)
    return checked(sample, lambda: construct.parse(data), lambda: construct.build(container))


def kio(sample: Sample) -> Paths | None:
    """kio: its native ``entity_reader`` and its ``entity_writer``, both prepared once."""
    from kio.serial import entity_reader, entity_writer

    found = kio_class(sample)
    if found is None:
        return None
    read, write, data = entity_reader(found), entity_writer(found), sample.data

    def encode() -> bytes:
        out = io.BytesIO()
        write(out, entity)
        return out.getvalue()

    try:
        entity = read(data, 0)[0]
        return checked(sample, lambda: read(data, 0), encode)
    except Exception:  # noqa: BLE001 - whatever it raises, it cannot read this sample
        return None


def kio_class(sample: Sample) -> Any:
    """kio's class of the message at this version, or None."""
    from kio.index import load_entity_schema
    from kio.static.constants import EntityType

    name = re.sub("(Request|Response)$", "", sample.name) if sample.api_key is not None else sample.name
    snake = re.sub("(?<!^)(?=[A-Z])", "_", name).lower()
    try:
        return load_entity_schema(snake, sample.version, EntityType[sample.kind])
    except Exception:  # noqa: BLE001 - it has several ways to say that it knows no such message
        return None


def kafka_python(sample: Sample) -> Paths | None:
    """kafka-python 3: the class method ``decode`` and the method ``encode``, which compile themselves at first use."""
    found = kafka_python_classes().get(sample.name)
    if found is None:
        return None
    version, data = sample.version, sample.data
    try:
        if sample.kind == "data":
            message = found.decode(data, version=version, header=False)
            return checked(
                sample,
                lambda: found.decode(data, version=version, header=False),
                lambda: message.encode(version=version, header=False),
            )
        message = found.decode(data, version=version)
        return checked(sample, lambda: found.decode(data, version=version), message.encode)
    except Exception:  # noqa: BLE001 - whatever it raises, it cannot read this sample
        return None


_kafka_python: dict[str, Any] = {}


def kafka_python_classes() -> dict[str, Any]:
    """kafka-python's message classes by Kafka's names."""
    if not _kafka_python:
        for module in ("admin", "consumer", "metadata", "producer", "sasl", "consumer.group", "api_header"):
            for name, value in vars(import_module(f"kafka.protocol.{module}")).items():
                if isinstance(value, type) and hasattr(value, "decode"):
                    _kafka_python.setdefault(name, value)
    return _kafka_python


def checked(sample: Sample, decode: Callable[[], Any], encode: Callable[[], bytes]) -> Paths:
    """The paths, if they give the sample's bytes back.

    Raises: ValueError: they do not.
    """
    decode()
    if encode() != sample.data:
        raise ValueError(f"{sample.name} v{sample.version} comes back as other bytes")
    return Paths(decode, encode)
