"""Conversion of config values from and to text, as in Kafka.

Source: ConfigDef.parseType and ConfigDef.convertToString, Apache Kafka 4.4.
"""

from __future__ import annotations

import math
import re
from enum import IntEnum
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
    text = given.strip(BLANKS) if isinstance(given, str) else given
    if type_ is ConfigType.BOOLEAN:
        if isinstance(text, str) and text.lower() in ("true", "false"):
            return text.lower() == "true"
        if not isinstance(text, bool):
            raise InvalidValueError(f"{name}: expected true or false, got {given!r}")
    elif type_ in BITS:
        return whole_number(name, text, given, BITS[type_])
    elif type_ is ConfigType.DOUBLE:
        if isinstance(text, str) and DECIMAL.fullmatch(text):
            return float(text.rstrip("dDfF") if "Inf" not in text else text)
        if isinstance(text, (str, bool)) or not isinstance(text, (int, float)):
            raise InvalidValueError(f"{name}: expected a number, got {given!r}")
        return float(text)
    elif type_ is ConfigType.LIST:
        if isinstance(text, str):
            return tuple(part.strip(JAVA_BLANKS) for part in text.split(",")) if text else ()
        if not isinstance(text, (list, tuple)):
            raise InvalidValueError(f"{name}: expected a list with commas, got {given!r}")
        return tuple(str(one) for one in text)
    elif not isinstance(text, str):
        return text_of(text)
    return text


def whole_number(name: str, text: Any, given: Any, bits: int) -> int:
    """An integer of at most ``bits`` bits. Raises InvalidValueError."""
    if isinstance(text, str) and WHOLE_NUMBER.fullmatch(text):
        value = int(text[:MAX_DIGITS])  # a number with more digits is too large anyway
    elif isinstance(text, int) and not isinstance(text, bool):
        value = text
    else:
        raise InvalidValueError(f"{name}: expected a whole number, got {given!r}")
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise InvalidValueError(f"{name}: expected a number of {bits} bits, got {given!r}")
    return value


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
        return repr(float(value)) if "e" not in repr(value) else f"{value:.20f}".rstrip("0")
    digits, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
        whole, _, fraction = digits.partition(".")
        shift = len(whole) - 1
        return f"{sign}{whole[0]}.{(whole[1:] + fraction).rstrip('0') or '0'}E{shift}"
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"
