"""The optional parts of a cluster: packages that bring what the core can do without.

The package of a part has a ``PART`` that names what it brings. The core looks that up here and imports no part by
itself; a part whose package is not there brings nothing. README.md in this folder says how a part is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

PACKAGES = (
    "mockbroker.access_control",
    "mockbroker.data_directories",
    "mockbroker.share_groups",
    "mockbroker.streams_groups",
    "mockbroker.zookeeper",
)
NOTHING: Mapping[Any, Any] = MappingProxyType({})


class CoordinatorTopic(NamedTuple):
    """A topic in which coordinators store what they know, and how clients ask for a key's coordinator.

    Attributes:
        settings: what the names of the settings begin with that size it: ``num.partitions``, ``replication.factor``,
            ``segment.bytes``, and ``min.isr`` where ``has_min_isr``.
        configs: its own, beside those that settings decide.
        records: the modules of ``protocol.embedded`` that declare its keys and values.
        key_type, since_version: of FindCoordinator.
        read_key: ``(key) -> key`` in the form that decides where it is. Raises ApiError: INVALID_REQUEST.
        log: ``(cluster) -> object`` that replays the topic's logs, and deletes from their front: ``ShareStateLog``.
    """

    settings: str
    configs: Mapping[str, str]
    records: tuple[str, ...]
    key_type: int
    since_version: int = 0
    has_min_isr: bool = True
    read_key: str = ""
    log: str = ""


class OptionalPart(NamedTuple):
    """What a part brings, by name, so that nothing of it is loaded before it is needed.

    A module is named as ``mockbroker.part.module``, a function or class in it as ``mockbroker.part.module:name``.

    Attributes:
        handlers: the module with the handlers of a family of APIs, by its module in ``protocol.apis``.
        handlers_by_release: the module by API key, of APIs that are served only where a broker's release names them.
        settings: defaults of broker settings that are read without Kafka's definitions, by name.
        effective_settings: names of Kafka's configs that have an effect by this part, by kind: broker, group, listener.
        group_configs_check: ``(configs, given) -> None`` of a group's configs as text. Raises ApiError: INVALID_CONFIG.
        group_classes: the module of a kind of groups, by the name of its class, with which its records' keys begin.
        records: the module whose ``APPLY`` brings records into the image, by the module that declares the records.
        coordinator_topics: the topics of coordinators, by name.
        cluster_views: classes by the member of ``GET /cluster`` that they are the shape of; ``of(cluster)`` makes one.
        extensions: ``(cluster) -> object`` by name: what a part has beside a cluster's state. The core calls its
            ``connection_closed``, ``broker_stopped``, ``leader_changed``, ``forget_topic`` and ``forget_group``.
        followed_share_sessions: ``(cluster, size_of, max_bytes) -> FollowedShareSessions``, what is known of the share
            sessions at a real cluster; one of so many partitions counts for ``size_of(partitions)`` bytes.
        sasl_mechanisms: by Kafka's name ``(settings, listener_settings, open_file) -> (clock) -> SaslMechanism``, which
            makes a mechanism for each exchange on a listener. Raises ValueError: what is set for it is wrong.
        access_of: ``(cluster, principal, address) -> Access | None``, what somebody may do; None: everything.
        access_check: ``(call) -> Verdict | None``, a stage of a call's path that refuses what the client may not do.
        read_oauthbearer: ``(message) -> (authorization id, token)`` of a client's first message of OAUTHBEARER. Raises
            InvalidTokenError, BrokenTokenError.
        key_file: ``(path) -> KeyFile``, which reads a file of keys again when it has changed.
        metadata_support: ``(brokers, settings, release) -> MetadataSupport | None``, another mode than KRaft where the
            settings ask for one. Raises ValueError: they contradict each other.
        storage: ``(path, fsync=...) -> Storage``, a data directory. Raises DataDirectoryError, OSError; ValueError: no
            such way to sync.
        update_channels: ``(cluster) -> UpdateChannels``, which carry what the controller of such a mode has to send.
    """

    handlers: Mapping[str, str] = NOTHING
    handlers_by_release: Mapping[int, str] = NOTHING
    settings: Mapping[str, Any] = NOTHING
    effective_settings: str = ""
    group_configs_check: str = ""
    group_classes: Mapping[str, str] = NOTHING
    records: Mapping[str, str] = NOTHING
    coordinator_topics: Mapping[str, CoordinatorTopic] = NOTHING
    cluster_views: Mapping[str, str] = NOTHING
    extensions: Mapping[str, str] = NOTHING
    followed_share_sessions: str = ""
    sasl_mechanisms: Mapping[str, str] = NOTHING
    access_of: str = ""
    access_check: str = ""
    read_oauthbearer: str = ""
    key_file: str = ""
    metadata_support: str = ""
    update_channels: str = ""
    storage: str = ""


@cache
def parts() -> tuple[OptionalPart, ...]:
    """The parts that are there."""
    found = []
    for package in PACKAGES:
        try:
            found.append(import_module(package).PART)
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
    return tuple(found)


@cache
def provided(name: str) -> Any:
    """What a part brings under this name, an attribute of ``OptionalPart``; None where none brings it."""
    return next(iter(brought(name)), None)


def brought(name: str) -> list[Any]:
    """What each part that has something under this name brings."""
    return [load(path) for part in parts() if (path := getattr(part, name))]


def load(path: str) -> Any:
    """The object that ``module:name`` names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def merged(name: str) -> dict[Any, Any]:
    """What all parts bring in a table of this name, an attribute of ``OptionalPart``."""
    return {key: value for part in parts() for key, value in getattr(part, name).items()}
