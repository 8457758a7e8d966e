"""Two producers with transactional ids, a topic, and a group whose offsets they commit."""

from __future__ import annotations

from random import Random
from typing import Any, ClassVar

from kafka_rack.java import string_hash
from tests.answers.random_requests.turns import Turns
from tests.answers.scenarios import fetch
from tests.answers.scenarios.transactions import Producer, producers_of
from tests.answers.story import Fields, mine

MINUTE_MS = 60_000


class Transactions(Turns):
    """The producers' own ids and epochs, mixed with overtaken ones, those to come, and each other's."""

    OPERATIONS: ClassVar = {
        "init": 3,
        "add_partitions": 4,
        "add_offsets": 3,
        "commit_offset": 5,
        "produce": 6,
        "end_transaction": 6,
        "describe": 3,
        "list_transactions": 1,
        "describe_producers": 2,
        "read": 2,
        "fetch_offsets": 2,
        "commit_beside": 1,
        "delete_offsets": 0.7,
        "delete_group": 0.7,
        "describe_group": 1,
        "write_markers": 0.7,
        "add_many": 1.5,
    }
    LENGTH: ClassVar = 40

    def begin(self, random: Random) -> None:
        self.topic = self.story.topic("t", partitions=2)
        self.group = self.story.named("g")
        first, second, self.nobody = self.beside_each_other(3)
        self.producers = [Producer.of(self.story, short).begun() for short in (first, second)]
        self.pairs = {one.name: [(one.id, one.epoch)] for one in self.producers}
        self.sequences: dict[tuple[int, int, int], int] = {}
        self.to = self.story.coordinator(self.group)

    def beside_each_other(self, count: int) -> list[str]:
        """Names in one partition of ``__transaction_state``: who leads the others is chance."""
        partitions = int(self.SETTINGS["transaction.state.log.num.partitions"])
        found = [one for one in map("x{}".format, range(100)) if self.hash_of(one) % partitions == 0]
        return found[:count]

    def hash_of(self, short: str) -> int:
        return string_hash(self.story.named(short)) & 0x7FFFFFFF

    def remember(self) -> None:
        """Wait for what is being ended, and keep what the producers were given."""
        for one in self.producers:
            one.settled()
            if (one.id, one.epoch) not in self.pairs[one.name]:
                self.pairs[one.name].append((one.id, one.epoch))

    def who(self, random: Random) -> tuple[Producer, Fields]:
        one = random.choice(self.producers)
        producer_id, epoch = self.pair(random, one)
        return one, {"producerId": producer_id, "producerEpoch": epoch}

    def pair(self, random: Random, one: Producer) -> tuple[int, int]:
        roll, other = random.random(), random.random()
        mine = self.pairs[one.name]
        producer_id, epoch = mine[-1]
        if roll < 0.62:
            return mine[-1]
        if roll < 0.8:
            return mine[int(other * len(mine))]
        if roll < 0.9:
            return producer_id, epoch + (1 if roll < 0.85 else -1)
        if roll < 0.95:
            neighbour = self.producers[1 - self.producers.index(one)]
            theirs = self.pairs[neighbour.name]
            return theirs[-1] if other < 0.6 else theirs[int(other * len(theirs))]
        return random.choice([(-1, -1), (producer_id, -1), (producer_id + 9_999, 0)])

    def topics(self, random: Random) -> list[Fields]:
        names = [self.topic.name] * 9 + ["nope", "a b", "__consumer_offsets"]
        return [
            {"name": random.choice(names), "partitions": random.choice([[0], [1], [0, 1], [0, 0], [9], []])}
            for _ in range(random.choice([1, 1, 1, 1, 2, 0]))
        ]

    def init(self, random: Random) -> None:
        one, version = random.choice(self.producers), random.choice([0, 1, 2, 3, 4, 4, 5, 5])
        fields: Fields = {"transactionalId": one.name, "transactionTimeoutMs": MINUTE_MS}
        fields |= {"producerId": -1, "producerEpoch": -1}
        if random.random() < 0.6 and version >= 3:
            fields["producerId"], fields["producerEpoch"] = self.pair(random, one)
        if random.random() < 0.1:
            fields["transactionTimeoutMs"] = random.choice([0, -1, 900_001, 5_000, 900_000])
        if random.random() < 0.03:
            fields["transactionalId"] = ""
        one.take(self.ask("InitProducerId", version, fields, to=one.at))
        self.remember()

    def add_partitions(self, random: Random) -> None:
        one, who = self.who(random)
        version, topics, verify = random.randrange(6), self.topics(random), random.random() < 0.5
        self.ask("AddPartitionsToTxn", version, one.adding(version, topics, verify=verify, **who), to=one.at)

    def add_many(self, random: Random) -> None:
        """Several transactions in one request."""
        found = []
        for _ in range(random.choice([1, 2, 2, 3])):  # without any, Kafka gives no answer
            one, who = self.who(random)
            if any(each["transactionalId"] == one.name for each in found) and random.random() < 0.8:
                continue
            found.append(
                {
                    "transactionalId": one.name if random.random() < 0.9 else self.story.named(self.nobody),
                    **who,
                    "verifyOnly": random.random() < 0.5,
                    "topics": self.topics(random),
                }
            )
        version, to = random.choice([4, 5]), random.choice(self.producers).at
        self.ask("AddPartitionsToTxn", version, {"transactions": found}, to=to)

    def add_offsets(self, random: Random) -> None:
        one, who = self.who(random)
        group, version = random.choice([self.group, self.group, ""]), random.randrange(5)
        self.ask("AddOffsetsToTxn", version, {"transactionalId": one.name, "groupId": group, **who}, to=one.at)

    def commit_offset(self, random: Random) -> None:
        one, who = self.who(random)
        partition: Fields = {
            "partitionIndex": random.choice([0, 0, 1, 1, 7]),
            "committedOffset": random.choice([1, 2, 3, -1, 50]),
            "committedMetadata": "",
        }
        if random.random() < 0.1:
            partition["committedMetadata"] = random.choice([None, "x" * 4097, "ü"])
        member: Fields = {"memberId": "", "generationIdOrMemberEpoch": -1, "groupInstanceId": None}
        if random.random() < 0.15:
            member["memberId"] = random.choice(["m", ""])
            member["generationIdOrMemberEpoch"] = random.choice([0, 1, -1])
        topics = [{"name": self.topic.name, "topicId": self.topic.id, "partitions": [partition]}]
        wanted = {"transactionalId": one.name, "groupId": self.group, **who, **member, "topics": topics}
        self.ask("TxnOffsetCommit", random.randrange(7), wanted, to=self.to)

    def produce(self, random: Random) -> None:
        one, who = self.who(random)
        index, version = random.randrange(2), random.choice([3, 7, 8, 9, 10, 11, 12, 12, 12, 13])
        batch: Fields = {"producer_id": who["producerId"], "producer_epoch": who["producerEpoch"]}
        if batch["producer_id"] < 0:
            batch = {"producer_id": one.id, "producer_epoch": one.epoch}
        key = batch["producer_id"], batch["producer_epoch"], index
        batch["base_sequence"] = self.sequences.get(key, 0)
        if random.random() < 0.12:
            due = batch["base_sequence"]
            batch["base_sequence"] = random.choice([0, due + 1, max(due - 1, 0)])
        batch["transactional"] = random.random() >= 0.07
        wanted = {
            "transactionalId": None if random.random() < 0.05 else one.name,
            "acks": -1,
            "timeoutMs": 10_000,
            "topicData": [
                {
                    "name": self.topic.name,
                    "topicId": self.topic.id,
                    "partitionData": [{"index": index, "records": self.story.batch(b"v", **batch)}],
                }
            ],
        }
        given = self.ask("Produce", version, wanted, to=self.topic.leader(index))
        if given["responses"][0]["partitionResponses"][0]["errorCode"] == 0:
            self.sequences[key] = batch["base_sequence"] + 1

    def end_transaction(self, random: Random) -> None:
        one, who = self.who(random)
        version, committed = random.choice([0, 1, 2, 3, 4, 4, 5, 5, 5]), random.random() < 0.5
        one.take(self.ask("EndTxn", version, {"transactionalId": one.name, **who, "committed": committed}, to=one.at))
        self.remember()

    def write_markers(self, random: Random) -> None:
        _, who = self.who(random)
        topics = [
            {"name": random.choice([self.topic.name] * 4 + ["nope"]), "partitionIndexes": [random.choice([0, 0, 1, 9])]}
            for _ in range(random.choice([1, 1, 0]))
        ]
        marker = {
            **who,
            "transactionResult": random.random() < 0.5,
            "topics": topics,
            "coordinatorEpoch": random.choice([0, 0, 1, -1]),
            "transactionVersion": random.choice([0, 1, 2]),
        }
        self.ask("WriteTxnMarkers", random.choice([1, 2]), {"markers": [marker]}, to=self.topic.leader(0))

    def describe(self, random: Random) -> None:
        one = random.choice(self.producers)
        names = random.choice([[one.name]] * 4 + [[one.name, one.name], [self.story.named(self.nobody)], []])
        self.ask("DescribeTransactions", 0, {"transactionalIds": names}, to=one.at)

    def list_transactions(self, random: Random) -> None:
        wanted = {
            "stateFilters": random.choice([[], [], ["Ongoing"], ["Empty", "CompleteCommit"], ["nope"], ["ongoing"]]),
            "producerIdFilters": random.choice([[], [], [self.producers[0].id], [-1]]),
            "durationFilter": random.choice([-1, -1, MINUTE_MS]),
            "transactionalIdPattern": random.choice([None, None, "", ".*", "nope", "["]),
        }
        to = random.choice(self.producers).at
        mine_only = mine(self.story, "transactionStates")
        self.ask("ListTransactions", random.randrange(3), wanted, to=to, only=mine_only)

    def describe_producers(self, random: Random) -> None:
        index = random.randrange(2)

        def states(answer: Any) -> Any:
            names = ("producerEpoch", "lastSequence", "coordinatorEpoch", "currentTxnStartOffset")
            (partition,) = answer["topics"][0]["partitions"]
            return {"active": sorted([one[name] for name in names] for one in partition["activeProducers"])}

        self.ask("DescribeProducers", 0, producers_of(self.topic, index), to=self.topic.leader(index), only=states)

    def read(self, random: Random) -> None:
        index, version = random.randrange(2), random.choice([4, 11, 12, 13, 18])
        start, level = random.randrange(4), random.randrange(2)
        wanted = fetch.of(self.topic, {"partition": index, "fetchOffset": start}, isolationLevel=level)
        self.ask("Fetch", version, wanted, to=self.topic.leader(index))

    def fetch_offsets(self, random: Random) -> None:
        topics = [{"name": self.topic.name, "partitionIndexes": random.choice([[0], [0, 1]])}]
        wanted = {"groupId": self.group, "topics": topics, "requireStable": random.random() < 0.6}
        self.ask("OffsetFetch", 7, wanted, to=self.to)

    def commit_beside(self, random: Random) -> None:
        """An offset outside of transactions."""
        partition = {
            "partitionIndex": random.randrange(2),
            "committedOffset": random.randrange(60, 70),
            "committedMetadata": "",
            "committedLeaderEpoch": -1,
        }
        topics = [{"name": self.topic.name, "topicId": self.topic.id, "partitions": [partition]}]
        wanted = {"groupId": self.group, "generationIdOrMemberEpoch": -1, "memberId": "", "topics": topics}
        self.ask("OffsetCommit", random.randrange(2, 11), wanted, to=self.to)

    def delete_offsets(self, random: Random) -> None:
        topics = [{"name": self.topic.name, "partitions": [{"partitionIndex": random.randrange(2)}]}]
        self.ask("OffsetDelete", 0, {"groupId": self.group, "topics": topics}, to=self.to)

    def delete_group(self, random: Random) -> None:
        self.ask("DeleteGroups", random.randrange(4), {"groupsNames": [self.group]}, to=self.to)

    def describe_group(self, random: Random) -> None:
        self.ask("DescribeGroups", random.choice([5, 6]), {"groups": [self.group]}, to=self.to)
