"""Writes records to the topics that a program only reads, as requests without a socket."""

from __future__ import annotations

from mockbroker.core.engine import Engine
from mockbroker.core.outcome import Outcome
from mockbroker.state.topics.topic import NO_LEADER
from protocol.apis.produce import ProduceRequest
from protocol.headers import request_frame
from protocol.records import Record, build_batch

CLIENT_ID = "kafka-rack certify"
PRODUCE_VERSION = 11  # the last that names topics rather than numbers them
LEADER_ONLY = 1  # a lag delays acks=all, and feeding continues meanwhile
LENGTH_BYTES = 4
VALUE_BYTES = 200
TIMEOUT_MS = 1000


class Feeder:
    """Feeds topics; ``fed`` counts the accepted records."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.fed = 0
        self._sent = 0

    def feed(self, topic: str, now_ms: int, count: int = 1) -> None:
        """Write ``count`` records to each partition of a topic that has a leader."""
        for partition in self.engine.cluster.topics[topic].partitions:
            if partition.leader != NO_LEADER:
                self._write(topic, partition.index, partition.leader, now_ms, count)

    def _write(self, topic: str, index: int, leader: int, now_ms: int, count: int) -> None:
        records = [
            Record(value=f"{topic}-{index} {self._sent + n} ".encode().ljust(VALUE_BYTES, b"."), timestamp=now_ms)
            for n in range(count)
        ]
        self._sent += count
        part = ProduceRequest.Topic.Partition(index=index, records=build_batch(records))
        request = ProduceRequest(
            acks=LEADER_ONLY,
            timeout_ms=TIMEOUT_MS,
            topic_data=[ProduceRequest.Topic(name=topic, partition_data=[part])],
        )
        frame = request_frame(request, PRODUCE_VERSION, correlation_id=self._sent, client_id=CLIENT_ID)
        session = self.engine.session(self.engine.cluster.brokers[leader])
        session.authenticator = None  # certify need not log in to its own cluster

        def taken(outcome: Outcome) -> None:
            response = outcome.response
            if response is not None and not response.responses[0].partition_responses[0].error_code:
                self.fed += count

        self.engine.path.take(frame[LENGTH_BYTES:], session, now_ms, taken)
