"""Metadata, DescribeCluster and DescribeTopicPartitions: names and ids, right, wrong and twice; cursors; operations."""

from __future__ import annotations

from typing import Any

from tests.answers.normal import ZERO_ID
from tests.answers.scenarios import scenario
from tests.answers.story import Story, mine

ASKED_ID = "EREREREREREREREREREREQ"
ANOTHER_ID = "IiIiIiIiIiIiIiIiIiIiIg"


@scenario("metadata v{version}", versions="Metadata")
def metadata(story: Story, version: int) -> None:
    t, u = story.topic("t", partitions=3), story.topic("u", assignments=[[2, 0]])
    story.names.know(ASKED_ID, "<asked id 1>")
    story.names.know(ANOTHER_ID, "<asked id 2>")

    def ask(step: str, *topics: Any, to: int = 0, creates: bool = False, only: Any = None, **more: Any) -> Any:
        wanted: list[Any] = [{"name": one} if isinstance(one, str) else one for one in topics]
        request = {"topics": wanted, "allowAutoTopicCreation": creates} | more
        return story.ask(step, "Metadata", version, request, to=to, only=only)

    ask("two topics", t.name, u.name)
    ask("at another broker", t.name, to=1)
    own = mine(story, "topics")
    if version == 0:
        ask("no topics", only=own)
    else:
        ask("no topics")
        story.ask("all topics", "Metadata", version, {"topics": None, "allowAutoTopicCreation": False}, only=own)
    ask("a topic twice", t.name, t.name)
    ask("bad name", "bad name!")
    ask("empty name", "")
    ask("name of 249", story.named("x" * (248 - len(story.prefix))))
    ask("name of 250", "x" * 250)
    ask("dots", "..")
    ask("one dot", ".")
    ask("letters of elsewhere", "ü")
    made_always = placed_anywhere if version < 4 else None  # before v4 each unknown topic is made
    ask("unknown topic, no creation", story.named("none"))
    if made_always:
        story.known(story.named("none"))
    ask("good and bad", t.name, story.named("none"), "a/b", only=made_always)
    ask("unknown twice", story.named("none"), story.named("none"), only=made_always)
    ask("bad name with creation", "bad name!", creates=True)
    ask("unknown topic, creation", story.named("made"), creates=True, only=lambda answer: {"topics": answer["topics"]})
    story.known(story.named("made"))
    ask("what was created", story.named("made"), only=placed_anywhere)
    ask("would collide, creation", story.named("made").replace(".", "_"), creates=True)
    ask("cluster's operations", includeClusterAuthorizedOperations=True, only=own)
    ask("topic's operations", t.name, includeTopicAuthorizedOperations=True)
    ask("an unknown topic's operations", story.named("none"), includeTopicAuthorizedOperations=True, only=made_always)
    if version >= 10:
        ask("by id", {"topicId": t.id, "name": None})
        ask("by id and name", {"topicId": t.id, "name": t.name})
        ask("by id and another name", {"topicId": t.id, "name": u.name})
        ask("unknown id", {"topicId": ASKED_ID, "name": None})
        ask("unknown id and a name", {"topicId": ASKED_ID, "name": t.name})
        ask("known and unknown id", {"topicId": t.id, "name": None}, {"topicId": ANOTHER_ID, "name": None})
        ask("an id twice", {"topicId": t.id, "name": None}, {"topicId": t.id, "name": None})
        ask("no name, no id", {"topicId": ZERO_ID, "name": None})
        ask("one by id, one by name", {"topicId": t.id, "name": None}, u.name)
        ask("operations by id", {"topicId": t.id, "name": None}, includeTopicAuthorizedOperations=True)
        ask("creation by an unknown id", {"topicId": ASKED_ID, "name": None}, creates=True)
    story.delete_topic(u.name)
    ask("deleted", u.name)
    if version >= 12:
        ask("deleted, by id", {"topicId": u.id, "name": None})


def placed_anywhere(answer: Any) -> Any:
    """The topics, without where the cluster has put them."""
    topics = [dict(one) for one in answer["topics"]]
    for topic in topics:
        topic["partitions"] = [
            {
                name: one[name]
                for name in ("errorCode", "partitionIndex", "leaderEpoch", "offlineReplicas")
                if name in one
            }
            | {
                "replicaNodes": {
                    "count": len(one["replicaNodes"]),
                    "distinct": len(set(one["replicaNodes"])),
                    "leader is the first": one["leaderId"] == one["replicaNodes"][0],
                },
                "isrNodes": len(one["isrNodes"]),
            }
            for one in topic["partitions"]
        ]
    return {"topics": topics}


@scenario("metadata/internal topic v{version}", versions="Metadata")
def internal_topic(story: Story, version: int) -> None:
    story.coordinator(story.named("g"))
    wanted = {"topics": [{"name": "__consumer_offsets"}], "allowAutoTopicCreation": False}

    def flags(answer: Any) -> Any:
        (topic,) = answer["topics"]
        return {name: topic.get(name) for name in ("errorCode", "name", "isInternal")} | {
            "partitions": len(topic["partitions"])
        }

    story.ask("consumer offsets", "Metadata", version, wanted, only=flags)


@scenario("describe cluster v{version}", versions="DescribeCluster")
def describe_cluster(story: Story, version: int) -> None:
    def ask(step: str, to: int = 0, **fields: Any) -> None:
        story.ask(step, "DescribeCluster", version, fields, to=to)

    ask("plain")
    ask("at another broker", to=2)
    ask("operations", includeClusterAuthorizedOperations=True)
    if version >= 1:
        ask("endpoint type 1", endpointType=1)
        ask("endpoint type 2", endpointType=2)
        ask("endpoint type 2, operations", endpointType=2, includeClusterAuthorizedOperations=True)
        ask("endpoint type 0", endpointType=0)
        ask("endpoint type 3", endpointType=3)
        ask("endpoint type -1", endpointType=-1)
    if version >= 2:
        ask("fenced brokers too", includeFencedBrokers=True)
        ask("fenced brokers of controllers", includeFencedBrokers=True, endpointType=2)


@scenario("describe topic partitions v{version}", versions="DescribeTopicPartitions")
def describe_topic_partitions(story: Story, version: int) -> None:
    a, b = story.topic("a", partitions=3), story.topic("b", partitions=2, replicas=2)
    story.topic("c", partitions=1, replicas=1)
    none = story.named("none")

    def ask(
        step: str, *topics: str, limit: int = 2000, cursor: tuple[str, int] | None = None, to: int = 0, only: Any = None
    ) -> None:
        request = {
            "topics": [{"name": one} for one in topics],
            "responsePartitionLimit": limit,
            "cursor": cursor and {"topicName": cursor[0], "partitionIndex": cursor[1]},
        }
        story.ask(step, "DescribeTopicPartitions", version, request, to=to, only=only)

    ask("one", a.name)
    ask("at another broker", a.name, to=1)
    ask("two", a.name, b.name)
    ask("in the other order", b.name, a.name)
    ask("twice", a.name, a.name)
    ask("unknown", none)
    ask("good and unknown", none, a.name)
    ask("bad name", "bad name!")
    ask("empty name", "")
    ask("name of 250", "x" * 250)
    ask("dots", "..")
    ask("limit 1", a.name, b.name, limit=1)
    ask("limit 3", a.name, b.name, limit=3)
    ask("limit 4", a.name, b.name, limit=4)
    ask("limit 5", a.name, b.name, limit=5)
    ask("limit 0", a.name, limit=0)
    ask("limit -1", a.name, limit=-1)
    ask("limit 1 with unknown", none, a.name, limit=1)
    ask("from a cursor", a.name, b.name, cursor=(a.name, 1))
    ask("from the second topic", a.name, b.name, cursor=(b.name, 0))
    ask("from a cursor with a limit", a.name, b.name, cursor=(a.name, 1), limit=2)
    ask("cursor behind the last partition", a.name, b.name, cursor=(a.name, 3))
    ask("cursor at a topic that was not asked for", a.name, cursor=(b.name, 0))
    ask("cursor between topics", a.name, b.name, cursor=(f"{a.name}x", 0))
    ask("cursor behind all", a.name, b.name, cursor=("zzz", 0))
    ask("cursor at an unknown topic", a.name, none, cursor=(none, 0))
    ask("cursor at partition -1", a.name, cursor=(a.name, -1))
    ask("cursor with an empty name", a.name, cursor=("", 0))
    own = mine(story, "topics")
    ask("all", only=lambda answer: {"topics": own(answer)["topics"]})
    ask("all from a cursor", cursor=(b.name, 1), only=lambda answer: {"topics": own(answer)["topics"]})
    story.coordinator(story.named("g"))
    ask("internal", "__consumer_offsets", only=lambda answer: {"isInternal": answer["topics"][0]["isInternal"]})
    story.delete_topic(b.name)
    ask("deleted", a.name, b.name)
