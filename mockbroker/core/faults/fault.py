"""A fault as a value: what it matches, what it does and when, read from the form that JSON has of it.

>>> fault = Fault.parse({"match": {"api": "Fetch", "topic": "orders-*"}, "effect": {"delay_ms": 200}}, "slow")
>>> fault.effect
Effect(kind='delay_ms', value=200, jitter_ms=0)
>>> Fault.parse({"effect": {"silence": True, "error": "NOT_COORDINATOR"}}, "both")
Traceback (most recent call last):
mockbroker.core.faults.fault.FaultError: effect: expected exactly one of error, delay_ms, disconnect, silence, \
throttle_ms, bandwidth, cut, got 2: silence, error
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from mockbroker.core.faults.vocabulary import (
    ADDRESS_PATTERN,
    API_NAMES,
    BANDWIDTH_PATTERN,
    CHOICES,
    EFFECTS,
    ERROR_NAMES,
    FAULT_FIELDS,
    ID_PATTERN,
    MATCH_FIELDS,
    MAX_BYTES_PER_SECOND,
    MAX_MS,
    MAX_NAME,
    MAX_NUMBER,
    NUMBER_FIELDS,
)

MAX_SHOWN = 80  # characters of a value in an error
UNIT_BYTES = {
    "B": Fraction(1),
    "kB": Fraction(1000),
    "KB": Fraction(1000),
    "MB": Fraction(1000**2),
    "GB": Fraction(1000**3),
    "KiB": Fraction(1024),
    "MiB": Fraction(1024**2),
    "GiB": Fraction(1024**3),
    "kbit": Fraction(1000, 8),
    "Mbit": Fraction(1000**2, 8),
    "Gbit": Fraction(1000**3, 8),
}


class FaultError(ValueError):
    """A fault that cannot be: the text says where in it, what was met and what would be right.

    ``path`` reads like ``match.topic[1]``, empty for the fault as a whole; ``reason`` is the rest of the text.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


class RackLink(NamedTuple):
    """The link between two racks, ``*`` in their names standing for any letters.

    ``one_way``: only who is in ``source`` and connects to ``target`` or asks it.
    """

    source: str
    target: str
    one_way: bool

    def to_json(self) -> dict[str, Any]:
        if self.one_way:
            return {"from": self.source, "to": self.target}
        return {"between": [self.source, self.target]}

    def __str__(self) -> str:
        return f"from {self.source} to {self.target}" if self.one_way else f"between {self.source} and {self.target}"


class Effect(NamedTuple):
    """What goes wrong: ``kind`` is a name of ``EFFECTS``, ``value`` its value in JSON."""

    kind: str
    value: Any
    jitter_ms: int = 0

    def to_json(self) -> dict[str, Any]:
        return {self.kind: self.value, "jitter_ms": self.jitter_ms} if self.jitter_ms else {self.kind: self.value}

    @property
    def bytes_per_second(self) -> Fraction:
        """What ``bandwidth`` says.

        >>> Effect("bandwidth", "1.5MiB/s").bytes_per_second
        Fraction(1572864, 1)
        """
        if isinstance(self.value, int):
            return Fraction(self.value)
        number, unit = re.fullmatch(r"([0-9.]+) ?([A-Za-z]+)/s", self.value).groups()  # type: ignore[union-attr]
        return Fraction(number) * UNIT_BYTES[unit]


class When(NamedTuple):
    """On which of the matching calls: at most ``times`` of those that the other field chooses, if there is one."""

    times: int | None = None
    on_call: int | None = None
    every: int | None = None
    probability: float | None = None

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if value is not None}

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.to_json().items())


ALWAYS = When()


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: the calls or the link that it meets, what it does to them, and when. It does not change.

    ``match`` has a value, or a tuple of values, for each field.
    """

    id: str
    effect: Effect
    match: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    link: RackLink | None = None
    when: When = ALWAYS

    @classmethod
    def parse(cls, value: object, default_id: str = "fault") -> Fault:
        """A fault out of its JSON form. Raises FaultError."""
        given = as_object(value, "", FAULT_FIELDS)
        fault_id = given.get("id", default_id)
        if not isinstance(fault_id, str) or re.search(ID_PATTERN, fault_id) is None:
            raise expected("id", "1 to 100 letters, digits and any of . _ : @ -", fault_id)
        match, link = parse_match(given.get("match", {}))
        if "link" in given:
            if link is not None:
                raise FaultError("match.link", "expected one link, beside match or in it, got one in both places")
            link = parse_link(given["link"], "link")
        if "effect" not in given:
            raise FaultError("effect", f"expected exactly one of {', '.join(EFFECTS)}, got no effect")
        effect = parse_effect(given["effect"])
        when = parse_when(given.get("when", {}))
        if effect.kind == "cut":
            check_cut(match, link, when)
        return cls(fault_id, effect, MappingProxyType(match), link, when)

    def to_json(self) -> dict[str, Any]:
        """The JSON form: what was left out is left out."""
        found: dict[str, Any] = {"id": self.id}
        if self.match:
            found["match"] = {
                name: list(value) if isinstance(value, tuple) else value for name, value in self.match.items()
            }
        if self.link is not None:
            found["link"] = self.link.to_json()
        found["effect"] = self.effect.to_json()
        if self.when != ALWAYS:
            found["when"] = self.when.to_json()
        return found


def check_cut(match: Mapping[str, Any], link: RackLink | None, when: When) -> None:
    """A cut is of a link, and lasts until it is removed."""
    if link is None:
        raise FaultError(
            "effect.cut", 'expected a link to cut, as {"between": ["a", "b"]}, got none; disconnect ends calls'
        )
    if match:
        raise FaultError("effect.cut", f"expected a link and no match beside it, got match with {', '.join(match)}")
    if when != ALWAYS:
        raise FaultError("when", f"expected none, since a cut lasts until it is removed, got {when}")


def parse_match(value: object) -> tuple[dict[str, Any], RackLink | None]:
    """The fields that a call has to match, and the link if it stands among them."""
    given = as_object(value, "match", (*MATCH_FIELDS, "link"))
    link = parse_link(given["link"], "match.link") if "link" in given else None
    match: dict[str, Any] = {}
    for name in MATCH_FIELDS:
        if name not in given:
            continue
        path, values = f"match.{name}", given[name]
        if isinstance(values, list | tuple):
            if not values:
                raise FaultError(path, "expected a value or a list of one or more, got an empty list")
            match[name] = tuple(parse_value(name, one, f"{path}[{index}]") for index, one in enumerate(values))
        else:
            match[name] = parse_value(name, values, path)
    return match, link


def parse_value(name: str, value: object, path: str) -> Any:
    """One value of a field of ``match``."""
    if name in NUMBER_FIELDS:
        return as_integer(value, path, 0, MAX_NUMBER)
    text = as_name(value, path)
    if name == "api" and text not in API_NAMES and "*" not in text:
        guess = hint(text, API_NAMES)
        raise FaultError(path, f"expected an API of Kafka, as Fetch or Produce, got {shown(text)}{guess}")
    if name == "client_address" and re.search(ADDRESS_PATTERN, text) is None:
        raise expected(path, "an address or a CIDR block, as 10.0.0.0/8", text)
    return text


def parse_link(value: object, path: str) -> RackLink:
    form = 'expected {"between": ["a", "b"]} or {"from": "a", "to": "b"}'
    given = as_object(value, path, ("between", "from", "to"))
    if set(given) == {"between"}:
        racks = given["between"]
        if not isinstance(racks, list | tuple) or len(racks) != 2:
            raise expected(f"{path}.between", "two racks", racks)
        one, other = (as_name(rack, f"{path}.between[{index}]") for index, rack in enumerate(racks))
        return RackLink(one, other, one_way=False)
    if set(given) == {"from", "to"}:
        return RackLink(as_name(given["from"], f"{path}.from"), as_name(given["to"], f"{path}.to"), one_way=True)
    raise FaultError(path, f"{form}, got {', '.join(given) or 'neither'}")


def parse_effect(value: object) -> Effect:
    given = as_object(value, "effect", (*EFFECTS, "jitter_ms"))
    kinds = [name for name in given if name in EFFECTS]
    if len(kinds) != 1:
        got = f"{len(kinds)}: {', '.join(kinds)}" if kinds else ", ".join(given) or "none"
        raise FaultError("effect", f"expected exactly one of {', '.join(EFFECTS)}, got {got}")
    kind = kinds[0]
    path, what = f"effect.{kind}", given[kind]
    jitter_ms = 0
    if "jitter_ms" in given:
        if kind != "delay_ms":
            raise FaultError("effect.jitter_ms", f"expected beside delay_ms only, got it beside {kind}")
        jitter_ms = as_integer(given["jitter_ms"], "effect.jitter_ms", 0, MAX_MS)
    if kind == "error":
        if not isinstance(what, str) or what not in ERROR_NAMES:
            guess = hint(what, ERROR_NAMES) if isinstance(what, str) else ""
            raise FaultError(path, f"expected a name out of Kafka's table of errors, got {shown(what)}{guess}")
    elif kind == "delay_ms":
        what = as_integer(what, path, 0, MAX_MS)
    elif kind == "throttle_ms":
        what = as_integer(what, path, 1, MAX_MS)
    elif kind == "bandwidth":
        if isinstance(what, str):
            if re.search(BANDWIDTH_PATTERN, what) is None:
                raise expected(path, 'bytes a second, as "1MiB/s", "500KB/s" or 1048576', what)
        else:
            what = as_integer(what, path, 1, MAX_BYTES_PER_SECOND)
    elif what is not True:
        raise expected(path, "true; without the fault there is none of it", what)
    return Effect(kind, what, jitter_ms)


def parse_when(value: object) -> When:
    given = as_object(value, "when", When._fields)
    chosen = [name for name in CHOICES if name in given]
    if len(chosen) > 1:
        got = f"{len(chosen)}: {', '.join(chosen)}"
        raise FaultError("when", f"expected at most one of {', '.join(CHOICES)}, got {got}")
    found: dict[str, Any] = {}
    for name in given:
        path, what = f"when.{name}", given[name]
        if name != "probability":
            found[name] = as_integer(what, path, 1, MAX_NUMBER)
        elif isinstance(what, bool) or not isinstance(what, int | float) or not 0 <= what <= 1:
            raise expected(path, "a number from 0 to 1", what)
        else:
            found[name] = what
    return When(**found)


# values


def as_object(value: object, path: str, fields: Iterable[str]) -> Mapping[str, Any]:
    """An object that has no other fields than these."""
    names = tuple(fields)
    if not isinstance(value, Mapping):
        raise expected(path, f"an object with any of {', '.join(names)}", value)
    for name in value:
        if name not in names:
            guess = hint(name, names) if isinstance(name, str) else ""
            raise FaultError(path, f"expected any of {', '.join(names)}, got {shown(name)}{guess}")
    return value


def as_name(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise expected(path, "text", value)
    if not 1 <= len(value) <= MAX_NAME:
        raise expected(path, f"1 to {MAX_NAME} characters", value)
    return value


def as_integer(value: object, path: str, lowest: int, highest: int) -> int:
    """A whole number, which JSON may also write as 1.0."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise expected(path, f"a whole number from {lowest} to {highest}", value)
    return value


def expected(path: str, what: str, got: object) -> FaultError:
    return FaultError(path, f"expected {what}, got {shown(got)}")


def shown(value: object) -> str:
    """A value in an error, shortened."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def hint(text: str, names: Iterable[str]) -> str:
    """The name that was probably meant."""
    from difflib import get_close_matches

    close = get_close_matches(text[:100].lower(), [name.lower() for name in names], n=1, cutoff=0.7)
    by_lower = {name.lower(): name for name in names}
    return f"; did you mean {by_lower[close[0]]}?" if close else ""
