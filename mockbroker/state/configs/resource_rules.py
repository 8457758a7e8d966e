"""Rules for the configs of topics, groups and client metrics subscriptions: names, types, ranges and combinations.

Source: LogConfig.validate, ControllerConfigurationValidator, GroupConfig.validate, ClientMetricsConfigs.validate,
Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mockbroker.parts import brought
from mockbroker.state.configs.definitions import CLIENT_METRICS, GROUP, TOPIC, definition, find_definition, names
from mockbroker.state.configs.values import InvalidValueError
from mockbroker.state.errors import ApiError, invalid_request
from mockbroker.state.patterns import PatternError, compiled, hint
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.configs.effective import ClusterConfigs


SESSION, HEARTBEAT = ".session.timeout.ms", ".heartbeat.interval.ms"
MATCHED = frozenset(
    {
        "client_id",
        "client_instance_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)
"""The client properties that a subscription may match (KIP-714)."""
INTERVAL_MS = range(100, 3_600_001)


def check_topic_configs(configs: ClusterConfigs, given: Mapping[str, Any]) -> dict[str, Any]:
    """A topic's own configs as typed values.

    Args:
        given: all configs of the topic, as text or typed.

    Raises ApiError: INVALID_CONFIG for null, an unknown name, an invalid value, or contradicting values.
    """
    nulls = sorted(name for name, value in given.items() if value is None)
    if nulls:
        raise invalid(f"expected a value for {', '.join(nulls)}, got null")
    values = typed(configs, TOPIC, given, ErrorCode.INVALID_CONFIG)

    def value(name: str) -> Any:
        return values[name] if name in values else configs.default(TOPIC, name)

    if value("min.compaction.lag.ms") > value("max.compaction.lag.ms"):
        raise invalid("expected min.compaction.lag.ms to be at most max.compaction.lag.ms")
    if value("remote.storage.enable") and not value("diskless.enable"):
        # Kafka looks further only where brokers have remote storage, which here diskless topics alone have.
        raise invalid("remote.storage.enable: expected false, as the brokers have no remote storage, got true")
    return values


def check_named(resource: str) -> None:
    """Raises ApiError: INVALID_REQUEST unless the name of a resource is not empty."""
    if not resource:
        raise invalid_request("expected the name of a resource, got ''")


def check_group_configs(configs: ClusterConfigs, given: Mapping[str, str]) -> None:
    """Check a group's configs. Raises ApiError: INVALID_CONFIG."""
    values = typed(configs, GROUP, given, ErrorCode.INVALID_CONFIG)
    for name, value in values.items():
        for (end, limit), bound in configs.bounds(name).items():
            if value < bound if end == "min" else value > bound:
                what = "at least" if end == "min" else "at most"
                raise invalid(f"{name}: expected {what} {bound} ({limit}), got {value}")
    for check in brought("group_configs_check"):
        check(configs, given)
    for kind in sorted({name.partition(".")[0] for name in values if name.endswith((SESSION, HEARTBEAT))}):
        session, heartbeat = f"{kind}{SESSION}", f"{kind}{HEARTBEAT}"
        lasts, comes = (
            values[one] if one in values else configs.broker(None, f"group.{one}") for one in (session, heartbeat)
        )
        if lasts <= comes:
            raise invalid(f"{session}: expected more than {heartbeat} ({comes}), got {lasts}")
    if (values.get("errors.deadletterqueue.topic.name") or "").startswith("__"):
        raise invalid("errors.deadletterqueue.topic.name: expected a name that does not begin with __")


def check_client_metrics_configs(configs: ClusterConfigs, given: Mapping[str, str]) -> None:
    """Check a subscription's configs. Raises ApiError: INVALID_REQUEST, INVALID_CONFIG."""
    values = typed(configs, CLIENT_METRICS, given, ErrorCode.INVALID_REQUEST)
    interval_ms = values.get("interval.ms")
    if interval_ms is not None and interval_ms not in INTERVAL_MS:
        raise invalid_request(f"interval.ms: expected 100 to 3600000, got {interval_ms}")
    check_matches(values.get("match", ()))


def check_matches(match: tuple[str, ...]) -> None:
    """Raises ApiError: INVALID_CONFIG unless each entry is a known client property with a pattern."""
    for one in match:
        name, *values = [part.strip() for part in one.rstrip("=").split("=")]
        if name not in MATCHED or len(values) != 1:
            raise invalid(f"match: expected NAME=PATTERN with one of {', '.join(sorted(MATCHED))}, got {one!r}")
        try:
            compiled(values[0])
        except PatternError as error:
            raise invalid(f"match: expected a regular expression for {name}, got {values[0]!r}: {error}") from None


def typed(configs: ClusterConfigs, kind: str, given: Mapping[str, Any], unknown: ErrorCode) -> dict[str, Any]:
    """Typed values. Raises ApiError: ``unknown`` for an unknown name, INVALID_CONFIG for an invalid value."""
    for name in sorted(given):
        if find_definition(kind, name) is None:
            raise ApiError(unknown, f"unknown {kind.replace('_', ' ')} config {name}{hint(name, names(kind))}")
        if not configs.has(kind, name):
            raise invalid(f"unknown {kind} config {name}, as {configs.cluster.release} is emulated")
    try:
        return {name: definition(kind, name).parse(given[name]) for name in sorted(given)}
    except InvalidValueError as error:
        raise invalid(str(error)) from None


def invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_CONFIG, message)
