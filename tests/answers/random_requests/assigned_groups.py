"""What random requests to consumer and Streams groups have alike: two topics, three members, and their offsets."""

from __future__ import annotations

from random import Random
from typing import Any, ClassVar

from tests.answers.random_requests.turns import Turns
from tests.answers.story import Fields, Topic


class AssignedGroup(Turns):
    """A group whose coordinator assigns; ``members`` are told their epochs by slot."""

    LENGTH: ClassVar = 26
    WRONG_EPOCHS: ClassVar[float]
    """How often a member asks in another epoch than its own."""
    members: dict[str, Any]

    def begin(self, random: Random) -> None:
        self.topics = [self.story.topic("t", partitions=3), self.story.topic("u", partitions=2)]
        self.group = self.story.named("g")
        self.to = self.story.coordinator(self.group)
        self.story.settle()
        self.story.wait(300)

    def who(self, random: Random) -> tuple[str, int]:
        slot = random.choice("abc")
        epoch = self.members[slot].epoch
        if random.random() < self.WRONG_EPOCHS:
            epoch = random.choice([epoch - 1, epoch + 1, -1, 0, -2])
        return (slot, epoch) if random.random() < 0.9 else random.choice([("", -1), ("zz", 1), ("", epoch)])

    def id_of(self, topic: Topic, random: Random) -> str:
        return topic.id

    def fetch(self, random: Random) -> None:
        version, topic = random.randrange(1, 11), self.topics[0]
        member, epoch = self.who(random)
        topic_id = self.id_of(topic, random)
        topics: list[Fields] | None = [{"name": topic.name, "topicId": topic_id, "partitionIndexes": [0, 1]}]
        if version >= 2 and random.random() < 0.3:
            topics = None
        group = {"groupId": self.group, "topics": topics}
        asking = {"memberId": random.choice([None, member]), "memberEpoch": epoch}
        wanted = {"groups": [group | asking], "requireStable": True} if version >= 8 else group
        self.ask("OffsetFetch", version, wanted, to=self.to)

    def delete_offsets(self, random: Random) -> None:
        name = random.choice([*(topic.name for topic in self.topics), "nope"])
        partitions = [{"partitionIndex": index} for index in random.choice([[0], [0, 1]])]
        wanted = {"groupId": self.group, "topics": [{"name": name, "partitions": partitions}]}
        self.ask("OffsetDelete", 0, wanted, to=self.to)

    def delete_group(self, random: Random) -> None:
        self.ask("DeleteGroups", random.randrange(4), {"groupsNames": [self.group]}, to=self.to)
