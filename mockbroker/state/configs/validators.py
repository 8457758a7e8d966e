"""The validators of Kafka's config definitions.

Source: the validators of ConfigDef, ThrottledReplicaListValidator, CompressionType, ShareGroupAutoOffsetResetStrategy,
QuorumConfig, Apache Kafka 4.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from mockbroker.state.configs.values import InvalidValueError, text_of

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
