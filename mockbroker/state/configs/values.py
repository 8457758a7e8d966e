"""Config values: conversion from and to text, and the validators of Kafka's definitions.

Source: ConfigDef.parseType and convertToString, the validators of ConfigDef, ThrottledReplicaListValidator,
CompressionType, ShareGroupAutoOffsetResetStrategy, QuorumConfig, Apache Kafka 4.4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum
from functools import partial
from typing import Any

WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
DECIMAL = re.compile(r"[+-]?(?:NaN|Infinity|(?:[0-9]++\.?[0-9]*+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?)")
BLANKS = "".join(map(chr, range(33)))  # removed by Java's trim
MAX_DIGITS = 1000
JAVA_BLANKS = " \t\n\x0b\f\r"


class ConfigType(IntEnum):
    """The types of configs, numbered as DescribeConfigs shows them."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


class InvalidValueError(ValueError):
    """A value that a config cannot have; the message has the config, the value and the expected one."""


def parse(name: str, given: Any, type_: ConfigType) -> Any:
    """A typed value: bool, int, float, str, or a tuple of str for a list; None stays None.

    Raises InvalidValueError.

    >>> parse("preallocate", " TRUE", ConfigType.BOOLEAN)
    True
    >>> parse("segment.ms", "1.5", ConfigType.LONG)
    Traceback (most recent call last):
        ...
    mockbroker.state.configs.values.InvalidValueError: segment.ms: expected a whole number, got '1.5'
    """
    if given is None:
        return None
    text = (text_of(given) or "").strip(BLANKS)
    if type_ is ConfigType.BOOLEAN:
        if text.lower() not in ("true", "false"):
            raise InvalidValueError(f"{name}: expected true or false, got {given!r}")
        return text.lower() == "true"
    if type_ in BITS:
        if not WHOLE_NUMBER.fullmatch(text):
            raise InvalidValueError(f"{name}: expected a whole number, got {given!r}")
        value, bits = int(text[:MAX_DIGITS]), BITS[type_]  # a number with more digits is too large anyway
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise InvalidValueError(f"{name}: expected a number of {bits} bits, got {given!r}")
        return value
    if type_ is ConfigType.DOUBLE:
        if not DECIMAL.fullmatch(text):
            raise InvalidValueError(f"{name}: expected a number, got {given!r}")
        return float(text.rstrip("dDfF") if "Inf" not in text else text)
    if type_ is ConfigType.LIST:
        return tuple(part.strip(JAVA_BLANKS) for part in text.split(",")) if text else ()
    return text


def text_of(value: object) -> str | None:
    """A value in Kafka's text form.

    >>> text_of(True), text_of(3), text_of(None), text_of(("compact", "delete")), text_of(2147483647.0)
    ('true', '3', None, 'compact,delete', '2.147483647E9')
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return ",".join(str(one) for one in value)
    return decimal_text(value) if isinstance(value, float) else str(value)


def decimal_text(value: float) -> str:
    """A number in the form of Java's Double.toString."""
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, _, exponent = f"{Decimal(repr(value)).normalize():e}".partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


# validators

Validator = Callable[[str, Any, dict[str, Any]], None]

THROTTLED_REPLICA = re.compile(r"(?:[0-9]+:[0-9]+)?")
GZIP_LEVELS = frozenset({-1, *range(1, 10)})
DURATION = re.compile(
    r"(?i)P(?=[0-9T+-])(?:(?P<days>[+-]?[0-9]{1,15})D)?(?:T(?=[0-9+-])(?:(?P<hours>[+-]?[0-9]{1,15})H)?"
    r"(?:(?P<minutes>[+-]?[0-9]{1,15})M)?(?:(?P<seconds>[+-]?[0-9]{1,15}(?:\.[0-9]{0,9})?)S)?)?"
)
ENDPOINT = re.compile(r".*:[0-9]+")
VOTER = re.compile(r"[0-9]+@\S*:[0-9]+")


def check(name: str, value: object, validator: dict[str, Any], *, in_range: bool = True) -> None:
    """Raises InvalidValueError unless the value is valid.

    Args:
        in_range: check a number's range.

    >>> check("segment.ms", 0, {"is": "Range", "min": 1, "max": None})
    Traceback (most recent call last):
        ...
    mockbroker.state.configs.values.InvalidValueError: segment.ms: expected at least 1, got 0
    """
    kind = validator["is"]
    if kind in SIMPLE_VALIDATORS:
        is_valid, expected = SIMPLE_VALIDATORS[kind]
        if not is_valid(value):
            raise InvalidValueError(f"{name}: expected {expected}, got {text_of(value)!r}")
    elif in_range or kind != "Range":
        VALIDATORS[kind](name, value, validator)


def in_bounds(name: str, value: object, validator: dict[str, Any]) -> None:
    lowest, highest = validator["min"], validator["max"]
    if value is None:
        raise InvalidValueError(f"{name}: expected a number, got none")
    if lowest is not None and value < lowest:
        raise InvalidValueError(f"{name}: expected at least {lowest}, got {text_of(value)}")
    if highest is not None and value > highest:
        raise InvalidValueError(f"{name}: expected at most {highest}, got {text_of(value)}")


def one_of(name: str, value: object, validator: dict[str, Any]) -> None:
    in_any_case = validator["is"] == "CaseInsensitiveValidString"
    valid = sorted(validator["validStrings"]) if in_any_case else validator["validStrings"]
    if (str(value or "").upper() if in_any_case else value) not in valid:
        which = ", ".join(valid) + (", in any case" if in_any_case else "")
        raise InvalidValueError(f"{name}: expected one of {which}, got {value!r}")


def list_of(name: str, value: list[str] | None, validator: dict[str, Any]) -> None:
    valid: list[str] = validator["validString"]
    if value is None:
        if not validator["isNullAllowed"]:
            raise InvalidValueError(f"{name}: expected a list, got none")
        return
    if not value and not validator["isEmptyAllowed"]:
        raise InvalidValueError(f"{name}: expected {', '.join(valid) or 'at least one entry'}, got an empty list")
    if len(set(value)) != len(value):
        raise InvalidValueError(f"{name}: expected each entry once, got {text_of(value)!r}")
    for one in value:
        if not one:
            raise InvalidValueError(f"{name}: expected no empty entry, got {text_of(value)!r}")
        if valid and one not in valid:
            raise InvalidValueError(f"{name}: expected one of {', '.join(valid)}, got {one!r}")


def is_throttled_replicas(value: list[str]) -> bool:
    entries = [one.strip() for one in value]
    return all(THROTTLED_REPLICA.fullmatch(one) for one in entries) or "".join(entries) == "*"


def is_share_offset_reset(value: str | None) -> bool:
    prefix, _colon, duration = (value or "").partition(":")
    if prefix != "by_duration":
        return value in ("earliest", "latest")
    return DURATION.fullmatch(duration) is not None and "-" not in duration


def all_match(pattern: re.Pattern[str], value: list[str] | None) -> bool:
    return all(map(pattern.fullmatch, value or ()))


VALIDATORS: dict[str, Validator] = {
    "CaseInsensitiveValidString": one_of,
    "Range": in_bounds,
    "ValidList": list_of,
    "ValidString": one_of,
}
SIMPLE_VALIDATORS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "ControllerQuorumBootstrapServersValidator": (partial(all_match, ENDPOINT), "HOST:PORT,..."),
    "ControllerQuorumVotersValidator": (partial(all_match, VOTER), "ID@HOST:PORT,..."),
    "LambdaValidator": (GZIP_LEVELS.__contains__, "1 to 9 or -1"),  # the only one
    "NonEmptyString": (lambda value: value != "", "some text"),
    "NonNullValidator": (lambda value: value is not None, "a value"),
    "ShareGroupAutoOffsetResetStrategy": (is_share_offset_reset, "earliest, latest or by_duration:PnDTnHnMn.nS"),
    "ThrottledReplicaListValidator": (is_throttled_replicas, "* or PARTITION:BROKER,..."),
}
"""For each a test of a value, and what is expected."""
