"""The effects of faults, one class each: its fields are its JSON form, its methods the behavior.

The parser, the JSON Schema, the table of docs/faults.md, the dashboard's form and ``kafka-rack ctl faults add`` are
generated from ``EFFECTS``. The docstring of an effect is its row in docs/faults.md, its first sentence the help of its
option. The command line imports this module, so the methods import the code that acts on calls.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import Meta

from mockbroker.core.faults.reading import AlwaysTrue, FaultError, Form, Ms, as_object
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.call import Call, Verdict, Wait
    from mockbroker.core.faults.fault import Fault
    from mockbroker.core.faults.faults import FaultHandle
    from mockbroker.core.faults.matching import Hit
    from mockbroker.core.path import CallPath

MAX_BYTES_PER_SECOND = 2**40
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
RATE_PATTERN = (
    r"^(?:[1-9][0-9]{0,8}(?:\.[0-9]{1,3})? ?(?:B|kB|KB|MB|GB|KiB|MiB|GiB|kbit|Mbit|Gbit)"
    r"|0\.[0-9]{0,2}[1-9] ?(?:kB|KB|MB|GB|KiB|MiB|GiB|kbit|Mbit|Gbit))/s(?![\s\S])"
)

ERROR_NAMES = [code.name for code in ErrorCode if code is not ErrorCode.NONE]
ErrorName = Annotated[
    str,
    Meta(
        description="a name out of Kafka's table of errors",
        extra_json_schema={"enum": ERROR_NAMES},
        extra={"names": ERROR_NAMES, "is_valid": ERROR_NAMES.__contains__},
    ),
]
ThrottleMs = Annotated[int, Meta(ge=1, le=2**31 - 1, description=f"a whole number from 1 to {2**31 - 1}")]
Rate = Annotated[
    Annotated[int, Meta(ge=1, le=MAX_BYTES_PER_SECOND)] | Annotated[str, Meta(pattern=RATE_PATTERN)],
    Meta(description='bytes a second, as "1MiB/s", "500KB/s" or 1048576'),
]

Acted = tuple[int, "Verdict | Wait | None"]
"""The time until which a call waits, and how it ends if an effect ended it."""


@dataclass(slots=True, eq=False)
class Bucket:
    """A queue of bytes that drains at a fixed rate; unused capacity does not accumulate.

    >>> bucket = Bucket(Fraction(1000))
    >>> bucket.take(500, 0), bucket.take(500, 0), bucket.take(100, 2000)
    (500, 1000, 2100)
    """

    bytes_per_second: Fraction
    _empty_ms: Fraction = Fraction(0)  # exact, so that no rounding adds up

    def take(self, size_bytes: int, now_ms: int) -> int:
        """The time at which this many more bytes are sent."""
        self._empty_ms = max(self._empty_ms, Fraction(now_ms)) + size_bytes * 1000 / self.bytes_per_second
        return ceil(self._empty_ms)


class Effect(Form, frozen=True):
    """An effect; a fault has exactly one. It has the name of its first field."""

    example: ClassVar[str]
    """Its JSON form in docs/faults.md, with the initial value of the dashboard's form."""
    does: ClassVar[str]
    """The dashboard's description of it, with its fields in braces."""
    reaches_followers: ClassVar[bool] = False
    """True if a fault of a link with this effect also affects followers."""

    @classmethod
    def parse(cls, value: object, path: str) -> Any:
        given = as_object(value, path, dict.fromkeys(name for kind in EFFECTS.values() for name in kind.fields()))
        kinds = [name for name in given if name in EFFECTS]
        if len(kinds) != 1:
            got = f"{len(kinds)}: {', '.join(kinds)}" if kinds else ", ".join(given) or "none"
            raise FaultError(path, f"expected exactly one of {', '.join(EFFECTS)}, got {got}")
        return super(Effect, EFFECTS[kinds[0]]).parse(given, path)

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        """The names of its fields in JSON; the first is the name of the effect."""
        return cls.__struct_encode_fields__

    def check_fault(self, fault: Fault) -> None:
        """Raise FaultError if the rest of a fault is incompatible with this effect."""

    def begin(self, handle: FaultHandle, path: CallPath, now_ms: int) -> None:
        """Act when the fault is set."""

    def act(self, handle: FaultHandle, call: Call, hit: Hit, until_ms: int) -> Acted | None:
        """Act on a call that already waits until ``until_ms``; None if its response has no field for this effect."""
        raise NotImplementedError


class Error(Effect, frozen=True):
    """Return this error instead of the real response. What is refused does not happen; the rest of the request is
    answered normally. So is a request whose response has no field for the error.
    """

    error: ErrorName
    example = '{"error": "NOT_LEADER_OR_FOLLOWER"}'
    does = "answers {error}"

    def act(self, handle: FaultHandle, call: Call, hit: Hit, until_ms: int) -> Acted | None:
        from mockbroker.core.faults.errors import PARTLY, inject_error

        verdict = inject_error(call, ErrorCode[self.error], hit)
        return None if verdict is None else (until_ms, None if verdict is PARTLY else verdict)


class Slowing(Effect, frozen=True):
    """An effect that delays requests and the batches of followers."""

    reaches_followers = True

    def arrival(self, handle: FaultHandle, size_bytes: int, now_ms: int, until_ms: int) -> int:
        """The arrival time of bytes that would arrive at ``until_ms`` without this effect."""
        raise NotImplementedError

    def act(self, handle: FaultHandle, call: Call, hit: Hit, until_ms: int) -> Acted | None:
        return self.arrival(handle, 4 + len(call.frame), call.now_ms, until_ms), None


class Delay(Slowing, frozen=True):
    """Handle the request this much later. The seed adds 0 to `jitter_ms`. Requests of one connection keep their order,
    so later ones wait too.
    """

    delay_ms: Ms
    jitter_ms: Ms = 0
    example = '{"delay_ms": 200, "jitter_ms": 50}'
    does = "delays by {delay_ms} ms"

    def arrival(self, handle: FaultHandle, size_bytes: int, now_ms: int, until_ms: int) -> int:
        return until_ms + self.delay_ms + (handle.rng.randint(0, self.jitter_ms) if self.jitter_ms else 0)


class Disconnect(Effect, frozen=True):
    """Close the connection without a response. The request is not handled."""

    disconnect: AlwaysTrue
    example = '{"disconnect": true}'
    does = "disconnects"

    def act(self, handle: FaultHandle, call: Call, hit: Hit, until_ms: int) -> Acted | None:
        from mockbroker.call import Verdict

        return until_ms, Verdict(closes=f"fault {handle.id}: disconnect")


class Silence(Effect, frozen=True):
    """Neither handle nor answer the request; the connection stays open. Responses keep their order, so nothing after
    it is answered either, even when the fault is removed.
    """

    silence: AlwaysTrue
    example = '{"silence": true}'
    does = "never answers"
    reaches_followers = True

    def act(self, handle: FaultHandle, call: Call, hit: Hit, until_ms: int) -> Acted | None:
        from mockbroker.call import Wait

        return until_ms, Wait(None, (), lambda _call: None)


class Throttle(Effect, frozen=True):
    """Answer at once with this `throttle_time_ms`, then stop reading the connection for that long (KIP-219). For
    versions without that field the broker just stops reading.
    """

    throttle_ms: ThrottleMs
    example = '{"throttle_ms": 500}'
    does = "throttles by {throttle_ms} ms"

    def act(self, handle: FaultHandle, call: Call, hit: Hit, until_ms: int) -> Acted | None:
        def amend(response: Any) -> None:
            if hasattr(response, "throttle_time_ms"):
                response.throttle_time_ms = max(response.throttle_time_ms, self.throttle_ms)

        call.effects().mute(self.throttle_ms)
        call.amend(amend)
        return until_ms, None


class Bandwidth(Slowing, frozen=True):
    """Let matching requests and their responses share this bandwidth. Its unit is `B`, `kB`, `KB`, `MB`, `GB`, `KiB`,
    `MiB`, `GiB`, `kbit`, `Mbit` or `Gbit` a second; a number is bytes.
    """

    bandwidth: Rate
    example = '{"bandwidth": "1MiB/s"}'
    does = "limits the bandwidth to {bandwidth}"

    @property
    def bytes_per_second(self) -> Fraction:
        """The rate as a number.

        >>> Bandwidth("1.5MiB/s").bytes_per_second
        Fraction(1572864, 1)
        """
        if isinstance(self.bandwidth, int):
            return Fraction(self.bandwidth)
        number, unit = re.fullmatch(r"([0-9.]+) ?([A-Za-z]+)/s", self.bandwidth).groups()  # type: ignore[union-attr]
        return Fraction(number) * UNIT_BYTES[unit]

    def begin(self, handle: FaultHandle, path: CallPath, now_ms: int) -> None:
        handle.bucket = Bucket(self.bytes_per_second)

    def arrival(self, handle: FaultHandle, size_bytes: int, now_ms: int, until_ms: int) -> int:
        assert handle.bucket is not None
        return max(until_ms, handle.bucket.take(size_bytes, now_ms))

    def act(self, handle: FaultHandle, call: Call, hit: Hit, until_ms: int) -> Acted | None:
        assert handle.bucket is not None
        call.effects().pace.append(handle.bucket.take)
        return super().act(handle, call, hit, until_ms)


class Cut(Effect, frozen=True):
    """Let nothing through a link until the fault is removed."""

    cut: AlwaysTrue
    example = '{"cut": true}'
    does = "cuts the link"
    reaches_followers = True

    def check_fault(self, fault: Fault) -> None:
        path, form = "effect.cut", '{"between": ["a", "b"]}'
        if not fault.link:
            raise FaultError(path, f"expected a link to cut, as {form}, got none; disconnect ends calls")
        if match := fault.match.to_json():
            raise FaultError(path, f"expected a link and no match beside it, got match with {', '.join(match)}")
        if fault.when.to_json():
            raise FaultError("when", f"expected none, since a cut lasts until it is removed, got {fault.when}")

    def begin(self, handle: FaultHandle, path: CallPath, now_ms: int) -> None:
        from mockbroker.core.faults.faults import cut_connections

        cut_connections(handle, path, now_ms)

    def act(self, handle: FaultHandle, call: Call, hit: Hit, until_ms: int) -> Acted | None:
        from mockbroker.call import Verdict

        return until_ms, Verdict(closes=f"fault {handle.id}: the link {handle.fault.link} is cut")


EFFECTS: dict[str, type[Effect]] = {
    kind.fields()[0]: kind for kind in (Error, Delay, Disconnect, Silence, Throttle, Bandwidth, Cut)
}
