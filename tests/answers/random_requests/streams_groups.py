"""A Streams group (KIP-1071) of three members whose topology has state: joins, tasks, leaves, offsets."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar

from tests.answers.random_requests.assigned_groups import AssignedGroup
from tests.answers.scenarios.streams_groups import subtopology, topic_info, topology
from tests.answers.story import Fields, mine

FENCED = (25, 110)  # UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH
ROLES = ("activeTasks", "standbyTasks", "warmupTasks")
GROUP = 32
MISSING_INTERNAL_TOPICS = 3


@dataclass(slots=True)
class Member:
    """What a member was told last: its epoch, and the tasks that it has by role."""

    epoch: int = 0
    tasks: Fields = field(default_factory=lambda: {role: [] for role in ROLES})

    def told(self, answer: Fields) -> None:
        if answer.get("errorCode") == 0:
            self.epoch = max(answer["memberEpoch"], 0)
            if self.epoch == 0:
                self.tasks = {role: [] for role in ROLES}
            for role in ROLES:
                if answer[role] is not None:
                    self.tasks[role] = answer[role]
        elif answer.get("errorCode") in FENCED:
            self.epoch, self.tasks = 0, {role: [] for role in ROLES}


class StreamsGroup(AssignedGroup):
    """Two source topics are there, the topics that the topology has made are its own."""

    OPERATIONS: ClassVar = {
        "right_heartbeat": 8,
        "heartbeat": 7,
        "commit": 2,
        "fetch": 1.5,
        "delete_offsets": 0.6,
        "delete_group": 0.4,
        "describe": 3,
        "describe_as_other": 0.6,
        "list_groups": 0.6,
        "ask_as_classic": 0.8,
        "set_standbys": 0.6,
    }
    WRONG_EPOCHS: ClassVar = 0.3

    def begin(self, random: Random) -> None:
        super().begin(random)
        self.members = {slot: Member() for slot in "abc"}
        self.topology = random.choice(self.topologies())

    def topologies(self) -> list[Fields]:
        first, second = (topic.name for topic in self.topics)
        log, sink = f"{self.group}-changelog", f"{self.group}-repartition"
        stateful: dict[str, Any] = {"stateChangelogTopics": [topic_info(log, cleanup_policy="compact")]}
        return [
            topology(subtopology(0, first)),
            topology(subtopology(0, first), subtopology(1, second)),
            topology(subtopology(0, first, second)),
            topology(subtopology(0, first, **stateful)),
            topology(
                subtopology(0, first, repartitionSinkTopics=[sink]),
                subtopology(1, repartitionSourceTopics=[topic_info(sink)], **stateful),
            ),
            topology(subtopology(0, f"{self.story.prefix}.nope")),
        ]

    def heartbeat(self, random: Random) -> None:
        slot, version = random.choice("abc"), random.randrange(2)
        member = self.members[slot]
        epoch = member.epoch
        if random.random() < 0.15:
            epoch = random.choice([0, -1, -2, epoch - 1, epoch + 1, -3])
        joins = epoch == 0
        tasks = random.choice([member.tasks] * 6 + [{role: [] for role in ROLES}] + [dict.fromkeys(ROLES)])
        other = random.choice(self.topologies())
        wanted: Fields = {
            "groupId": self.group,
            "memberId": slot if random.random() < 0.97 else random.choice(["", "zz"]),
            "memberEpoch": epoch,
            "endpointInformationEpoch": random.choice([0, 0, 1, 2]),
            "instanceId": random.choice([None] * 12 + ["i1", ""]),
            "rackId": random.choice([None] * 5 + ["a", "b", ""]),
            "rebalanceTimeoutMs": 60_000 if joins else random.choice([-1] * 5 + [30_000]),
            "topology": self.topology if joins else None,
            **(tasks if random.random() < 0.8 or joins else dict.fromkeys(ROLES)),
            "processId": f"process {slot}" if joins else random.choice([None] * 5 + ["process a"]),
            "userEndpoint": random.choice([None] * 5 + [{"host": "h", "port": 1}]),
            "clientTags": random.choice([[], [{"key": "zone", "value": slot}]]) if joins else None,
            "taskOffsets": None,
            "taskEndOffsets": None,
            "shutdownApplication": random.random() < 0.03,
        }
        if joins and random.random() < 0.9:
            wanted |= {role: [] for role in ROLES}
        if random.random() < 0.06:
            wanted["topology"] = random.choice([other, {**other, "epoch": 1}, {**self.topology, "epoch": 1}, None])
        self.tell(slot, version, wanted)

    def right_heartbeat(self, random: Random) -> None:
        slot = random.choice("abc")
        member = self.members[slot]
        joins = member.epoch == 0
        wanted = {
            "groupId": self.group,
            "memberId": slot,
            "memberEpoch": member.epoch,
            "endpointInformationEpoch": 0,
            "rebalanceTimeoutMs": 60_000 if joins else -1,
            "topology": self.topology if joins else None,
            **({role: [] for role in ROLES} if joins else member.tasks),
            "processId": f"process {slot}" if joins else None,
            "clientTags": [] if joins else None,
        }
        self.tell(slot, 1, wanted)

    def tell(self, slot: str, version: int, wanted: Fields) -> None:
        answer = self.ask("StreamsGroupHeartbeat", version, wanted, to=self.to)
        if wanted["memberId"] == slot:
            self.members[slot].told(answer)
        self.story.wait(50)
        if any(one["statusCode"] == MISSING_INTERNAL_TOPICS for one in answer.get("status", [])):
            self.story.wait(400)  # they are made beside the answer
            self.story.settle()

    def commit(self, random: Random) -> None:
        version, topic = random.choice([2, 5, 8, 9, 9, 10, 10]), random.choice(self.topics)
        member, epoch = self.who(random)
        partitions = [
            {"partitionIndex": index, "committedOffset": random.choice([1, 2, 9]), "committedMetadata": ""}
            for index in random.choice([[0], [1], [0, 1], [2], [7]])
        ]
        wanted = {
            "groupId": self.group,
            "generationIdOrMemberEpoch": epoch,
            "memberId": member,
            "groupInstanceId": random.choice([None, None, None, "i1", ""]) if version >= 7 else None,
            "topics": [{"name": topic.name, "topicId": topic.id, "partitions": partitions}],
        }
        self.ask("OffsetCommit", version, wanted, to=self.to)

    def describe(self, random: Random) -> None:
        version, times = random.randrange(2), random.choice([1, 1, 1, 2])
        wanted = {
            "groupIds": [self.group] * times,
            "includeAuthorizedOperations": random.random() < 0.2,
            "includeTopologyDescription": random.random() < 0.2,
        }
        self.ask("StreamsGroupDescribe", version, wanted, to=self.to)

    def describe_as_other(self, random: Random) -> None:
        api, version = random.choice([("DescribeGroups", 5), ("DescribeGroups", 6), ("ConsumerGroupDescribe", 1)])
        api, version = random.choice([(api, version), ("ShareGroupDescribe", 1)])
        wanted = {"groups": [self.group]} if api == "DescribeGroups" else {"groupIds": [self.group]}
        self.ask(api, version, wanted, to=self.to)

    def list_groups(self, random: Random) -> None:
        wanted = {
            "statesFilter": random.choice([[], ["Stable"], ["Empty"], ["NotReady"], ["reconciling", "assigning"]]),
            "typesFilter": random.choice([[], ["streams"], ["Streams", "classic"], ["consumer"]]),
        }
        self.ask("ListGroups", random.choice([4, 5]), wanted, to=self.to, only=mine(self.story, "groups"))

    def ask_as_classic(self, random: Random) -> None:
        member, epoch = self.who(random)
        join = {
            "sessionTimeoutMs": 30_000,
            "rebalanceTimeoutMs": 60_000,
            "memberId": "zzz",
            "protocolType": "connect",
            "protocols": [{"name": "x", "metadata": b"d"}],
        }
        beat = {
            "memberId": "zz",
            "memberEpoch": random.choice([0, 1, -1]),
            "rebalanceTimeoutMs": 60_000,
            "subscribedTopicNames": [self.topics[0].name],
            "topicPartitions": [],
        }
        api, version, fields = random.choice(
            [
                ("Heartbeat", 3, {"generationId": epoch, "memberId": member}),
                ("SyncGroup", 3, {"generationId": epoch, "memberId": member, "assignments": []}),
                ("LeaveGroup", 4, {"members": [{"memberId": member, "groupInstanceId": None}]}),
                ("JoinGroup", 6, join),
                ("ConsumerGroupHeartbeat", 1, beat),
            ]
        )
        self.ask(api, version, {"groupId": self.group, **fields}, to=self.to)

    def set_standbys(self, random: Random) -> None:
        configs = [
            {"name": "streams.num.standby.replicas", "configOperation": 0, "value": str(random.choice([0, 1, 1, 2]))}
        ]
        changes = [{"resourceType": GROUP, "resourceName": self.group, "configs": configs}]
        self.ask("IncrementalAlterConfigs", 1, {"resources": changes, "validateOnly": False})
        self.story.settle()
        self.story.wait(100)
