"""Whole numbers on the command line, with limits: a slip of the keyboard is one line, not a machine out of memory.

The limits are far above any cluster that is run; the help of each command says its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from kafka_rack.cli import UsageError
from kafka_rack.placement import MAX_REPLICAS

MAX_BROKERS = 100_000
MAX_CONSUMERS = 100_000
MAX_ID = 2**31 - 1
"""A broker id, a partition's number and a count of partitions are int32 on the wire."""
MAX_SEED = 2**63 - 1
"""A seed of java.util.Random is a long."""
MAX_SHOWN_CHARACTERS, MAX_READ_CHARACTERS = 24, 100
"""Characters of a number; int() itself refuses more than 4,300."""


class NumberError(argparse.ArgumentTypeError):
    """No whole number, or one beyond its limits; the message says what was given and what would be right."""


def read_number(text: str, most: int, least: int | None = None) -> int:
    """A whole number of at most ``most``, and at least ``least`` where one is given.

    Raises: NumberError.

    >>> read_number("12", 100)
    12
    """
    said = text.strip()
    sign, digits = (said[0], said[1:]) if said[:1] in ("-", "+") else ("", said)
    try:
        if not digits.isdecimal():
            raise ValueError
        value = int(sign + digits) if len(digits) <= MAX_READ_CHARACTERS else int(f"{sign}1") * (most + 1)
    except ValueError:
        raise NumberError(f"expected a whole number, got {shown(text)}") from None
    if value > most:
        raise NumberError(f"{shown(text)}, but at most {most} can be handled")
    if value < (-most if least is None else least):
        raise NumberError(f"{shown(text)}, but it must be at least {-most if least is None else least}")
    return value


def whole_number(most: int, least: int | None = None) -> Callable[[str], int]:
    """A type for argparse; what is below a usual minimum, such as 0 partitions, is left to the logic to refuse."""
    return lambda text: read_number(text, most, least)


def number_in(where: str, text: str, most: int, least: int = 0) -> int:
    """A whole number inside a larger argument. Raises: UsageError: it begins with ``where``."""
    try:
        return read_number(text, most, least)
    except NumberError as error:
        raise UsageError(f"{where}: {error}") from None


def check_size(partitions: int, replication_factor: int) -> None:
    """Refuse what could be neither held nor printed. Raises: UsageError."""
    if partitions > 0 and replication_factor > 0 and partitions * replication_factor > MAX_REPLICAS:
        raise UsageError(
            f"--partitions {partitions} x --replication-factor {replication_factor} are "
            f"{partitions * replication_factor} replicas, but at most {MAX_REPLICAS} can be handled"
        )


def shown(text: str) -> str:
    """What was given, on one line and short enough for it.

    >>> shown("9" * 5000)
    '999999999999999999999999... (5000 characters)'
    """
    text = " ".join(text.split())
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}... ({len(text)} characters)"
