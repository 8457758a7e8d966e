"""The zone (rack) that a client writes into its client.id, by the key of each system that reads it there.

Clients cannot say in Metadata which rack they are in, so the systems that keep records in object storage read it from
client.id, each in its own way: kafka_rack.diskless has the key of each.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from functools import cache
from typing import NamedTuple


class ZoneKey(NamedTuple):
    """How one system finds a zone in client.id.

    Attributes:
        key: the text before ``=``.
        separators: the characters that may precede the key, unless it is at the start; each of them also ends the zone.
        ends: further characters that end the zone.
        percent_encoded: key and zone are percent-encoded, as in a URL.
        trimmed: blanks round the key and the zone do not count.
        suffixed: clients may append ``-`` and more to the zone, as Kafka Streams does: pieces are removed from the
            right until the rest is an existing rack.
    """

    key: str
    system: str
    separators: str
    ends: str = ""
    percent_encoded: bool = False
    trimmed: bool = False
    suffixed: bool = False


BLANKS = "".join(map(chr, range(0x21)))  # those of String.trim
MAX_CLIENT_ID_BYTES = 0x7FFF  # its length is an int16


def zones_in_client_id(client_id: str | None, keys: Iterable[ZoneKey]) -> list[tuple[ZoneKey, str]]:
    """Every zone that a client.id names, by the rules of each key's system, in their order there.

    >>> keys = ZoneKey("ws_az", "WarpStream", ","), ZoneKey("zone", "Bufstream", ",;")
    >>> [(found.key, zone) for found, zone in zones_in_client_id("billing,ws_az=eu-1a,zone=eu-1b", keys)]
    [('ws_az', 'eu-1a'), ('zone', 'eu-1b')]
    """
    if not client_id or "=" not in client_id:
        return []
    found = [(key, zone_by_key(client_id, key)) for key in keys]
    return [(key, zone) for key, zone in found if zone]


def zone_in_client_id(client_id: str | None, keys: Iterable[ZoneKey]) -> str | None:
    """The zone by the first key that the client.id has, None if it has none.

    >>> zone_in_client_id("automq_type=producer&automq_az=us-1a", [ZoneKey("automq_az", "AutoMQ", "&")])
    'us-1a'
    """
    return next((zone for _, zone in zones_in_client_id(client_id, keys)), None)


def known_rack_in_client_id(client_id: str | None, racks: Container[str], keys: Iterable[ZoneKey]) -> str | None:
    """The rack that a client.id names, if brokers have it: its first zone that is a rack.

    Args:
        racks: the existing racks.

    >>> keys = [ZoneKey("diskless_az", "Inkless", ",", suffixed=True)]
    >>> known_rack_in_client_id("app,diskless_az=eu-1a-StreamThread-1-producer", {"eu-1a", "eu-1b"}, keys)
    'eu-1a'
    >>> known_rack_in_client_id("app,diskless_az=us-1a", {"eu-1a", "eu-1b"}, keys) is None
    True
    """
    for key, zone in zones_in_client_id(client_id, keys):
        rack = without_suffixes(zone, racks) if key.suffixed else zone
        if rack in racks:
            return rack
    return None


def with_zone(client_id: str | None, key: ZoneKey, zone: str, keys: Iterable[ZoneKey]) -> str | None:
    """A client.id with this zone added under this key, unless it already names one, by one of ``keys``.

    It also stays unchanged if the zone could not be read back: because a character of the zone would end it, or because
    the id would be too long for a request's header.

    >>> inkless = ZoneKey("diskless_az", "Inkless", " ,|", "=")
    >>> automq = ZoneKey("automq_az", "AutoMQ", "&", percent_encoded=True)
    >>> with_zone("billing", inkless, "eu-1a", [inkless]), with_zone(None, automq, "eu 1", [automq])
    ('billing,diskless_az=eu-1a', 'automq_az=eu%201')
    >>> with_zone("automq_az=b", inkless, "eu-1a", [automq]), with_zone("billing", inkless, "eu,1", [automq])
    ('automq_az=b', 'billing')
    """
    if any(pattern_of(known).search(client_id or "") for known in keys):
        return client_id
    written = zone
    if key.percent_encoded:
        from urllib.parse import quote

        written = quote(zone, safe="")
    between = "" if not client_id else "," if "," in key.separators else key.separators[0]
    named = f"{client_id or ''}{between}{key.key}={written}"
    if zone_by_key(named, key) != zone or len(named.encode()) > MAX_CLIENT_ID_BYTES:
        return client_id
    return named


def without_suffixes(zone: str, racks: Container[str]) -> str:
    """The zone without the fewest ``-`` pieces at its end that leave an existing rack; empty if none does.

    >>> without_suffixes("a-b-c", {"a", "a-b"}), without_suffixes("a-b", {"c"})
    ('a-b', '')
    """
    while zone and zone not in racks:
        zone = zone.rpartition("-")[0]
    return zone


def zone_by_key(client_id: str, key: ZoneKey) -> str | None:
    """The value of one key in a client.id, None without it."""
    if key.percent_encoded:
        from urllib.parse import unquote_plus

        pairs = (pair.partition("=") for pair in client_id.split(key.separators))
        return next((unquote_plus(zone) for name, _, zone in pairs if unquote_plus(name) == key.key), None)
    match = pattern_of(key).search(client_id)
    if match is None:
        return None
    return match[1].strip(BLANKS) if key.trimmed else match[1]


@cache
def pattern_of(key: ZoneKey) -> re.Pattern[str]:
    between, ends = re.escape(key.separators), re.escape(key.separators + key.ends)
    blanks = f"[{BLANKS}]*" if key.trimmed else ""
    return re.compile(rf"(?:^|[{between}]){blanks}{re.escape(key.key)}=([^{ends}]*)")
