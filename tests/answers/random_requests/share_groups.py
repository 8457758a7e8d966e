"""A share group (KIP-932) of two members over one partition: what they acquire, acknowledge, and what becomes of it."""

from __future__ import annotations

import uuid
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from tests.answers.random_requests.turns import Turns
from tests.answers.scenarios.fetch import UNKNOWN_ID
from tests.answers.story import Fields

GROUP = 32
MEGABYTE = 1 << 20
SHARE_RECORDS = 6


@dataclass(slots=True)
class Sharer:
    """A member: its id, the group's epoch that it knows, and its share session's."""

    id: str
    epoch: int = 0
    session_epoch: int = 0


class ShareGroup(Turns):
    """The partition has its share state, and six records, before the first request."""

    OPERATIONS: ClassVar = {
        "fetch": 9,
        "acknowledge": 7,
        "heartbeat": 2,
        "describe": 1,
        "describe_offsets": 1,
        "alter_offsets": 0.4,
        "delete_offsets": 0.3,
        "commit": 0.3,
    }

    def begin(self, random: Random) -> None:
        self.topic = self.story.topic("t")
        self.group = self.story.named("g")
        self.to, self.leader = self.story.coordinator(self.group), self.topic.leader()
        self.story.settle()
        for number in range(SHARE_RECORDS):
            self.story.produced(self.topic, b"%d" % number)
        earliest = {"name": "share.auto.offset.reset", "configOperation": 0, "value": "earliest"}
        changes = [{"resourceType": GROUP, "resourceName": self.group, "configs": [earliest]}]
        self.story.quiet("IncrementalAlterConfigs", 1, {"resources": changes, "validateOnly": False})
        self.story.settle()
        self.story.wait(300)
        self.members = {}
        for number, slot in enumerate("ab"):
            member = urlsafe_b64encode(uuid.UUID(int=100 + number).bytes).decode()[:22]
            self.members[slot] = Sharer(member)
            self.story.names.know(member, f"<member {slot}>")
        self.join("a")
        self.story.until(self.is_ready, "records of a share partition")
        self.story.wait(400)

    def join(self, slot: str) -> None:
        member = self.members[slot]
        wanted = {
            "groupId": self.group,
            "memberId": member.id,
            "memberEpoch": 0,
            "rackId": None,
            "subscribedTopicNames": [self.topic.name],
        }
        member.epoch = self.story.quiet("ShareGroupHeartbeat", 1, wanted, to=self.to)["memberEpoch"]

    def is_ready(self) -> bool:
        """Whether the leader has the partition's share state by now; what it acquires is given back."""
        opened = self.story.quiet("ShareFetch", 1, self.fetching("a", 0, []), to=self.leader, on="first")
        self.story.quiet("ShareFetch", 1, self.fetching("a", -1, None), to=self.leader, on="first")
        topics = opened.get("responses") or []
        return any(one["errorCode"] == 0 and one["acquiredRecords"] for topic in topics for one in topic["partitions"])

    def fetching(self, slot: str, epoch: int, batches: list[Fields] | None, **limits: object) -> Fields:
        partitions = [{"partitionIndex": 0, "partitionMaxBytes": MEGABYTE, "acknowledgementBatches": batches}]
        return {
            "groupId": self.group,
            "memberId": self.members[slot].id,
            "shareSessionEpoch": epoch,
            "maxWaitMs": 0,
            "minBytes": 0,
            "maxBytes": MEGABYTE,
            "maxRecords": 500,
            "batchSize": 500,
            "shareAcquireMode": 0,
            "isRenewAck": False,
            "topics": [] if batches is None else [{"topicId": self.topic.id, "partitions": partitions}],
            "forgottenTopicsData": [],
            **limits,
        }

    def some_batches(self, random: Random, *, releases: bool = True) -> list[Fields]:
        found = []
        for _ in range(random.choice([1, 1, 2])):
            first = random.randrange(6)
            last = random.choice([first, first, first + 1, first + 2, 5, first - 1, 9])
            count = max(last - first + 1, 1)
            types = random.choice([[1], [1], [2], [3], [0], [4], [9], [1] * count, [2] * count, []])
            if not releases:
                types = [1 if one == 2 else one for one in types]
            found.append({"firstOffset": first, "lastOffset": last, "acknowledgeTypes": types})
        return found

    def some_epoch(self, random: Random, member: Sharer) -> int:
        other = random.choice([0, -1, member.session_epoch + 1, 5])
        return member.session_epoch if random.random() < 0.85 else other

    def taken(self, member: Sharer, epoch: int, answer: Fields) -> None:
        if answer.get("errorCode") == 0:
            member.session_epoch = 0 if epoch == -1 else epoch + 1
        if epoch == -1:
            self.story.wait(150)  # Kafka gives records back beside its answer

    def fetch(self, random: Random) -> None:
        slot, version = random.choice("ab"), random.choice([1, 2, 2])
        epoch = self.some_epoch(random, self.members[slot])
        # what a fetch releases becomes available beside it: whether it gets that itself is a race
        batches = self.some_batches(random, releases=False) if random.random() < 0.4 else None
        if batches is None and epoch != -1:
            batches = []
        wanted = self.fetching(slot, epoch, batches)
        if random.random() < 0.4:
            wanted |= {"maxRecords": random.choice([1, 2, 3, 0]), "batchSize": random.choice([1, 2])}
        if version >= 2 and random.random() < 0.4:
            wanted["shareAcquireMode"] = random.choice([0, 1, 1, 2])
        if version >= 2 and random.random() < 0.2:
            wanted["isRenewAck"] = True
        if random.random() < 0.1:
            wanted["topics"] = []
        if random.random() < 0.07 and wanted["topics"]:
            wanted["topics"][0]["topicId"] = UNKNOWN_ID
        if random.random() < 0.07:
            wanted["forgottenTopicsData"] = [{"topicId": self.topic.id, "partitions": [0]}]
        self.taken(
            self.members[slot], epoch, self.ask("ShareFetch", version, wanted, to=self.leader, on=f"member {slot}")
        )

    def acknowledge(self, random: Random) -> None:
        slot, version = random.choice("ab"), random.choice([1, 2, 2])
        epoch = self.some_epoch(random, self.members[slot])
        index = random.choice([0, 0, 0, 0, 7])
        partitions = [{"partitionIndex": index, "acknowledgementBatches": self.some_batches(random)}]
        topic_id = self.topic.id if random.random() < 0.95 else UNKNOWN_ID
        wanted = {
            "groupId": self.group,
            "memberId": self.members[slot].id,
            "shareSessionEpoch": epoch,
            "isRenewAck": random.random() < 0.15,
            "topics": [{"topicId": topic_id, "partitions": partitions}] if random.random() < 0.93 else [],
        }
        answer = self.ask("ShareAcknowledge", version, wanted, to=self.leader, on=f"member {slot}")
        self.taken(self.members[slot], epoch, answer)

    def heartbeat(self, random: Random) -> None:
        member = self.members[random.choice("ab")]
        epoch = member.epoch
        if random.random() < 0.2:
            epoch = random.choice([0, -1, epoch + 1, -2, epoch - 1])
        is_full = epoch <= 0 or random.random() < 0.2
        names = [self.topic.name]
        # which of two members gets which of two topics hangs on the topics' random ids
        subscribed = random.choice([names, names, names * 2, [], ["nope"], [*names, "nope"]])
        wanted = {
            "groupId": self.group,
            "memberId": member.id if random.random() < 0.95 else random.choice(["", "x"]),
            "memberEpoch": epoch,
            "rackId": random.choice([None, None, "a", ""]) if epoch <= 0 else None,
            "subscribedTopicNames": subscribed if is_full else None,
        }
        answer = self.ask("ShareGroupHeartbeat", 1, wanted, to=self.to)
        if answer.get("errorCode") == 0 and wanted["memberId"] == member.id:
            member.epoch = max(0, answer["memberEpoch"])
        self.story.wait(60)

    def describe(self, random: Random) -> None:
        self.ask("ShareGroupDescribe", 1, {"groupIds": [self.group]}, to=self.to)

    def describe_offsets(self, random: Random) -> None:
        right = {"topicName": self.topic.name, "partitions": [0]}
        wrong = [right, {"topicName": "nope", "partitions": [0]}]  # for an absent partition Kafka takes half a minute
        wanted = {"groups": [{"groupId": self.group, "topics": random.choice([None, [right], wrong])}]}
        self.ask("DescribeShareGroupOffsets", random.randrange(2), wanted, to=self.to)

    def alter_offsets(self, random: Random) -> None:
        partitions = [{"partitionIndex": 0, "startOffset": random.choice([0, 2, -1])}]
        topics = [{"topicName": random.choice([self.topic.name, "nope"]), "partitions": partitions}]
        self.ask("AlterShareGroupOffsets", 0, {"groupId": self.group, "topics": topics}, to=self.to)

    def delete_offsets(self, random: Random) -> None:
        topics = [{"topicName": random.choice([self.topic.name, "nope"])}]
        self.ask("DeleteShareGroupOffsets", 0, {"groupId": self.group, "topics": topics}, to=self.to)

    def commit(self, random: Random) -> None:
        partition = {"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}
        topics = [{"name": self.topic.name, "topicId": self.topic.id, "partitions": [partition]}]
        wanted = {"groupId": self.group, "generationIdOrMemberEpoch": -1, "memberId": "", "topics": topics}
        self.ask("OffsetCommit", random.randrange(2, 11), wanted, to=self.to)
