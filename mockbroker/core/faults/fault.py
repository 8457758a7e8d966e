"""A fault as a value: what it matches, what it does and when, read from its JSON form.

>>> fault = Fault.parse({"match": {"api": "Fetch", "topic": "orders-*"}, "effect": {"delay_ms": 200}}, "slow")
>>> fault.effect
Delay(delay_ms=200, jitter_ms=0)
>>> Fault.parse({"effect": {"silence": True, "error": "NOT_COORDINATOR"}}, "both")
Traceback (most recent call last):
mockbroker.core.faults.reading.FaultError: effect: expected exactly one of error, delay_ms, disconnect, silence, \
throttle_ms, bandwidth, cut, got 2: silence, error
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from ipaddress import ip_network
from itertools import combinations, count
from random import Random
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from mockbroker.core.faults.effects import EFFECTS, Effect
from mockbroker.core.faults.reading import Count, FaultError, Form, Name, Number, OneOrMore, read_fields
from protocol.registry import APIS

API_NAMES = sorted(name for _, name in APIS.values())
CHOICES = ("on_call", "every", "probability")  # of a When at most one

Id = Annotated[
    str,
    Meta(pattern=r"^[A-Za-z0-9._:@-]{1,100}(?![\s\S])", description="1 to 100 letters, digits and any of . _ : @ -"),
]
Api = Annotated[
    str,
    Meta(
        description="an API of Kafka, as Fetch or Produce",
        extra_json_schema={"anyOf": [{"enum": API_NAMES}, {"pattern": r"\*"}]},
        extra={"names": API_NAMES, "is_valid": lambda name: name in API_NAMES or "*" in name},
    ),
]


def is_network(text: str) -> bool:
    """True for an address or a CIDR block."""
    try:
        return ip_network(text, strict=False) is not None
    except ValueError:
        return False


Address = Annotated[str, Meta(description="an address or a CIDR block, as 10.0.0.0/8", extra={"is_valid": is_network})]
Share = Annotated[
    Annotated[int, Meta(ge=0, le=1)] | Annotated[float, Meta(ge=0, le=1)], Meta(description="a number from 0 to 1")
]


class Match(Form, frozen=True):
    """The requests that a fault acts on. A field that is left out matches all; a list matches any of its values."""

    api: Annotated[OneOrMore[Api], Meta(description="Kafka's name of the API: `Fetch`, `*Group`")] = UNSET
    broker: Annotated[OneOrMore[Number], Meta(description="the broker that got the request")] = UNSET
    rack: Annotated[OneOrMore[Name], Meta(description="that broker's rack")] = UNSET
    client_id: Annotated[OneOrMore[Name], Meta(description="the client's id")] = UNSET
    client_rack: Annotated[
        OneOrMore[Name],
        Meta(
            description="the client's rack, from the request that names it on: the rack of a Fetch, `diskless_az` in "
            "the client id, a listener of a rack, or `--client-racks`"
        ),
    ] = UNSET
    client_address: Annotated[
        OneOrMore[Address], Meta(description="the client's address, or a range such as `10.0.0.0/8`")
    ] = UNSET
    listener: Annotated[OneOrMore[Name], Meta(description="the listener that the client connected to")] = UNSET
    topic: Annotated[
        OneOrMore[Name],
        Meta(description="a topic that the request names; for a Fetch in a session, one that the session has"),
    ] = UNSET
    partition: Annotated[OneOrMore[Number], Meta(description="a partition of these topics")] = UNSET
    group: Annotated[OneOrMore[Name], Meta(description="a group that the request names")] = UNSET
    link: Annotated[RackLink | UnsetType, Meta(description="a link, here or beside `match`")] = UNSET

    def values(self, name: str) -> tuple[Any, ...]:
        """The values of a field, any of which matches; empty if it is left out."""
        value = getattr(self, name)
        return value if isinstance(value, tuple) else () if value is UNSET else (value,)


class RackLink(Form, frozen=True):
    """The link between two racks; ``*`` in their names matches anything.

    ``from`` and ``to`` match only clients and followers in one rack that connect to brokers in the other.
    """

    between: Annotated[tuple[Name, Name], Meta(description="two racks")] | UnsetType = UNSET
    from_: Name | UnsetType = field(name="from", default=UNSET)
    to: Name | UnsetType = UNSET

    def check(self, path: str) -> None:
        given = list(self.to_json())
        if given not in (["between"], ["from", "to"]):
            form = 'expected {"between": ["a", "b"]} or {"from": "a", "to": "b"}'
            raise FaultError(path, f"{form}, got {', '.join(given) or 'neither'}")

    @property
    def one_way(self) -> bool:
        return self.between is UNSET

    @property
    def ends(self) -> tuple[str, str]:
        """The two racks; of a one-way link, the rack of the requests first."""
        if self.between is not UNSET:
            return self.between
        assert self.from_ is not UNSET
        assert self.to is not UNSET
        return self.from_, self.to

    def __str__(self) -> str:
        return "from {} to {}".format(*self.ends) if self.one_way else "between {} and {}".format(*self.ends)


class When(Form, frozen=True):
    """The matching requests on which a fault acts: at most ``times`` of those that the other field selects."""

    times: Annotated[Count | UnsetType, Meta(description="at most N of those on which it can act")] = UNSET
    on_call: Annotated[Count | UnsetType, Meta(description="only on this one, counted from 1")] = UNSET
    every: Annotated[Count | UnsetType, Meta(description="on every Nth")] = UNSET
    probability: Annotated[Share | UnsetType, Meta(description="on each with this chance, from the seed")] = UNSET

    def check(self, path: str) -> None:
        chosen = [name for name in CHOICES if getattr(self, name) is not UNSET]
        if len(chosen) > 1:
            got = f"{len(chosen)}: {', '.join(chosen)}"
            raise FaultError(path, f"expected at most one of {', '.join(CHOICES)}, got {got}")

    def is_due(self, matched: int, fired: int, rng: Random) -> bool:
        """True if a fault acts on the matching request that was counted last."""
        if self.times is not UNSET and fired >= self.times:
            return False
        if self.on_call is not UNSET:
            return matched == self.on_call
        if self.every is not UNSET:
            return matched % self.every == 0
        return self.probability is UNSET or rng.random() < self.probability

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.to_json().items())


EVERY_CALL, ALWAYS = Match(), When()


class Fault(Form, frozen=True, kw_only=True):
    """A fault: the requests or the link that it matches, its effect on them, and when. It is immutable."""

    id: Id
    match: Match = EVERY_CALL
    link: RackLink | UnsetType = UNSET
    effect: Effect
    when: When = ALWAYS

    @classmethod
    def parse(cls, value: object, default_id: str = "fault") -> Fault:
        """Parse a fault from its JSON form. Raises FaultError."""
        found = {"id": default_id, **read_fields(cls, value, "")}
        if "effect" not in found:
            raise FaultError("effect", f"expected exactly one of {', '.join(EFFECTS)}, got no effect")
        match = found.get("match", EVERY_CALL)
        if match.link is not UNSET:
            if "link" in found:
                raise FaultError("match.link", "expected one link, beside match or in it, got one in both places")
            found |= {"link": match.link, "match": msgspec.structs.replace(match, link=UNSET)}
        fault = cls(**{name: part for name, part in found.items() if part not in (EVERY_CALL, ALWAYS)})
        fault.effect.check_fault(fault)
        return fault


class FaultExistsError(FaultError):
    """Another fault has the id."""


def parse_faults(values: Iterable[Any], taken: Container[str] = (), number: int = 1) -> list[Fault]:
    """Parse faults; those without an id are called fault-N, N from ``number``, by the next that no other has.

    Args:
        values: JSON forms or faults.
        taken: the ids of other faults.

    Raises FaultError, whose path begins with the fault's index in the list, from 0: ``[2].effect``.
    """
    values = list(values)
    ids = {value.get("id") for value in values if isinstance(value, dict)}
    numbered = (name for n in count(number) if (name := f"fault-{n}") not in taken and name not in ids)
    found: dict[str, Fault] = {}
    for index, value in enumerate(values):
        has_id = isinstance(value, dict) and "id" in value
        try:
            fault = value if isinstance(value, Fault) else Fault.parse(value, "" if has_id else next(numbered))
            if fault.id in taken or fault.id in found:
                raise FaultExistsError("id", f"expected an id that no other fault has, got {fault.id!r}")
        except FaultError as error:
            raise type(error)(f"[{index}].{error.path}".rstrip("."), error.reason) from None
        found[fault.id] = fault
    return list(found.values())


def json_schemas(ref_template: str) -> dict[str, dict[str, Any]]:
    """JSON Schemas by name: ``Faults``, which is a file, ``Fault`` and its parts.

    They are for editors and for readers of the API, and allow what the parser accepts, except for addresses: only the
    parser validates these.
    """
    _, found = msgspec.json.schema_components([Fault, *EFFECTS.values()], ref_template=ref_template)

    def ref(name: str) -> dict[str, str]:
        return {"$ref": ref_template.format(name=name)}

    effects = [ref(kind.__name__) for kind in EFFECTS.values()]
    found["Effect"] = {"description": "What goes wrong: exactly one.", "oneOf": effects}
    found["RackLink"]["oneOf"] = [
        {"required": ["between"], "maxProperties": 1},
        {"required": ["from", "to"], "maxProperties": 2},
    ]
    found["When"]["not"] = {"anyOf": [{"required": pair} for pair in combinations(CHOICES, 2)]}
    linked, link_in_match = (
        {"required": ["link"]},
        {"required": ["match"], "properties": {"match": {"required": ["link"]}}},
    )
    lasting = {"match": {"properties": {"link": {}}, "additionalProperties": False}, "when": {"maxProperties": 0}}
    found["Fault"] |= {
        "required": ["effect"],
        "not": {"allOf": [linked, link_in_match]},
        "if": {"properties": {"effect": {"required": ["cut"]}}},
        "then": {"anyOf": [linked, link_in_match], "properties": lasting},
    }
    for form in (Match, When):
        for part in msgspec.structs.fields(form):
            found[form.__name__]["properties"][part.name]["description"] = part.type.__metadata__[0].description
    several = {"type": "array", "items": ref("Fault")}
    document = {
        "type": "object",
        "properties": {"faults": several},
        "required": ["faults"],
        "additionalProperties": False,
    }
    found["Faults"] = {"title": "Faults of a kafka-rack cluster", "oneOf": [several, document]}
    return found
