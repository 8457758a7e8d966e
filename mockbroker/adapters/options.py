"""The options of clusters: declared and checked here, for MockCluster, its forks, the pytest marker and ``serve``.

The pytest plugin imports this in each test run, so that checks import what they need when they run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

    from kafka_rack.locality.rack_rules import RackRules
    from mockbroker.core.journal import Journal
    from mockbroker.state.brokers.broker import Broker

DEFAULT_CAPTURE_BYTES = 64 << 20
DEFAULT_BROKERS = 3
FSYNCS = ("always", "os")
MAX_PORT = 65535
TOPIC_ARGUMENTS = ("partitions", "replication_factor", "diskless", "configs")

Fields = ParamSpec("Fields")
Owner = TypeVar("Owner")
Options = TypeVar("Options", bound="ServedOptions")
TopicShape = int | tuple[int, int] | Mapping[str, Any]
Topics = Mapping[str, TopicShape] | Iterable[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedOptions:
    """The options of every cluster with sockets, our own or a proxy.

    Raises: ValueError: a value that an option cannot have; the text begins with the option and says what is expected.
    """

    settings: Mapping[str, Any] | None = None
    host: str = "127.0.0.1"
    port: int = 0
    advertised_host: str | None = None
    listener_per_rack: bool = False
    seed: int = 0
    journal: bool | Journal = True
    traffic: bool = True
    capture: Path | str | None = None
    capture_bytes: int = DEFAULT_CAPTURE_BYTES
    tls: bool = False
    security_dir: Path | str | None = None
    client_racks: RackRules | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", checked_settings(self.settings))
        for option in fields(self):
            value = getattr(self, option.name)
            if option.type == "bool" and type(value) is not bool:
                raise ValueError(f"{option.name}: expected True or False, got {value!r}")
        check_number("port", self.port, 0, MAX_PORT)
        check_number("capture_bytes", self.capture_bytes, 1)


@dataclass(frozen=True, slots=True)
class ClusterOptions(ServedOptions):
    """The options of a cluster; ``MockCluster`` describes them.

    ``topics`` and ``diskless_topics`` have the arguments of ``create_topic`` by name once they are checked.

    >>> ClusterOptions(topics={"orders": (6, 3)}, diskless_topics=["events"]).all_topics()
    {'orders': {'partitions': 6, 'replication_factor': 3}, 'events': {'diskless': True}}
    """

    brokers: int | Sequence[Broker] = DEFAULT_BROKERS
    racks: Sequence[str | None] | str = ("a", "b", "c")
    _: KW_ONLY
    topics: Topics | None = None
    diskless_topics: Topics | None = None
    diskless_as: str | None = None
    follower_fetching: bool = False
    emulate: str | None = None
    users: Mapping[str, str] | None = field(default=None, repr=False)
    authorize: bool = False
    data_dir: Path | str | None = None
    fsync: str = "os"

    def __post_init__(self) -> None:
        ServedOptions.__post_init__(self)
        check_brokers(self.brokers)
        checked: dict[str, Any] = {
            "racks": rack_names(self.racks),
            "topics": topic_table("topics", self.topics),
            "diskless_topics": {
                name: {**arguments, "diskless": True}
                for name, arguments in topic_table("diskless_topics", self.diskless_topics).items()
            },
            "users": user_table(self.users),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        for topic in checked["diskless_topics"]:
            if topic in checked["topics"]:
                raise ValueError(f"diskless_topics: expected names that topics does not have, got {topic!r}")
        if self.fsync not in FSYNCS:
            raise ValueError(f"fsync: expected {' or '.join(FSYNCS)}, got {self.fsync!r}")

    def all_topics(self) -> dict[str, dict[str, Any]]:
        """The arguments of ``create_topic`` by name."""
        return {**self.topics, **self.diskless_topics}  # type: ignore[dict-item] # as checked

    def complete_settings(self) -> Mapping[str, Any]:
        """The settings, with those that other options mean unless they are set."""
        settings = self.settings or {}
        if self.diskless_as is not None:
            settings = {"diskless.profile": self.diskless_as, **settings}
        if self.follower_fetching:
            from kafka_rack.selection import RACK_AWARE_SELECTOR, SELECTOR_SETTING

            settings = {SELECTOR_SETTING: RACK_AWARE_SELECTOR, **settings}
        if self.authorize:
            from mockbroker.state.security.access import authorizing

            settings = authorizing(settings, self.users or (["CN=client"] if self.tls else []))
        return settings

    def listening_brokers(self) -> Sequence[Broker]:
        """The brokers with their listeners. Raises ValueError: listeners in ``settings`` that cannot be."""
        if not isinstance(self.brokers, int):
            return self.brokers
        from mockbroker.state.brokers.listeners import numbered_brokers
        from mockbroker.state.security.protocols import default_protocol

        return numbered_brokers(
            self.brokers,
            self.racks,
            self.host,
            self.port,
            self.listener_per_rack,
            self.advertised_host,
            settings=self.settings,
            protocol=default_protocol(has_users=bool(self.users), tls=self.tls),
        )

    def key(self) -> str:
        """A text that is equal for equal options."""
        return f"{self!r} {self.users!r}"

    def in_words(self) -> str:
        """The options that differ from the defaults, for people; settings that may be secrets are hidden."""
        from mockbroker.adapters.control.cluster_json import shown_setting

        shown = {name: shown_setting(name, value) for name, value in (self.settings or {}).items()}
        usual = ClusterOptions()
        changed = [
            f"{one.name}={shown if one.name == 'settings' else getattr(self, one.name)!r}"
            for one in fields(self)
            if one.repr and getattr(self, one.name) != getattr(usual, one.name)
        ]
        return f"ClusterOptions({', '.join(changed)})"


def taking_fields(
    options: Callable[Fields, Options],
) -> Callable[[Callable[[Owner, Options], None]], Callable[Concatenate[Owner, Fields], None]]:
    """Decorate an ``__init__`` that takes options: callers pass the fields of the options."""

    def decorate(init: Callable[[Owner, Options], None]) -> Callable[Concatenate[Owner, Fields], None]:
        def from_fields(self: Owner, /, *args: Fields.args, **kwargs: Fields.kwargs) -> None:
            check_names(type(self).__name__, kwargs, list(taken))
            init(self, options(*args, **kwargs))

        own, taken = signature(init), signature(options).parameters
        first = next(iter(own.parameters.values()))
        from_fields.__signature__ = own.replace(parameters=[first, *taken.values()])  # type: ignore[attr-defined]
        return from_fields

    return decorate


def check_brokers(brokers: object) -> None:
    from mockbroker.state.brokers.broker import Broker

    if type(brokers) is int and brokers >= 1:
        return
    if isinstance(brokers, Sequence) and brokers and all(isinstance(one, Broker) for one in brokers):
        return
    raise ValueError(f"brokers: expected a whole number >= 1, got {brokers!r}")


def rack_names(racks: Any) -> tuple[str | None, ...]:
    """Names from ``"a,b,c"`` or a sequence; an empty name is no rack."""
    names = racks.split(",") if isinstance(racks, str) else racks
    found = [name.strip() if isinstance(name, str) else name for name in names] if isinstance(names, Iterable) else None
    if found is None or any(name is not None and not isinstance(name, str) for name in found):
        raise ValueError(f"racks: expected names such as 'a,b,c' or ['a', 'b', 'c'], got {racks!r}")
    return tuple(name or None for name in found)


def checked_settings(settings: Mapping[str, Any] | None) -> Mapping[str, Any]:
    from mockbroker.state.settings import KafkaSettings

    if isinstance(settings, KafkaSettings):
        return settings
    try:
        KafkaSettings(settings)
    except ValueError as error:
        raise ValueError(f"settings: {error}") from None
    return dict(settings or {})


def user_table(users: Any) -> dict[str, str]:
    """Passwords by user. Raises ValueError, which repeats no password."""
    users = {} if users is None else users
    if not isinstance(users, Mapping) or not all(
        isinstance(text, str) and text for pair in users.items() for text in pair
    ):
        raise ValueError("users: expected {'alice': 'secret'}, names and passwords as texts, got something else")
    return dict(users)


def topic_table(argument: str, topics: Any) -> dict[str, dict[str, Any]]:
    """Arguments of ``create_topic`` by name, from any form of the argument."""
    if topics is None:
        return {}
    if isinstance(topics, str) or not isinstance(topics, Iterable):
        raise ValueError(  # noqa: TRY004 - one kind of error for every wrong value
            f"{argument}: expected {{'orders': 6}} or ['orders'], got {topics!r}"
        )
    if not isinstance(topics, Mapping):
        return {name: {} for name in topics}
    return {name: topic_arguments(f"{argument}[{name!r}]", shape) for name, shape in topics.items()}


def topic_arguments(where: str, shape: Any) -> dict[str, Any]:
    """Arguments of ``create_topic``, from partitions, (partitions, replication factor) or a mapping of arguments."""
    if type(shape) is int:
        return {"partitions": shape}
    if isinstance(shape, tuple | list) and len(shape) == 2 and all(type(number) is int for number in shape):
        return {"partitions": shape[0], "replication_factor": shape[1]}
    if isinstance(shape, Mapping):
        check_names(where, shape, TOPIC_ARGUMENTS)
        return dict(shape)
    raise ValueError(
        f"{where}: expected a number of partitions, (partitions, replication factor), or {{'partitions': 6, ...}} "
        f"with {', '.join(TOPIC_ARGUMENTS)}; got {shape!r}"
    )


def check_number(name: str, value: object, lowest: int, highest: int | None = None) -> None:
    if type(value) is not int or value < lowest or (highest is not None and value > highest):
        limits = f">= {lowest}" if highest is None else f"from {lowest} to {highest}"
        raise ValueError(f"{name}: expected a whole number {limits}, got {value!r}")


def check_names(where: str, names: Iterable[str], valid: Sequence[str]) -> None:
    """Raises TypeError for an unknown name, with a suggestion."""
    for name in names:
        if name not in valid:
            from mockbroker.state.patterns import hint

            raise TypeError(f"{where}: expected one of {', '.join(valid)}, got {name!r}{hint(name, valid)}")
