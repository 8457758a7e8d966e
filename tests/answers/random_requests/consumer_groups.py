"""A group of the consumer protocol (KIP-848): three members, two topics, and requests of the classic protocol too."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

from tests.answers.random_requests.assigned_groups import AssignedGroup
from tests.answers.scenarios.fetch import UNKNOWN_ID
from tests.answers.story import Fields, Topic, mine

FENCED = (25, 110)  # UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH


@dataclass(slots=True)
class Member:
    """What a member was told last: its epoch, and the partitions that it has by topic id."""

    epoch: int = 0
    owned: dict[str, list[int]] = field(default_factory=dict)

    def told(self, answer: Fields) -> None:
        if answer.get("errorCode") == 0:
            self.epoch = max(answer["memberEpoch"], 0)
            if answer["memberEpoch"] < 0:
                self.owned = {}
            if answer["assignment"]:
                partitions = answer["assignment"]["topicPartitions"]
                self.owned = {one["topicId"]: sorted(one["partitions"]) for one in partitions}
        elif answer.get("errorCode") in FENCED:
            self.epoch, self.owned = 0, {}

    @property
    def partitions(self) -> list[Fields]:
        return [{"topicId": topic, "partitions": some} for topic, some in self.owned.items()]


class ConsumerGroup(AssignedGroup):
    """Members b has an instance id; all forget, repeat and run ahead now and then."""

    OPERATIONS: ClassVar = {
        "heartbeat": 9,
        "right_heartbeat": 5,
        "commit": 2,
        "fetch": 2,
        "delete_offsets": 0.6,
        "delete_group": 0.4,
        "describe": 2,
        "describe_as_other": 0.8,
        "list_groups": 0.6,
        "ask_as_classic": 1.2,
    }
    WRONG_EPOCHS: ClassVar = 0.25

    def begin(self, random: Random) -> None:
        super().begin(random)
        self.members = {slot: Member() for slot in "abc"}

    def heartbeat(self, random: Random) -> None:
        slot, version = random.choice("abc"), random.randrange(2)
        member = self.members[slot]
        first, second = (topic.name for topic in self.topics)
        epoch = member.epoch
        if random.random() < 0.12:
            epoch = random.choice([0, -1, -2, epoch - 1, epoch + 1, -3])
        is_full = epoch == 0 or random.random() < 0.25
        is_right = random.random() < 0.85
        partitions = random.choice([member.partitions] * 6 + [[]] * 2 + [None] * 2)
        full: Fields = {
            "rackId": random.choice([None] * 4 + ["a", "b", ""]),
            "rebalanceTimeoutMs": random.choice([-1] * 6 + [60_000]),
            "subscribedTopicNames": random.choice(
                [[first], [first], [first, second], [second], [], ["nope"], [first] * 2, None]
            ),
            "serverAssignor": random.choice([None] * 5 + ["uniform", "range", "nope", ""]),
            "subscribedTopicRegex": random.choice([None] * 6 + [f"{self.story.prefix}.*", "[", ""]),
        }
        if member.epoch == epoch == 0 and is_right:
            full["rebalanceTimeoutMs"] = 60_000
            partitions = partitions or []
        wanted = {
            "groupId": self.group,
            "memberId": slot if random.random() < 0.97 else random.choice(["" if version else "zz", "zz"]),
            "memberEpoch": epoch,
            "instanceId": ("i1" if slot == "b" else None) if is_right else random.choice(["i1", "i2", ""]),
            "rebalanceTimeoutMs": -1,
            "topicPartitions": partitions,
            **(full if is_full else {}),
        }
        if version == 0:
            wanted.pop("subscribedTopicRegex", None)
        self.tell(slot, version, wanted)

    def right_heartbeat(self, random: Random) -> None:
        slot = random.choice("abc")
        member = self.members[slot]
        if member.epoch <= 0:
            self.heartbeat(random)
            return
        wanted = {
            "groupId": self.group,
            "memberId": slot,
            "memberEpoch": member.epoch,
            "instanceId": "i1" if slot == "b" else None,
            "rebalanceTimeoutMs": -1,
            "topicPartitions": member.partitions,
        }
        self.tell(slot, 1, wanted)

    def tell(self, slot: str, version: int, wanted: Fields) -> None:
        answer = self.ask("ConsumerGroupHeartbeat", version, wanted, to=self.to)
        if wanted["memberId"] == slot:
            self.members[slot].told(answer)
        self.story.wait(20)  # Kafka resolves regular expressions beside its requests

    def id_of(self, topic: Topic, random: Random) -> str:
        return topic.id if random.random() < 0.9 else UNKNOWN_ID

    def commit(self, random: Random) -> None:
        version, topic = random.randrange(2, 11), random.choice(self.topics)
        member, epoch = self.who(random)
        partitions = [
            {
                "partitionIndex": index,
                "committedOffset": random.choice([1, 2, 9]),
                "committedLeaderEpoch": -1,
                "committedMetadata": random.choice(["", None, "x"]),
            }
            for index in random.choice([[0], [1], [0, 1]])
        ]
        topic_id = topic.id if random.random() < 0.9 else UNKNOWN_ID
        wanted = {
            "groupId": self.group,
            "generationIdOrMemberEpoch": epoch,
            "memberId": member,
            "groupInstanceId": random.choice([None, None, None, "i1", ""]) if version >= 7 else None,
            "topics": [{"name": topic.name, "topicId": topic_id, "partitions": partitions}],
        }
        self.ask("OffsetCommit", version, wanted, to=self.to)

    def describe(self, random: Random) -> None:
        version, times = random.randrange(2), random.choice([1, 1, 1, 2])
        wanted = {"groupIds": [self.group] * times, "includeAuthorizedOperations": random.random() < 0.2}
        self.ask("ConsumerGroupDescribe", version, wanted, to=self.to)

    def describe_as_other(self, random: Random) -> None:
        api, version = random.choice(
            [
                *(("DescribeGroups", number) for number in range(7)),
                ("ShareGroupDescribe", 1),
                ("StreamsGroupDescribe", 0),
            ]
        )
        wanted = {"groups": [self.group]} if api == "DescribeGroups" else {"groupIds": [self.group]}
        self.ask(api, version, wanted, to=self.to)

    def list_groups(self, random: Random) -> None:
        wanted = {
            "statesFilter": random.choice([[], ["Stable"], ["Empty"], ["reconciling", "assigning"]]),
            "typesFilter": random.choice([[], ["consumer"], ["Consumer", "classic"]]),
        }
        self.ask("ListGroups", random.choice([4, 5]), wanted, to=self.to, only=mine(self.story, "groups"))

    def ask_as_classic(self, random: Random) -> None:
        member, epoch = self.who(random)
        api, version, fields = random.choice(
            [
                ("Heartbeat", 3, {"generationId": epoch, "memberId": member}),
                ("SyncGroup", 3, {"generationId": epoch, "memberId": member, "assignments": []}),
                (
                    "LeaveGroup",
                    4,
                    {"members": [{"memberId": member, "groupInstanceId": random.choice([None, "i1"])}]},
                ),
                (
                    "JoinGroup",
                    6,
                    {
                        "sessionTimeoutMs": 30_000,
                        "rebalanceTimeoutMs": 60_000,
                        "memberId": "zzz",
                        "protocolType": "connect",
                        "protocols": [{"name": "x", "metadata": b"d"}],
                    },
                ),
            ]
        )
        self.ask(api, version, {"groupId": self.group, **fields}, to=self.to)
