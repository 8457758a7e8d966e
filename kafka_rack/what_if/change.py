"""The changes: settings of clients and brokers, groups' assignors, placement, diskless topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from kafka_rack.assignment import CONSUMER_SIDE, SERVER_ASSIGNORS
from kafka_rack.errors import InputError, PlacerSettingsError, SelectionError
from kafka_rack.placement.loading import CLASS_SETTING, PLACER_SETTINGS, find_placer, is_built_in
from kafka_rack.selection import RackAwareSelector, find_selector

CLIENT_RACK, SELECTOR = "client.rack", "replica.selector.class"
ASSIGNOR, REMOTE_ASSIGNOR, PROTOCOL = "partition.assignment.strategy", "group.remote.assignor", "group.protocol"
PARTITIONER = "partitioner.rack.aware"
SETTINGS = (CLIENT_RACK, SELECTOR, ASSIGNOR, REMOTE_ASSIGNOR, PROTOCOL, PARTITIONER)
AUTO = "auto"
"""A client's rack is where the client is."""
PROTOCOLS = ("classic", "consumer")
JAVA_ASSIGNORS = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.StickyAssignor": "sticky",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
}


@dataclass(frozen=True, slots=True)
class WhatIfChange:
    """The differences from the capture; None means no difference.

    Attributes:
        client_rack: the rack that every client names: ``auto`` for where it is, or one for all.
        reads_from_followers: whether brokers have the rack-aware replica selector.
        protocol, assignor: of groups.
        rack_aware_partitioner: of producers that have one (KIP-1123), each with the rack that it is in.
        diskless: topics, as patterns.
        placer: places all partitions again; ``placer_settings`` are a cluster's.
        replication_factor: of the topics placed again.
    """

    client_rack: str | None = None
    reads_from_followers: bool | None = None
    protocol: str | None = None
    assignor: str | None = None
    rack_aware_partitioner: bool | None = None
    diskless: tuple[str, ...] = ()
    placer: str | None = None
    placer_settings: tuple[tuple[str, str], ...] = ()
    replication_factor: int | None = None

    @property
    def is_nothing(self) -> bool:
        return self == WhatIfChange()

    def makes_diskless(self, topic: str) -> bool:
        return any(fnmatchcase(topic, pattern) for pattern in self.diskless)

    def as_json(self) -> dict[str, Any]:
        """The differences by name."""
        found: dict[str, Any] = {}
        for name in self.__slots__:
            value = getattr(self, name)
            if value not in (None, ()):
                found[name] = dict(value) if name == "placer_settings" else list(value) if name == "diskless" else value
        return found


def change_of(
    settings: Mapping[str, str],
    *,
    diskless: Sequence[str] = (),
    placer: str | None = None,
    replication_factor: int | None = None,
) -> WhatIfChange:
    """A change out of Kafka's own settings and the rest. Raises InputError.

    Args:
        settings: ``client.rack``, ``replica.selector.class``, ``partition.assignment.strategy``,
            ``group.remote.assignor``, ``group.protocol``, ``partitioner.rack.aware``, and settings of the placer.

    >>> change_of({"client.rack": "auto", "replica.selector.class": "rack-aware"}).reads_from_followers
    True
    """
    of_placer = {name: value for name, value in settings.items() if placer is not None and is_of_placer(name, placer)}
    for name in settings:
        if name not in SETTINGS and name not in of_placer:
            near = get_close_matches(name, SETTINGS, 1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"setting {name!r}: expected one of {', '.join(SETTINGS)}{meant}")
    protocol = settings.get(PROTOCOL, "consumer" if REMOTE_ASSIGNOR in settings else None)
    if protocol is not None and protocol not in PROTOCOLS:
        raise InputError(f"{PROTOCOL}: expected {' or '.join(PROTOCOLS)}, got {protocol!r}")
    assignor = settings.get(ASSIGNOR) or settings.get(REMOTE_ASSIGNOR)
    if replication_factor is not None and placer is None:
        placer = "rack-aware"
    if placer is not None:
        try:
            find_placer(placer)
        except PlacerSettingsError as error:
            raise InputError(str(error).replace(f"{CLASS_SETTING}:", "placer:", 1)) from None
    rack = settings.get(CLIENT_RACK)
    if rack is not None and not rack:
        raise InputError(f"{CLIENT_RACK}: expected a rack, or {AUTO} for where each client is, got ''")
    aware = settings.get(PARTITIONER)
    if aware not in (None, "true") or (aware and (placer is not None or rack not in (None, AUTO))):
        raise InputError(f"{PARTITIONER}: expected true, without a placer or another {CLIENT_RACK} than {AUTO}")
    return WhatIfChange(
        client_rack=rack,
        reads_from_followers=from_followers(settings.get(SELECTOR)),
        protocol=protocol,
        assignor=known_assignor(assignor, protocol) if assignor else None,
        rack_aware_partitioner=True if aware else None,
        diskless=tuple(diskless),
        placer=placer,
        placer_settings=tuple(sorted(of_placer.items())),
        replication_factor=replication_factor,
    )


def is_of_placer(name: str, placer: str) -> bool:
    """True if a placer has this setting; one of the user's own may have any that is not in ``SETTINGS``."""
    return name in PLACER_SETTINGS or (not is_built_in(placer) and name not in SETTINGS)


def from_followers(selector: str | None) -> bool | None:
    if selector is None:
        return None
    try:
        return isinstance(find_selector(selector), RackAwareSelector)
    except SelectionError as error:
        raise InputError(str(error)) from None


def known_assignor(name: str, protocol: str | None) -> str:
    """Returns an assignor's name in ``kafka_rack.assignment`` by Kafka's name or Java class. Raises InputError."""
    found = JAVA_ASSIGNORS.get(name.strip(), name.strip())
    names = {None: (*CONSUMER_SIDE, *SERVER_ASSIGNORS), "classic": CONSUMER_SIDE, "consumer": tuple(SERVER_ASSIGNORS)}
    allowed = names[protocol]
    if found not in allowed:
        which = f" of the {protocol} protocol" if protocol else ""
        raise InputError(f"assignor{which}: expected one of {', '.join(dict.fromkeys(allowed))}, got {name!r}")
    return found
