"""The same frames to three real brokers of Kafka 4.4 and to ours: every answer about transactions is the same."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import protocol
from mockbroker.adapters.blocking import BlockingMockCluster
from mockbroker.adapters.server import MockCluster
from protocol.apis.fetch import FetchRequest
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.apis.group_offsets import OffsetCommitRequest, OffsetFetchRequest
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.producer_ids import InitProducerIdRequest
from protocol.apis.topics import CreateTopicsRequest
from protocol.apis.transaction_admin import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from protocol.apis.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)
from protocol.headers import read_response, request_frame
from protocol.records import Record, build_batch, iter_records
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_cluster, kafka_tool
from tests.progress import wait_until

TOPIC, GROUP = "orders", "readers"
LOADING = (14, 15, 16)  # COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
SIZE = struct.Struct(">i")
Connection = tuple[str, int]


class Peer:
    """A cluster that is asked by frames: each question goes to whom it is for, and leaves its answer in ``answers``."""

    def __init__(self, bootstrap: str) -> None:
        host, port = bootstrap.split(",", maxsplit=1)[0].split(":")
        self.first: Connection = (host, int(port))
        self.sockets: dict[Connection, socket.socket] = {}
        self.answers: list[tuple[str, Any]] = []
        self.begun_ms = int(time.time() * 1000)  # an older record has a log roll, and a fetch read a segment alone
        self.names: dict[int, str] = {}  # producer ids, in the order in which they appear
        metadata = self.ask(self.first, MetadataRequest(topics=[]), 12)
        self.brokers: dict[int, Connection] = {one.node_id: (one.host, one.port) for one in metadata.brokers}
        topic = CreateTopicsRequest.Topic(name=TOPIC, num_partitions=3, replication_factor=3)
        controller = self.brokers[metadata.controller_id]
        assert self.ask(controller, CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5).topics[0].error_code == 0
        wanted = MetadataRequest(topics=[MetadataRequest.Topic(name=TOPIC)])
        found = self.asked_until(
            lambda: self.ask(self.first, wanted, 12).topics[0],
            lambda topic: len(topic.partitions) == 3 and all(one.leader_id >= 0 for one in topic.partitions),
        )
        self.leaders = {one.partition_index: one.leader_id for one in found.partitions}
        self.topic_id: bytes = found.topic_id

    def close(self) -> None:
        for one in self.sockets.values():
            one.close()

    def ask(self, place: Connection, request: Any, version: int) -> Any:
        connection = self.sockets.get(place)
        if connection is None:
            connection = self.sockets[place] = socket.create_connection(place)
        connection.sendall(request_frame(request, version, correlation_id=1, client_id="beside"))
        (size,) = SIZE.unpack(self.received(connection, 4))
        _, answer = read_response(self.received(connection, size), type(request).api_key, version)
        return answer

    def received(self, connection: socket.socket, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = connection.recv(size - len(data))
            assert more, "the connection was closed"
            data += more
        return data

    def asked_until(self, asked: Callable[[], Any], is_ready: Callable[[Any], bool]) -> Any:
        """The first answer that is ready; a coordinator that loads is given time between two questions."""
        answers: list[Any] = []

        def has_come() -> bool:
            answers[:] = [asked()]
            return is_ready(answers[0])

        wait_until(has_come, "an answer that says that all is loaded", lambda: repr(answers[0]))
        return answers[0]

    def coordinator(self, key: str, key_type: int = 1) -> int:
        request = FindCoordinatorRequest(key=key, key_type=key_type)
        found = self.asked_until(lambda: self.ask(self.first, request, 3), lambda answer: answer.error_code == 0)
        return int(found.node_id)

    def coordinated(self, group: str) -> None:
        """Wait until a group's coordinator has loaded what it has to know."""
        request = OffsetFetchRequest(group_id=group, topics=None)
        self.asked_until(
            lambda: self.ask(self.brokers[self.coordinator(group, 0)], request, 7),
            lambda answer: answer.error_code == 0,
        )

    def loaded(self, of: str) -> None:
        """Wait until a transactional id's coordinator has loaded what it has to know."""
        request = DescribeTransactionsRequest(transactional_ids=[of])
        self.asked_until(
            lambda: self.ask(self.brokers[self.coordinator(of)], request, 0),
            lambda answer: answer.transaction_states[0].error_code not in LOADING,
        )

    def step(self, name: str, broker: int, request: Any, version: int) -> Any:
        """Ask, and keep what was answered."""
        answer = self.ask(self.brokers[broker], request, version)
        self.answers.append((name, self.plain(protocol.to_json(answer, version))))
        return answer

    def plain(self, answer: Any, field: str = "") -> Any:
        """An answer without what differs by chance: producer ids by name, times, throttling, words of errors."""
        if isinstance(answer, dict):
            left_out = (
                "throttleTimeMs",
                "lastTimestamp",
                "transactionStartTimeMs",
                "timestamp",
                "topicId",
            )
            if answer.get("errorCode"):
                left_out += ("producerId",)
            return {name: self.plain(value, name) for name, value in sorted(answer.items()) if name not in left_out}
        if isinstance(answer, list):
            values = [self.plain(one, field) for one in answer]
            return sorted(values, key=repr) if values and isinstance(values[0], dict) else values
        if field == "producerId" and (answer > 0 or answer in self.names):  # Kafka's first id is 0
            return self.names.setdefault(answer, f"producer {len(self.names)}")
        if field == "errorMessage":
            return answer is not None
        if field == "logAppendTimeMs" and answer == self.begun_ms:
            return "the record's time"
        if field == "records":
            return [
                (one.offset, one.key, one.value, one.batch.attributes, one.batch.producer_epoch, one.sequence)
                for one in iter_records(protocol_bytes(answer))
                if one.batch is not None
            ]
        return answer

    # what a story asks

    def init(self, name: str, of: str, pair: tuple[int, int] = (-1, -1), version: int = 5, **fields: Any) -> Any:
        request = InitProducerIdRequest(transactional_id=of, transaction_timeout_ms=60_000)
        request.producer_id, request.producer_epoch = pair
        for field, value in fields.items():
            setattr(request, field, value)
        return self.step(name, self.coordinator(of), request, version)

    def has_producer_ids(self, of: str) -> None:
        """Wait until the coordinator has a block of producer ids, for which it asks the controller."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        self.asked_until(
            lambda: self.ask(self.brokers[self.coordinator(of)], request, 5),
            lambda answer: answer.error_code not in LOADING,
        )

    def initialised(self, of: str) -> tuple[int, int]:
        """A pair, however often it takes to ask."""
        request = InitProducerIdRequest(transactional_id=of, transaction_timeout_ms=900_000)
        answer = self.asked_until(
            lambda: self.ask(self.brokers[self.coordinator(of)], request, 5), lambda answer: answer.error_code == 0
        )
        self.names.setdefault(answer.producer_id, f"producer {len(self.names)}")
        return (answer.producer_id, answer.producer_epoch)

    def end(
        self, name: str, of: str, pair: tuple[int, int], commit: bool, version: int = 5, broker: int | None = None
    ) -> tuple[int, int]:
        request = EndTxnRequest(transactional_id=of, producer_id=pair[0], producer_epoch=pair[1], committed=commit)
        if broker is None:
            broker = self.coordinator(of or "x")
        answer = self.step(name, broker, request, version)
        self.settle(of)
        return (answer.producer_id, answer.producer_epoch) if answer.error_code == 0 and version >= 5 else pair

    def settle(self, of: str) -> None:
        """Wait until no marker is missing."""
        request = DescribeTransactionsRequest(transactional_ids=[of])
        while of:
            answer = self.ask(self.brokers[self.coordinator(of)], request, 0)
            if not answer.transaction_states[0].transaction_state.startswith("Prepare"):
                return

    def describe(self, name: str, of: str) -> None:
        self.step(name, self.coordinator(of), DescribeTransactionsRequest(transactional_ids=[of]), 0)

    def produce(
        self,
        name: str,
        of: str | None,
        pair: tuple[int, int],
        index: int,
        sequence: int,
        version: int = 12,
        **fields: Any,
    ) -> None:
        options = {"transactional": True} | fields
        records = build_batch(
            [Record(value=b"v", timestamp=self.begun_ms)],
            producer_id=pair[0],
            producer_epoch=pair[1],
            base_sequence=sequence,
            **options,
        )
        partition = ProduceRequest.Topic.Partition(index=index, records=records)
        request = ProduceRequest(
            transactional_id=of,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[ProduceRequest.Topic(name=TOPIC, partition_data=[partition])],
        )
        self.step(name, self.leaders[index], request, version)

    def add(
        self, name: str, of: str, pair: tuple[int, int], topics: list[tuple[str, list[int]]], version: int = 3
    ) -> None:
        wanted = [AddPartitionsToTxnTopic(name=topic, partitions=indexes) for topic, indexes in topics]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=of,
            v3_and_below_producer_id=pair[0],
            v3_and_below_producer_epoch=pair[1],
            v3_and_below_topics=wanted,
        )
        self.step(name, self.coordinator(of or "x"), request, version)

    def offsets(self, name: str, of: str, pair: tuple[int, int], version: int, **fields: Any) -> None:
        partition = TxnOffsetCommitRequest.Topic.Partition(
            partition_index=fields.pop("index", 0), committed_offset=7, committed_metadata="note"
        )
        topic = TxnOffsetCommitRequest.Topic(name=TOPIC, topic_id=self.topic_id, partitions=[partition])
        if "topic_id" in fields:
            topic.topic_id = fields.pop("topic_id")
        request = TxnOffsetCommitRequest(
            transactional_id=of,
            group_id=fields.pop("group", GROUP),
            producer_id=pair[0],
            producer_epoch=pair[1],
            topics=[topic],
            **fields,
        )
        broker = fields.get("broker", self.coordinator(request.group_id or GROUP, 0))
        self.step(name, broker, request, version)

    def committed(self, name: str, *, stable: bool) -> None:
        request = OffsetFetchRequest(group_id=GROUP, topics=None, require_stable=stable)
        self.step(name, self.coordinator(GROUP, 0), request, 7)

    def fetch(self, name: str, index: int, isolation: int, offset: int = 0) -> None:
        wanted = FetchRequest.Topic.Partition(partition=index, fetch_offset=offset, partition_max_bytes=10**6)
        request = FetchRequest(
            isolation_level=isolation,
            max_bytes=10**6,
            topics=[FetchRequest.Topic(topic=TOPIC, partitions=[wanted])],
        )
        self.step(name, self.leaders[index], request, 12)

    def list_offset(self, name: str, index: int, isolation: int, timestamp: int = -1) -> None:
        partition = ListOffsetsRequest.Topic.Partition(partition_index=index, timestamp=timestamp)
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation,
            topics=[ListOffsetsRequest.Topic(name=TOPIC, partitions=[partition])],
        )
        self.step(name, self.leaders[index], request, 7)

    def producers(self, name: str, index: int) -> None:
        topic = DescribeProducersRequest.Topic(name=TOPIC, partition_indexes=[index])
        self.step(name, self.leaders[index], DescribeProducersRequest(topics=[topic]), 0)

    def markers(
        self, name: str, pair: tuple[int, int], index: int, version: int = 2, topic: str = TOPIC, **fields: Any
    ) -> None:
        broker = fields.pop("broker", None)
        marker = WriteTxnMarkersRequest.Marker(
            producer_id=pair[0],
            producer_epoch=pair[1],
            topics=[WriteTxnMarkersRequest.Marker.Topic(name=topic, partition_indexes=[index])],
        )
        for field, value in fields.items():
            setattr(marker, field, value)
        target = self.leaders[index] if broker is None else broker
        self.step(name, target, WriteTxnMarkersRequest(markers=[marker]), version)


def protocol_bytes(text: str | None) -> bytes:
    from base64 import b64decode

    return b64decode(text or "")


def bumping(peer: Peer) -> None:
    """A producer of transaction.version 2: epochs, retries and wrong uses of EndTxn v5."""
    pair = peer.initialised("bumps")
    peer.describe("new", "bumps")
    peer.end("commit of nothing", "bumps", pair, True)
    first = pair
    pair = peer.end("abort of nothing", "bumps", pair, False)
    peer.describe("aborted nothing", "bumps")
    peer.end("abort again", "bumps", first, False)
    peer.end("commit in place of that abort", "bumps", first, True)
    peer.produce("first record", "bumps", pair, 0, 0)
    peer.describe("under way", "bumps")
    peer.produce("a gap", "bumps", pair, 0, 7)
    peer.produce("another partition from 3 on", "bumps", pair, 1, 3)
    peer.describe("with two", "bumps")
    peer.produce("again", "bumps", pair, 0, 0)
    peer.produce("the epoch before", "bumps", (pair[0], pair[1] - 1), 0, 1)
    peer.produce("not transactional", "bumps", pair, 0, 1, transactional=False)
    peer.fetch("under way, read committed", 0, 1)
    peer.fetch("under way", 0, 0)
    peer.list_offset("end, read committed, under way", 0, 1)
    peer.producers("under way", 0)
    before = pair
    peer.end("a later epoch", "bumps", (pair[0], pair[1] + 1), True)
    peer.end("another producer", "bumps", (pair[0] + 900, pair[1]), True)
    peer.end("no id", "", pair, True)
    peer.end("unknown id", "nobody", pair, True)
    peer.end("not the coordinator", "bumps", pair, True, broker=(peer.coordinator("bumps") + 1) % 3)
    pair = peer.end("commit", "bumps", pair, True)
    peer.describe("committed", "bumps")
    peer.end("commit again", "bumps", before, True)
    peer.end("abort after it", "bumps", before, False)
    peer.end("two epochs ago", "bumps", (before[0], before[1] - 1), True)
    peer.end("commit of nothing again", "bumps", pair, True)
    peer.fetch("read committed", 0, 1)
    peer.producers("committed", 0)
    peer.produce("with the epoch before", "bumps", before, 0, 1)
    peer.produce("not from 0", "bumps", pair, 0, 1)
    peer.produce("from 0", "bumps", pair, 0, 0)
    pair = peer.end("abort", "bumps", pair, False)
    peer.fetch("aborted, read committed", 0, 1)
    peer.fetch("aborted, from there", 0, 1, 3)
    peer.list_offset("newest", 0, 1, -3)
    peer.producers("aborted", 0)


def adding(peer: Peer) -> None:
    """AddPartitionsToTxn in both forms, and Produce of clients that go by it."""
    pair = peer.initialised("adds")
    peer.add("no such topic beside one", "adds", pair, [(TOPIC, [0]), ("nothing", [0])])
    peer.add("no such partition", "adds", pair, [(TOPIC, [0, 9])])
    peer.add("nothing", "adds", pair, [])
    peer.describe("nothing added", "adds")
    peer.add("no id", "", pair, [(TOPIC, [0])])
    peer.add("another producer", "adds", (pair[0] + 900, 0), [(TOPIC, [0])])
    peer.add("a later epoch", "adds", (pair[0], 5), [(TOPIC, [0])])
    peer.add("a later epoch, v1", "adds", (pair[0], 5), [(TOPIC, [0])], version=1)
    peer.produce("not added, v9", "adds", pair, 0, 0, version=9)
    peer.produce("not added, v11", "adds", pair, 0, 0, version=11)
    peer.add("right", "adds", pair, [(TOPIC, [0, 1])])
    peer.produce("added, v9", "adds", pair, 0, 0, version=9)
    peer.produce("added, from 5 on", "adds", pair, 1, 5, version=11)
    peer.produce("another id while it is open", "others", pair, 0, 1, version=9)
    peer.produce("no id", None, pair, 0, 1, version=9)
    peer.end("commit, v3", "adds", pair, True, version=3)
    peer.end("commit again, v4", "adds", pair, True, version=4)
    peer.end("abort of nothing, v4", "adds", pair, False, version=4)
    peer.end("commit of nothing, v5", "adds", pair, True)
    peer.producers("committed in the same epoch", 0)
    peer.produce("after the commit, v9", "adds", pair, 0, 1, version=9)
    other = peer.initialised("adds too")
    for version in (4, 5):
        for verify in (True, False):
            many = AddPartitionsToTxnRequest()
            for of, one, topic in (("adds", pair, TOPIC), ("adds too", other, "nothing")):
                many.transactions.append(
                    AddPartitionsToTxnRequest.Transaction(
                        transactional_id=of,
                        producer_id=one[0],
                        producer_epoch=one[1],
                        verify_only=verify,
                        topics=[AddPartitionsToTxnTopic(name=topic, partitions=[2])],
                    )
                )
            many.transactions = [one for one in many.transactions if one.transactional_id != "adds too" or verify]
            peer.step(f"many, v{version}, verify {verify}", peer.coordinator("adds"), many, version)
    peer.end("abort, v5", "adds", pair, False)


def initialising(peer: Peer) -> None:
    """InitProducerId with and without the pair that the producer has (KIP-360)."""
    peer.loaded("inits")
    peer.has_producer_ids("inits")
    peer.init("new, with a pair", "inits", (0, 0))
    pair = peer.initialised("inits")
    peer.init("with the pair", "inits", pair)
    peer.init("with it again", "inits", pair)
    peer.init("with another epoch", "inits", (pair[0], pair[1] + 5))
    peer.init("with another id", "inits", (pair[0] + 900, pair[1]))
    peer.init("with half a pair", "inits", (pair[0], -1))
    peer.init("with another id, v3", "inits", (pair[0] + 900, pair[1]), version=3)
    peer.init("too long", "inits", transaction_timeout_ms=10**9)
    peer.init("no time", "inits", transaction_timeout_ms=0)
    peer.init("no id", "")
    pair = peer.initialised("inits")
    peer.produce("a record", "inits", pair, 2, 0)
    peer.init("under way, with the pair", "inits", pair)
    peer.settle("inits")
    peer.describe("fenced", "inits")
    peer.end("the fenced one commits", "inits", pair, True)
    peer.end("the fenced one aborts", "inits", pair, False)
    peer.init("the fenced one goes on", "inits", pair)
    peer.describe("gone on", "inits")
    peer.producers("fenced", 2)
    peer.fetch("fenced", 2, 1)
    pair = peer.initialised("inits")
    peer.produce("another record", "inits", pair, 2, 0)
    peer.init("another instance", "inits")
    peer.settle("inits")
    peer.init("another instance again", "inits")
    peer.init("the first, with its pair", "inits", pair)
    peer.produce("the first", "inits", pair, 2, 1)
    peer.add("the first", "inits", pair, [(TOPIC, [2])])


def committing_offsets(peer: Peer) -> None:
    """TxnOffsetCommit and AddOffsetsToTxn."""
    pair = peer.initialised("offsets")
    for group in (GROUP, "none", "third"):
        peer.coordinated(group)
    for version in (3, 4):
        peer.offsets(f"group not added, v{version}", "offsets", pair, version)
    peer.offsets("generation of no group, v5", "offsets", pair, 5, group="none", generation_id_or_member_epoch=3)
    peer.offsets("generation of no group, v6", "offsets", pair, 6, group="none", generation_id_or_member_epoch=3)
    peer.describe("two groups", "offsets")
    peer.offsets("the broker adds, v5", "offsets", pair, 5)
    peer.offsets("another id while it is open", "others", pair, 5)
    peer.offsets("a member of nobody", "offsets", pair, 5, member_id="m", generation_id_or_member_epoch=-1)
    peer.offsets("no such partition", "offsets", pair, 5, index=9)
    peer.offsets("no such topic id", "offsets", pair, 6, topic_id=b"\1" * 16)
    peer.offsets("no group", "offsets", pair, 5, group="")
    peer.offsets("another epoch, another group", "offsets", (pair[0], 9), 5, group="third")
    peer.offsets("another producer, another group", "offsets", (pair[0] + 900, 0), 5, group="third")
    peer.committed("under way", stable=False)
    peer.committed("stable, under way", stable=True)
    partition = OffsetCommitRequest.Topic.Partition(partition_index=0, committed_offset=99, committed_metadata="")
    later = OffsetCommitRequest(group_id=GROUP, topics=[OffsetCommitRequest.Topic(name=TOPIC, partitions=[partition])])
    pair = peer.end("commit", "offsets", pair, True)
    peer.committed("committed", stable=True)
    peer.offsets("once more", "offsets", pair, 5)
    peer.step("a plain commit meanwhile", peer.coordinator(GROUP, 0), later, 7)
    pair = peer.end("commit once more", "offsets", pair, True)
    peer.committed("what came later counts", stable=True)
    for version in (1, 4):
        request = AddOffsetsToTxnRequest(
            transactional_id="offsets", producer_id=pair[0], producer_epoch=pair[1] + 1, group_id=GROUP
        )
        peer.step(f"AddOffsetsToTxn v{version}, a later epoch", peer.coordinator("offsets"), request, version)
    request = AddOffsetsToTxnRequest(
        transactional_id="offsets", producer_id=pair[0], producer_epoch=pair[1], group_id=GROUP
    )
    peer.step("AddOffsetsToTxn", peer.coordinator("offsets"), request, 4)
    peer.offsets("added, v3", "offsets", pair, 3)
    peer.describe("with its group", "offsets")
    peer.end("abort, v3", "offsets", pair, False, version=3)
    peer.committed("aborted", stable=True)


def writing_markers(peer: Peer) -> None:
    """WriteTxnMarkers by hand, right and wrong."""
    peer.initialised("markers")
    pair = peer.initialised("markers")
    peer.produce("a record", "markers", pair, 1, 0)
    peer.markers("no such topic", pair, 0, topic="nothing")
    peer.markers("no such partition", pair, 0, broker=0, topic="nothing")
    peer.markers("a follower", pair, 1, broker=(peer.leaders[1] + 1) % 3)
    peer.markers("the same epoch, version 2", pair, 1, transaction_version=2)
    peer.markers("the same epoch, version 0", pair, 1, coordinator_epoch=9)
    peer.producers("ended by hand", 1)
    peer.fetch("ended by hand", 1, 1)
    peer.markers("an older coordinator", (pair[0], pair[1] + 1), 1, coordinator_epoch=3)
    peer.markers("an older epoch", (pair[0], pair[1] - 1), 1, coordinator_epoch=9)
    peer.markers("again, version 2", pair, 1, transaction_version=2, coordinator_epoch=9)
    peer.markers("of nobody", (777_777, 3), 1, transaction_result=True)
    peer.producers("in the end", 1)
    empty = WriteTxnMarkersRequest()
    peer.step("none", 0, empty, 1)


def listing(peer: Peer) -> None:
    """ListTransactions and DescribeTransactions."""
    pair = peer.initialised("lists")
    peer.produce("a record", "lists", pair, 0, 0)
    broker = peer.coordinator("lists")
    for name, fields, version in (
        ("by name", {"transactional_id_pattern": "lis.*"}, 2),
        ("by part of a name", {"transactional_id_pattern": "ist"}, 2),
        ("by what is no pattern", {"transactional_id_pattern": "(("}, 2),
        ("by state", {"state_filters": ["Ongoing"], "transactional_id_pattern": "lists"}, 2),
        ("by other states", {"state_filters": ["PrepareEpochFence", "ongoing", "x"]}, 1),
        ("by producer", {"producer_id_filters": [pair[0]]}, 0),
        ("by age", {"duration_filter": 3_600_000, "transactional_id_pattern": "lists"}, 2),
    ):
        peer.step(name, broker, ListTransactionsRequest(**fields), version)
    peer.step("described", broker, DescribeTransactionsRequest(transactional_ids=["lists", ""]), 0)
    peer.step("described elsewhere", (broker + 1) % 3, DescribeTransactionsRequest(transactional_ids=["lists"]), 0)
    peer.end("commit", "lists", pair, True)


STORIES = (bumping, adding, initialising, committing_offsets, writing_markers, listing)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[tuple[str, Any]]]]:
    """What both clusters answered, by story; Kafka first."""
    folder: Path = tmp_path_factory.mktemp("kafka")
    with skipped_without_tools(), kafka_cluster("abc", folder) as kafka:
        theirs = told(kafka)
    settings = {"offsets.topic.num.partitions": 3}  # as java_brokers has it
    with BlockingMockCluster(MockCluster(settings=settings)) as cluster:
        ours = told(cluster.bootstrap_servers)
    return {story.__name__: [theirs[story.__name__], ours[story.__name__]] for story in STORIES}


def told(bootstrap: str) -> dict[str, list[tuple[str, Any]]]:
    peer = Peer(bootstrap)
    found = {}
    for story in STORIES:
        peer.answers = []
        story(peer)
        found[story.__name__] = peer.answers
    peer.close()
    return found


@pytest.mark.parametrize("story", [story.__name__ for story in STORIES])
def test_every_answer_is_the_one_that_kafka_gives(answers, story):
    kafka, ours = answers[story]
    assert [name for name, _ in kafka] == [name for name, _ in ours]
    different = [(name, one, other) for (name, one), (_, other) in zip(kafka, ours, strict=True) if one != other]
    assert not different, "\n".join(f"{name}:\n  kafka {one}\n  ours  {other}" for name, one, other in different)


def test_kafkas_own_tool_lists_describes_and_aborts_transactions():
    with BlockingMockCluster(MockCluster()) as cluster, skipped_without_tools():
        peer = Peer(cluster.bootstrap_servers)
        pair = peer.initialised("hanging")
        peer.produce("a record", "hanging", pair, 0, 0)
        peer.close()

        def told_by_tool(*arguments: str) -> str:
            return kafka_tool("TransactionsCommand", "--bootstrap-server", cluster.bootstrap_servers, *arguments)

        assert "Ongoing" in told_by_tool("list")
        assert f"{TOPIC}-0" in told_by_tool("describe", "--transactional-id", "hanging")
        at = ["--topic", TOPIC, "--partition", "0"]
        assert str(pair[0]) in told_by_tool("describe-producers", *at)
        told_by_tool("abort", *at, "--start-offset", "0")
        producers = cluster.run(lambda inner: inner.state.find_partition(TOPIC, 0).producers)
        assert (producers.transactions.open, len(producers.transactions.aborted)) == ({}, 1)
