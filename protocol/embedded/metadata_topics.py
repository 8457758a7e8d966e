"""The log ``__cluster_metadata`` (KIP-631): topics and partitions.

Each value begins with a frame version, the type of the record (its key here) and its version, all unsigned varints.
"""

from ..declare import data, field
from ..wire import Array, Int8, Int32, String, Uuid


@data(versions="0", flexible="0+", key=2)
class TopicRecord:
    """A topic was created."""

    name: str = field(String)
    topic_id: bytes = field(Uuid)


@data(versions="0", flexible="0+", key=9)
class RemoveTopicRecord:
    """A topic was deleted, with its partitions."""

    topic_id: bytes = field(Uuid)


@data(versions="0-2", flexible="0+", key=3)
class PartitionRecord:
    """The whole state of a partition; eligible leader replicas since version 2 (KIP-966)."""

    partition_id: int = field(Int32, default=-1)
    topic_id: bytes = field(Uuid)
    replicas: list[int] = field(Array(Int32))
    isr: list[int] = field(Array(Int32))
    removing_replicas: list[int] = field(Array(Int32))
    adding_replicas: list[int] = field(Array(Int32))
    leader: int = field(Int32, default=-1)
    leader_recovery_state: int = field(Int8, tag=0)  # 1: the leader recovers from an unclean election (KIP-704)
    leader_epoch: int = field(Int32, default=-1)
    partition_epoch: int = field(Int32, default=-1)
    # where each replica is on its broker, in the order of Replicas (KIP-858)
    directories: list[bytes] = field(Array(Uuid), versions="1+")
    eligible_leader_replicas: list[int] | None = field(Array(Int32), versions="2+", nullable="2+", default=None, tag=1)
    last_known_elr: list[int] | None = field(Array(Int32), versions="2+", nullable="2+", default=None, tag=2)


@data(versions="0-2", flexible="0+", key=5)
class PartitionChangeRecord:
    """The changes of a partition: a field left out stays as it was."""

    partition_id: int = field(Int32, default=-1)
    topic_id: bytes = field(Uuid)
    isr: list[int] | None = field(Array(Int32), nullable="0+", default=None, tag=0)  # null: no change
    leader: int = field(Int32, default=-2, tag=1)  # -2: no change; -1: none
    replicas: list[int] | None = field(Array(Int32), nullable="0+", default=None, tag=2)
    removing_replicas: list[int] | None = field(Array(Int32), nullable="0+", default=None, tag=3)
    adding_replicas: list[int] | None = field(Array(Int32), nullable="0+", default=None, tag=4)
    leader_recovery_state: int = field(Int8, default=-1, tag=5)  # -1: no change
    directories: list[bytes] | None = field(Array(Uuid), versions="1+", nullable="1+", default=None, tag=8)
    eligible_leader_replicas: list[int] | None = field(Array(Int32), versions="2+", nullable="2+", default=None, tag=6)
    last_known_elr: list[int] | None = field(Array(Int32), versions="2+", nullable="2+", default=None, tag=7)


@data(versions="0", flexible="0+", key=28)
class ClearElrRecord:
    """Eligible leader replicas were forgotten (KIP-966)."""

    topic_name: str = field(String)  # empty: of all topics
