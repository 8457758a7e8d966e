"""Random groups for the assignors: what a group looks like in life, and what should never happen but does."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from random import Random
from typing import Any
from uuid import UUID

from kafka_rack.assignment import assign
from kafka_rack.assignment.user_data import write_cooperative, write_sticky
from kafka_rack.errors import KafkaRackError

NAMES = ["orders", "payments", "metrics.cpu", "a", "Ω-topic", "\U0001f600x", "\uff5ex", *(f"t-{n}" for n in range(20))]
CONSUMER_SIDE = ("range", "roundrobin", "sticky", "cooperative-sticky")
NOWHERE = 9_999


class GroupMaker:
    """Makes groups for one assignor.

    Args:
        largest: the most partitions of a topic; members and topics follow.
        nasty: the chance of each thing that should not happen.
    """

    def __init__(self, assignor: str, random: Random, *, largest: int, nasty: float) -> None:
        self.assignor, self.random, self.largest, self.nasty = assignor, random, largest, nasty

    def groups(self, count: int) -> Iterator[dict[str, Any]]:
        for _ in range(count):
            yield self.group()

    def happens(self, share: float = 1.0) -> bool:
        return self.random.random() < self.nasty * share

    def group(self) -> dict[str, Any]:
        random = self.random
        topics = random.sample(NAMES, random.randint(1, 6))
        self.racks = [f"rack-{letter}" for letter in "abcdef"[: random.choice([1, 2, 3, 3, 4, 6])]]
        cluster = self.cluster(topics)
        ids = {topic: urlsafe_b64encode(random.randbytes(16)).decode().rstrip("=") for topic in topics}
        self.subscriptions = [topics] if random.random() < 0.5 else self.some_subscriptions(topics)
        self.rack_choices = random.choice(
            [self.racks, self.racks, [*self.racks, None, ""], [*self.racks, "far"], [None]]
        )
        members = {
            self.member_id(number): self.member(number) for number in range(random.randint(1, self.largest // 3))
        }
        if self.assignor not in ("range", "roundrobin", "server-range"):
            self.give_a_past(cluster | {"topic_ids": ids}, members)
        return {"assignor": self.assignor, "cluster": cluster, "topic_ids": ids, "members": members}

    def cluster(self, topics: list[str]) -> dict[str, Any]:
        random = self.random
        brokers = random.randint(1, 12)
        nodes = [[broker, self.racks[broker % len(self.racks)]] for broker in range(brokers)]
        for node in nodes:
            if self.happens():
                node[1] = random.choice([None, "", random.choice(self.racks)])
        replicas = min(brokers, random.choice([1, 2, 2, 3]))
        known = brokers + 2 * self.happens()
        same = random.randint(1, self.largest)
        layout = {}
        for topic in topics:
            count = same if random.random() < 0.4 else random.randint(1, self.largest)
            layout[topic] = [random.sample(range(known), replicas) for _ in range(count)]
        return {"nodes": nodes, "topics": layout}

    def some_subscriptions(self, topics: list[str]) -> list[list[str]]:
        random = self.random
        return [random.sample(topics, random.randint(1, len(topics))) for _ in range(random.choice([2, 3, 12]))]

    def member_id(self, number: int) -> str:
        random = self.random
        return random.choice([f"m{number}", f"c-{random.randrange(10**6)}", f"c-{UUID(int=random.getrandbits(128))}"])

    def member(self, number: int) -> dict[str, Any]:
        random = self.random
        topics = [] if self.happens(0.2) else list(random.choice(self.subscriptions))
        random.shuffle(topics)
        if self.assignor in CONSUMER_SIDE and self.happens(0.2):
            topics.append("missing")
        member = {"topics": topics, "rack": random.choice(self.rack_choices)}
        if random.random() < 0.2:
            member["instance_id"] = f"i-{number:03}"
        return member

    def give_a_past(self, cluster: dict[str, Any], members: dict[str, Any]) -> None:
        """Let members own what an earlier group was assigned; some of it stale, contested or impossible."""
        random = self.random
        earlier = {name: member for name, member in members.items() if random.random() < 0.8}
        try:
            past = assign("sticky" if self.assignor in CONSUMER_SIDE else self.assignor, cluster, earlier)
        except KafkaRackError:
            past = {}
        pairs = [pair for owned in past.values() for pair in owned]
        generation = random.randint(1, 40)
        for name, member in members.items():
            owned = list(past.get(name, ()))
            if self.assignor in CONSUMER_SIDE and pairs and self.happens():
                owned += random.sample(pairs, min(len(pairs), 3))
            if self.assignor in CONSUMER_SIDE and owned and self.happens(0.15):
                owned.append((owned[0][0], NOWHERE))
            if self.happens():
                member["topics"] = list(random.choice(self.subscriptions))
            own_generation = random.choice([generation - 1, generation + 1, -1]) if self.happens() else generation
            if self.assignor == "sticky":
                member["user_data"] = write_sticky(owned, own_generation).hex() if owned else None
                member["generation"] = random.choice([own_generation, None])
                if owned and self.happens(0.3):
                    member["user_data"] = random.choice(["", "00", member["user_data"][:-8]])
            else:
                member["owned"] = [[topic, [number]] for topic, number in owned]
            if self.assignor == "cooperative-sticky":
                member["generation"] = random.choice([own_generation, None])
                member["user_data"] = random.choice([write_cooperative(own_generation).hex(), None, "00"])
