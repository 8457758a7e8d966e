"""What entries of access control deny: topics, groups, and what is told of them all the same."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario, versions_of
from tests.answers.scenarios.acls import ALLOW, DENY, GROUP, LITERAL, PREFIXED, READ, TOPIC, WRITE
from tests.answers.scenarios.acls import SETTINGS as OF_ACLS
from tests.answers.scenarios.create_topics import create, wanted
from tests.answers.scenarios.fetch import at, of, of_many
from tests.answers.scenarios.leader_epochs import of as epochs_of
from tests.answers.scenarios.list_offsets import of as offsets_of
from tests.answers.scenarios.list_offsets import when
from tests.answers.scenarios.produce import to, to_many
from tests.answers.story import Fields, Story, Topic

SETTINGS = OF_ACLS
CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS = 5, 6, 7, 8, 10, 11
NOBODY = "User:ANONYMOUS"


def entry(name: str, operation: int, permission: int = DENY, kind: int = TOPIC, **fields: Any) -> Fields:
    return {
        "resourceType": kind,
        "resourceName": name,
        "resourcePatternType": LITERAL,
        "principal": NOBODY,
        "host": "*",
        "operation": operation,
        "permissionType": permission,
        **fields,
    }


def put(story: Story, *entries: Fields) -> None:
    story.quiet("CreateAcls", 3, {"creations": list(entries)})
    story.settle()


def named(*topics: Topic, **more: Any) -> Fields:
    return {"topics": [{"name": one.name} for one in topics], "allowAutoTopicCreation": False, **more}


def topics_alone(story: Story) -> Any:
    return lambda answer: {"topics": [one for one in answer["topics"] if story.prefix in (one["name"] or story.prefix)]}


@scenario("acls/obeyed")
def obeyed(story: Story) -> None:
    topic, hidden = story.topic("t"), story.topic("hidden")
    story.produced(topic, b"x")
    group = story.named("g")
    at_ = story.coordinator(group)
    allowed = (entry(name, 2, ALLOW) for name in (topic.name, hidden.name))
    put(
        story,
        *allowed,
        entry(group, 2, ALLOW, GROUP),
        entry(topic.name, WRITE),
        entry(hidden.name, DESCRIBE),
        entry(group, READ, DENY, GROUP),
    )
    ask = story.ask
    for version in versions_of("Produce"):
        ask("write denied", "Produce", version, to(topic, story.batch(b"x")))
    ask("write denied, acks 0", "Produce", 9, to(topic, story.batch(b"x"), acks=0), on="unanswered")
    for version in versions_of("Fetch"):
        ask("read allowed", "Fetch", version, of(topic, at(0)))
        ask("hidden", "Fetch", version, of(hidden, at(0)))
    ask("hidden, by id", "Fetch", 13, of(hidden, at(0)), on="by id")
    for version in versions_of("Metadata"):
        asked = named(topic, hidden, includeTopicAuthorizedOperations=True)
        ask("one hidden", "Metadata", version, asked, only=topics_alone(story))
        ask("only the hidden one", "Metadata", version, named(hidden), only=topics_alone(story))
        ask("all", "Metadata", version, {"topics": None if version else []}, only=topics_alone(story))
    for version in range(12, 14):
        by_id = {"topics": [{"topicId": one.id, "name": None} for one in (topic, hidden)]}
        ask("one hidden, by id", "Metadata", version, by_id, only=topics_alone(story))
    for version in versions_of("ListOffsets"):
        ask("hidden", "ListOffsets", version, offsets_of(hidden, when(-1)))
    for version in versions_of("OffsetForLeaderEpoch"):
        ask("hidden", "OffsetForLeaderEpoch", version, epochs_of(hidden, {}))
    for step, some in {"one hidden": (topic, hidden), "only the hidden one": (hidden,), "all": ()}.items():
        request = {**named(*some), "responsePartitionLimit": 100}
        ask(step, "DescribeTopicPartitions", 0, request, only=topics_alone(story))
    for version in versions_of("DescribeConfigs"):
        ask("hidden", "DescribeConfigs", version, configs_of(hidden))
    for version in versions_of("CreateTopics"):
        ask("hidden", "CreateTopics", version, create(wanted(hidden.name)))
    both = [(topic, [(0, story.batch(b"x"))]), (hidden, [(0, story.batch(b"y"))])]
    ask("write denied to one of two", "Produce", 9, to_many(both))
    groups(story, group, topic, hidden, at_)
    for version in (5, *(one for one in versions_of("DeleteTopics") if one != 5)):
        request = {"topicNames": [hidden.name], "topics": [{"name": hidden.name}], "timeoutMs": 5000}
        ask("hidden", "DeleteTopics", version, request)
    story.settle()


def configs_of(topic: Topic) -> Fields:
    return {
        "resources": [{"resourceType": TOPIC, "resourceName": topic.name, "configurationKeys": ["retention.ms"]}],
        "includeSynonyms": False,
        "includeDocumentation": False,
    }


def groups(story: Story, group: str, topic: Topic, hidden: Topic, at_: int) -> None:
    """What a group's members and its observers are told."""
    offsets = [
        {"name": one.name, "topicId": one.id, "partitions": [{"partitionIndex": 0, "committedOffset": 1}]}
        for one in (topic, hidden)
    ]
    member = {"groupId": group, "memberId": "", "generationId": -1, "generationIdOrMemberEpoch": -1}
    protocols = [{"name": "range", "metadata": b"m"}]
    joins = {"protocolType": "consumer", "protocols": protocols, "sessionTimeoutMs": 30_000}
    for version in versions_of("OffsetCommit"):
        story.ask("group denied", "OffsetCommit", version, {**member, "topics": offsets[:1]}, to=at_)
        other = {**member, "groupId": story.named("free"), "topics": offsets}
        story.ask("a free group", "OffsetCommit", version, other, to=story.coordinator(story.named("free")))
    for version in versions_of("JoinGroup"):
        story.ask("group denied", "JoinGroup", version, {**member, **joins, "rebalanceTimeoutMs": 30_000}, to=at_)
    for api in ("SyncGroup", "Heartbeat", "LeaveGroup"):
        for version in versions_of(api):
            some = {"members": [{"memberId": "m"}]} if api == "LeaveGroup" else {}
            story.ask("group denied", api, version, {**member, **some}, to=at_)
    named_ = [{"name": one.name, "topicId": one.id, "partitionIndexes": [0]} for one in (topic, hidden)]
    for version in versions_of("OffsetFetch"):
        asked = {"groupId": group, "topics": named_, "groups": [{"groupId": group, "topics": named_}]}
        story.ask("group denied, a hidden topic", "OffsetFetch", version, asked, to=at_)
    for version in versions_of("FindCoordinator"):
        story.ask(
            "group denied", "FindCoordinator", version, {"key": group, "keyType": 0, "coordinatorKeys": [group]},
            only=lambda answer: {name: value for name, value in answer.items() if name in ("errorCode", "coordinators")}
            if "coordinators" not in answer
            else {"coordinators": [one["errorCode"] for one in answer["coordinators"]]},
        )  # fmt: skip
    for version in versions_of("DescribeGroups"):
        asked = {"groups": [group], "includeAuthorizedOperations": True}
        story.ask("group denied, operations", "DescribeGroups", version, asked, to=at_)


@scenario("acls/denied")
def denied(story: Story) -> None:
    """Each operation of a topic denied alone, then of a group, then all that begins so."""
    operations = {
        "read": READ,
        "write": WRITE,
        "delete": DELETE,
        "alter": ALTER,
        "describe": DESCRIBE,
        "describe-configs": DESCRIBE_CONFIGS,
        "alter-configs": ALTER_CONFIGS,
        "anything": 2,
        "nothing": 0,
    }
    topics = {name: story.topic(name) for name in operations}
    put(story, *[entry(topics[name].name, 2, ALLOW) for name in operations])
    put(story, *[entry(topics[name].name, operation) for name, operation in operations.items() if operation])
    prefixed = story.named("pre")
    put(story, entry(prefixed, CREATE, resourcePatternType=PREFIXED), entry("*", CREATE, principal="User:b"))
    for name, topic in topics.items():
        asked(story, name, topic)
    every = list(topics.values())
    story.ask("all", "Fetch", 12, of_many([(one, [at(0)]) for one in every]))
    story.ask("all", "Produce", 9, to_many([(one, [(0, story.batch(b"x"))]) for one in every]))
    story.ask("all", "Metadata", 12, named(*every, includeTopicAuthorizedOperations=True), only=topics_alone(story))
    request = {**named(*every), "responsePartitionLimit": 100}
    story.ask("all", "DescribeTopicPartitions", 0, request, only=topics_alone(story))
    groups_of = {
        f"group-{name}": operation for name, operation in (("read", READ), ("delete", DELETE), ("look", DESCRIBE))
    }
    coordinators = {name: story.coordinator(story.named(name)) for name in groups_of}
    put(story, *[entry(story.named(name), 2, ALLOW, GROUP) for name in groups_of])
    put(story, *[entry(story.named(name), operation, DENY, GROUP) for name, operation in groups_of.items()])
    for name in groups_of:
        group, to_ = story.named(name), coordinators[name]
        for version in (0, 2, 3):
            story.ask(name, "DeleteGroups", version, {"groupsNames": [group]}, to=to_)
        story.ask(name, "DescribeGroups", 5, {"groups": [group], "includeAuthorizedOperations": True}, to=to_)
        story.ask(name, "DescribeGroups", 6, {"groups": [group]}, to=to_)
        for version in (4, 7, 8, 9):
            fetched: Fields = {"groupId": group, "topics": None, "groups": [{"groupId": group, "topics": None}]}
            story.ask(f"{name}, all offsets", "OffsetFetch", version, fetched, to=to_)
        story.ask(name, "ConsumerGroupDescribe", 1, {"groupIds": [group]}, to=to_)
        story.ask(name, "FindCoordinator", 4, {"keyType": 0, "coordinatorKeys": [group]}, only=errors_of)
        offsets = [{"name": topics["nothing"].name, "partitions": [{"partitionIndex": 0}]}]
        story.ask(name, "OffsetDelete", 0, {"groupId": group, "topics": offsets}, to=to_)
    created = [wanted(story.named("pre-t")), wanted(story.named("other"))]
    for version in versions_of("CreateTopics"):
        story.ask(
            "the cluster allows", "CreateTopics", version, {**create(*created), "validateOnly": True}, only=errors
        )


def errors_of(answer: Fields) -> Fields:
    return {"errors": [one["errorCode"] for one in answer["coordinators"]]}


def errors(answer: Fields) -> Fields:
    return {"topics": [{"name": one["name"], "errorCode": one["errorCode"]} for one in answer["topics"]]}


def asked(story: Story, name: str, topic: Topic) -> None:
    """Everything that may be asked of one topic, without changing it."""
    story.ask(name, "Produce", 8, to(topic, story.batch(b"x")))
    story.ask(name, "Fetch", 4, of(topic, at(0)))
    story.ask(name, "Fetch", 13, of(topic, at(0)))
    story.ask(name, "ListOffsets", 5, offsets_of(topic, when(-2)))
    story.ask(name, "OffsetForLeaderEpoch", 4, epochs_of(topic, {"leaderEpoch": -1}))
    story.ask(name, "Metadata", 9, named(topic, includeTopicAuthorizedOperations=True), only=topics_alone(story))
    by_id = {"topics": [{"topicId": topic.id, "name": None}], "includeTopicAuthorizedOperations": True}
    story.ask(name, "Metadata", 13, by_id, only=topics_alone(story))
    request = {**named(topic), "responsePartitionLimit": 100}
    story.ask(name, "DescribeTopicPartitions", 0, request, only=topics_alone(story))
    story.ask(name, "DescribeConfigs", 4, configs_of(topic))
    config = {"name": "retention.ms", "value": "1000", "configOperation": 0}
    changes = {"resources": [{"resourceType": TOPIC, "resourceName": topic.name, "configs": [config]}]}
    story.ask(name, "IncrementalAlterConfigs", 1, {**changes, "validateOnly": True})
    story.ask(name, "AlterConfigs", 2, {**changes, "validateOnly": True})
    rows = {"topics": [{"name": topic.name, "count": 2, "assignments": None}], "timeoutMs": 5000, "validateOnly": True}
    story.ask(name, "CreatePartitions", 3, rows)
    partitions = [{"partitionIndex": 0, "offset": 0}]
    story.ask(name, "DeleteRecords", 2, {"topics": [{"name": topic.name, "partitions": partitions}], "timeoutMs": 5000})
    story.ask(name, "DescribeProducers", 0, {"topics": [{"name": topic.name, "partitionIndexes": [0]}]}, only=codes)


def codes(answer: Fields) -> Fields:
    return {"codes": [one["errorCode"] for topic in answer["topics"] for one in topic["partitions"]]}
