"""Rules for topic configs: names, types, ranges and combinations.

Source: LogConfig.validate, ControllerConfigurationValidator, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mockbroker.state.configs.definitions import TOPIC, find_definition
from mockbroker.state.configs.values import InvalidValueError
from mockbroker.state.errors import ApiError
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
    values: dict[str, Any] = {}
    for name in sorted(given):
        found = find_definition(TOPIC, name)
        if found is None or not configs.has(TOPIC, name):
            from mockbroker.state.configs.definitions import names
            from mockbroker.state.setting_names import nearest

            near = nearest(name, names(TOPIC))
            raise invalid(f"unknown topic config {name}" + (f", did you mean {near}?" if near else ""))
        try:
            values[name] = found.parse(given[name])
        except InvalidValueError as error:
            raise invalid(str(error)) from None

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


def invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_CONFIG, message)
