"""What random requests to both clusters found to differ once: parts that nobody thinks of asking for together."""

from __future__ import annotations

from typing import Any

from tests.answers.normal import ZERO_ID
from tests.answers.scenarios import scenario
from tests.answers.scenarios.create_topics import create, wanted
from tests.answers.scenarios.fetch import NOWHERE, of, of_many
from tests.answers.scenarios.produce import UNKNOWN_ID, there, to_many
from tests.answers.story import Story, Topic

NAMELESS = Topic("", ZERO_ID, ((0,),))


@scenario("corners/fetch v{version}", versions="Fetch")
def fetch(story: Story, version: int) -> None:
    topic = story.topic("t", partitions=2)
    story.produced(topic, b"x")

    def ask(step: str, request: Any) -> None:
        story.ask(step, "Fetch", version, request)

    for level in (-1, 2, 127):
        ask(f"isolation level {level} of what is unknown", of(NOWHERE, {}, isolationLevel=level))
        ask(f"isolation level {level} of an unknown partition", of(topic, {"partition": 7}, isolationLevel=level))
        ask(f"isolation level {level} of another's", of(topic, {"partition": 1}, isolationLevel=level))
        ask(f"isolation level {level} of nothing", of_many([], isolationLevel=level))
    ask("no id", of(NAMELESS, {}))
    ask("no id, two partitions", of(NAMELESS, {}, {"partition": 1}))
    ask("no id, twice", of_many([(NAMELESS, [{}]), (NAMELESS, [{}])]))
    ask("no id, another before", of_many([(topic, [{}]), (NAMELESS, [{}])]))
    ask("no id, another behind", of_many([(NAMELESS, [{}]), (topic, [{}])]))
    ask("no id, an unknown one behind", of_many([(NAMELESS, [{}]), (NOWHERE, [{}])]))
    ask("no id, two partitions, a session", of(NAMELESS, {}, {"partition": 1}, sessionEpoch=0))


@scenario("corners/produce v{version}", versions="Produce")
def produce(story: Story, version: int) -> None:
    topic = story.topic("t", partitions=2)
    good, other, bad = story.batch(b"good"), story.batch(b"other"), story.batch(b"bad")[:-1]
    transactional = story.batch(b"x", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)

    def ask(step: str, *topics: Any, acks: int = -1) -> None:
        story.ask(step, "Produce", version, to_many(list(topics), acks))

    ask("twice", (topic, [(0, good), (0, other)]))
    ask("twice, the first bad", (topic, [(0, bad), (0, good)]))
    ask("twice, the last bad", (topic, [(0, good), (0, bad)]))
    ask("twice, both bad", (topic, [(0, bad), (0, b"")]))
    ask("twice, bad, elsewhere", (topic, [(1, bad), (1, good)]))
    ask("twice, bad, unknown", (topic, [(9, bad), (9, good)]))
    ask("twice, bad, acks 5", (topic, [(0, bad), (0, good)]), acks=5)
    ask("twice, none first, acks 5", (topic, [(0, None), (0, good)]), acks=5)
    ask("a topic twice, the first bad", (topic, [(0, bad)]), (topic, [(0, good)]))
    unknown = Topic("no-such-topic-here", UNKNOWN_ID, ((0,),))
    ask("no partitions beside a transactional one", (unknown, []), (topic, [(0, transactional)]))
    ask("a topic twice, transactional", (topic, [(0, transactional)]), (topic, [(1, good), (0, good)]))
    there(story, topic, "what is there")


@scenario("corners/no time")
def no_time(story: Story) -> None:
    topic = story.topic("t")
    name, none = topic.name, story.named("none")
    for timeout_ms in (0, -1):
        for step, named in {"all": None, "none": [], "one": [{"topic": name, "partitions": [0]}]}.items():
            for version in (0, 2):
                request = {"electionType": 0, "topicPartitions": named, "timeoutMs": timeout_ms}
                story.ask(f"{step} in {timeout_ms}", "ElectLeaders", version, request)
        for step, moves in {"none": [], "one": [{"name": name, "partitions": []}]}.items():
            for version in (0, 1):
                request = {"topics": moves, "timeoutMs": timeout_ms}
                story.ask(f"{step} in {timeout_ms}", "AlterPartitionReassignments", version, request)
            story.ask(
                f"{step} in {timeout_ms}", "ListPartitionReassignments", 0, {"topics": [], "timeoutMs": timeout_ms}
            )
        for step, new in {"none": [], "doubles": [wanted(none)] * 2, "bad": [wanted("__cluster_metadata")]}.items():
            story.ask(f"{step} in {timeout_ms}", "CreateTopics", 7, create(*new, timeout_ms=timeout_ms))
        rows = [{"name": name, "count": 2, "assignments": None}]
        for step, wider in {"none": [], "doubles": rows * 2, "one": rows}.items():
            request = {"topics": wider, "timeoutMs": timeout_ms, "validateOnly": True}
            story.ask(f"{step} in {timeout_ms}", "CreatePartitions", 3, request)
        both = {"name": name, "topicId": topic.id}
        for step, gone in {"none": [], "both": [both], "doubles": [{"name": none, "topicId": ZERO_ID}] * 2}.items():
            story.ask(f"{step} in {timeout_ms}", "DeleteTopics", 6, {"topics": gone, "timeoutMs": timeout_ms})
        story.ask(f"doubles in {timeout_ms}", "DeleteTopics", 5, {"topicNames": [none, none], "timeoutMs": timeout_ms})
    for how in (5, -1):
        request = {"electionType": how, "topicPartitions": [], "timeoutMs": 5000}
        story.ask(f"nothing of type {how}", "ElectLeaders", 2, request)


@scenario("corners/doubles")
def doubles(story: Story) -> None:
    topic = story.topic("t")
    neither, both = {"name": None, "topicId": ZERO_ID}, {"name": topic.name, "topicId": topic.id}
    by_id, by_name = {"name": None, "topicId": topic.id}, {"name": topic.name, "topicId": ZERO_ID}
    for step, some in {
        "neither, twice": [neither, neither],
        "both, twice": [both, both],
        "both, neither and the id twice": [both, neither, by_id, by_id],
        "the id twice and the name": [by_id, by_id, by_name],
        "the name twice and the id of nothing": [by_name, by_name, {"name": None, "topicId": UNKNOWN_ID}],
    }.items():
        story.ask(step, "DeleteTopics", 6, {"topics": some, "timeoutMs": 5000})
    many = [wanted(story.named("many"), 9_000), wanted(story.named("many"), 9_000)]
    story.ask("too many, but doubled", "CreateTopics", 7, create(*many))
    many = [{"name": topic.name, "count": 9_000, "assignments": None}] * 2
    request = {"topics": many, "timeoutMs": 5000, "validateOnly": False}
    story.ask("too many, but doubled", "CreatePartitions", 3, request)
    cursor = {"topicName": topic.name + "x", "partitionIndex": 0}
    request = {"topics": [{"name": topic.name}] * 2, "responsePartitionLimit": 10, "cursor": cursor}
    story.ask("a cursor of none of them", "DescribeTopicPartitions", 0, request)
    user = story.named("u")
    first = {"name": user, "mechanism": 1, "iterations": 4096, "salt": b"salt", "saltedPassword": b""}
    second = {**first, "mechanism": 2, "saltedPassword": b"x" * 32}
    for step, changes in {"the first empty": [first, second], "the last empty": [second, first]}.items():
        story.ask(step, "AlterUserScramCredentials", 0, {"deletions": [], "upsertions": changes})
    story.ask("empty", "AlterUserScramCredentials", 0, {"deletions": [], "upsertions": [first]})
    gone = [{"name": user, "mechanism": 1}]
    story.ask("removed and empty", "AlterUserScramCredentials", 0, {"deletions": gone, "upsertions": [first]})
