"""The arguments of the markers ``kafka`` and ``kafka_proxy`` and of ``kafka_cluster_factory(...)``, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Any

from mockbroker.adapters.options import (
    DEFAULT_BROKERS,
    ClusterOptions,
    check_names,
    rack_names,
    topic_arguments,
)
from mockbroker.testing.pytest_plugin import MARKER, PROXY_MARKER

if TYPE_CHECKING:
    import pytest

SCOPES = ("function", "module", "session")
UNFIRED_FAULTS = ("fail", "allow")
NOT_FOR_TESTS = frozenset(
    {
        *("host", "port", "advertised_host"),
        *("journal", "traffic", "client_racks"),
        *("capture", "capture_bytes", "data_dir", "fsync", "security_dir"),
    }
)
"""Options of a cluster that each test gets a fork of: a fork has free ports, a journal and no files."""
CLUSTER_ARGUMENTS = tuple(name for name in signature(ClusterOptions).parameters if name not in NOT_FOR_TESTS)
MARKER_ARGUMENTS = (*CLUSTER_ARGUMENTS, "scope", "unfired_faults", "topic")
PROXY_ARGUMENTS = ("bootstrap", "racks", "listener_per_rack")


@dataclass(frozen=True, slots=True)
class Marked:
    """The marker's arguments for one test."""

    cluster: ClusterOptions = field(default_factory=ClusterOptions)
    scope: str = "function"
    unfired_faults: str = "fail"
    topic: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """A proxy's options; ``racks`` are by node id."""

    bootstrap: str | None = None
    racks: dict[int, str | None] = field(default_factory=dict)
    listener_per_rack: bool = False


def marked(item: pytest.Item) -> Marked:
    """The arguments of a test's markers; the nearest wins, argument by argument. Raises TypeError, ValueError."""
    given = arguments_of(item, MARKER, MARKER_ARGUMENTS, "brokers=3")
    of_marker = {name: given.pop(name) for name in ("scope", "unfired_faults", "topic") if name in given}
    checked_choice("scope", of_marker.get("scope", SCOPES[0]), SCOPES)
    checked_choice("unfired_faults", of_marker.get("unfired_faults", UNFIRED_FAULTS[0]), UNFIRED_FAULTS)
    if "topic" in of_marker:
        of_marker["topic"] = topic_arguments("topic", of_marker["topic"])
    return Marked(cluster_options(given), **of_marker)


def proxy_marked(item: pytest.Item) -> ProxyOptions:
    """The proxy's options by a test's markers. Raises TypeError, ValueError."""
    import msgspec

    from mockbroker.adapters.client_properties.bootstrap import servers_in

    given = arguments_of(item, PROXY_MARKER, PROXY_ARGUMENTS, "bootstrap='staging:9092'")
    try:
        options = msgspec.convert(given, ProxyOptions)
        if options.bootstrap is not None:
            servers_in(options.bootstrap)
    except (ValueError, msgspec.ValidationError) as error:
        raise ValueError(f"@pytest.mark.{PROXY_MARKER}: {error}") from None
    return options


def arguments_of(item: pytest.Item, marker: str, names: tuple[str, ...], example: str) -> dict[str, Any]:
    """The arguments of a test's markers of a name; the nearest wins. Raises TypeError, ValueError."""
    given: dict[str, Any] = {}
    for mark in item.iter_markers(marker):
        if mark.args:
            raise TypeError(
                f"@pytest.mark.{marker} takes its arguments by name, such as {example}; got {mark.args[0]!r}"
            )
        check_names(f"@pytest.mark.{marker}", mark.kwargs, names)
        given = {**mark.kwargs, **given}
    return given


def cluster_options(given: Mapping[str, Any]) -> ClusterOptions:
    """A cluster's options from a marker's arguments: a broker for each rack. Raises TypeError, ValueError."""
    racks = rack_names(given["racks"]) if "racks" in given else ()
    return ClusterOptions(**{"brokers": max(DEFAULT_BROKERS, len(racks)), **given})


def checked_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}: expected {' or '.join(map(repr, choices))}, got {value!r}")
