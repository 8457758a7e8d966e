"""What real clients asked real Kafka about their groups, asked again here, has the same answers at the same times.

Every request of the group APIs in a capture goes to a simulated broker at its own time, and each answer is held against
Kafka's: errors, generations, leaders, members, assignments, offsets. Only the order of members and partitions may
differ, since Kafka iterates hash tables.
"""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

import pytest

import protocol
from mockbroker.core.simulation import Simulation
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from protocol.embedded.group_log import OffsetCommitValue
from protocol.error_codes import ErrorCode
from tests.fixture_data import CapturedFrame, captured_frames
from tests.internal_topics import end_transaction

OFFSET_COMMIT, OFFSET_FETCH, JOIN_GROUP, DESCRIBE_GROUPS, DELETE_GROUPS = 8, 9, 11, 15, 42
GROUP_APIS = {OFFSET_COMMIT, OFFSET_FETCH, JOIN_GROUP, 12, 13, 14, DESCRIBE_GROUPS, DELETE_GROUPS}
END_TXN, TXN_OFFSET_COMMIT = 26, 28
RECORDED_WITH = {"group.initial.rebalance.delay.ms": 500}
SLOWNESS_MS = 60  # of the recorded broker, on a machine that was busy
PARTITIONS = 16  # more than any recorded topic has

CAPTURES = {  # name: how many answers are compared at least
    "aiokafka": 34,
    "confluent-classic": 53,
    "franz-go": 60,
    "java41-coop": 188,
    "java41-range": 181,
    "java41-txn": 5,
    "kafka-python": 39,
    "kafkajs": 52,
    "kcat": 9,
    "zk39-ibp0101": 56,
    "zk39-ibp24": 124,
}


class GivenUuids(Random):
    """Draws the numbers of the UUIDs it was given, so that members get the ids that they got when recorded."""

    given: list[int]

    def getrandbits(self, bits: int, /) -> int:
        assert bits == 128
        return self.given.pop(0)


class Replay:
    """One capture's requests on their way into a cluster of one broker."""

    def __init__(self, frames: list[CapturedFrame]) -> None:
        self.frames = [frame for frame in frames if frame.api_key in GROUP_APIS | {END_TXN, TXN_OFFSET_COMMIT}]
        self.responses = {
            (frame.connection, frame.correlation_id): frame for frame in self.frames if frame.kind == "response"
        }
        self.sim = Simulation(racks="a", settings=RECORDED_WITH)
        for topic in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC):
            self.sim.cluster.internal_topics.coordinator("any", topic)
        self.uuids = GivenUuids()
        self.uuids.given = []
        self.sim.engine.path.rng = self.uuids
        self.tickets: dict[tuple[int, int], int] = {}
        self.answered_ms: dict[int, int] = {}
        self.compared = 0

    def run(self) -> None:
        for frame in self.frames:
            self.advance_to((frame.time_us - self.frames[0].time_us) // 1000)
            if frame.kind == "request":
                _, request = protocol.read_request(frame.data)
                if frame.api_key in GROUP_APIS:
                    self.ask(frame, request)
                else:
                    self.transact(frame, request)
            elif (frame.connection, frame.correlation_id) in self.tickets:
                self.compare(frame)

    def advance_to(self, now_ms: int) -> None:
        while self.sim.now_ms < now_ms:
            next_ms = self.sim.engine.next_deadline_ms()
            self.sim.advance(min(now_ms, max(next_ms or now_ms, self.sim.now_ms + 1)) - self.sim.now_ms)
            self.note_times()

    def ask(self, frame: CapturedFrame, request: Any) -> None:
        if frame.api_key == DESCRIBE_GROUPS:  # of several captures' groups, only this one's are known
            known = {group.id for group in self.sim.cluster.groups.select()}
            request.groups = [group_id for group_id in request.groups if group_id in known]
        if frame.api_key in (OFFSET_COMMIT, OFFSET_FETCH):
            self.create_topics(request)
        if frame.api_key == JOIN_GROUP and not request.member_id:
            _, response = self.response_to(frame)
            self.uuids.given = [UUID(response.member_id[-36:]).int]
        header, _ = protocol.read_request(frame.data)
        ticket = self.sim.send(request, version=frame.version, client_id=header.client_id)
        self.tickets[frame.connection, frame.correlation_id] = ticket
        self.note_times()

    def transact(self, frame: CapturedFrame, request: Any) -> None:
        """Offsets of transactions, which are no group API, go past the broker straight into the group."""
        groups = self.sim.cluster.groups
        if frame.api_key == END_TXN:
            end_transaction(self.sim.cluster, request.producer_id, committed=request.committed)
            return
        _, response = self.response_to(frame)
        errors = {partition.error_code for topic in response.topics for partition in topic.partitions}
        if errors == {ErrorCode.NONE}:
            offsets = {
                (topic.name, partition.partition_index): OffsetCommitValue(
                    partition.committed_offset, partition.committed_leader_epoch, partition.committed_metadata or ""
                )
                for topic in request.topics
                for partition in topic.partitions
            }
            groups.commit(request, offsets, self.sim.now_ms, frame.version, (request.producer_id, 0))

    def create_topics(self, request: Any) -> None:
        for asker in getattr(request, "groups", None) or [request]:
            for topic in asker.topics or ():
                if topic.name not in self.sim.cluster.topics:
                    self.sim.cluster.replication_control.create(topic.name, PARTITIONS)

    def response_to(self, frame: CapturedFrame) -> Any:
        response = self.responses[frame.connection, frame.correlation_id]
        return protocol.read_response(response.data, frame.api_key, frame.version)

    def note_times(self) -> None:
        for ticket in self.sim.replies.keys() - self.answered_ms.keys():
            self.answered_ms[ticket] = self.sim.now_ms

    def compare(self, frame: CapturedFrame) -> None:
        ticket = self.tickets[frame.connection, frame.correlation_id]
        _, expected = protocol.read_response(frame.data, frame.api_key, frame.version)
        where = f"frame {frame.index}, {type(expected).__name__} v{frame.version}"
        assert ticket in self.sim.replies, f"{where}: Kafka had answered {expected}"
        answer = self.sim.replies[ticket]
        if frame.api_key == DESCRIBE_GROUPS:
            asked = {group.group_id for group in answer.groups}
            expected.groups = [group for group in expected.groups if group.group_id in asked]
        assert in_order(protocol.to_json(answer, frame.version)) == in_order(
            protocol.to_json(expected, frame.version)
        ), where
        if frame.api_key == JOIN_GROUP:  # the other answers wait for Kafka's log, which takes a while at first
            early_ms = self.sim.now_ms - self.answered_ms[ticket]
            assert early_ms <= SLOWNESS_MS, f"{where}: answered {early_ms} ms before Kafka did"
        self.compared += 1


def in_order(value: Any) -> Any:
    """JSON with every list of objects sorted by what names them."""
    if isinstance(value, dict):
        return {key: in_order(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted(map(in_order, value), key=name_of)
    return value


def name_of(value: Any) -> str:
    names = ("memberId", "partitionIndex", "name", "groupId")
    return next((str(value[name]) for name in names if name in value), "") if isinstance(value, dict) else str(value)


@pytest.mark.parametrize("name", CAPTURES)
def test_a_recorded_groups_requests_have_the_answers_that_kafka_gave(name):
    replay = Replay(list(captured_frames(name)))
    replay.run()
    assert replay.compared >= CAPTURES[name]
