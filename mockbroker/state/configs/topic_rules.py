"""Rules for topic configs: names, types, ranges and combinations.

Source: LogConfig.validate, ControllerConfigurationValidator, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mockbroker.state.configs.definitions import TOPIC, definition, find_definition, names
from mockbroker.state.configs.values import InvalidValueError
from mockbroker.state.errors import ApiError
from mockbroker.state.setting_names import nearest
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.configs.effective import ClusterConfigs


def check_topic_configs(
    configs: ClusterConfigs, given: Mapping[str, Any], before: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A topic's own configs as typed values.

    Args:
        given: all configs of the topic, as text or typed.
        before: the previous configs.

    Raises ApiError: INVALID_CONFIG for null, an unknown name, an invalid value, or contradicting values.
    """
    nulls = sorted(name for name, value in given.items() if value is None)
    if nulls:
        raise invalid(f"expected a value for {', '.join(nulls)}, got null")
    values = typed(configs, TOPIC, given, ErrorCode.INVALID_CONFIG)

    def value(name: str) -> Any:
        return values[name] if name in values else configs.topic_default(name)

    if value("min.compaction.lag.ms") > value("max.compaction.lag.ms"):
        raise invalid("expected min.compaction.lag.ms to be at most max.compaction.lag.ms")
    if value("remote.storage.enable") and not value("diskless.enable"):
        # Kafka looks further only where brokers have remote storage, which here diskless topics alone have.
        raise invalid("remote.storage.enable: expected false, as the brokers have no remote storage, got true")
    if (before or {}).get("remote.storage.enable") == "true" and not value("remote.log.delete.on.disable"):
        raise invalid("expected remote.log.delete.on.disable to be true where remote.storage.enable is set back")
    return values


def typed(configs: ClusterConfigs, kind: str, given: Mapping[str, Any], unknown: ErrorCode) -> dict[str, Any]:
    """Typed values. Raises ApiError: ``unknown`` for an unknown name, INVALID_CONFIG for an invalid value."""
    for name in sorted(given):
        if find_definition(kind, name) is None:
            near = nearest(name, names(kind))
            what = kind.replace("_", " ")
            raise ApiError(unknown, f"unknown {what} config {name}" + (f", did you mean {near}?" if near else ""))
        if not configs.has(kind, name):
            raise invalid(f"unknown {kind} config {name}, as {configs.cluster.release} is emulated")
    try:
        return {name: definition(kind, name).parse(given[name]) for name in sorted(given)}
    except InvalidValueError as error:
        raise invalid(str(error)) from None


def invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_CONFIG, message)
