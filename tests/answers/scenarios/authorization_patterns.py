"""Whom an entry means and which resources, by pattern, host and operation, and what of several entries counts."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.scenarios.authorization import (
    ALL,
    ALLOW,
    CLUSTER,
    DENY,
    GROUP,
    LITERAL,
    OPERATIONS,
    SUPPORTED,
    TOPIC,
    TRANSACTIONAL_ID,
    TYPES,
)
from tests.answers.scenarios.authorization import SETTINGS as CLOSED
from tests.answers.story import Fields, Story

SETTINGS = CLOSED
PREFIXED = 4
READ, WRITE, CREATE, DELETE, DESCRIBE, IDEMPOTENT_WRITE = 3, 4, 5, 6, 8, 12
Entry = tuple[Any, ...]

HERE, ELSEWHERE = "127.0.0.1", "10.1.2.3"
ON_TOPICS: dict[str, list[Fields]] = {
    "nothing": [],
    "literal": [{}],
    "literal-other": [{"resourceName": "{}x"}],
    "literal-shorter": [{"resourceName": "auth"}],
    "wildcard": [{"resourceName": "*"}],
    "prefixed": [{"resourceName": "auth", "resourcePatternType": PREFIXED}],
    "prefixed-whole": [{"resourcePatternType": PREFIXED}],
    "prefixed-longer": [{"resourceName": "{}x", "resourcePatternType": PREFIXED}],
    "prefixed-star": [{"resourceName": "*", "resourcePatternType": PREFIXED}],
    "host": [{"host": HERE}],
    "host-other": [{"host": ELSEWHERE}],
    "network": [{"host": "127.0.0.0/8"}],
    "network-narrow": [{"host": "127.0.0.1/32"}],
    "network-other": [{"host": "10.0.0.0/8"}],
    "network-bits": [{"host": "127.0.0.9/29"}],
    "network-six": [{"host": "::1/128"}],
    "denied": [{}, {"permissionType": DENY}],
    "denied-by-prefix": [{}, {"permissionType": DENY, "resourceName": "a", "resourcePatternType": PREFIXED}],
    "denied-by-wildcard": [{}, {"permissionType": DENY, "resourceName": "*"}],
    "denied-elsewhere": [{}, {"permissionType": DENY, "host": ELSEWHERE}],
    "denied-to-another": [{}, {"permissionType": DENY, "principal": "User:somebody"}],
    "denied-other-name": [{}, {"permissionType": DENY, "resourceName": "{}x"}],
    "denied-reading": [{"operation": ALL}, {"permissionType": DENY, "operation": READ}],
    "denied-all": [{"operation": READ}, {"permissionType": DENY, "operation": ALL}],
    "denied-alone": [{"permissionType": DENY, "operation": WRITE}],
    "another-type": [{"resourceType": GROUP}, {"resourceType": TRANSACTIONAL_ID}],
    "a-group": [{"principal": "Group:a-group"}],
    "lower-case": [{"principal": "user:lower-case"}],
    "spaced": [{"principal": "User: spaced"}],
}
"""By user: the fields in which entries differ from one that allows DESCRIBE on the topic. ``{}`` is its name."""
BY_TYPE: dict[str, list[Fields]] = {
    "any-nothing": [],
    "any-idempotent": [{"resourceType": CLUSTER, "resourceName": "kafka-cluster", "operation": IDEMPOTENT_WRITE}],
    "any-literal": [{}],
    "any-wildcard": [{"resourceName": "*"}],
    "any-prefixed": [{"resourceName": "nowhere", "resourcePatternType": PREFIXED}],
    "any-all": [{"operation": ALL}],
    "any-read": [{"operation": READ}],
    "any-create": [{"operation": CREATE}],
    "any-elsewhere": [{"host": ELSEWHERE}],
    "any-network": [{"host": "127.0.0.0/8"}],
    "any-denied": [{}, {"permissionType": DENY}],
    "any-denied-wildcard": [{}, {"permissionType": DENY, "resourceName": "*"}],
    "any-denied-prefix": [{}, {"permissionType": DENY, "resourceName": "auth", "resourcePatternType": PREFIXED}],
    "any-denied-longer": [
        {"resourceName": "auth", "resourcePatternType": PREFIXED},
        {"permissionType": DENY, "resourcePatternType": PREFIXED},
    ],
    "any-denied-equal": [
        {"resourcePatternType": PREFIXED},
        {"permissionType": DENY, "resourcePatternType": PREFIXED},
    ],
    "any-denied-literal": [{"resourcePatternType": PREFIXED}, {"permissionType": DENY}],
    "any-denied-one": [{}, {"resourceName": "other"}, {"permissionType": DENY}],
    "any-denied-reading": [{}, {"permissionType": DENY, "operation": READ}],
    "any-denied-idempotent": [
        {},
        {
            "resourceType": CLUSTER,
            "resourceName": "kafka-cluster",
            "operation": IDEMPOTENT_WRITE,
            "permissionType": DENY,
        },
    ],
    "any-wildcard-denied-one": [{"resourceName": "*"}, {"permissionType": DENY}],
    "any-wildcard-denied-prefix": [
        {"resourceName": "*"},
        {"permissionType": DENY, "resourceName": "auth", "resourcePatternType": PREFIXED},
    ],
}
SINGLE = {
    f"{TYPES[kind]}-{OPERATIONS[operation]}": (kind, operation)
    for kind in (TOPIC, GROUP, CLUSTER)
    for operation in SUPPORTED[kind]
}
USERS = [*ON_TOPICS, *BY_TYPE, *SINGLE]


def entries(user: str, name: str, changes: list[Fields], operation: int) -> list[Fields]:
    """The entries of a user, whole."""
    plain: Fields = {
        "resourceType": TOPIC,
        "resourceName": "{}",
        "resourcePatternType": LITERAL,
        "principal": f"User:{user}",
        "host": "*",
        "operation": operation,
        "permissionType": ALLOW,
    }
    found = [plain | change for change in changes]
    return [one | {"resourceName": one["resourceName"].replace("{}", name)} for one in found]


def put(story: Story, found: list[Fields]) -> None:
    answer = story.quiet("CreateAcls", 3, {"creations": found})
    assert not [one for one in answer["results"] if one["errorCode"]], answer
    story.settle()


def codes(answer: Fields) -> Fields:
    return {"topics": [[one["errorCode"], one["topicAuthorizedOperations"]] for one in answer["topics"]]}


@scenario("authorization patterns/topics")
def topics(story: Story) -> None:
    topic = story.topic("t")
    put(story, [one for user, found in ON_TOPICS.items() for one in entries(user, topic.name, found, DESCRIBE)])
    asked = {"topics": [{"name": topic.name}], "includeTopicAuthorizedOperations": True}
    for user in ON_TOPICS:
        story.ask(user, "Metadata", 12, asked, only=codes, on=f"as {user}")
    everybody = [{"principal": "User:*"}, {"principal": "User:*", "operation": READ, "permissionType": DENY}]
    put(story, entries("", topic.name, everybody, DESCRIBE))
    for user in ON_TOPICS:
        story.ask(f"{user}, with everybody's", "Metadata", 12, asked, only=codes, on=f"as {user}")


@scenario("authorization patterns/any topic")
def any_topic(story: Story) -> None:
    """What lets an idempotent producer in."""
    name = story.named("t")
    for broker in (0, 1, 2):
        story.producer_id(broker)
    put(story, [one for user, found in BY_TYPE.items() for one in entries(user, name, found, WRITE)])
    asked = {"transactionalId": None, "transactionTimeoutMs": 60_000, "producerId": -1, "producerEpoch": -1}
    for user in BY_TYPE:
        story.ask(
            user, "InitProducerId", 4, asked, on=f"as {user}", only=lambda answer: {"errorCode": answer["errorCode"]}
        )


@scenario("authorization patterns/operations told")
def operations(story: Story) -> None:
    """What one operation alone implies, as answers tell it."""
    topic, group = story.topic("t"), story.named("g")
    at = story.coordinator(group)
    names = {TOPIC: topic.name, GROUP: group, CLUSTER: "kafka-cluster"}
    single: list[Fields] = []
    for user, (kind, operation) in SINGLE.items():
        single += entries(user, topic.name, [{"resourceType": kind, "resourceName": names[kind]}], operation)
    put(story, single)
    of_topic = {"topics": [{"name": topic.name}], "includeTopicAuthorizedOperations": True}
    for user in SINGLE:
        on = f"as {user}"
        story.ask(user, "Metadata", 12, of_topic, only=codes, on=on)
        story.ask(
            user,
            "DescribeGroups",
            6,
            {"groups": [group], "includeAuthorizedOperations": True},
            to=at,
            on=on,
            only=lambda answer: [[one["errorCode"], one["authorizedOperations"]] for one in answer["groups"]],
        )
        story.ask(
            user,
            "DescribeCluster",
            2,
            {"includeClusterAuthorizedOperations": True, "endpointType": 1},
            on=on,
            only=lambda answer: {"operations": answer["clusterAuthorizedOperations"]},
        )
