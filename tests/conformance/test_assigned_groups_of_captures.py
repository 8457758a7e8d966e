"""What real consumers of the consumer protocol asked a real Kafka 4.1, asked again of ours as that release.

Heartbeats, commits, fetches of offsets and descriptions go to a simulated broker at their own times, and each answer
is held against Kafka's. Topics have other ids here, so they go by their names.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

import protocol
from mockbroker.core.simulation import Simulation
from tests.conformance.test_groups_of_captures import in_order
from tests.fixture_data import CapturedFrame, captured_frames

METADATA, OFFSET_COMMIT, OFFSET_FETCH, HEARTBEAT, DESCRIBE = 3, 8, 9, 68, 69
RECORDED_WITH = {
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
}
CAPTURES = {"java41-kip848": 181, "confluent-kip848": 33}  # how many answers are compared at least


class Replay:
    """One capture's requests on their way into a cluster of one broker."""

    def __init__(self, frames: list[CapturedFrame]) -> None:
        self.sim = Simulation(racks="a", settings=RECORDED_WITH, release="4.1")
        self.sim.cluster.internal_topics.coordinator("any")
        self.requests = {(one.connection, one.correlation_id): one for one in frames if one.kind == "request"}
        self.frames = [one for one in frames if one.api_key in (METADATA, *self.compared_apis)]
        self.names: dict[str, str] = {}
        self.compared = 0

    compared_apis = (OFFSET_COMMIT, OFFSET_FETCH, HEARTBEAT, DESCRIBE)

    def run(self) -> None:
        responses = {(one.connection, one.correlation_id): one for one in self.frames if one.kind == "response"}
        for response in responses.values():
            if response.api_key == METADATA:
                self.make_topics(protocol.read_response(response.data, METADATA, response.version)[1])
        first = self.frames[0].time_us
        for frame in self.frames:
            if frame.kind != "request" or frame.api_key == METADATA:
                continue
            self.sim.advance(ms=max((frame.time_us - first) // 1000 - self.sim.now_ms, 0))
            self.compare(frame, responses[frame.connection, frame.correlation_id])

    def make_topics(self, metadata: Any) -> None:
        """The topics that metadata told of, once each, and their ids there and here by name."""
        for one in metadata.topics:
            if one.partitions and one.name not in self.sim.cluster.topics:
                made = self.sim.cluster.replication_control.create(one.name, len(one.partitions), 1)
                for topic_id in (one.topic_id, made.id):
                    self.names[in_base64(topic_id)] = one.name

    def compare(self, frame: CapturedFrame, response: CapturedFrame) -> None:
        header, request = protocol.read_request(frame.data)
        wanted = protocol.to_json(request, frame.version)
        for one in wanted.get("topicPartitions") or ():
            one["topicId"] = in_base64(self.sim.cluster.topics[self.names[one["topicId"]]].id)
        asked = protocol.from_json(type(request).__name__, frame.version, wanted)
        ours = protocol.to_json(
            self.sim.ask(asked, version=frame.version, client_id=header.client_id, broker=0), frame.version
        )
        theirs = protocol.to_json(protocol.read_response(response.data, frame.api_key, frame.version)[1], frame.version)
        where = f"frame {frame.index}, {type(request).__name__} v{frame.version}"
        assert in_order(self.named(ours)) == in_order(self.named(theirs)), where
        self.compared += 1

    def named(self, value: Any) -> Any:
        """JSON with topics' names for their ids."""
        if isinstance(value, dict):
            return {key: self.named(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.named(one) for one in value]
        return self.names.get(value, value) if isinstance(value, str) else value


def in_base64(topic_id: bytes) -> str:
    """A topic's id as Kafka's JSON has it."""
    return b64encode(topic_id, altchars=b"-_").decode().rstrip("=")


@pytest.mark.parametrize("name", CAPTURES)
def test_a_recorded_groups_requests_have_the_answers_that_kafka_gave(name):
    replay = Replay(list(captured_frames(name)))
    replay.run()
    assert replay.compared >= CAPTURES[name]
