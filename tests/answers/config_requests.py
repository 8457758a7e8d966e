"""The requests of DescribeConfigs, AlterConfigs and IncrementalAlterConfigs, as scenarios write them."""

from __future__ import annotations

from typing import Any

CONFIG_SETTINGS = {
    "group.share.assignment.interval.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "leader.imbalance.check.interval.seconds": "300",
    "log.cleaner.dedupe.buffer.size": "2097152",
}
"""What the families of configs are recorded with."""
TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
OPERATIONS = {SET: "set", DELETE: "delete", APPEND: "append", SUBTRACT: "subtract"}


def resource(kind: int, name: str, keys: list[str] | None = None) -> dict[str, Any]:
    return {"resourceType": kind, "resourceName": name, "configurationKeys": keys}


def describe(*resources: dict[str, Any], synonyms: bool = False, documentation: bool = False) -> dict[str, Any]:
    return {"resources": list(resources), "includeSynonyms": synonyms, "includeDocumentation": documentation}


def alter(kind: int, name: str, *configs: tuple[str, str | None], validate: bool = False) -> dict[str, Any]:
    values = [{"name": config, "value": value} for config, value in configs]
    return {
        "resources": [{"resourceType": kind, "resourceName": name, "configs": values}],
        "validateOnly": validate,
    }


def change(kind: int, name: str, *configs: tuple[str, int, str | None], validate: bool = False) -> dict[str, Any]:
    values = [{"name": config, "configOperation": what, "value": value} for config, what, value in configs]
    return {
        "resources": [{"resourceType": kind, "resourceName": name, "configs": values}],
        "validateOnly": validate,
    }
