"""The types of options: parsing of texts, metavars for help, and shell completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import click

from kafka_rack.cli import UsageError
from kafka_rack.cli.command import did_you_mean

MAX_ID = 2**31 - 1
"""A broker id, a partition's number and a count of partitions are int32 on the wire."""
MAX_BROKERS = MAX_CONSUMERS = 100_000
MAX_SEED = 2**63 - 1
"""A seed of java.util.Random is a long."""
MAX_SHOWN_CHARACTERS = 24

FILE = click.Path(dir_okay=False, allow_dash=True)
DIRECTORY = click.Path(file_okay=False)
DIRECTORY.name = "dir"
PATH = click.Path()


class Type(click.ParamType):  # type: ignore[type-arg] # older clicks have none
    """A type of ours: ``name`` is its metavar."""

    name = "TEXT"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return self.name

    def refuse(self, expected: str, value: str, param: click.Parameter | None, ctx: click.Context | None) -> NoReturn:
        self.fail(f"expected {expected}, got {shown(value)!r}", param, ctx)


class WholeNumber(Type):
    """A whole number from ``least`` to ``most``."""

    def __init__(self, least: int = 0, most: int = MAX_ID, name: str = "N") -> None:
        self.least, self.most, self.name = least, most, name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = whole_number(value, self.least, self.most)
        if number is None:
            self.refuse(f"a whole number from {self.least} to {self.most}", value, param, ctx)
        return number


class Number(Type):
    """A number of at least ``least``."""

    def __init__(self, least: float = 0, name: str = "NUMBER") -> None:
        self.least, self.name = least, name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not self.least <= number < float("inf"):
            self.refuse(f"a number of {self.least:g} or more", str(value), param, ctx)
        return number


class Size(Type):
    """An amount such as 512MiB, in bytes."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from kafka_rack.errors import InputError
        from kafka_rack.locality.amounts import parse_size

        if isinstance(value, int):
            return value
        try:
            return int(parse_size(value))
        except InputError:
            self.refuse("a size, such as 512MiB or 1.5GB", value, param, ctx)


class Duration(Type):
    """A time such as 200ms, 30s or 5m, in milliseconds."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from kafka_rack.errors import InputError
        from kafka_rack.locality.amounts import parse_window

        if isinstance(value, int):
            return value
        if value.strip() in ("0", "0s"):
            return 0
        try:
            return parse_window(value) // 1000
        except InputError:
            self.refuse("a time, such as 200ms, 30s or 5m", value, param, ctx)


class Listed(Type):
    """Words between commas; an empty word is None, as the rack of broker 1 in a,,c."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str | None]:
        return [word.strip() or None for word in value.split(",")] if isinstance(value, str) else value


class Numbers(Type):
    """Whole numbers between commas."""

    def __init__(self, name: str = "N,...", most: int = MAX_ID) -> None:
        self.name, self.most = name, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        if not isinstance(value, str):
            return list(value)
        found = [whole_number(word, 0, self.most) for word in value.split(",")]
        if None in found:
            self.refuse(f"whole numbers up to {self.most} between commas", value, param, ctx)
        return found  # type: ignore[return-value] # None is refused


class Pair(Type):
    """KEY=VALUE, as a tuple. In a variable a piece between commas without ``=`` belongs to the value before it."""

    name = "KEY=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        key, equals, text = value.partition("=")
        if not equals or not key.strip():
            self.fail(f"expected {self.name}, got {shown(value)!r}", param, ctx)
        return key.strip(), text.strip()

    def split_envvar_value(self, rv: str) -> list[str]:
        """
        >>> Pair().split_envvar_value("num.partitions=6,sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256")
        ['num.partitions=6', 'sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256']
        """
        pieces: list[str] = []
        for piece in rv.split(","):
            if "=" not in piece and pieces:
                pieces[-1] += f",{piece}"
            elif piece.strip():
                pieces.append(piece.strip())
        return pieces


class Words(Type):
    """Any text. In a variable an option that repeats takes commas."""

    envvar_list_splitter = ","

    def __init__(self, name: str = "TEXT") -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value).strip()


class Name(Words):
    """A text with some known values: a shell completes them, and others may be valid too."""

    def __init__(self, name: str, known: Callable[[], Iterable[str]]) -> None:
        super().__init__(name)
        self.known = known

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(one) for one in self.known() if one.lower().startswith(incomplete.lower())]


class OneName(Name):
    """One of the known values, which are too many to list in an error."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        names = {name.lower(): name for name in self.known()}
        if value.lower() not in names:
            self.fail(f"unknown {self.name.lower()} {shown(value)!r}{did_you_mean(value, names.values())}", param, ctx)
        return names[value.lower()]


def whole_number(text: Any, least: int, most: int) -> int | None:
    """A whole number in a range; None for anything else, such as one of five thousand digits.

    >>> whole_number("12", 0, 100), whole_number("1.5", 0, 100), whole_number("9" * 5000, 0, 100)
    (12, None, None)
    """
    try:
        number = int(text)
    except ValueError:
        return None
    return number if least <= number <= most else None


def topic_of(text: str, *, diskless: bool = False) -> tuple[str, int | None, int | None]:
    """Name, partitions and replication factor of NAME[:PARTITIONS[:REPLICAS]]. Raises UsageError.

    >>> topic_of("orders:6")
    ('orders', 6, None)
    """
    name, *words = text.split(":")
    numbers = [whole_number(word, 1, MAX_ID) for word in words]
    if not name or len(numbers) > (1 if diskless else 2) or None in numbers:
        form = "NAME[:PARTITIONS]" if diskless else "NAME[:PARTITIONS[:REPLICAS]]"
        raise UsageError(f"topic: expected {form} with numbers from 1, got {shown(text)!r}")
    partitions, replicas = [*numbers, None, None][:2]
    return name, partitions, replicas


def check_size(partitions: int, replication_factor: int) -> None:
    """Refuse placements too large for memory and output. Raises UsageError."""
    from kafka_rack.placement import MAX_REPLICAS  # here, as most commands place nothing

    if partitions * replication_factor > MAX_REPLICAS:
        raise UsageError(
            f"--partitions {partitions} x --replication-factor {replication_factor}: expected at most "
            f"{MAX_REPLICAS} replicas, got {partitions * replication_factor}"
        )


def shown(text: str) -> str:
    """A text shortened to one line.

    >>> shown("9" * 5000)
    '999999999999999999999999... (5000 characters)'
    """
    text = " ".join(str(text).split())
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}... ({len(text)} characters)"


def api_names() -> list[str]:
    """Kafka's names of its APIs, such as Fetch."""
    import protocol

    ending = "Request"
    return sorted(one.name.removesuffix(ending) for one in protocol.messages() if one.name.endswith(ending))


def message_names() -> list[str]:
    import protocol

    return sorted(message.name for message in protocol.messages())


def error_names() -> list[str]:
    from protocol.error_codes import ErrorCode

    return [code.name for code in ErrorCode]
