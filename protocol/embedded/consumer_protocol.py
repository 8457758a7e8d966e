"""Messages between consumers of a classic group, inside JoinGroup and SyncGroup.

A reader takes versions it does not know as the highest it knows, and ignores the tail.
"""

from ..declare import data, field, record
from ..wire import Array, Bytes, Int32, String


@data(versions="0-3")
class ConsumerProtocolSubscription:
    """One member's wishes: partitions owned since version 1 (KIP-429), their generation since 2 (KIP-792), the rack
    since 3 (KIP-881).
    """

    @record
    class TopicPartition:
        topic: str = field(String, versions="1+")
        partitions: list[int] = field(Array(Int32), versions="1+")

    topics: list[str] = field(Array(String))
    user_data: bytes | None = field(Bytes, nullable="0+", default=None)
    owned_partitions: list[TopicPartition] = field(Array(TopicPartition), versions="1+", ignorable=True)
    generation_id: int = field(Int32, versions="2+", default=-1, ignorable=True)
    # KIP-881's schema says 2+, its text and Kafka 3
    rack_id: str | None = field(String, versions="3+", nullable="3+", default=None, ignorable=True)


@data(versions="0-3")
class ConsumerProtocolAssignment:
    """The partitions that one member is to read."""

    @record
    class TopicPartition:
        topic: str = field(String)
        partitions: list[int] = field(Array(Int32))

    assigned_partitions: list[TopicPartition] = field(Array(TopicPartition))
    user_data: bytes | None = field(Bytes, nullable="0+", default=None)
