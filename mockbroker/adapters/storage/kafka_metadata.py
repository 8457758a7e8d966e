"""The metadata log of a Kafka broker's directory, read into an image: its newest snapshot, and what comes behind it.

Source: KafkaMetadataLog, Snapshots, MetadataLoader, Apache Kafka 4.4; KIP-630.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mockbroker.adapters.storage.batch_scan import scan, split
from mockbroker.adapters.storage.names import LOG, offset_of
from mockbroker.state.image.image import Image, find_apply
from mockbroker.state.image.metadata_records import records_in
from protocol.errors import ProtocolError

log = logging.getLogger("mockbroker.storage")

SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class UnreadableMetadataError(ValueError):
    """A metadata log that cannot be read."""


def read_metadata(directory: Path) -> Image:
    """What the records in ``__cluster_metadata-0`` come to; those of kinds that nothing here knows are left out.

    A torn end is left out too: it was never committed. Raises UnreadableMetadataError, OSError.
    """
    image = Image()
    left_out: dict[str, int] = {}
    try:
        for record in records_of(directory):
            try:
                find_apply(type(record))
            except TypeError:
                left_out[type(record).__name__] = left_out.get(type(record).__name__, 0) + 1
                continue
            image.apply(record)
    except (ProtocolError, KeyError, ValueError) as error:
        raise UnreadableMetadataError(f"{directory}: {type(error).__name__}: {error}") from error
    if left_out:
        log.info("%s: left out %s", directory, ", ".join(f"{count} {name}" for name, count in sorted(left_out.items())))
    return image


def records_of(directory: Path) -> Iterator[Any]:
    """The records of the newest snapshot, then those of the log from where that ends."""
    end_offset = 0
    newest = newest_snapshot(directory)
    if newest is not None:
        path, end_offset = newest
        for whole in split(path.read_bytes()):
            yield from records_in(whole, skip_unknown=True)
    bases = sorted(base for one in directory.iterdir() if (base := offset_of(one.name, LOG)) is not None)
    for base_offset in bases:
        path = directory / f"{base_offset:020d}{LOG}"
        data = path.read_bytes()
        found = scan(data, base_offset, check=True)
        for batch in found.batches:
            if batch.base_offset >= end_offset:
                yield from records_in(data[batch.position : batch.position + batch.size], skip_unknown=True)
        if found.fault is not None:
            log.warning("%s: what comes behind byte %d is left out: %s", path, found.size, found.fault)
            return


def newest_snapshot(directory: Path) -> tuple[Path, int] | None:
    """The newest snapshot, and the offset where it ends."""
    names = sorted(one.name for one in directory.iterdir() if SNAPSHOT.fullmatch(one.name))
    return (directory / names[-1], int(names[-1].partition("-")[0])) if names else None
