"""A group of the classic protocol with three who join, sync, leave and commit, often out of turn."""

from __future__ import annotations

from random import Random
from typing import Any, ClassVar

from tests.answers.random_requests.turns import Turns
from tests.answers.story import Fields, Pending, mine

NOBODY = ("", "nobody", "x" * 300)
INSTANCES = {"a": None, "b": "i1", "c": "i2"}


class ClassicGroup(Turns):
    """Joins and syncs wait for each other, so their answers are taken when they have come."""

    OPERATIONS: ClassVar = {
        "join": 6,
        "sync": 5,
        "heartbeat": 3,
        "leave": 2,
        "commit": 3,
        "fetch": 2,
        "delete_offsets": 1,
        "delete_group": 0.5,
        "describe": 2,
        "list_groups": 1,
        "describe_as_consumer": 0.5,
    }
    LENGTH: ClassVar = 20

    def begin(self, random: Random) -> None:
        self.topic = self.story.topic("t", partitions=3)
        self.group = self.story.named("g")
        self.to = self.story.coordinator(self.group)
        self.members: dict[str, str] = {}
        self.generation = 0
        self.leader: str | None = None
        self.waiting: list[tuple[str, Pending]] = []

    def member(self, random: Random) -> str:
        ids = [one for one in self.members.values() if one]
        is_known = random.random() < 0.85
        return random.choice(ids) if is_known and ids else random.choice(NOBODY)

    def some_generation(self, random: Random) -> int:
        other = random.choice([self.generation - 1, self.generation + 1, -1, 0, -2])
        return self.generation if random.random() < 0.75 else other

    def instance(self, random: Random) -> str | None:
        return random.choice([None] * 6 + ["i1", "i2", ""])

    def is_busy(self, slot: str) -> bool:
        return any(one == slot for one, _ in self.waiting)

    def kept_of(self, answer: Fields) -> Fields:
        """What is compared of the answer to a join or a sync."""
        return answer

    def ask_waiting(self, slot: str, api: str, version: int, request: Fields, client_id: str = "answers") -> None:
        pending = self.story.begin(
            self.label,
            api,
            version,
            request,
            to=self.to,
            on=f"member {slot}",
            only=self.kept_of,
            client_id=client_id,
        )
        self.waiting.append((slot, pending))
        self.take_answers()

    def take_answers(self) -> None:
        """Those that have come; what a member was told is kept."""
        self.story.wait(60)
        still = []
        for slot, pending in self.waiting:
            if not pending.is_answered(within_ms=300):
                still.append((slot, pending))
                continue
            answer = pending.answer()
            if pending.api == "JoinGroup" and answer.get("memberId"):
                self.members[slot] = answer["memberId"]
            if pending.api == "JoinGroup" and answer.get("errorCode") == 0:
                self.generation, self.leader = answer["generationId"], answer["leader"]
        self.waiting = still

    def join(self, random: Random) -> None:
        slot, version = random.choice("abc"), random.randrange(10)
        names = random.choice([["range"]] * 5 + [["range", "rr"], ["rr", "range"], ["rr"], ["sticky"], []])
        metadata = random.choice([b"m1", b"m1", b"m2", b""])
        known = self.members.get(slot, "")
        wanted = {
            "groupId": self.group if random.random() < 0.97 else "",
            "sessionTimeoutMs": 30_000 if random.random() < 0.95 else random.choice([10, 10**9, -1, 0]),
            "rebalanceTimeoutMs": 60_000 if random.random() < 0.9 else -1,
            "memberId": known if random.random() < 0.8 else random.choice(["", "nobody"]),
            "groupInstanceId": INSTANCES[slot] if random.random() < 0.4 and version >= 5 else None,
            "protocolType": "consumer" if random.random() < 0.93 else random.choice(["connect", ""]),
            "protocols": [{"name": name, "metadata": metadata} for name in names],
            "reason": None,
        }
        if self.is_busy(slot):
            self.describe(random)
            return
        self.ask_waiting(slot, "JoinGroup", version, wanted, f"client {slot} {self.label}")

    def sync(self, random: Random) -> None:
        slot, version = random.choice("abc"), random.randrange(6)
        member = self.members.get(slot, "") if random.random() < 0.92 else "nobody"
        leads = (bool(member) and member == self.leader) or random.random() < 0.1
        members = sorted(self.members.items()) if leads else []
        wanted = {
            "groupId": self.group,
            "generationId": self.some_generation(random),
            "memberId": member,
            "groupInstanceId": self.instance(random) if random.random() < 0.2 else None,
            "protocolType": random.choice([None] * 6 + ["consumer", "connect"]),
            "protocolName": random.choice([None] * 6 + ["range", "nope"]),
            "assignments": [{"memberId": one, "assignment": f"of {name}".encode()} for name, one in members],
        }
        if self.is_busy(slot):
            self.heartbeat(random)
            return
        self.ask_waiting(slot, "SyncGroup", version, wanted)

    def heartbeat(self, random: Random) -> None:
        wanted = {
            "groupId": self.group,
            "generationId": self.some_generation(random),
            "memberId": self.member(random),
            "groupInstanceId": self.instance(random) if random.random() < 0.3 else None,
        }
        self.ask("Heartbeat", random.randrange(5), wanted, to=self.to)

    def leave(self, random: Random) -> None:
        version = random.randrange(6)
        members = [
            {"memberId": self.member(random), "groupInstanceId": self.instance(random), "reason": None}
            for _ in range(random.choice([1, 1, 1, 2, 0]))
        ]
        wanted: Fields = {"groupId": self.group}
        wanted |= {"members": members} if version >= 3 else {"memberId": members[0]["memberId"] if members else "z"}
        self.ask("LeaveGroup", version, wanted, to=self.to)
        self.take_answers()

    def partitions(self, random: Random, **values: list[Any]) -> list[Fields]:
        return [
            {"partitionIndex": index, **{name: random.choice(some) for name, some in values.items()}}
            for index in random.choice([[0], [0, 1], [2], [1, 1], [9], []])
        ]

    def commit(self, random: Random) -> None:
        version, is_simple = random.randrange(2, 11), random.random() < 0.25
        topics = [
            {
                "name": self.topic.name,
                "topicId": self.topic.id,
                "partitions": self.partitions(
                    random,
                    committedOffset=[1, 2, 3, 50, -1],
                    committedLeaderEpoch=[-1, -1, 0, 5],
                    committedMetadata=["", "m", None, "ü"],
                ),
            }
            for _ in range(random.choice([1, 1, 1, 2]))
        ]
        wanted = {
            "groupId": self.group if random.random() < 0.97 else "",
            "generationIdOrMemberEpoch": -1 if is_simple else self.some_generation(random),
            "memberId": "" if is_simple else self.member(random),
            "groupInstanceId": self.instance(random) if version >= 7 and random.random() < 0.3 else None,
            "retentionTimeMs": random.choice([-1, -1, -1, 0, 60_000]),
            "topics": topics,
        }
        self.ask("OffsetCommit", version, wanted, to=self.to)

    def fetch(self, random: Random) -> None:
        version = random.randrange(1, 11)
        topics: list[Fields] | None = [
            {
                "name": self.topic.name,
                "topicId": self.topic.id,
                "partitionIndexes": random.choice([[0], [0, 1, 2], [1, 1], [9], [-1], []]),
            }
            for _ in range(random.choice([1, 1, 2]))
        ]
        if random.random() < 0.25 and version >= 2:
            topics = None
        group = {
            "groupId": self.group,
            "memberId": random.choice([None, None, "", self.member(random)]),
            "memberEpoch": random.choice([-1, -1, self.generation]),
            "topics": topics,
        }
        wanted = {"requireStable": random.random() < 0.5 and version >= 7}
        wanted |= {"groups": [group] * random.choice([1, 1, 1, 2])} if version >= 8 else group
        self.ask("OffsetFetch", version, wanted, to=self.to)

    def delete_offsets(self, random: Random) -> None:
        topics = [
            {"name": random.choice([self.topic.name] * 4 + ["nope"]), "partitions": self.partitions(random)}
            for _ in range(random.choice([1, 1, 2]))
        ]
        self.ask("OffsetDelete", 0, {"groupId": self.group, "topics": topics}, to=self.to)

    def delete_group(self, random: Random) -> None:
        wanted = {"groupsNames": [self.group] * random.choice([1, 2])}
        self.ask("DeleteGroups", random.randrange(4), wanted, to=self.to)

    def describe(self, random: Random) -> None:
        version, times = random.randrange(7), random.choice([1, 2])
        self.ask("DescribeGroups", version, {"groups": [self.group] * times}, to=self.to)

    def list_groups(self, random: Random) -> None:
        states = [[], [], ["Stable"], ["Empty", "Dead"], ["stable"], ["nope"], ["PreparingRebalance"]]
        types = [[], [], ["classic"], ["consumer"], ["Classic"], ["x"]]
        wanted = {"statesFilter": random.choice(states), "typesFilter": random.choice(types)}
        self.ask("ListGroups", random.randrange(6), wanted, to=self.to, only=mine(self.story, "groups"))

    def describe_as_consumer(self, random: Random) -> None:
        self.ask("ConsumerGroupDescribe", random.randrange(2), {"groupIds": [self.group]}, to=self.to)
