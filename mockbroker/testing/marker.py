"""The arguments of the markers ``kafka`` and ``kafka_proxy`` and of ``kafka_cluster_factory(...)``, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

MARKER, PROXY_MARKER = "kafka", "kafka_proxy"
SCOPES = ("function", "module", "session")
UNFIRED_FAULTS = ("fail", "allow")
CLUSTER_ARGUMENTS = (
    "brokers",
    "racks",
    "topics",
    "diskless_topics",
    "settings",
    "follower_fetching",
    "listener_per_rack",
    "seed",
    "emulate",
    "users",
    "authorize",
    "tls",
)
MARKER_ARGUMENTS = (*CLUSTER_ARGUMENTS, "scope", "unfired_faults", "topic")
PROXY_ARGUMENTS = ("bootstrap", "racks", "listener_per_rack")
TOPIC_ARGUMENTS = ("partitions", "replication_factor", "diskless", "configs")
DEFAULT_BROKERS = 3
DEFAULT_RACKS = ("a", "b", "c")


class MarkerError(TypeError):
    """An unknown argument, or a value that it cannot have; the text says what is valid."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """A cluster's options; ``topics`` holds the arguments of ``create_topic`` by name."""

    brokers: int = DEFAULT_BROKERS
    racks: tuple[str | None, ...] = DEFAULT_RACKS
    topics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    follower_fetching: bool = False
    listener_per_rack: bool = False
    seed: int = 0
    emulate: str | None = None
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    authorize: bool = False
    tls: bool = False

    def key(self) -> str:
        """Equal for equal clusters."""
        return f"{self!r} {self.users!r}"

    def in_words(self) -> str:
        """For people: settings that may be secrets are hidden."""
        from mockbroker.adapters.control.cluster_json import shown_setting

        shown = {name: shown_setting(name, value) for name, value in self.settings.items()}
        return str(replace(self, settings=shown))


@dataclass(frozen=True, slots=True)
class Marked:
    """The marker's arguments for one test."""

    cluster: ClusterOptions = field(default_factory=ClusterOptions)
    scope: str = "function"
    unfired_faults: str = "fail"
    topic: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """A proxy's options; ``racks`` are pairs of node id and rack."""

    bootstrap: str | None = None
    racks: tuple[tuple[int, str | None], ...] = ()
    listener_per_rack: bool = False


def marked(item: pytest.Item) -> Marked:
    """The arguments of a test's markers; the nearest marker wins, argument by argument. Raises MarkerError."""
    given = arguments_of(item, MARKER, MARKER_ARGUMENTS, "brokers=3")
    of_marker = {name: given.pop(name) for name in ("scope", "unfired_faults", "topic") if name in given}
    checked_choice("scope", of_marker.get("scope", SCOPES[0]), SCOPES)
    checked_choice("unfired_faults", of_marker.get("unfired_faults", UNFIRED_FAULTS[0]), UNFIRED_FAULTS)
    if "topic" in of_marker:
        of_marker["topic"] = topic_arguments("topic", of_marker["topic"])
    return Marked(cluster_options(given), **of_marker)


def proxy_marked(item: pytest.Item) -> ProxyOptions:
    """The proxy's options by a test's markers. Raises MarkerError."""
    given = arguments_of(item, PROXY_MARKER, PROXY_ARGUMENTS, "bootstrap='staging:9092'")
    bootstrap = given.get("bootstrap")
    if bootstrap is not None:
        from mockbroker.adapters.client_properties.bootstrap import servers_in

        try:
            servers_in(str(bootstrap))
        except ValueError as error:
            raise MarkerError(f"bootstrap: {error}") from None
    racks = given.get("racks", {})
    if not isinstance(racks, Mapping) or not all(
        type(number) is int and (rack is None or isinstance(rack, str)) for number, rack in racks.items()
    ):
        raise MarkerError(f"racks: expected racks by node id, such as {{0: 'a', 1: 'b'}}, got {racks!r}")
    listener_per_rack = checked_flag("listener_per_rack", given.get("listener_per_rack", False))
    return ProxyOptions(
        bootstrap, tuple(sorted((number, rack or None) for number, rack in racks.items())), listener_per_rack
    )


def arguments_of(item: pytest.Item, marker: str, names: tuple[str, ...], example: str) -> dict[str, Any]:
    """The arguments of a test's markers of a name; the nearest wins. Raises MarkerError."""
    given: dict[str, Any] = {}
    for mark in item.iter_markers(marker):
        if mark.args:
            raise MarkerError(
                f"@pytest.mark.{marker} takes its arguments by name, such as {example}; got {mark.args[0]!r}"
            )
        check_names(f"@pytest.mark.{marker}", mark.kwargs, names)
        for name, value in mark.kwargs.items():
            given.setdefault(name, value)
    return given


def cluster_options(given: Mapping[str, Any]) -> ClusterOptions:
    """A cluster's options from the marker's arguments. Raises MarkerError."""
    racks = rack_names(given["racks"]) if "racks" in given else DEFAULT_RACKS
    brokers = given.get("brokers", max(DEFAULT_BROKERS, len(racks)) if "racks" in given else DEFAULT_BROKERS)
    if type(brokers) is not int or brokers < 1:
        raise MarkerError(f"brokers: expected a whole number >= 1, got {brokers!r}")
    topics = topic_table("topics", given.get("topics"))
    for name, arguments in topic_table("diskless_topics", given.get("diskless_topics")).items():
        if name in topics:
            raise MarkerError(f"diskless_topics: expected names that topics does not have, got {name!r}")
        topics[name] = {**arguments, "diskless": True}
    users = user_table(given.get("users"))
    settings = dict(given.get("settings") or {})
    if settings:
        from mockbroker.state.settings import KafkaSettings

        try:
            KafkaSettings(settings)
        except ValueError as error:
            raise MarkerError(f"settings: {error}") from None
    others = {name: given[name] for name in ("listener_per_rack", "seed", "emulate") if name in given}
    flags: dict[str, Any] = {
        name: checked_flag(name, given.get(name, False)) for name in ("follower_fetching", "authorize", "tls")
    }
    return ClusterOptions(brokers, racks, topics, settings, users=users, **others, **flags)


def user_table(users: Any) -> dict[str, str]:
    """Passwords by user. Raises MarkerError, which repeats no password."""
    if users is None:
        return {}
    wrong = not isinstance(users, Mapping) or not all(
        isinstance(one, str) and one for pair in users.items() for one in pair
    )
    if wrong:
        raise MarkerError("users: expected {'alice': 'secret'}, names and passwords as texts, got something else")
    return dict(users)


def checked_flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise MarkerError(f"{name}: expected True or False, got {value!r}")
    return value


def rack_names(racks: Any) -> tuple[str | None, ...]:
    """Names from ``"a,b,c"`` or a sequence; an empty name is no rack."""
    names = racks.split(",") if isinstance(racks, str) else racks
    if not isinstance(names, Iterable):
        raise MarkerError(f"racks: expected names such as 'a,b,c' or ['a', 'b', 'c'], got {racks!r}")
    found = [name.strip() if isinstance(name, str) else name for name in names]
    if not found or any(name is not None and not isinstance(name, str) for name in found):
        raise MarkerError(f"racks: expected names such as 'a,b,c' or ['a', 'b', 'c'], got {racks!r}")
    return tuple(name or None for name in found)


def topic_table(argument: str, topics: Any) -> dict[str, dict[str, Any]]:
    """Arguments of ``create_topic`` by name, from any form of the argument."""
    if topics is None:
        return {}
    if isinstance(topics, str) or not isinstance(topics, Iterable):
        raise MarkerError(f"{argument}: expected {{'orders': 6}} or ['orders'], got {topics!r}")
    if not isinstance(topics, Mapping):
        return {name: {} for name in topics}
    return {name: topic_arguments(f"{argument}[{name!r}]", shape) for name, shape in topics.items()}


def topic_arguments(where: str, shape: Any) -> dict[str, Any]:
    """Arguments of ``create_topic``, from partitions, (partitions, replication factor) or a mapping of arguments."""
    if type(shape) is int:
        return {"partitions": shape}
    if isinstance(shape, tuple | list) and len(shape) == 2 and all(type(one) is int for one in shape):
        return {"partitions": shape[0], "replication_factor": shape[1]}
    if isinstance(shape, Mapping):
        check_names(where, shape, TOPIC_ARGUMENTS)
        return dict(shape)
    raise MarkerError(
        f"{where}: expected a number of partitions, (partitions, replication factor), or {{'partitions': 6, ...}} "
        f"with {', '.join(TOPIC_ARGUMENTS)}; got {shape!r}"
    )


def checked_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise MarkerError(f"{name}: expected {' or '.join(map(repr, choices))}, got {value!r}")


def check_names(where: str, given: Iterable[str], names: tuple[str, ...]) -> None:
    """Raises MarkerError for an unknown name, with a suggestion."""
    for name in given:
        if name not in names:
            from difflib import get_close_matches

            close = get_close_matches(name, names, n=1, cutoff=0.5)
            meant = f"; did you mean {close[0]}?" if close else ""
            raise MarkerError(f"{where}: expected one of {', '.join(names)}, got {name!r}{meant}")
