"""Requests of two users about whom entries come and go: what each is refused, shown and let do."""

from __future__ import annotations

from random import Random
from typing import ClassVar, Final

from tests.answers.access_requests import SINCE, Present
from tests.answers.access_requests_of_the_cluster import all_requests
from tests.answers.random_requests import pools
from tests.answers.random_requests.ordinary import Ordinary, remove_acls
from tests.answers.scenarios import BASE, versions_of
from tests.answers.scenarios.authorization import (
    ALL,
    ALLOW,
    CLUSTER,
    DENY,
    GROUP,
    LITERAL,
    SUPPORTED,
    TOPIC,
    TRANSACTIONAL_ID,
    told,
)
from tests.answers.scenarios.authorization import SETTINGS as CLOSED
from tests.answers.story import Fields, Story
from tests.answers.versions import VERSIONS

PREFIXED: Final = 4
HOSTS: Final = ("*", "*", "*", "127.0.0.1", "127.0.0.0/8", "10.0.0.0/8")
KINDS: Final = (TOPIC, TOPIC, TOPIC, TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID)
UNSURE: Final = frozenset({"GetTelemetrySubscriptions", "PushTelemetry"})
"""The APIs whose answers go by how often they were asked."""
KNOWN: Final = [one for one in all_requests() if one[0] not in UNSURE]


class Authorization(Ordinary):
    """As the families of topics, records and configs, asked as ann or bob; and what else ``access_requests.py`` has."""

    USERS: ClassVar = ("ann", "bob")
    LENGTH: ClassVar = 40
    SETTINGS: ClassVar = BASE | CLOSED
    OPERATIONS: ClassVar = {
        "entry": 12,
        "gone": 4,
        "known": 24,
        "Produce": 2,
        "Fetch": 2,
        "ListOffsets": 2,
        "OffsetForLeaderEpoch": 1,
        "DeleteRecords": 1,
        "DescribeProducers": 1,
        "Metadata": 4,
        "DescribeTopicPartitions": 2,
        "CreateTopics": 3,
        "DeleteTopics": 2,
        "CreatePartitions": 2,
        "AlterPartitionReassignments": 0.5,
        "ListPartitionReassignments": 0.5,
        "ElectLeaders": 0.5,
        "DescribeConfigs": 2,
        "IncrementalAlterConfigs": 2,
    }

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        self.there: Present

    def begin(self, random: Random) -> None:
        super().begin(random)
        self.there = Present.of(self.story)
        self.story.producer_id()
        self.put([self.drawn_entry(random) for _ in range(4)])

    def connection(self, random: Random, api: str) -> str:
        return f"as {random.choice(self.USERS)}"

    def known(self, random: Random) -> None:
        """One of the requests that ask for nothing but access."""
        api, what = random.choice(KNOWN)
        version = random.choice([VERSIONS[api][1], *versions_of((api, SINCE.get((api, what), 0), 99))])
        on = self.connection(random, api)
        to, fields = all_requests()[api, what](self.there)
        self.ask(api, version, fields, to=to, on=on, only=told(self.story))

    def entry(self, random: Random) -> None:
        """One or two entries more."""
        self.put([self.drawn_entry(random) for _ in range(random.choice([1, 1, 2]))])

    def gone(self, random: Random) -> None:
        """The entries of a user, or about a type of resources, or that deny."""
        every = {"resourceTypeFilter": 1, "patternTypeFilter": 1, "operation": 1, "permissionType": 1}
        names: Fields = {"resourceNameFilter": None, "principalFilter": None, "hostFilter": None}
        some = random.choice(
            [{"principalFilter": "User:ann"}, {"resourceTypeFilter": random.choice(KINDS)}, {"permissionType": DENY}]
        )
        self.story.quiet("DeleteAcls", 3, {"filters": [{**every, **names, **some}]})
        self.story.settle()

    def put(self, entries: list[Fields]) -> None:
        self.story.quiet("CreateAcls", 3, {"creations": entries})
        self.story.settle()

    def drawn_entry(self, random: Random) -> Fields:
        kind = random.choice(KINDS)
        own = {TOPIC: self.there.topic.name, GROUP: self.there.group, TRANSACTIONAL_ID: self.there.id}
        names = {
            TOPIC: [self.story.named(short) for short in pools.TOPICS],
            GROUP: [self.there.group],
            TRANSACTIONAL_ID: [self.there.id],
        }
        pattern = random.choice([LITERAL, LITERAL, PREFIXED])
        if kind == CLUSTER:
            name, pattern = "kafka-cluster", LITERAL
        else:
            name = random.choice([*names[kind], own[kind], own[kind], "*", self.story.prefix])
        return {
            "resourceType": kind,
            "resourceName": name,
            "resourcePatternType": pattern,
            "principal": random.choice(["User:ann", "User:ann", "User:bob", "User:bob", "User:*"]),
            "host": random.choice(HOSTS),
            "operation": random.choice([ALL, *SUPPORTED[kind], *SUPPORTED[kind]]),
            "permissionType": random.choice([ALLOW, ALLOW, ALLOW, DENY]),
        }

    def end(self) -> None:
        super().end()
        remove_acls(self.story)
