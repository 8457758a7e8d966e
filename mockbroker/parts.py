"""The optional parts of a cluster: packages with features that the core does not need.

The package of a part has a ``PART`` that lists its features by name. The core looks them up here and never imports a
part directly; a missing package has no features. README.md in this folder describes how to write a part.
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
    """A topic that stores the state of coordinators, and the key type by which clients find a key's coordinator.

    Attributes:
        settings: the prefix of the settings that size it: ``num.partitions``, ``replication.factor``,
            ``segment.bytes``, and ``min.isr`` if ``has_min_isr``.
        configs: its own topic configs, besides those that settings decide.
        records: the modules of ``protocol.embedded`` that declare its keys and values.
        key_type, since_version: of FindCoordinator.
        read_key: ``(key) -> key`` in the form that decides its partition. Raises ApiError: INVALID_REQUEST.
        log: ``(cluster) -> object`` that replays the topic's logs, and deletes from their front: ``ShareCoordinator``.
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
    """The features of a part, by name, so that each is loaded only when it is needed.

    A module is named as ``mockbroker.part.module``, a function or class in it as ``mockbroker.part.module:name``.

    Attributes:
        handlers: the module with the handlers of a family of APIs, by its module in ``protocol.apis``.
        handlers_by_release: the module by API key, of APIs that are served only if a broker's release has them.
        settings: defaults of broker settings that are read without Kafka's definitions, by name.
        effective_settings: names of Kafka's configs that have an effect by this part, by kind: broker, group, listener.
        group_configs_check: ``(configs, given) -> None`` of a group's configs as text. Raises ApiError: INVALID_CONFIG.
        apis_with_records: the APIs whose calls transfer records, beside Produce and Fetch.
        group_classes: the class of a kind of groups, by the module of ``protocol.embedded`` that declares its records.
        records: the module whose ``APPLY`` applies records to the image, by the module that declares the records.
        coordinator_topics: the topics of coordinators, by name.
        cluster_views: classes of the members of ``GET /cluster``, by member; ``of(cluster)`` creates one.
        extensions: ``(cluster) -> object`` by name: a part's own state beside the cluster's. The core calls its
            ``connection_closed``, ``broker_stopped``, ``leader_changed``, ``forget_topic`` and ``forget_group``.
        followed_share_sessions: the module that follows share sessions at a real cluster, by ``forwarded(call)`` and
            ``answered(call, response)``.
        sasl_mechanisms: by Kafka's name ``(settings, listener_settings) -> (clock) -> Exchange``, which
            creates a mechanism for each exchange on a listener. Raises ValueError: its settings are invalid.
        access_of: ``(cluster, principal, address) -> Access | None``, a principal's allowed operations; None: all.
        access_check: ``(call) -> Verdict | None``, the stage of a call's path that refuses unauthorized requests.
        read_oauthbearer: ``(message) -> (authorization id, token)`` of a client's first message of OAUTHBEARER. Raises
            InvalidTokenError, BrokenTokenError.
        metadata_support: ``(brokers, settings, release) -> MetadataSupport | None``, another mode than KRaft if the
            settings require one. Raises ValueError: they contradict each other.
        storage: ``(path, always=...) -> Storage``, a data directory, synced before each response or by the system.
            Raises DataDirectoryError, OSError.
        update_channels: ``(cluster) -> UpdateChannels``, which deliver the updates of that mode's controller.
    """

    handlers: Mapping[str, str] = NOTHING
    handlers_by_release: Mapping[int, str] = NOTHING
    settings: Mapping[str, Any] = NOTHING
    effective_settings: str = ""
    group_configs_check: str = ""
    apis_with_records: tuple[str, ...] = ()
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
    metadata_support: str = ""
    update_channels: str = ""
    storage: str = ""


@cache
def parts() -> tuple[OptionalPart, ...]:
    """The installed parts."""
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
    """The feature of this name, an attribute of ``OptionalPart``; None if no part has it."""
    return next(iter(brought(name)), None)


def brought(name: str) -> list[Any]:
    """The features of this name, of all parts that have one."""
    return [load(path) for part in parts() if (path := getattr(part, name))]


def load(path: str) -> Any:
    """The module, or the object in a module, that ``module`` or ``module:name`` names."""
    module, _, name = path.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found


def merged(name: str) -> dict[Any, Any]:
    """The tables of this name, an attribute of ``OptionalPart``, of all parts in one."""
    return {key: value for part in parts() for key, value in getattr(part, name).items()}
