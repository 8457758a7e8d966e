"""The validators of Kafka's config definitions.

Source: the validators of ConfigDef, ThrottledReplicaListValidator, CompressionType, ShareGroupAutoOffsetResetStrategy,
QuorumConfig, Apache Kafka 4.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable
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
    if in_range or validator["is"] != "Range":
        VALIDATORS[validator["is"]](name, value, validator)


def in_bounds(name: str, value: object, validator: dict[str, Any]) -> None:
    lowest, highest = validator["min"], validator["max"]
    if value is None:
        raise InvalidValueError(f"{name}: expected a number, got none")
    if lowest is not None and value < lowest:
        raise InvalidValueError(f"{name}: expected at least {lowest}, got {text_of(value)}")
    if highest is not None and value > highest:
        raise InvalidValueError(f"{name}: expected at most {highest}, got {text_of(value)}")


def one_of(name: str, value: object, validator: dict[str, Any]) -> None:
    if value not in validator["validStrings"]:
        raise InvalidValueError(f"{name}: expected one of {', '.join(validator['validStrings'])}, got {value!r}")


def one_of_in_any_case(name: str, value: str | None, validator: dict[str, Any]) -> None:
    if value is None or value.upper() not in validator["validStrings"]:
        names = ", ".join(sorted(validator["validStrings"]))
        raise InvalidValueError(f"{name}: expected one of {names}, in any case, got {value!r}")


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


def not_none(name: str, value: object, _: dict[str, Any]) -> None:
    if value is None:
        raise InvalidValueError(f"{name}: expected a value, got none")


def not_empty(name: str, value: object, _: dict[str, Any]) -> None:
    if value == "":
        raise InvalidValueError(f"{name}: expected some text, got ''")


def gzip_level(name: str, value: object, _: dict[str, Any]) -> None:
    if value not in GZIP_LEVELS:
        raise InvalidValueError(f"{name}: expected 1 to 9 or -1, got {value}")


def throttled_replicas(name: str, value: list[str], _: dict[str, Any]) -> None:
    entries = [one.strip() for one in value]
    if not all(THROTTLED_REPLICA.fullmatch(one) for one in entries) and "".join(entries) != "*":
        raise InvalidValueError(f"{name}: expected * or PARTITION:BROKER,..., got {text_of(value)!r}")


def share_offset_reset(name: str, value: str | None, _: dict[str, Any]) -> None:
    if value in ("earliest", "latest"):
        return
    prefix, _colon, duration = (value or "").partition(":")
    if prefix != "by_duration" or not DURATION.fullmatch(duration) or "-" in duration:
        raise InvalidValueError(f"{name}: expected earliest, latest or by_duration:PnDTnHnMn.nS, got {value!r}")


def bootstrap_servers(name: str, value: list[str], _: dict[str, Any]) -> None:
    for one in value:
        if not ENDPOINT.fullmatch(one):
            raise InvalidValueError(f"{name}: expected HOST:PORT, got {one!r}")


def quorum_voters(name: str, value: list[str] | None, _: dict[str, Any]) -> None:
    for one in value or ():
        if not VOTER.fullmatch(one):
            raise InvalidValueError(f"{name}: expected ID@HOST:PORT, got {one!r}")


VALIDATORS: dict[str, Validator] = {
    "CaseInsensitiveValidString": one_of_in_any_case,
    "ControllerQuorumBootstrapServersValidator": bootstrap_servers,
    "ControllerQuorumVotersValidator": quorum_voters,
    "LambdaValidator": gzip_level,  # the only one
    "NonEmptyString": not_empty,
    "NonNullValidator": not_none,
    "Range": in_bounds,
    "ShareGroupAutoOffsetResetStrategy": share_offset_reset,
    "ThrottledReplicaListValidator": throttled_replicas,
    "ValidList": list_of,
    "ValidString": one_of,
}
