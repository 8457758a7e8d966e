"""What the demo's processes agree on."""

from __future__ import annotations

from dataclasses import dataclass

CLASSIC, DISKLESS = "orders", "events"
TOPICS = (CLASSIC, DISKLESS)
PARTITIONS = 6
RECORD_BYTES = 400
PAUSE_S = 0.03  # between two records of a producer, on each topic
PROGRESS_S = 0.25
METADATA_MAX_AGE_MS = 1000  # how soon a client learns that its rack is back; Kafka's default is five minutes

# Library -> the module beside this one that drives it.
LIBRARIES = {"confluent-kafka": "with_confluent", "aiokafka": "with_aiokafka", "kafka-python": "with_kafka_python"}


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """One worker: its library and rack, and where to find the cluster and leave the result."""

    library: str
    rack: str
    bootstrap_servers: str
    result_file: str

    @property
    def group(self) -> str:
        """The consumer group, shared with the same library in the other racks."""
        return f"demo-{self.library}"

    def client_id(self, role: str) -> str:
        """``role`` is ``producer`` or ``consumer``. The rack in it is how today's clients say where they are."""
        return f"{self.library}-{role},diskless_az={self.rack}"
