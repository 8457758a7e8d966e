"""A group that goes from the classic protocol to the consumer protocol and back, with members of both (KIP-848)."""

from __future__ import annotations

from base64 import b64decode
from random import Random
from typing import ClassVar

from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned, write_versioned
from protocol.errors import ProtocolError
from tests.answers.random_requests.classic_groups import ClassicGroup
from tests.answers.random_requests.consumer_groups import Member
from tests.answers.story import Fields

CLASSIC, MODERN = "ab", "xy"
INSTANCES = {"a": "i0", "b": "i1"}
ASSIGNOR = "range"  # it goes by instance ids, where uniform goes by the order of random ids in Java's maps


class Migration(ClassicGroup):
    """Two classic members, which are static, and two of the consumer protocol."""

    OPERATIONS: ClassVar = {
        "join": 6,
        "sync": 6,
        "heartbeat": 3,
        "leave": 1,
        "commit": 1.5,
        "fetch": 1,
        "describe": 1.5,
        "describe_as_consumer": 1.5,
        "list_groups": 0.7,
        "delete_group": 0.2,
        "modern_heartbeat": 8,
        "modern_leave": 1.5,
    }
    LENGTH: ClassVar = 30

    def begin(self, random: Random) -> None:
        super().begin(random)
        self.story.settle()
        self.story.wait(300)
        self.owned: dict[str, list[int]] = {}
        self.generations: dict[str, int] = {}
        self.modern = {slot: Member() for slot in MODERN}

    def kept_of(self, answer: Fields) -> Fields:
        """Who leads a group that has become a classic one hangs on the order of random ids in Java's maps."""
        return {name: value for name, value in answer.items() if name not in ("leader", "members")}

    def take_answers(self) -> None:
        waiting = list(self.waiting)
        super().take_answers()
        for slot, pending in waiting:
            if (slot, pending) in self.waiting:
                continue
            kept = next(one.answer for one in self.story.kept if one.step.endswith(f", {pending.step}"))
            if kept.get("errorCode") == 0 and pending.api == "JoinGroup":
                self.generations[slot] = kept["generationId"]
            elif kept.get("errorCode") == 0:
                self.owned[slot] = partitions_of(kept["assignment"])
            elif kept.get("errorCode") == 25:
                self.members.pop(slot, None)
                self.owned.pop(slot, None)

    def join(self, random: Random) -> None:
        slot, version = random.choice(CLASSIC), random.choice([5, 6, 7, 8, 9, 9])
        owned = self.owned.get(slot, []) if random.random() < 0.8 else []
        topics = random.choice([[self.topic.name]] * 8 + [["nope"], []])
        subscribed = ConsumerProtocolSubscription(
            topics=topics,
            owned_partitions=[ConsumerProtocolSubscription.TopicPartition(topic=self.topic.name, partitions=owned)]
            if owned
            else [],
            generation_id=self.generations.get(slot, -1),
        )
        metadata = write_versioned(subscribed, random.choice([0, 1, 2, 3])) if random.random() < 0.95 else b"m"
        names = random.choice([["range"]] * 6 + [["rr", "range"], ["rr"]])
        wanted = {
            "groupId": self.group,
            "sessionTimeoutMs": 30_000,
            "rebalanceTimeoutMs": 60_000,
            "memberId": self.members.get(slot, "") if random.random() < 0.9 else random.choice(["", "nobody"]),
            "groupInstanceId": INSTANCES[slot],
            "protocolType": "consumer" if random.random() < 0.96 else "connect",
            "protocols": [{"name": name, "metadata": metadata} for name in names],
            "reason": None,
        }
        if self.is_busy(slot):
            self.describe(random)
            return
        self.ask_waiting(slot, "JoinGroup", version, wanted, f"client {slot} {self.label}")

    def sync(self, random: Random) -> None:
        slot, version = random.choice(CLASSIC), random.randrange(6)
        member = self.members.get(slot, "") if random.random() < 0.95 else "nobody"
        leads = bool(member) and member == self.leader
        members = sorted(self.members.items()) if leads else []
        generation = self.generations.get(slot, 0) + (0 if random.random() < 0.88 else random.choice([-1, 1]))
        wanted = {
            "groupId": self.group,
            "generationId": generation,
            "memberId": member,
            "groupInstanceId": INSTANCES[slot] if version >= 3 and random.random() < 0.4 else None,
            "protocolType": "consumer" if random.random() < 0.95 else "connect",
            "protocolName": "range" if random.random() < 0.9 else "rr",
            "assignments": [
                {"memberId": one, "assignment": assigned(self.topic.name, [0, 1, 2][number :: len(members)])}
                for number, (_, one) in enumerate(members)
            ],
        }
        if self.is_busy(slot):
            self.heartbeat(random)
            return
        self.ask_waiting(slot, "SyncGroup", version, wanted)

    def heartbeat(self, random: Random) -> None:
        slot, version = random.choice(CLASSIC), random.randrange(5)
        generation = self.generations.get(slot, 0) + (0 if random.random() < 0.88 else random.choice([-1, 1]))
        wanted = {
            "groupId": self.group,
            "generationId": generation,
            "memberId": self.members.get(slot, "") if random.random() < 0.95 else random.choice(["nobody", "x"]),
            "groupInstanceId": random.choice([None, None, "i1", "i0"]) if version >= 3 else None,
        }
        self.ask("Heartbeat", version, wanted, to=self.to)

    def modern_heartbeat(self, random: Random) -> None:
        slot = random.choice(MODERN)
        member = self.modern[slot]
        epoch = member.epoch
        if random.random() < 0.08:
            epoch = random.choice([0, epoch - 1, epoch + 1])
        joins = epoch == 0
        wanted: Fields = {
            "groupId": self.group,
            "memberId": slot,
            "memberEpoch": epoch,
            "instanceId": None,
            "rebalanceTimeoutMs": 60_000 if joins else -1,
            "subscribedTopicNames": random.choice([[self.topic.name]] * 6 + [[]]) if joins else None,
            "serverAssignor": ASSIGNOR if joins else None,
            "topicPartitions": [] if joins else member.partitions if random.random() < 0.85 else None,
        }
        self.tell(slot, wanted)

    def modern_leave(self, random: Random) -> None:
        slot = random.choice(MODERN)
        self.tell(slot, {"groupId": self.group, "memberId": slot, "memberEpoch": -1, "rebalanceTimeoutMs": -1})

    def tell(self, slot: str, wanted: Fields) -> None:
        self.modern[slot].told(self.ask("ConsumerGroupHeartbeat", 1, wanted, to=self.to))
        self.take_answers()


def assigned(topic: str, partitions: list[int]) -> bytes:
    given = [ConsumerProtocolAssignment.TopicPartition(topic=topic, partitions=partitions)]
    return write_versioned(ConsumerProtocolAssignment(assigned_partitions=given), 1)


def partitions_of(assignment: str) -> list[int]:
    """The partitions in a SyncGroup's answer."""
    try:
        found = read_versioned(ConsumerProtocolAssignment, b64decode(assignment))
    except ProtocolError:
        return []
    return [index for one in found.assigned_partitions for index in one.partitions]
