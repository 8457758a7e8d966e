"""A broker down, which is a rack: what is said of its partitions, who takes them over, and what is as before once it is
back. The leaders are not: Kafka gives them back five minutes later.
"""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario, versions_of
from tests.answers.scenarios.create_topics import create, wanted
from tests.answers.scenarios.fetch import at, of
from tests.answers.scenarios.leader_epochs import of as epochs_of
from tests.answers.scenarios.list_offsets import of as offsets_of
from tests.answers.scenarios.list_offsets import when
from tests.answers.scenarios.produce import to
from tests.answers.story import Fields, Story, Topic


def placed(story: Story, short: str, *rows: list[int], **more: Any) -> Topic:
    topic = story.topic(short, assignments=rows, **more)
    for index in range(len(rows)):
        story.produced(topic, b"before", index=index)
    return topic


def named(*topics: Topic) -> Fields:
    return {"topics": [{"name": topic.name} for topic in topics], "allowAutoTopicCreation": False}


def others(answer: Fields) -> Fields:
    """An answer without the topics of other brokers' scenarios and of the cluster's own."""
    return {name: value for name, value in answer.items() if name != "nextCursor"}


def leader_of(story: Story, topic: Topic, index: int, among: range = range(3)) -> bool:
    answer = story.quiet("Metadata", 12, named(topic))
    found = {one["partitionIndex"]: one for one in answer["topics"][0]["partitions"]}[index]
    return found["leaderId"] in among


def in_sync(story: Story, *topics: Topic) -> bool:
    partitions = [one for topic in story.quiet("Metadata", 12, named(*topics))["topics"] for one in topic["partitions"]]
    return all(sorted(one["isrNodes"]) == sorted(one["replicaNodes"]) for one in partitions)


@scenario("outage")
def outage(story: Story) -> None:
    topic = placed(story, "t", [0, 1, 2], [1, 2, 0], [2, 0, 1])
    alone, two = placed(story, "alone", [2]), placed(story, "two", [2, 1])
    strict = placed(story, "strict", [0, 1, 2], configs={"min.insync.replicas": "3"})
    producer = {"producer_id": story.producer_id(), "producer_epoch": 0}

    def sent(step: str, one: Topic, index: int, *values: bytes, to_: int, version: int = 9, **more: Any) -> None:
        fields = {key: more.pop(key) for key in list(more) if key in ("producer_id", "producer_epoch", "base_sequence")}
        request = to(one, story.batch(*values, **fields), index, **more)
        story.ask(step, "Produce", version, request, to=to_)

    sent("idempotent, before", topic, 2, b"a", to_=2, base_sequence=0, **producer)
    story.stop(2)
    story.until(lambda: leader_of(story, topic, 2, range(2)), "another leader")
    story.wait(300)
    down(story, topic, alone, two)
    sent("idempotent, again at the new leader", topic, 2, b"a", to_=0, base_sequence=0, **producer)
    sent("idempotent, next at the new leader", topic, 2, b"b", to_=0, base_sequence=1, **producer)
    for version in versions_of("Produce"):
        sent("not the leader", topic, 2, b"x", to_=1, version=version)
        sent("no leader", alone, 0, b"x", to_=0, version=version)
        sent("too few in sync, acks all", strict, 0, b"x", to_=0, version=version)
    sent("too few in sync, acks 1", strict, 0, b"x", to_=0, acks=1)
    sent("too few in sync, acks 0", strict, 0, b"x", to_=0, acks=0)
    read(story, topic, alone)
    changed(story, topic, alone, two)
    story.start(2)
    every = (topic, alone, two, strict)
    story.until(lambda: in_sync(story, *every), "all in sync")
    story.settle()
    for version in versions_of("Metadata"):
        for step, some in {"one replica": (alone,), "several replicas": (topic, two)}.items():
            story.ask(f"back: {step}", "Metadata", version, named(*some), only=lambda got: {"topics": got["topics"]})
    story.ask("back", "DescribeTopicPartitions", 0, {**named(*every), "responsePartitionLimit": 99}, only=others)
    story.ask("back", "Fetch", 12, of(alone, at(0)), to=2)
    story.ask("back", "DescribeCluster", 2, {"includeFencedBrokers": True})
    story.until(lambda: ends(story, topic, 2) == 3, "what was written meanwhile")
    for version in versions_of("OffsetForLeaderEpoch"):
        for epoch in (0, 1, 2):
            request = epochs_of(topic, {"partition": 2, "leaderEpoch": epoch})
            story.ask(f"back, epoch {epoch}", "OffsetForLeaderEpoch", version, request)
            story.ask(f"back, epoch {epoch}, the leader before", "OffsetForLeaderEpoch", version, request, to=2)
    sent("back, idempotent, next", topic, 2, b"c", to_=0, base_sequence=2, **producer)
    sent("back, the leader before", topic, 2, b"c", to_=2, version=13, base_sequence=2, **producer)
    sent("back, all in sync", strict, 0, b"y", to_=0)


def ends(story: Story, topic: Topic, broker: int) -> int:
    """How far a follower can be read."""
    answer = story.quiet("Fetch", 12, of(topic, {"partition": 2, "fetchOffset": 0}), to=broker)
    return int(answer["responses"][0]["partitions"][0]["highWatermark"])


def down(story: Story, topic: Topic, alone: Topic, two: Topic) -> None:
    """What is said of brokers and partitions."""
    some = named(topic, alone, two)
    for version in versions_of("Metadata"):
        story.ask("down", "Metadata", version, some)
        story.ask("down, elsewhere", "Metadata", version, some, to=1)
    story.ask("down", "DescribeTopicPartitions", 0, {**some, "responsePartitionLimit": 99}, only=others)
    for limit in (1, 2, 4):
        story.ask(f"down, {limit} at most", "DescribeTopicPartitions", 0, {**some, "responsePartitionLimit": limit})
    for version in versions_of("DescribeCluster"):
        story.ask("down", "DescribeCluster", version, {})
    story.ask("down, fenced ones too", "DescribeCluster", 2, {"includeFencedBrokers": True})
    story.ask("down, fenced ones too, elsewhere", "DescribeCluster", 2, {"includeFencedBrokers": True}, to=1)


def read(story: Story, topic: Topic, alone: Topic) -> None:
    """What readers are told by the leader after, by one who does not lead, and of what nobody leads."""
    for epoch in (-1, 0, 1, 2):
        for version in versions_of(("Fetch", 9, 18)):
            request = of(topic, {"partition": 2, "fetchOffset": 0, "currentLeaderEpoch": epoch})
            story.ask(f"current epoch {epoch}", "Fetch", version, request)
        for version in versions_of("OffsetForLeaderEpoch"):
            request = epochs_of(topic, {"partition": 2, "leaderEpoch": epoch})
            story.ask(f"epoch {epoch}", "OffsetForLeaderEpoch", version, request)
            request = epochs_of(topic, {"partition": 2, "leaderEpoch": 0, "currentLeaderEpoch": epoch})
            story.ask(f"current epoch {epoch}", "OffsetForLeaderEpoch", version, request)
        for version in versions_of(("ListOffsets", 4, 11)):
            request = offsets_of(topic, when(-1, partitionIndex=2, currentLeaderEpoch=epoch))
            story.ask(f"current epoch {epoch}", "ListOffsets", version, request)
    for version in versions_of("Fetch"):
        story.ask("no leader", "Fetch", version, of(alone, at(0)))
        story.ask("not the leader", "Fetch", version, of(topic, {"partition": 2, "fetchOffset": 0}), to=1)
    for version in versions_of("ListOffsets"):
        story.ask("no leader", "ListOffsets", version, offsets_of(alone, when(-1)))
        for mark in (-1, -2, -3):
            story.ask(f"a new leader, {mark}", "ListOffsets", version, offsets_of(topic, when(mark, partitionIndex=2)))
    for version in versions_of("OffsetForLeaderEpoch"):
        story.ask("no leader", "OffsetForLeaderEpoch", version, epochs_of(alone, {}))
    for version in versions_of(("Fetch", 11, 18)):
        story.ask("a reader in the rack that is down", "Fetch", version, of(topic, at(0), rackId="c"))
    for epoch in (0, 1, 2):
        request = of(topic, {"partition": 2, "fetchOffset": 3, "lastFetchedEpoch": epoch})
        story.ask(f"last fetched epoch {epoch}", "Fetch", 12, request)
        story.ask(f"last fetched epoch {epoch}, later", "Fetch", 18, {**request, "maxBytes": 1000})
    for version in versions_of("DeleteRecords"):
        for step, one in {"no leader": alone, "not the leader": topic}.items():
            partitions = [{"partitionIndex": 0, "offset": 0}]
            request = {"topics": [{"name": one.name, "partitions": partitions}], "timeoutMs": 1000}
            story.ask(step, "DeleteRecords", version, request, to=1)


def changed(story: Story, topic: Topic, alone: Topic, two: Topic) -> None:
    """What can be made and moved."""
    story.ask("three replicas", "CreateTopics", 5, create(wanted(story.named("wide"), 1, 3)), only=counts_of)
    story.ask("two replicas", "CreateTopics", 5, create(wanted(story.named("narrow"), 2, 2)), only=counts_of)
    by_hand = {0: [2, 0], 1: [0, 2], 2: [2]}
    for step, rows in {"with others": {0: [2, 0]}, "alone": {0: [2]}, "behind": {0: [0, 2]}}.items():
        request = create(wanted(story.named(f"hand-{step}".replace(" ", "-")), -1, -1, by_hand=rows))
        story.ask(f"by hand, {step}", "CreateTopics", 5, request, only=counts_of)
    request = create(wanted(story.named("uneven"), -1, -1, by_hand=by_hand))
    story.ask("by hand, uneven", "CreateTopics", 5, request, only=counts_of)
    story.ask(
        "by hand on the one that is down",
        "CreateTopics",
        5,
        create(wanted(story.named("hand"), -1, -1, by_hand={0: [2, 0]})),
        only=counts_of,
    )
    for version in versions_of("CreatePartitions"):
        wider = {"topics": [{"name": topic.name, "count": 4, "assignments": None}], "timeoutMs": 10_000}
        story.ask("three replicas", "CreatePartitions", version, {**wider, "validateOnly": True})
    wider = {"topics": [{"name": alone.name, "count": 2, "assignments": [{"brokerIds": [2]}]}], "timeoutMs": 10_000}
    story.ask("on the one that is down", "CreatePartitions", 3, wider)
    moves = {
        "timeoutMs": 10_000,
        "topics": [{"name": two.name, "partitions": [{"partitionIndex": 0, "replicas": [9]}]}],
    }
    for version in versions_of("AlterPartitionReassignments"):
        story.ask("to an unknown broker", "AlterPartitionReassignments", version, moves)
    for kind in (0, 1):
        elected = [{"topic": one.name, "partitions": [0, 2]} for one in (topic, alone, two)]
        request = {"electionType": kind, "topicPartitions": elected, "timeoutMs": 5000}
        story.ask(f"election type {kind}", "ElectLeaders", 2, request)
    story.wait(500)
    short = ("wide", "hand", "hand-alone", "hand-behind")
    names = [{"name": story.named(one)} for one in short]
    request = {"topics": [*names, {"name": alone.name}], "responsePartitionLimit": 99}
    story.ask("what was made", "DescribeTopicPartitions", 0, request, only=shape_of)
    for version in (4, 12):
        request = {"topics": [{"name": story.named(one)} for one in short[1:]], "allowAutoTopicCreation": False}
        story.ask("what was made", "Metadata", version, request, only=lambda got: {"topics": got["topics"]})


def counts_of(answer: Fields) -> Fields:
    """An answer without the settings of what was created, which are a subject of their own."""
    return {**answer, "topics": [{**one, "configs": []} for one in answer["topics"]]}


def shape_of(answer: Fields) -> Fields:
    """Where nobody can foresee who leads: how many replicas are there, in sync and eligible."""

    def partition(one: Fields) -> Fields:
        lists = ("replicaNodes", "isrNodes", "eligibleLeaderReplicas", "lastKnownElr", "offlineReplicas")
        return {**one, "leaderId": one["leaderId"] >= 0} | {name: len(one[name] or ()) for name in lists}

    topics = [{**topic, "partitions": [partition(one) for one in topic["partitions"]]} for topic in answer["topics"]]
    return {"topics": [{**topic, "topicId": ""} for topic in topics]}
