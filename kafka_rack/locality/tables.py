"""The decoded tables that locality reads, and the sums of their rows."""

from __future__ import annotations

TABLES = ("frames", "calls", "fetches", "produces", "partitions", "memberships", "brokers", "settings", "problems")
"""The tables that locality reads."""
WITH_RECORDS = frozenset({"Produce", "Fetch", "ShareFetch"})
"""APIs whose calls have rows in ``fetches`` or ``produces``, if they can be read."""
SUMS = ("calls", "request_bytes", "response_bytes", "record_bytes", "records", "redirects")
"""The sums of a flow."""
Amounts = tuple[int, ...]
"""The sums, as in ``SUMS``."""


def add_amounts(before: Amounts | None, more: Amounts) -> Amounts:
    return more if before is None else tuple(map(int.__add__, before, more))
