"""Rack names that almost match: brokers and clients that spell one rack in two ways are in different racks for Kafka.

Kafka compares racks exactly. Three mistakes are common: capitals, blanks, and mixing a cloud zone's name and its id
(us-east-1a and use1-az1), which AWS maps differently in each account.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

ZONE_NAME = re.compile(r"([a-z]{2}(?:-[a-z]+)+)-(\d+)([a-z])")
"""A zone by name: region, number, letter, as us-east-1a."""
ZONE_ID = re.compile(r"([a-z]+)(\d+)-az(\d+)")
"""A zone by id, as use1-az1."""
DIRECTIONS = {"north": "n", "south": "s", "east": "e", "west": "w", "central": "c", "gov": "g"}


def rack_hints(names: Iterable[str | None]) -> list[str]:
    """A line for each pair of racks that may be the same, sorted.

    >>> rack_hints(["us-east-1a", "use1-az1", "rack1"])
    ['racks us-east-1a and use1-az1: a zone name and a zone id of one region; use one kind everywhere']
    """
    known = sorted({name for name in names if name})
    found = []
    for at, one in enumerate(known):
        for other in known[at + 1 :]:
            reason = likeness(one, other)
            if reason:
                found.append(f"racks {shown(one)} and {shown(other)}: {reason}")
    return found


def likeness(one: str, other: str) -> str | None:
    """Why two different names may mean the same rack; None if they do not look alike."""
    if one.strip() == other.strip():
        return "they differ in blanks only"
    if one.strip().lower() == other.strip().lower():
        return "they differ in capitals only"
    if {region_by_name(one), region_by_name(other)} & {region_by_id(one), region_by_id(other)} - {None}:
        return "a zone name and a zone id of one region; use one kind everywhere"
    if squeezed(one) == squeezed(other):
        return "they differ in blanks, hyphens, underscores or capitals only"
    return None


def squeezed(name: str) -> str:
    """A name normalised for comparison."""
    return re.sub(r"[\s_.-]+", "", name).lower()


def region_by_name(name: str) -> str | None:
    """The short form of a zone name's region: use1 for us-east-1a.

    >>> region_by_name("ap-southeast-2b")
    'apse2'
    """
    match = ZONE_NAME.fullmatch(name.strip().lower())
    if match is None:
        return None
    country, *words = match[1].split("-")
    for direction, letter in DIRECTIONS.items():
        words = [word.replace(direction, letter) for word in words]
    return country + "".join(words) + match[2]


def region_by_id(name: str) -> str | None:
    """The short form of a zone id's region: use1 for use1-az1."""
    match = ZONE_ID.fullmatch(name.strip().lower())
    return match[1] + match[2] if match else None


def shown(name: str) -> str:
    """A name for a message: in quotes if it has blanks that would be invisible."""
    return repr(name) if name != name.strip() or not name.isprintable() else name
