"""A producer in transactions, as scenarios tell of it, and what readers of its topics and offsets see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.answers.scenarios import fetch
from tests.answers.story import Fields, Story, Topic
from tests.answers.versions import VERSIONS

READ = {0: "read uncommitted", 1: "read committed"}
NAMED_MS = 100
"""Until then the broker's own times are taken for those that a scenario gives (tests/answers/normal.py)."""
ENDING = ("PrepareCommit", "PrepareAbort")
BUMPING = 5  # of EndTxn: from here on each transaction has an epoch of its own


def newest(api: str, version: int) -> int:
    """The version of an API that goes with one of another: the same, or the newest there is."""
    return min(version, VERSIONS[api][1])


@dataclass(slots=True)
class Producer:
    """A transactional id, with what its producer was given last."""

    story: Story
    name: str
    at: int
    id: int = -1
    epoch: int = -1
    sequence: int = 0

    @classmethod
    def of(cls, story: Story, short: str = "x") -> Producer:
        name = story.named(short)
        if story.driver.now_ms() - story.begun_ms <= NAMED_MS:
            story.wait(NAMED_MS + 1)
        return cls(story, name, story.coordinator(name, 1))

    @property
    def who(self) -> Fields:
        return {"transactionalId": self.name, "producerId": self.id, "producerEpoch": self.epoch}

    def init(self, step: str | None, version: int = 4, **fields: Any) -> Fields:
        wanted = {"transactionalId": self.name, "transactionTimeoutMs": 60_000, "producerId": -1, "producerEpoch": -1}
        given = self.story.ask(step, "InitProducerId", version, wanted | fields, to=self.at)
        self.take(given)
        return given

    def begun(self) -> Producer:
        """With a producer id, from a broker that has some by then."""

        def found() -> bool:
            return bool(self.init(None)["errorCode"] == 0)

        self.story.until(found, f"a producer id for {self.name}")
        return self

    def take(self, given: Fields) -> None:
        if given.get("errorCode") == 0 and given.get("producerId", -1) >= 0:
            if (given["producerId"], given["producerEpoch"]) != (self.id, self.epoch):
                self.sequence = 0
            self.id, self.epoch = given["producerId"], given["producerEpoch"]

    def add(self, step: str | None, topic: str, *indexes: int, version: int = 3, **fields: Any) -> Fields:
        topics = [{"name": topic, "partitions": list(indexes)}]
        to = fields.pop("to", self.at)
        return self.story.ask(step, "AddPartitionsToTxn", version, self.adding(version, topics, **fields), to=to)

    def adding(self, version: int, topics: list[Fields], *, verify: bool = False, **fields: Any) -> Fields:
        who = self.who | fields
        if version > 3:
            return {"transactions": [{**who, "verifyOnly": verify, "topics": topics}]}
        return {f"v3AndBelow{name[0].upper()}{name[1:]}": value for name, value in (who | {"topics": topics}).items()}

    def add_offsets(self, step: str | None, group: str, version: int = 3, **fields: Any) -> Fields:
        to = fields.pop("to", self.at)
        return self.story.ask(step, "AddOffsetsToTxn", version, self.who | {"groupId": group} | fields, to=to)

    def commit_offset(
        self, step: str | None, group: str, topic: Topic, index: int, offset: int, version: int = 3, **fields: Any
    ) -> Fields:
        partition = {"partitionIndex": index, "committedOffset": offset, "committedMetadata": ""}
        partition |= fields.pop("partition", {})
        to = fields.pop("to", None)
        wanted = {
            **self.who,
            "groupId": group,
            "generationIdOrMemberEpoch": -1,
            "memberId": "",
            "groupInstanceId": None,
            "topics": [{"name": topic.name, "topicId": topic.id, "partitions": [partition]}],
            **fields,
        }
        to = self.story.coordinator(group) if to is None else to
        return self.story.ask(step, "TxnOffsetCommit", version, wanted, to=to)

    def end(self, step: str | None, version: int = 3, *, commit: bool = True, **fields: Any) -> Fields:
        to = fields.pop("to", self.at)
        given = self.story.ask(step, "EndTxn", version, self.who | {"committed": commit} | fields, to=to)
        self.take(given)
        self.settled()
        return given

    def settled(self) -> None:
        """Wait until what was decided has its markers."""

        def done() -> bool:
            (state,) = self.story.quiet(
                "DescribeTransactions", 0, {"transactionalIds": [self.name]}, to=self.at, on="settle"
            )["transactionStates"]
            return state["transactionState"] not in ENDING

        self.story.until(done, f"the end of the transaction of {self.name}")

    def described(self, step: str) -> Fields:
        return self.story.ask(step, "DescribeTransactions", 0, {"transactionalIds": [self.name]}, to=self.at)

    def produce(
        self, step: str | None, topic: Topic, *values: bytes, index: int = 0, version: int = 9, **fields: Any
    ) -> Fields:
        """Write records in the transaction; ``fields`` of the batch, ``named`` for the request's transactional id."""
        count = len(values)
        named = fields.pop("named", self.name)
        batch = {
            "producer_id": self.id,
            "producer_epoch": self.epoch,
            "base_sequence": self.sequence,
            "transactional": True,
        }
        records = self.story.batch(*values, **(batch | fields))
        wanted = {
            "transactionalId": named,
            "acks": -1,
            "timeoutMs": 10_000,
            "topicData": [
                {"name": topic.name, "topicId": topic.id, "partitionData": [{"index": index, "records": records}]}
            ],
        }
        given = self.story.ask(step, "Produce", version, wanted, to=topic.leader(index))
        if given["responses"][0]["partitionResponses"][0]["errorCode"] == 0 and "base_sequence" not in fields:
            self.sequence += count
        return given


def read(story: Story, step: str, topic: Topic, level: int, offset: int = 0, version: int = 11, **more: Any) -> None:
    wanted = fetch.of(topic, fetch.at(offset, **more), isolationLevel=level)
    story.ask(f"{step}: {READ[level]}" if step else READ[level], "Fetch", version, wanted)


def fetch_offsets(story: Story, step: str, group: str, topic: Topic, *indexes: int, stable: bool = False) -> None:
    wanted = {
        "groupId": group,
        "topics": [{"name": topic.name, "partitionIndexes": list(indexes)}],
        "requireStable": stable,
    }
    story.ask(step, "OffsetFetch", 7, wanted, to=story.coordinator(group))


def producers_of(topic: Topic, *indexes: int) -> Fields:
    return {"topics": [{"name": topic.name, "partitionIndexes": list(indexes)}]}
