"""Clients' quota usage, and the throttle time when it exceeds a limit (KIP-13, KIP-219).

Each broker counts separately, in samples of one second over a window of eleven. A limit applies to the average over
the window: a client may use ten seconds' worth at once, and is throttled from there on.

Source: ClientQuotaManager, ClientQuotaManagerConfig, Rate and SampledStat, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from mockbroker.state.quotas.client_quotas import CLIENT_ID, USER

if TYPE_CHECKING:
    from mockbroker.state.image import QuotaEntity

SAMPLE_MS = 1000
SAMPLES = 11
MAX_USAGES = 10_000  # of all clients and brokers: new client ids are counted separately

ABSENT: Any = object()  # a part that an entity does not have
Limits = dict["QuotaEntity", dict[str, float]]
Tags = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Usage:
    """Bytes per sample, oldest first.

    >>> usage = Usage()
    >>> usage.record(20_000, now_ms=0), usage.throttle_ms(1000, now_ms=0)
    (None, 10000)
    >>> usage.throttle_ms(1000, now_ms=11_000)
    0
    """

    samples: deque[tuple[int, int]] = field(default_factory=deque)  # start time and bytes

    def record(self, size_bytes: int, now_ms: int) -> None:
        """Add bytes."""
        if self.samples and now_ms - self.samples[-1][0] < SAMPLE_MS:
            begun_ms, before = self.samples.pop()
            self.samples.append((begun_ms, before + size_bytes))
        else:
            self.samples.append((now_ms, size_bytes))

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        """The time without traffic after which the rate is back at ``limit`` bytes per second; 0 if it is below."""
        while self.samples and now_ms - self.samples[0][0] >= SAMPLE_MS * SAMPLES:
            self.samples.popleft()
        if not self.samples:
            return 0
        elapsed_ms = now_ms - self.samples[0][0]
        window_ms = elapsed_ms + max(0, SAMPLES - 1 - elapsed_ms // SAMPLE_MS) * SAMPLE_MS
        rate = sum(size_bytes for _, size_bytes in self.samples) * 1000 / window_ms
        return round((rate - limit) / limit * window_ms) if rate > limit else 0


@dataclass(slots=True, eq=False)
class Usages:
    """The usage at a cluster's brokers, by broker, limit and the limit's entity."""

    _by_key: dict[tuple[int, str, Tags], Usage] = field(default_factory=dict)

    def throttle_ms(
        self, broker_id: int, key: str, who: tuple[str, str], limits: Limits, size_bytes: int, now_ms: int
    ) -> int:
        """Count bytes of a user's client at a broker; returns the throttle time in ms.

        Args:
            key: the limit's key, such as ``producer_byte_rate``.
            who: user and client id.
        """
        found = limit_of(limits, key, *who)
        if found is None:
            return 0
        tags, limit = found
        usage = self._by_key.get((broker_id, key, tags))
        if usage is None:
            if len(self._by_key) >= MAX_USAGES:
                self._by_key.clear()
            usage = self._by_key[broker_id, key, tags] = Usage()
        usage.record(size_bytes, now_ms)
        return usage.throttle_ms(limit, now_ms)


def limit_of(limits: Limits, key: str, user: str, client_id: str) -> tuple[Tags, float] | None:
    """The entity whose limit applies to a user's client, and the limit; None if there is none.

    A limit for user and client precedes one for the user, which precedes one for the client; for each, a named entity
    precedes the default.

    >>> limit_of({(("user", None),): {"producer_byte_rate": 5.0}}, "producer_byte_rate", "ann", "app")
    ((('user', 'ann'),), 5.0)
    """
    of_client: Tags = ((CLIENT_ID, client_id), (USER, user))
    for user_name, client_name in product((user, None, ABSENT), (client_id, None, ABSENT)) if limits else ():
        names = {CLIENT_ID: client_name, USER: user_name}
        entity = tuple((kind, name) for kind, name in names.items() if name is not ABSENT)
        limit = limits.get(entity, {}).get(key)
        if limit is not None:
            return tuple((kind, name) for kind, name in of_client if names[kind] is not ABSENT), limit
    return None
