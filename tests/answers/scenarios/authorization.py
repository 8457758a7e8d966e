"""Every API, asked by whoever may do everything, nothing, one thing alone, and all but one thing.

Each scenario has a fresh cluster of ours, and its own topic, group and transactional id; the entries speak of all
resources of a type. What is kept of an answer is what access control can change: errors, names, operations allowed.
"""

from __future__ import annotations

from typing import Any

from tests.answers.access_requests import SINCE, Present
from tests.answers.access_requests_of_the_cluster import all_requests
from tests.answers.scenarios import scenario, versions_of
from tests.answers.story import Fields, Story
from tests.answers.versions import VERSIONS

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:root",
}
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN, USER = range(2, 8)
TYPES = {
    TOPIC: "topic",
    GROUP: "group",
    CLUSTER: "cluster",
    TRANSACTIONAL_ID: "id",
    DELEGATION_TOKEN: "token",
    USER: "user",
}
ALL = 2
OPERATIONS = {
    3: "read",
    4: "write",
    5: "create",
    6: "delete",
    7: "alter",
    8: "describe",
    9: "cluster-action",
    10: "describe-configs",
    11: "alter-configs",
    12: "idempotent-write",
    13: "create-tokens",
    14: "describe-tokens",
    15: "two-phase-commit",
}
SUPPORTED = {
    TOPIC: (3, 4, 5, 6, 7, 8, 10, 11),
    GROUP: (3, 6, 8, 10, 11),
    CLUSTER: (5, 7, 8, 9, 10, 11, 12),
    TRANSACTIONAL_ID: (4, 8, 15),
    DELEGATION_TOKEN: (8,),
    USER: (13, 14),
}
"""Which operations there are of which type. Source: AclEntry.supportedOperations, Apache Kafka 4.4."""
PAIRS = [(kind, operation) for kind, operations in SUPPORTED.items() for operation in operations]
DENY, ALLOW = 2, 3
LITERAL = 3
SUPER, NOBODY, EVERYTHING = "root", "nobody", "everything"


def user_of(kind: int, operation: int, *, only: bool) -> str:
    return f"{'only' if only else 'no'}-{TYPES[kind]}-{OPERATIONS[operation]}"


USERS = [
    SUPER,
    NOBODY,
    EVERYTHING,
    *(user_of(*pair, only=True) for pair in PAIRS),
    *(user_of(*pair, only=False) for pair in PAIRS),
]


def entry(user: str, kind: int, operation: int, permission: int = ALLOW) -> Fields:
    return {
        "resourceType": kind,
        "resourceName": "kafka-cluster" if kind == CLUSTER else "*",
        "resourcePatternType": LITERAL,
        "principal": f"User:{user}",
        "host": "*",
        "operation": operation,
        "permissionType": permission,
    }


def entries() -> list[Fields]:
    found = [entry(EVERYTHING, kind, ALL) for kind in TYPES]
    for kind, operation in PAIRS:
        found.append(entry(user_of(kind, operation, only=True), kind, operation))
        user = user_of(kind, operation, only=False)
        found += [entry(user, every, ALL) for every in TYPES]
        found.append(entry(user, kind, operation, DENY))
    return found


KEPT = ("error", "name", "group", "transactionalid", "operations", "resourcetype", "key")


def told(story: Story) -> Any:
    """For ``only``: errors, whether they have words, names and operations; of lists what is the scenario's own."""

    def reduced(value: Any) -> Any:
        if isinstance(value, dict):
            fields = {}
            for name, one in value.items():
                if isinstance(one, (dict, list)):
                    if name not in ("apiKeys", "brokers", "supportedFeatures", "finalizedFeatures"):
                        fields[name] = reduced(one)
                elif any(part in name.lower() for part in KEPT):
                    fields[name] = "some" if one and name == "errorMessage" else one
            return {name: one for name, one in fields.items() if one not in ({}, [])}
        if isinstance(value, list):
            return [found for one in value if is_own(one) and (found := reduced(one)) not in ({}, [])]
        return value if isinstance(value, str) else {}

    def is_own(one: Any) -> bool:
        names = [one.get(name) for name in ("name", "groupId", "transactionalId")] if isinstance(one, dict) else []
        return all(not name or not isinstance(name, str) or name.startswith(story.prefix) for name in names)

    return reduced


def asked(story: Story, api: str, what: str) -> None:
    story.quiet("CreateAcls", 3, {"creations": entries()})
    story.settle()
    there = Present.of(story)
    broker, fields = all_requests()[api, what](there)
    label = f"{what}, " if what else ""
    for user in USERS:
        story.ask(f"{label}{user}", api, VERSIONS[api][1], fields, to=broker, on=f"as {user}", only=told(story))
    since = SINCE.get((api, what), 0)
    for version in versions_of((api, since, VERSIONS[api][1] - 1)):
        for user in (NOBODY, EVERYTHING):
            story.ask(f"{label}{user}", api, version, fields, to=broker, on=f"as {user}", only=told(story))


for api_, what_ in all_requests():

    def run(story: Story, api: str = api_, what: str = what_) -> None:
        asked(story, api, what)

    run.__module__ = __name__
    scenario(f"authorization/{api_}{' ' if what_ else ''}{what_}")(run)
