"""The plan of a run: messages and versions, the chunks of their examples, and the seeds.

A chunk is the unit of work: a number of examples of one message version, generated from its own seed. Their
distribution over tasks does not change them.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from random import Random

import msgspec

import protocol
from protocol.registry import modules_by_name
from protocol.versions import VersionRange

CHUNK = 250
"""The examples in a chunk. Changing it changes a seed's examples."""


class ExampleChunk(msgspec.Struct, frozen=True):
    """``count`` examples of one message version; ``number`` counts its chunks."""

    message: str
    version: int
    number: int
    count: int


class FuzzPlan(msgspec.Struct, frozen=True):
    """The examples of a run. ``versions`` has the versions by message; ``examples`` is the number for each version."""

    versions: dict[str, list[int]]
    examples: int
    seed: int

    @property
    def message_versions(self) -> int:
        return sum(len(versions) for versions in self.versions.values())

    def chunks(self) -> Iterator[ExampleChunk]:
        """All chunks, the first of every message version before the second of any."""
        for number in range(-(-self.examples // CHUNK)):
            count = min(CHUNK, self.examples - number * CHUNK)
            for message, versions in self.versions.items():
                for version in versions:
                    yield ExampleChunk(message, version, number, count)


def chance_for(seed: int, chunk: ExampleChunk, use: str) -> Random:
    """A chunk's random numbers for one use, so that one check's draws do not change another's.

    >>> chunk = ExampleChunk("MetadataRequest", 12, 0, 250)
    >>> chance_for(1, chunk, "messages").random() == chance_for(1, chunk, "messages").random()
    True
    """
    return Random(f"{seed}/{chunk.message}/{chunk.version}/{chunk.number}/{use}")


def chosen(patterns: Sequence[str], versions: str) -> dict[str, list[int]]:
    """The versions of each requested message, by name.

    Args:
        patterns: names as ``FetchRequest``, or with ``*``, in any case. Empty: every message.
        versions: ``all``, ``latest``, or Kafka's notation: ``3``, ``0-14``, ``9+``.

    Raises: ValueError: a pattern that matches no message, with similar names; unknown versions.

    >>> chosen(["metadatareq*"], "latest"), chosen(["FetchRequest"], "3-5")
    ({'MetadataRequest': [14]}, {'FetchRequest': [3, 4, 5]})
    """
    try:
        wanted = VersionRange.parse("0+" if versions in ("all", "latest") else versions)
    except ValueError:
        raise ValueError(f"versions: expected all, latest, 3, 0-14 or 9+, got {versions!r}") from None
    known = {name: protocol.named_class(name).valid_versions for name in names_like(patterns)}
    found = {name: [*wanted.within(valid)] for name, valid in known.items() if wanted.within(valid)}
    if not found:
        ((name, valid), *others) = known.items()
        raise ValueError(
            f"no message has version {versions}" if others else f"versions {versions}, but {name} has versions {valid}"
        )
    return {name: numbers[-1:] if versions == "latest" else numbers for name, numbers in found.items()}


def names_like(patterns: Sequence[str]) -> list[str]:
    """The messages that match any of the patterns, sorted.

    Raises: ValueError.
    """
    by_lower = {name.lower(): name for name in sorted(modules_by_name())}
    found: set[str] = set()
    for pattern in patterns or ["*"]:
        matches = fnmatch.filter(by_lower, pattern.lower())
        if not matches:
            bare = pattern.lower().strip("*")
            near = get_close_matches(bare, by_lower, 3) or [name for name in by_lower if bare and bare in name][:3]
            meant = f"did you mean {' or '.join(by_lower[name] for name in near)}?"
            hint = meant if near else "`kafka-rack messages` lists them"
            raise ValueError(f"expected the name of a message, got {pattern!r}; {hint}")
        found.update(by_lower[name] for name in matches)
    return sorted(found)
