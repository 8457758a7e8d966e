"""Brokers out of Kafka's own ``server.properties`` files, one file a broker.

Each broker has what ``OF_THIS_BROKER`` names. All other settings are the cluster's: those with an effect have to agree,
the rest of Kafka's are taken and left alone, and a name that Kafka does not have is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mockbroker.adapters.properties_file import PropertiesError, read_properties
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.brokers.listeners import addresses_in, listeners_of
from mockbroker.state.configs.effects import OF_A_BROKER, is_of_a_listener, is_of_tls, with_effect
from mockbroker.state.security.protocols import protocols_in
from mockbroker.state.settings import DEFAULTS, PROTOCOL_SETTING, UnknownSettingError, names_without_effect

DEFAULT_LISTENERS = "PLAINTEXT://:9092"
MAY_DIFFER = frozenset({"log.dir", "log.dirs"})  # the first file's are shown for all brokers
OF_THIS_BROKER = OF_A_BROKER | {PROTOCOL_SETTING}


def brokers_from_files(
    paths: list[Path], given: Mapping[str, str] | None = None
) -> tuple[list[Broker], dict[str, str]]:
    """The brokers, one a file, and the settings that the files share.

    Args:
        given: settings from elsewhere, which count more, and may name the placer whose settings are in the files.

    Raises: PropertiesError: an unreadable file, a missing or doubled id, an address used twice, settings that nobody
        has or that disagree.
    """
    brokers: list[Broker] = []
    settings: dict[str, str] = {}
    said_by: dict[str, Path] = {}
    id_from: dict[int, Path] = {}
    address_from: dict[tuple[str, int], Path] = {}
    for path in paths:
        properties = read_properties(path)
        broker = broker_from(path, properties)
        if broker.id in id_from:
            raise PropertiesError(f"{path}: node.id {broker.id} is that of {id_from[broker.id]} too")
        id_from[broker.id] = path
        for listener in broker.listeners:
            address = (listener.bind_host or "", listener.bind_port or 0)
            if address[1] and address in address_from:
                raise PropertiesError(f"{path}: {address[0]}:{address[1]} is a listener of {address_from[address]} too")
            address_from[address] = path
        brokers.append(broker)
        broker.settings = {
            name: value for name, value in properties.items() if is_of_tls(name) and name not in (given or {})
        }
        shared = sorted(properties.keys() - OF_THIS_BROKER)
        try:
            others = [name for name in shared if name not in DEFAULTS]
            kafkas = names_without_effect(others, DEFAULTS, properties | dict(given or {}))
            ineffective = MAY_DIFFER.union(kafkas).difference(
                with_effect("broker") - MAY_DIFFER, [name for name in kafkas if is_of_a_listener(name)]
            )
        except UnknownSettingError as error:
            raise PropertiesError(f"{path}: {error}") from None
        for name in shared:
            if is_of_tls(name):
                continue
            if name in ineffective:
                settings.setdefault(name, properties[name])
            elif settings.setdefault(name, properties[name]) != properties[name]:
                if is_of_a_listener(name):  # it may be a secret
                    raise PropertiesError(f"{path}: {name} differs from that in {said_by[name]}")
                raise PropertiesError(f"{path}: {name}={properties[name]}, but {settings[name]} in {said_by[name]}")
            said_by.setdefault(name, path)
    return brokers, settings


def broker_from(path: Path, properties: dict[str, str]) -> Broker:
    """One file's broker."""
    if "controller" in properties.get("process.roles", "") and "broker" not in properties["process.roles"]:
        raise PropertiesError(f"{path}: process.roles={properties['process.roles']} describes no broker")
    try:
        bound = addresses_in("listeners", properties.get("listeners", DEFAULT_LISTENERS))
        told = addresses_in("advertised.listeners", properties.get("advertised.listeners", ""))
        for name in controller_listeners(properties):
            bound.pop(name, None)
        if not bound:
            raise ValueError("listeners has none for clients")
        listeners = listeners_of(bound, told, protocols_in(properties.get("listener.security.protocol.map", "")))
    except ValueError as error:
        raise PropertiesError(f"{path}: {error}") from None
    rack, version = properties.get("broker.rack") or None, properties.get(PROTOCOL_SETTING) or None
    check_era(path, properties, version)
    return Broker(broker_id_in(path, properties), rack, listeners, protocol=version)


def check_era(path: Path, properties: dict[str, str], protocol: str | None) -> None:
    """Refuse versions that there are not, and those that contradict the mode."""
    from mockbroker.zookeeper.releases import is_zookeeper

    try:
        zookeeper = is_zookeeper(protocol, None, properties.get("zookeeper.connect"))
    except ValueError as error:
        raise PropertiesError(f"{path}: {error}") from None
    if zookeeper and "process.roles" in properties:
        raise PropertiesError(
            f"{path}: process.roles={properties['process.roles']} is for KRaft mode, but zookeeper.connect or "
            f"{PROTOCOL_SETTING} makes it ZooKeeper mode"
        )


def broker_id_in(path: Path, properties: dict[str, str]) -> int:
    given = [(name, properties[name]) for name in ("node.id", "broker.id") if name in properties]
    if not given:
        raise PropertiesError(f"{path}: node.id (or broker.id) is missing")
    if len({value for _, value in given}) > 1:
        raise PropertiesError(f"{path}: node.id={given[0][1]} and broker.id={given[1][1]} contradict each other")
    name, value = given[0]
    if not (value.isascii() and value.isdigit()):
        raise PropertiesError(f"{path}: {name}: expected a number from 0, got {value!r}")
    return int(value)


def controller_listeners(properties: dict[str, str]) -> list[str]:
    return [name.strip() for name in properties.get("controller.listener.names", "").split(",") if name.strip()]
