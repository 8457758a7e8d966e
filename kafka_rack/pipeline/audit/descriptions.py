"""Descriptions of clusters: the cluster in a file or a line, or the reason why it is unreadable.

The forms are those of ``kafka_rack.cluster_layout``; a text ``name`` or ``cluster`` names a
cluster.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kafka_rack.cluster_layout import ClusterLayout, layout_of_json
from kafka_rack.errors import InputError
from kafka_rack.placement import UsableBroker

LINES = ".jsonl"
SUFFIXES = (".json", LINES)
MAX_ID = 2**31 - 1
"""A broker id is an int32 on the wire, and in the tables."""

MAX_REASON_CHARACTERS = 400
"""The longest reason in characters; longer ones quote whole files."""


class Described(NamedTuple):
    """A cluster of a file; ``line`` in a file with one cluster a line."""

    cluster: str
    file: str
    line: int | None
    layout: ClusterLayout


class UnreadableCluster(NamedTuple):
    """A file, or a line of it, without a readable cluster."""

    file: str
    line: int | None
    reason: str


def plain_name(name: str) -> str:
    return name.removesuffix(".gz")


def cluster_of(
    content: bytes, file: str, line: int | None, brokers: Sequence[UsableBroker] | None = None
) -> Described | UnreadableCluster:
    """The cluster in the bytes of a file or line, or the reason why it is unreadable."""
    try:
        said = json.loads(content.decode("utf-8"))
        layout = layout_of_json(said, brokers if isinstance(said, dict) and not said.get("brokers") else None)
        name = name_of(said, file, line)
        check_values(layout, name)
    except UnicodeDecodeError:
        reason = "is no UTF-8 text"
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}" if line is None else f"column {error.colno}"
        reason = f"{place}: {error.msg}"
    except InputError as error:
        reason = shortened(printable(str(error)))
    except ValueError:
        reason = "a number with more digits than any field has"
    except RecursionError:
        reason = "lists or objects nested far deeper than any description"
    else:
        return Described(name, file, line, layout)
    return UnreadableCluster(file, line, reason)


def name_of(said: Any, file: str, line: int | None) -> str:
    """The cluster's name in the description; else the file's name, with the line if there are several.

    >>> name_of({}, "fleet/eu.jsonl.gz", 3), name_of({"name": "eu"}, "fleet/1.json", None)
    ('eu:3', 'eu')
    >>> name_of({"cluster_id": "xQ"}, "fleet/1.json", None)  # as `kafka-rack inspect` writes it
    'xQ'
    """
    for key in ("name", "cluster", "cluster_id"):
        if isinstance(said.get(key), str) and said[key]:
            return str(said[key])
    stem = Path(plain_name(file)).name
    for suffix in (LINES, ".json"):
        stem = stem.removesuffix(suffix)
    return stem if line is None else f"{stem}:{line}"


def check_values(layout: ClusterLayout, name: str) -> None:
    """Raises InputError: a value that the tables cannot contain."""
    for broker in layout.brokers:
        if broker.id > MAX_ID:
            raise InputError(f"broker {broker.id}: ids go up to {MAX_ID}")
    texts = [name, *layout.topics, *layout.racks]
    for text in texts:
        if printable(text) != text:
            raise InputError(f"{printable(text)}: half of a surrogate pair is no text")


def printable(text: str) -> str:
    """A text with replacements for characters that cannot be encoded."""
    return text.encode("utf-8", "replace").decode("utf-8")


def shortened(text: str) -> str:
    """A reason; a long one without its middle."""
    half = MAX_REASON_CHARACTERS // 2
    return text if len(text) <= MAX_REASON_CHARACTERS else f"{text[:half]} ... {text[-half:]}"
