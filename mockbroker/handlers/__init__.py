"""Handlers, one module an API family, each loaded when a request for it first comes."""

from __future__ import annotations

from importlib import import_module

from mockbroker.call import Handler, registered_handler

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
    18: "api_versions",
    19: "topics",
    20: "topics",
    22: "producer_ids",
    23: "leader_epochs",
    32: "configs",
    37: "topics",
    42: "groups",
    45: "reassignments",
    46: "reassignments",
    47: "group_offsets",
    60: "cluster",
    75: "metadata",
}

MODULE_OF_CONTROLLER_API: dict[int, str] = {
    6: "update_metadata",
}
"""What brokers ask of each other in ZooKeeper mode; served there alone."""


def handler_of(api_key: int) -> Handler | None:
    """The handler of an API key, its module imported if need be; None for an API that is not served."""
    handler = registered_handler(api_key)
    if handler is None:
        module = MODULE_OF_API.get(api_key) or MODULE_OF_CONTROLLER_API.get(api_key)
        if module is not None:
            import_module(f"mockbroker.handlers.{module}")
            handler = registered_handler(api_key)
    return handler
