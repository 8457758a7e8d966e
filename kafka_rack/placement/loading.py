"""Loads the placer that ``replica.placer.class.name`` names: a built-in, ``module:Class``, or an entry point.

Source: KIP-660. Packages can provide placers in the entry point group ``kafka_rack.placers``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points

from kafka_rack.errors import KafkaRackError, PlacerSettingsError, ReplicaPlacementError
from kafka_rack.placement.broker_replica import UNEVEN_SETTING, BrokerReplicaPlacer
from kafka_rack.placement.copyset import SCATTER_WIDTH_SETTING, CopysetPlacer
from kafka_rack.placement.placer import SEED_SETTING, SHIFT_SETTING, START_INDEX_SETTING, ReplicaPlacer
from kafka_rack.placement.rack_aware import RackAwarePlacer, UnawarePlacer
from kafka_rack.placement.scenarios import (
    STATE_FILE_SETTING,
    CapacityPlacer,
    DecommissionedBrokersPlacer,
    NewBrokersPlacer,
)
from kafka_rack.placement.striped import StripedPlacer

CLASS_SETTING = "replica.placer.class.name"
ENTRY_POINT_GROUP = "kafka_rack.placers"

PLACER_SETTINGS = (
    CLASS_SETTING,
    SCATTER_WIDTH_SETTING,
    SEED_SETTING,
    SHIFT_SETTING,
    START_INDEX_SETTING,
    STATE_FILE_SETTING,
    UNEVEN_SETTING,
)
"""The settings of the built-in placers and of the choice among them."""

BUILT_IN: dict[str, type[ReplicaPlacer]] = {
    "broker-replica": BrokerReplicaPlacer,
    "capacity": CapacityPlacer,
    "copyset": CopysetPlacer,
    "decommissioned-brokers": DecommissionedBrokersPlacer,
    "new-brokers": NewBrokersPlacer,
    "rack-aware": RackAwarePlacer,
    "striped": StripedPlacer,
    "unaware": UnawarePlacer,
}

JAVA_NAMES = {
    "org.apache.kafka.controller.StripedReplicaPlacer": "striped",
    "org.apache.kafka.metadata.placement.StripedReplicaPlacer": "striped",
}
"""The class names of KIP-660 and Apache Kafka, so that a real server.properties works unchanged."""


def load_placer(settings: Mapping[str, str], default: str = "rack-aware") -> ReplicaPlacer:
    """Create and configure the placer that the settings name, or the default.

    Raises: PlacerSettingsError: the placer is unknown, has no ``place``, or refuses its settings.

    >>> type(load_placer({"replica.placer.class.name": "striped"})).__name__
    'StripedPlacer'
    """
    name = str(settings.get(CLASS_SETTING, "")).strip() or default
    made = find_placer(name)
    try:
        placer = made()
    except Exception as error:  # third-party code; the message must name the class
        raise PlacerSettingsError(f"{CLASS_SETTING}={name}: cannot be made: {error}") from error
    if not callable(getattr(placer, "place", None)):
        raise PlacerSettingsError(f"{CLASS_SETTING}={name}: has no method place, so it is no ReplicaPlacer")
    try:
        if hasattr(placer, "configure"):
            placer.configure(settings)
    except KafkaRackError:
        raise
    except Exception as error:
        raise PlacerSettingsError(f"{CLASS_SETTING}={name}: refuses its settings: {error}") from error
    return placer


def close_placer(placer: ReplicaPlacer) -> None:
    """Close a placer; one with only ``place`` has no resources.

    Raises: ReplicaPlacementError: its ``close`` failed.
    """
    close = getattr(placer, "close", None)
    if close is None:
        return
    try:
        close()
    except Exception as error:  # third-party code; the message must name it
        name = type(placer).__name__
        raise ReplicaPlacementError(f"{name} failed to close: {type(error).__name__}: {error}") from error


def find_placer(name: str) -> type[ReplicaPlacer]:
    """The class of a built-in's name, a Java name, ``module:Class``, or an entry point's name."""
    built_in = BUILT_IN.get(JAVA_NAMES.get(name, name))
    if built_in is not None:
        return built_in
    if ":" in name:
        return imported_class(name)
    for found in entry_points(group=ENTRY_POINT_GROUP, name=name):
        try:
            return checked_class(found.load(), name)
        except (ImportError, AttributeError) as error:
            raise PlacerSettingsError(f"{CLASS_SETTING}={name}: entry point {found.value} fails: {error}") from error
    known = ", ".join(placer_names())
    raise PlacerSettingsError(f"{CLASS_SETTING}: expected module:Class or one of {known}, got {name!r}")


def is_built_in(name: str) -> bool:
    """True if a name, perhaps a Java one, is that of a placer of this package."""
    return JAVA_NAMES.get(name, name) in BUILT_IN


def imported_class(name: str) -> type[ReplicaPlacer]:
    """``module:Class``, imported."""
    module_name, _, class_name = name.partition(":")
    try:
        found: object = import_module(module_name)
        for part in class_name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise PlacerSettingsError(f"{CLASS_SETTING}={name}: {error}") from error
    return checked_class(found, name)


def checked_class(found: object, name: str) -> type[ReplicaPlacer]:
    """``found``, if it is a class. Raises PlacerSettingsError."""
    if not isinstance(found, type):
        raise PlacerSettingsError(f"{CLASS_SETTING}={name}: is no class")
    return found


def placer_names() -> list[str]:
    """All available names: built-ins and entry points."""
    return sorted({*BUILT_IN, *(found.name for found in entry_points(group=ENTRY_POINT_GROUP))})
