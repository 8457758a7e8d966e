"""Handlers, one module an API family, each loaded when a request for it first comes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from mockbroker.call import Handler, registered_handler
from mockbroker.parts import merged

MODULE_OF_API: dict[int, str] = {
    0: "produce",
    1: "fetch",
    2: "list_offsets",
    3: "metadata",
    8: "group_offsets",
    9: "group_offsets",
    10: "find_coordinator",
    11: "classic_group",
    12: "classic_group",
    13: "classic_group",
    14: "classic_group",
    15: "groups",
    16: "groups",
    17: "sasl",
    18: "api_versions",
    19: "topics",
    20: "topics",
    21: "delete_records",
    22: "producer_ids",
    23: "leader_epochs",
    24: "transactions",
    25: "transactions",
    26: "transactions",
    27: "transactions",
    28: "transactions",
    32: "configs",
    33: "configs",
    34: "log_dirs",
    35: "log_dirs",
    36: "sasl",
    37: "topics",
    38: "delegation_tokens",
    39: "delegation_tokens",
    40: "delegation_tokens",
    41: "delegation_tokens",
    42: "groups",
    43: "elect_leaders",
    44: "configs",
    45: "reassignments",
    46: "reassignments",
    47: "group_offsets",
    48: "quotas",
    49: "quotas",
    50: "scram",
    51: "scram",
    55: "raft",
    57: "cluster",
    60: "cluster",
    61: "transaction_admin",
    64: "cluster",
    65: "transaction_admin",
    66: "transaction_admin",
    68: "consumer_group",
    69: "consumer_group",
    71: "telemetry",
    72: "telemetry",
    74: "configs",
    75: "metadata",
    80: "raft_voters",
    81: "raft_voters",
    94: "brokers",
}
MODULE_OF_API |= merged("handlers")
"""The module of each API's handler: one here, or one of an optional part by its whole name."""

MIN_SERVED_VERSIONS: dict[int, int] = {76: 1, 77: 1, 78: 1, 79: 1}
"""The oldest version that is served, of APIs whose declarations have older ones: previews that Kafka has dropped."""

MODULE_OF_API_BY_RELEASE: dict[int, str] = merged("handlers_by_release")
"""The same of APIs that are served only where the release of a broker names them."""


def served_here(versions: Mapping[int, tuple[int, int]] | None) -> dict[int, tuple[int, int]] | None:
    """The versions of a release, of the APIs that have a handler; None, all that there is, stays None."""
    if versions is None:
        return None
    return {
        api_key: versions[api_key]
        for api_key in versions
        if api_key in MODULE_OF_API or api_key in MODULE_OF_API_BY_RELEASE
    }


def handler_of(api_key: int) -> Handler | None:
    """The handler of an API key, its module imported if need be; None for an API that is not served."""
    handler = registered_handler(api_key)
    if handler is None:
        module = MODULE_OF_API.get(api_key) or MODULE_OF_API_BY_RELEASE.get(api_key)
        if module is not None:
            import_module(module if "." in module else f"mockbroker.handlers.{module}")
            handler = registered_handler(api_key)
    return handler
