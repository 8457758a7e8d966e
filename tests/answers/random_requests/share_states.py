"""What share coordinators keep (KIP-932): states of share partitions, asked for and written by leaders old and new."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any, ClassVar

from tests.answers.random_requests.turns import Turns
from tests.answers.scenarios.fetch import UNKNOWN_ID
from tests.answers.scenarios.share_state import SHARE, coordinator_of, share_coordinator
from tests.answers.story import Fields

FIRST, SECOND, ABSENT = 0, 3, 6
"""Partitions of a topic of four, and one that it has not. By threes, as Java's hash takes them to one broker."""
STATES = (0, 0, 2, 2, 4, 4, 1, 3, 7, -1)
"""Of records: available, acknowledged, archived; the others are none that a leader writes."""


class ShareStates(Turns):
    """A topic with two partitions, neither of which has a state before the first request."""

    OPERATIONS: ClassVar = {"initialize": 3, "write": 7, "read": 4, "summary": 3, "delete": 1}
    LENGTH: ClassVar = 40

    def begin(self, random: Random) -> None:
        self.topic = self.story.topic("t", partitions=4)
        self.story.settle()
        for number in itertools.count():  # a topic's random id says where its states are kept
            self.group = self.story.named(f"g{number}")
            keys = [f"{self.group}:{self.topic.id}:{index}" for index in (FIRST, SECOND, ABSENT)]
            wanted = {"keyType": SHARE, "coordinatorKeys": keys}
            found = self.story.quiet("FindCoordinator", 6, wanted)["coordinators"]
            if len({one["nodeId"] for one in found}) == 1 and found[0]["nodeId"] >= 0:
                break
        self.to = share_coordinator(self.story, self.group, self.topic, FIRST)
        self.to_unknown = coordinator_of(self.story, self.group, UNKNOWN_ID, FIRST)
        self.state_epoch = self.leader_epoch = 0

    def ask_of(self, random: Random, api: str, version: int, *partitions: Fields) -> Fields:
        """One request about some partitions, seldom to the wrong broker, of the wrong topic or of no group."""
        roll = random.random()
        topic_id = self.topic.id if roll > 0.04 else UNKNOWN_ID
        group = self.group if not 0.04 < roll < 0.06 else ""
        topics: list[Fields] = [{"topicId": topic_id, "partitions": list(partitions)}]
        if 0.06 < roll < 0.08:
            topics = []
        elif 0.08 < roll < 0.1:
            topics[0]["partitions"] = []
        elif 0.1 < roll < 0.14:
            topics += topics
        to = self.to if topic_id == self.topic.id else self.to_unknown
        if random.random() < 0.04:
            to = (to + 1) % 3
        return self.ask(api, version, {"groupId": group, "topics": topics}, to=to)

    def some_partitions(self, random: Random) -> list[int]:
        return random.choice([[FIRST]] * 6 + [[SECOND]] * 2 + [[FIRST, SECOND], [FIRST, FIRST], [ABSENT]])

    def near(self, random: Random, epoch: int) -> int:
        other = random.choice([epoch - 1, epoch + 1, epoch + 1, -1, 0, epoch + 5])
        return epoch if random.random() < 0.7 else other

    def initialize(self, random: Random) -> None:
        partitions = [
            {
                "partition": index,
                "stateEpoch": self.near(random, self.state_epoch),
                "startOffset": random.choice([0, 0, 5, 10, -1, -2]),
            }
            for index in self.some_partitions(random)
        ]
        answer = self.ask_of(random, "InitializeShareGroupState", 0, *partitions)
        if is_right(answer):
            self.state_epoch = partitions[0]["stateEpoch"]

    def some_batches(self, random: Random) -> list[Fields]:
        found = []
        for _ in range(random.choice([0, 1, 1, 1, 2, 3])):
            first = random.choice([0, 1, 3, 5, 5, 8, 10, 12, -1])
            found.append(
                {
                    "firstOffset": first,
                    "lastOffset": first + random.choice([0, 0, 1, 2, 4, 10]),
                    "deliveryState": random.choice(STATES),
                    "deliveryCount": random.choice([1, 1, 1, 2, 3, 0, -1]),
                }
            )
        return found

    def write(self, random: Random) -> None:
        version = random.randrange(2)
        partitions = [
            {
                "partition": index,
                "stateEpoch": self.near(random, self.state_epoch),
                "leaderEpoch": self.near(random, self.leader_epoch),
                "startOffset": random.choice([-1, -1, 0, 0, 5, 8, 11, -2]),
                "deliveryCompleteCount": random.choice([-1, 0, 1, 3]),
                "stateBatches": self.some_batches(random),
            }
            for index in self.some_partitions(random)
        ]
        self.ask_of(random, "WriteShareGroupState", version, *partitions)

    def read(self, random: Random) -> None:
        epoch = self.near(random, self.leader_epoch)
        partitions = [{"partition": index, "leaderEpoch": epoch} for index in self.some_partitions(random)]
        if is_right(self.ask_of(random, "ReadShareGroupState", 0, *partitions)):
            self.leader_epoch = max(self.leader_epoch, epoch)

    def summary(self, random: Random) -> None:
        epoch = self.near(random, self.leader_epoch)
        partitions = [{"partition": index, "leaderEpoch": epoch} for index in self.some_partitions(random)]
        self.ask_of(random, "ReadShareGroupStateSummary", random.randrange(2), *partitions)

    def delete(self, random: Random) -> None:
        partitions: list[Any] = [{"partition": index} for index in self.some_partitions(random)]
        self.ask_of(random, "DeleteShareGroupState", 0, *partitions)


def is_right(answer: Fields) -> bool:
    """Whether the first partition was taken."""
    partitions = [one for topic in answer.get("results", []) for one in topic["partitions"]]
    return bool(partitions) and partitions[0]["errorCode"] == 0
