"""What a real cluster answered to requests of transactions, held against what ours answers to the same."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from itertools import groupby
from typing import Any

import pytest

import protocol
from mockbroker.core.simulation import Simulation
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from protocol.apis.producer_ids import InitProducerIdRequest
from protocol.apis.transactions import AddOffsetsToTxnRequest
from protocol.records import Record, build_batch, iter_batches, iter_records
from tests.answers.normal import batch_fields
from tests.answers.story import message_of
from tests.fixture_data import transactions_of_kafka
from tests.transaction_driver import OLD, TransactionalProducer
from tests.unit.mockbroker.handlers.records import produce_request

RECORDED = [
    (scenario, list(steps)) for scenario, steps in groupby(transactions_of_kafka(), key=lambda line: line["scenario"])
]
LEFT_OUT = (
    {"epoch": -1, "endOffset": -1},
    {"endOffset": -1, "epoch": -1},
    {"leaderId": -1, "leaderEpoch": -1},
    [],
)
"""Tagged fields at their defaults, which Kafka's recorder wrote down."""
RANDOM = re.compile(r"<.*>|T\+\d+")


class Story:
    """A scenario as it was recorded: which producers there were, and what happened before a step.

    Names follow the scenario's: topic ``txn-v2.t``, transactional id ``txn-v2.x``, group ``txn-v2.g`` of ``txn v2``.
    """

    def __init__(self, scenario: str) -> None:
        self.name = re.sub(r"[ /]", "-", scenario)
        self.sim = Simulation()
        self.topic = self.sim.cluster.replication_control.create(f"{self.name}.t", 5, 3)
        self.producer = TransactionalProducer(self.sim, f"{self.name}.x", version=OLD)
        self.other = TransactionalProducer(self.sim, f"{self.name}.open", version=OLD)
        self.sequences: dict[int, int] = {}
        self.literal_id: int | None = None  # how the recorded requests write the producer's id

    # what happened before the first recorded step, and before some others

    def before(self, step: str) -> None:
        happened = BEFORE.get((self.kind, step))
        if happened is not None:
            happened(self)

    @property
    def kind(self) -> str:
        return re.sub(r"-v\d+$", "", self.name)

    def send(self, producer: TransactionalProducer, *values: bytes) -> None:
        assert producer.send(*values, topic=self.topic.name, timestamp=0) == 0

    def end(self, *, commit: bool) -> None:
        self.sim.advance(ms=1)
        assert self.producer.end(commit=commit) == 0

    def add_all(self, *indexes: int) -> None:
        assert self.producer.add(*indexes, topic=self.topic.name) == 0

    def produce_plain(self, value: bytes, **fields: Any) -> None:
        records = build_batch([Record(value=value, timestamp=0)], **fields)
        request = produce_request(records, topic=self.topic.name)
        answer = self.sim.ask(request, version=9, broker=self.topic.partitions[0].leader)
        assert answer.responses[0].partition_responses[0].error_code == 0

    # a step

    def ask(self, line: dict[str, Any]) -> Any:
        text = line["request"]
        if text.endswith("..."):  # cut off in metadata that are too long, of the last partition
            text = text.removesuffix("...") + '..."}]}]}'
        wanted = self.fill_in(json.loads(text), line)
        version = line["version"]
        request = request_of(line["api"] + "Request", version, wanted)
        answer = self.sim.ask(request, version=version, broker=self.broker_of(line, wanted))
        return protocol.to_json(answer, version)

    def fill_in(self, wanted: dict[str, Any], line: dict[str, Any]) -> dict[str, Any]:
        """The request with our ids in place of the recorded ones, and with records."""
        producer_id = self.producer.producer_id
        for field in ("producerId", "v3AndBelowProducerId"):
            if field in wanted and wanted[field] != -1:
                literal = wanted[field]
                if not isinstance(literal, str):
                    self.literal_id = self.literal_id or literal
                    literal = "<producer 1>" if literal == self.literal_id else "another"
                wanted[field] = producer_id if literal == "<producer 1>" else producer_id + 999
        if "producerIdFilters" in wanted:
            wanted["producerIdFilters"] = [
                producer_id + (5000 if "unknown" in line["step"] else 0) for _ in wanted["producerIdFilters"]
            ]
        for topic in wanted.get("topics", []) + wanted.get("topicData", []):
            if isinstance(topic, dict) and str(topic.get("topicId", "")).startswith("<id"):
                topic["topicId"] = urlsafe_b64encode(self.topic.id).decode().rstrip("=")
            for partition in topic.get("partitions", []) if isinstance(topic, dict) else []:
                if isinstance(partition, dict) and partition.get("timestamp") == "T+0":
                    partition["timestamp"] = 0
                if isinstance(partition, dict) and str(partition.get("committedMetadata", "")).endswith("..."):
                    partition["committedMetadata"] = "m" * 5000
            for partition in topic.get("partitionData", []):
                records = self.records(line["step"], partition["index"])
                partition["records"] = b64encode(records).decode()
        return wanted

    def records(self, step: str, index: int) -> bytes:
        """The batch that a step of Produce sent: what its words say."""
        producer = {"producer_id": self.producer.producer_id, "producer_epoch": 0, "transactional": True}
        sequence = self.sequences.get(index, 0)
        values = [b"x"]
        if "produce to" in step:
            values = [b"0" if "committed" in step else b"1", b"x"]
        elif "without the transactional bit" in step:
            producer["transactional"] = False
        elif "another producer" in step:
            producer["producer_id"] += 999
        elif "an old epoch" in step:
            producer["producer_epoch"] = -1
        elif "a later epoch" in step:
            producer["producer_epoch"] = 5
        elif "a gap" in step:
            sequence += 7
        elif "a plain batch" in step:
            producer, sequence = {}, -1
        if "produce to" in step or "one that was" in step:
            self.sequences[index] = sequence + len(values)
        records = [Record(value=value, timestamp=0) for value in values]
        return build_batch(records, base_sequence=sequence, **producer)

    def broker_of(self, line: dict[str, Any], wanted: dict[str, Any]) -> int:
        cluster = self.sim.cluster
        api, step = line["api"], line["step"]
        if api in ("Produce", "Fetch", "ListOffsets"):
            topic = (wanted.get("topics") or wanted["topicData"])[0]
            partition = (topic.get("partitions") or topic["partitionData"])[0]
            index = next(partition[name] for name in ("partition", "partitionIndex", "index") if name in partition)
            return self.topic.partitions[index].leader
        if api == "DescribeProducers":
            leader = self.topic.partitions[0].leader
            return (leader + 1) % 3 if "another broker" in step else leader
        if api in ("OffsetFetch", "OffsetCommit", "TxnOffsetCommit"):
            topic, key = OFFSETS_TOPIC, wanted["groupId"]
        else:
            topic = TRANSACTIONS_TOPIC
            key = wanted.get("transactionalId") or wanted.get("v3AndBelowTransactionalId") or self.producer.id
        right = cluster.internal_topics.coordinator(key, topic).id
        return (right + 1) % 3 if "not the coordinator" in step else right


def request_of(name: str, version: int, fields: dict[str, Any]) -> Any:
    """A request without the fields that its version does not have; those are written as the newest version has them."""
    if "generationId" in fields:
        fields["generationIdOrMemberEpoch"] = fields.pop("generationId")  # its name since 4.4
    return message_of(name, version, fields)


def several_transactions(story: Story) -> None:
    """An aborted one, a plain record, a committed one, an aborted one, one that is open, a plain record."""
    for producer in (story.producer, story.other):
        assert producer.init() == 0
    story.send(story.producer, b"a1", b"a2")
    story.end(commit=False)
    story.produce_plain(b"plain")
    story.send(story.producer, b"c1")
    story.end(commit=True)
    story.send(story.producer, b"a3")
    story.end(commit=False)
    story.send(story.other, b"open")
    story.produce_plain(b"behind")


def initialised(story: Story) -> None:
    assert story.producer.init() == 0


def with_group(story: Story) -> None:
    request = AddOffsetsToTxnRequest(
        transactional_id=story.producer.id, producer_id=story.producer.producer_id, producer_epoch=0
    )
    request.group_id = f"{story.name}.g"
    assert story.sim.ask(request, version=0, broker=story.producer.coordinator).error_code == 0


def with_partition(story: Story) -> None:
    initialised(story)
    story.add_all(0)


def with_record(story: Story) -> None:
    initialised(story)
    story.send(story.producer, b"x")


def taken_over(story: Story) -> None:
    """The other instance tries again, until the transaction before is aborted."""
    request = InitProducerIdRequest(transactional_id=story.producer.id, transaction_timeout_ms=60_000)
    assert story.sim.ask(request, version=4, broker=story.producer.coordinator).error_code == 0


def with_four_of_five(story: Story) -> None:
    initialised(story)
    story.add_all(1, 2, 3, 4)


def begun(story: Story) -> None:
    story.add_all(0, 1)
    story.send(story.producer, b"x")


def committed(story: Story) -> None:
    story.end(commit=True)


def and_an_idempotent_one(story: Story) -> None:
    new_id = story.sim.cluster.producers.new_id()
    for sequence in (0, 1):
        story.produce_plain(b"y", producer_id=new_id, producer_epoch=0, base_sequence=sequence)


BEFORE: dict[tuple[str, str], Any] = {
    ("txn-read-committed", "first"): several_transactions,
    ("txn-read-committed", "read committed, all ended"): lambda story: story.other.end(),
    ("txn-add-offsets", "first"): initialised,
    ("txn-commit-offsets", "first"): initialised,
    ("txn-commit-offsets", "right"): with_group,
    ("txn-end", "first"): with_partition,
    ("txn-fencing", "first"): with_record,
    ("txn-produce", "first"): with_four_of_five,
    ("txn-listed", "first"): with_partition,
    ("txn-described", "first"): initialised,
    ("txn-described", "under way"): begun,
    ("txn-described", "committed"): committed,
    ("txn-described", "and an idempotent one"): and_an_idempotent_one,
}


@pytest.mark.parametrize(("scenario", "steps"), RECORDED, ids=[scenario for scenario, _ in RECORDED])
def test_transactions_are_answered_as_a_real_cluster_answers_them(scenario, steps):
    story = Story(scenario)
    story.before("first")
    seen: set[str] = set()
    for number, line in enumerate(steps):
        step = line["step"].partition(", ")[2]
        if step not in seen and not (line["api"] == "DescribeProducers" and step == "under way"):
            story.before(step)
        seen.add(step)
        if story.kind == "txn-fencing" and number == 1:
            taken_over(story)
        answer = story.ask(line)
        if story.kind == "txn" and line["api"] == "InitProducerId":
            story.producer.producer_id, story.producer.epoch = answer["producerId"], answer["producerEpoch"]
        assert_equal(line["answer"], answer, line)


def assert_equal(expected: Any, given: Any, line: dict[str, Any], path: str = "") -> None:
    """Every recorded field is the same in ours; names of random values and times stand for any."""
    where = f"{line['step']}{path}: expected {expected}, got {given}"
    if path.endswith(".records") and not isinstance(given, list):
        given = opened(given)
    if isinstance(expected, str) and RANDOM.fullmatch(expected):
        return
    if path.endswith("essage"):
        assert (expected is None) == (given is None), where
    elif isinstance(expected, dict) and "codes" in expected:
        assert [bool(one["errorCode"]) for one in given["transactionStates"]] == expected["codes"], where
    elif isinstance(expected, dict):
        for name, value in expected.items():
            if name in given:
                assert_equal(value, given[name], line, f"{path}.{name}")
            else:
                assert value in LEFT_OUT, f"{where}: no field {name}"
    elif isinstance(expected, list):
        given = in_order(given)
        assert len(expected) == len(given), where
        for index, (one, other) in enumerate(zip(in_order(expected), given, strict=True)):
            assert_equal(one, other, line, f"{path}[{index}]")
    else:
        assert expected == given, where


def in_order(values: list[Any]) -> list[Any]:
    """Lists whose order Kafka does not promise, in ours."""
    for name in ("partitionIndex", "lastSequence"):
        if values and isinstance(values[0], dict) and name in values[0]:
            return sorted(values, key=lambda value: value[name])
    return values


def opened(records: str | None) -> list[Any]:
    """Records as the fixture has them."""
    data = b64decode(records or "")
    batches = []
    for header in iter_batches(data):
        own = [record for record in iter_records(data) if record.batch == header]
        batches.append(
            {
                **batch_fields(header),
                "crcRight": True,
                "records": [],
            }
        )
        for record in own:
            batches[-1]["records"].append(
                {
                    "at": record.timestamp - header.base_timestamp,
                    "delta": record.offset - header.base_offset,
                    "key": text_of(record.key, hexadecimal=record.is_control),
                    "value": text_of(record.value, hexadecimal=record.is_control),
                }
            )
    return batches


def text_of(data: bytes | None, *, hexadecimal: bool) -> str | None:
    if data is None:
        return None
    return "0x" + data.hex() if hexadecimal else data.decode()
