"""Where each message is declared, so that a module is imported only when one of its messages is asked for.

A test holds this table equal to the declarations.
"""

from importlib import import_module
from typing import Any

from .errors import UnsupportedVersionError

# The APIs by key: module under protocol.apis, and the name without Request or Response.
APIS: dict[int, tuple[str, str]] = {
    0: ("produce", "Produce"),
    1: ("fetch", "Fetch"),
    2: ("list_offsets", "ListOffsets"),
    3: ("metadata", "Metadata"),
    8: ("group_offsets", "OffsetCommit"),
    9: ("group_offsets", "OffsetFetch"),
    10: ("find_coordinator", "FindCoordinator"),
    11: ("classic_group", "JoinGroup"),
    12: ("classic_group", "Heartbeat"),
    13: ("classic_group", "LeaveGroup"),
    14: ("classic_group", "SyncGroup"),
    15: ("groups", "DescribeGroups"),
    16: ("groups", "ListGroups"),
    18: ("api_versions", "ApiVersions"),
    19: ("topics", "CreateTopics"),
    20: ("topics", "DeleteTopics"),
    21: ("topics", "DeleteRecords"),
    22: ("producer_ids", "InitProducerId"),
    23: ("leader_epochs", "OffsetForLeaderEpoch"),
    32: ("configs", "DescribeConfigs"),
    33: ("configs", "AlterConfigs"),
    37: ("topics", "CreatePartitions"),
    42: ("groups", "DeleteGroups"),
    44: ("configs", "IncrementalAlterConfigs"),
    47: ("group_offsets", "OffsetDelete"),
    57: ("cluster", "UpdateFeatures"),
    60: ("cluster", "DescribeCluster"),
    64: ("cluster", "UnregisterBroker"),
    67: ("producer_ids", "AllocateProducerIds"),
    74: ("configs", "ListConfigResources"),
    75: ("metadata", "DescribeTopicPartitions"),
}

# Messages without an API key of their own, or that share one: module under protocol, and the full names.
OTHERS: dict[str, tuple[str, ...]] = {
    "apis.configs": (
        "ListClientMetricsResourcesRequest",
        "ListClientMetricsResourcesResponse",
    ),
    "apis.headers": (
        "RequestHeader",
        "ResponseHeader",
    ),
    "embedded.consumer_protocol": (
        "ConsumerProtocolSubscription",
        "ConsumerProtocolAssignment",
    ),
}

KINDS = {"request": "Request", "response": "Response"}


def message_class(api_key: int, kind: str) -> Any:
    """The class of an API's ``"request"`` or ``"response"``.

    Raises: UnsupportedVersionError: no API has this key. ValueError: another kind.
    """
    if kind not in KINDS:
        raise ValueError(f'kind is "request" or "response", not {kind!r}')
    found = APIS.get(api_key)
    if found is None:
        raise UnsupportedVersionError(f"no API has key {api_key}")
    module, stem = found
    return getattr(import_module(f"{__package__}.apis.{module}"), stem + KINDS[kind])


def named_class(name: str) -> Any:
    """The class of a message by Kafka's name, as ``MetadataRequest``.

    Raises: UnsupportedVersionError: there is no such message.
    """
    module = modules_by_name().get(name)
    if module is None:
        raise UnsupportedVersionError(f"no message is called {name!r}")
    return getattr(import_module(f"{__package__}.{module}"), name)


def messages() -> list[Any]:
    """Every message class, sorted by name; imports all the declarations."""
    return [named_class(name) for name in sorted(modules_by_name())]


def modules_by_name() -> dict[str, str]:
    """Each message's name with its module."""
    if not _BY_NAME:
        for module, stem in APIS.values():
            _BY_NAME.update({stem + suffix: f"apis.{module}" for suffix in KINDS.values()})
        for module, names in OTHERS.items():
            _BY_NAME.update(dict.fromkeys(names, module))
    return _BY_NAME


_BY_NAME: dict[str, str] = {}
