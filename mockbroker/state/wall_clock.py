"""The cluster's wall clock, which a command can move, and what Kafka judges by it.

Brokers read two clocks. What lasts for a while runs by a monotonic one that never jumps: sessions of members and of
brokers, requests' timeouts, how long a follower may be behind. What is written down, and what is judged by that later,
goes by the wall clock: LogAppendTime, when offsets were committed and transactional ids last used, whether a record is
from the future, and what has become too old to be kept. Kafka looks for the latter every few minutes; here it is done
as soon as the clock has jumped.

Source: LocalLog, UnifiedLog.deleteRetentionMsBreachedSegments, LogValidator.checkTimestamp, ProducerStateManager.
removeExpiredProducers, OffsetMetadataManager.cleanupExpiredOffsets and TransactionStateManager.
removeExpiredTransactionalIds (Time.milliseconds), SystemTimer and BrokerHeartbeatManager (Time.nanoseconds), Apache
Kafka 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster


@dataclass(slots=True, eq=False)
class WallClock:
    """How far the wall clock is ahead of the monotonic time that calls and commands bring, in ms.

    >>> clock = WallClock()
    >>> clock.offset_ms -= 1000
    >>> clock.at(5000)
    4000
    """

    offset_ms: int = 0

    def at(self, now_ms: int) -> int:
        """What it shows at a monotonic time, in ms since 1970."""
        return now_ms + self.offset_ms


def expire(cluster: Cluster, now_ms: int) -> None:
    """Drop what is too old by the wall clock: records, offsets of groups without members, producers and ids.

    Transactions whose time is up are aborted.
    """
    cluster.upkeep.clock_jumped(now_ms)
    if cluster.image.transactions:
        cluster.transactions.clock_jumped(now_ms)
    if cluster.has_groups:
        cluster.groups.expire(now_ms)
