"""The token bucket of a bandwidth: how long N bytes take after the bytes already queued."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

MICRO = 1_000_000


@dataclass(slots=True, eq=False)
class Bucket:
    """A queue of bytes that drains at a fixed rate; unused capacity does not accumulate.

    Counted in millionths of a byte, so that no rounding adds up.

    >>> bucket = Bucket(Fraction(1000))
    >>> bucket.take(500, 0), bucket.take(500, 0), bucket.take(100, 2000)
    (500, 1000, 2100)
    """

    bytes_per_second: Fraction
    _waiting: int = 0  # bytes that are not sent yet, in millionths
    _at_ms: int = 0

    def take(self, size_bytes: int, now_ms: int) -> int:
        """The time at which this many more bytes are sent."""
        per_ms = self._per_ms()
        passed_ms = max(0, now_ms - self._at_ms)
        self._waiting = max(0, self._waiting - per_ms * passed_ms) + size_bytes * MICRO
        self._at_ms = max(self._at_ms, now_ms)
        return self._at_ms + -(-self._waiting // per_ms)

    def _per_ms(self) -> int:
        return max(1, int(self.bytes_per_second * MICRO / 1000))
