"""Spans of time, their extrapolation to a month, and amounts as text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

from kafka_rack.errors import InputError
from kafka_rack.locality.prices import EXACT

US = 1_000_000
MONTH_SECONDS = 730 * 3_600
"""The month of cloud billing: a twelfth of 365 days."""
SHORT_SPAN_US = 3_600 * US
"""The shortest capture with a good estimate of a month."""
ESTIMATE_US = 60 * US
"""The shortest capture with any estimate of a month."""
TERABYTE = 10**12
UNITS_OF_TIME = {"ms": 1_000, "s": US, "m": 60 * US, "h": 3_600 * US, "d": 86_400 * US}
NICE_WINDOWS_US = tuple(
    count * UNITS_OF_TIME[unit]
    for unit, counts in (("s", (1, 2, 5, 10, 30)), ("m", (1, 2, 5, 10, 30)), ("h", (1, 3, 6, 12)), ("d", (1, 7, 28)))
    for count in counts
)
MAX_WINDOWS = 60
STEPS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
SIZES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def covered_us(spans: Iterable[tuple[int, int]]) -> int:
    """The time that spans, (first, last), cover together: overlaps count once, gaps do not count.

    >>> covered_us([(0, 10), (5, 20), (100, 101)])
    21
    """
    total = 0
    end: int | None = None
    for first, last in sorted(spans):
        begin = first if end is None else max(first, end)
        if last > begin:
            total += last - begin
        end = last if end is None else max(end, last)
    return total


@dataclass(frozen=True, slots=True)
class Pace:
    """Converts amounts measured in ``covered_us`` microseconds to a month of 730 hours: an estimate.

    ``low`` and ``high`` are the pace of the quieter and of the busier half of the windows, relative to the mean. Below
    a minute there is no estimate: amounts are shown as measured.
    """

    covered_us: int
    low: Decimal = Decimal(1)
    high: Decimal = Decimal(1)

    @classmethod
    def of(cls, covered_us: int, windows: Iterable[int], window_us: int) -> Pace:
        """The pace of the bytes in each window.

        >>> Pace.of(240_000_000, [10, 30, 20], 60_000_000)
        Pace(covered_us=240000000, low=Decimal('0.333'), high=Decimal('1.667'))
        """
        moved = sorted(windows)
        count = max(len(moved), covered_us // window_us)
        moved = [0] * (count - len(moved)) + moved
        half, total = count // 2, sum(moved)
        if not half or not total:
            return cls(covered_us)
        low, high = (Decimal(sum(part) * count) / (half * total) for part in (moved[:half], moved[-half:]))
        return cls(covered_us, round(low, 3), round(high, 3))

    @property
    def has_month(self) -> bool:
        return self.covered_us >= ESTIMATE_US

    @property
    def heading(self) -> str:
        """The words after an amount of money: "a month", or "measured"."""
        return "a month" if self.has_month else "measured"

    def month(self, amount: Decimal | int) -> Decimal | None:
        """The amount in a month at the mean pace; None below a minute.

        >>> Pace(730 * 3_600 * 1_000_000 // 4).month(100), Pace(59_000_000).month(100)
        (Decimal('400'), None)
        """
        if not self.has_month:
            return None
        return EXACT.divide(EXACT.multiply(Decimal(amount), Decimal(MONTH_SECONDS * US)), Decimal(self.covered_us))

    def money(self, amount: Decimal, currency: str) -> str:
        """A measured amount as that of a month, in a range; below a minute the amount itself.

        >>> Pace(730 * 3_600 * 1_000_000, Decimal("0.5"), Decimal("1.5")).money(Decimal(2), "$")
        '$1.00 to $3.00'
        """
        month = self.month(amount)
        if month is None:
            return money_text(amount, currency)
        low, high = (money_text(month * part, currency) for part in (self.low, self.high))
        return low if low == high else f"{low} to {high}"

    def sentence(self, amount: Decimal, size: int, currency: str) -> str:
        """An amount as text, with the cost of a terabyte if there is no estimate of a month.

        >>> Pace(2_000_000).sentence(Decimal("0.00002"), 1_000_000, "$")
        '$0.000020 measured, $20.00 a TB'
        """
        text = f"{self.money(amount, currency)} {self.heading}"
        if self.has_month or not size or not amount:
            return text
        return f"{text}, {money_text(amount * TERABYTE / size, currency)} a TB"


def window_for(span_us: int) -> int:
    """A window in microseconds that divides a span into at most about sixty.

    >>> window_for(3_600_000_000) // 1_000_000
    60
    """
    return next((window for window in NICE_WINDOWS_US if span_us <= window * MAX_WINDOWS), NICE_WINDOWS_US[-1])


def parse_window(text: str) -> int:
    """``30s``, ``5m``, ``1h``, ``1d`` in microseconds. Raises InputError.

    >>> parse_window("90s")
    90000000
    """
    match = re.fullmatch(r"([0-9]{1,9})(ms|s|m|h|d)", text.strip())
    if match is None or int(match[1]) == 0:
        raise InputError(f"expected a number with ms, s, m, h or d, as 5m, got {text!r}")
    return int(match[1]) * UNITS_OF_TIME[match[2]]


def window_text(window_us: int) -> str:
    """A window as text, the inverse of ``parse_window``.

    >>> window_text(60_000_000)
    '1m'
    """
    unit = next((unit for unit, us in reversed(UNITS_OF_TIME.items()) if window_us % us == 0), "us")
    return f"{window_us // UNITS_OF_TIME.get(unit, 1)}{unit}"


def parse_size(text: str) -> Fraction:
    """``300MiB``, ``1.5 GB`` in bytes; a trailing ``/s`` is ignored. Raises InputError.

    >>> parse_size("300MiB/s") == 300 * 2**20
    True
    """
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([A-Za-z]*?)(?:/s)?", text.strip())
    if match is None or match[2].lower() not in SIZES:
        raise InputError(f"size: expected a number with B, KB, MB, GB, KiB, MiB, GiB or TiB, as 300MiB/s, got {text!r}")
    return Fraction(match[1]) * SIZES[match[2].lower()]


def bytes_text(size: int | Decimal) -> str:
    """Bytes as text with at least three digits.

    >>> bytes_text(999), bytes_text(1536), bytes_text(1200 * 2**20)
    ('999 B', '1.50 KiB', '1.17 GiB')
    """
    value = float(size)
    for step in STEPS:
        if abs(value) < 1024 or step == STEPS[-1]:
            break
        value /= 1024
    if step == "B":
        return f"{value:.0f} B"
    return f"{value:.2f} {step}" if value < 10 else f"{value:.1f} {step}" if value < 100 else f"{value:,.0f} {step}"


def share_text(part: int, whole: int) -> str:
    """A share in percent.

    >>> share_text(1, 3), share_text(0, 0), share_text(1, 10_000), share_text(9_999, 10_000)
    ('33.3 %', '0 %', 'under 0.1 %', 'over 99.9 %')
    """
    if part <= 0 or whole <= 0:
        return "0 %"
    if part >= whole:
        return "100 %"
    percent = 100 * part / whole
    if percent < 0.1:
        return "under 0.1 %"
    return "over 99.9 %" if percent > 99.9 else f"{percent:.1f} %"


def plain(amount: Decimal) -> str:
    """An amount as text without an exponent and without zeros at its end.

    >>> plain(Decimal("0.060000000000000000")), plain(Decimal("1E-9")), plain(Decimal("100"))
    ('0.06', '0.000000001', '100')
    """
    text = f"{amount:.18f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def money_text(amount: Decimal | None, currency: str) -> str:
    """Money with cents; below ten cents with two significant digits.

    >>> money_text(Decimal("12345.678"), "$"), money_text(Decimal("0.00002345"), "$"), money_text(Decimal(0), "EUR")
    ('$12,345.68', '$0.000023', 'EUR 0.00')
    """
    if amount is None:
        return "-"
    if 0 < abs(amount) < Decimal("0.0995"):
        places = 1 - amount.adjusted()
        shown = f"{amount:.{places}f}" if places <= 12 else "0.00"
    else:
        shown = f"{amount:,.2f}"
    return with_currency(shown, currency)


def with_currency(shown: str, currency: str) -> str:
    """An amount with its currency in front.

    >>> with_currency("0.0125", "$"), with_currency("0.0125", "EUR")
    ('$0.0125', 'EUR 0.0125')
    """
    return f"{currency}{shown}" if len(currency) == 1 else f"{currency} {shown}"


def moment(us: int) -> str:
    """Microseconds since 1970 as a date and time.

    >>> moment(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    return f"{datetime.fromtimestamp(us // US, UTC):%Y-%m-%dT%H:%M:%S}.{us % US:06d}Z"


def duration_text(span_us: int) -> str:
    """A span as text.

    >>> duration_text(12_300_000), duration_text(5_400_000_000), duration_text(200_000_000_000)
    ('12.3 s', '1 h 30 min', '2 d 8 h')
    """
    seconds = span_us / US
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
    hours = round(seconds / 3_600)
    return f"{hours} h" if hours < 48 else f"{hours // 24} d {hours % 24} h"
