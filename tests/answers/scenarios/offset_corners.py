"""Corners of committed offsets: topics and partitions that a request names twice."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Story, Topic
from tests.answers.transactional import Producer

BAD = 9
"""A partition that no topic here has."""
LONG = "x" * 4097
ABSENT = "no-such-topic"
ABSENT_ID = "aaaaaaaaaaaaaaaaaaaaaQ"


def committing(topic: Topic | str, *partitions: int | tuple[int, str]) -> dict[str, Any]:
    """A topic of a commit: partitions by number, or by number and metadata."""
    known = isinstance(topic, Topic)
    pairs = [one if isinstance(one, tuple) else (one, "") for one in partitions]
    return {
        "name": topic.name if isinstance(topic, Topic) else topic,
        "topicId": topic.id if known and isinstance(topic, Topic) else ABSENT_ID,
        "partitions": [
            {"partitionIndex": index, "committedOffset": 5 + place, "committedMetadata": metadata}
            for place, (index, metadata) in enumerate(pairs)
        ],
    }


def doubled(first: Topic, second: Topic) -> dict[str, list[dict[str, Any]]]:
    """Topics of commits that name something twice, by what is special in them."""
    return {
        "one bad, twice": [committing(first, 0, BAD), committing(first, 1)],
        "bad in the second": [committing(first, 0), committing(first, 1, BAD)],
        "bad in both": [committing(first, BAD), committing(first, BAD)],
        "all good": [committing(first, 0), committing(first, 0)],
        "a partition twice": [committing(first, 0, 0, 1, 1)],
        "a bad one twice": [committing(first, BAD, 0, BAD)],
        "bad in another": [committing(first, 0), committing(second, BAD), committing(first, 1)],
        "an absent one between": [
            committing(first, 0),
            committing(ABSENT, 0),
            committing(first, 1),
            committing(ABSENT, 1),
        ],
        "absent, nothing of it": [committing(first, 0), committing(ABSENT), committing(first)],
        "nothing twice": [committing(first), committing(first)],
        "nothing of one, bad in another": [committing(second), committing(first, 0, BAD), committing(second)],
        "long metadata in one": [committing(first, (0, LONG), BAD), committing(first, (0, "a"), (1, LONG))],
    }


def offsets_of(story: Story, group: str, *topics: Topic) -> dict[str, Any]:
    wanted = [{"name": one.name, "partitionIndexes": [0, 1, 2]} for one in topics]
    return story.ask(
        f"what is kept, {len(story.kept)}",
        "OffsetFetch",
        7,
        {"groupId": group, "topics": wanted},
        to=story.coordinator(group),
    )


@scenario("offset corners/commit v{version}", versions="OffsetCommit")
def commit(story: Story, version: int) -> None:
    first, second, group = story.topic("t", partitions=3), story.topic("u", partitions=1), story.named("g")
    to = story.coordinator(group)
    for step, topics in doubled(first, second).items():
        anyone = {"groupId": group, "generationIdOrMemberEpoch": -1, "memberId": "", "topics": topics}
        story.ask(step, "OffsetCommit", version, anyone, to=to)
        story.ask(
            f"{step}, as a member",
            "OffsetCommit",
            version,
            anyone | {"generationIdOrMemberEpoch": 3, "memberId": "m"},
            to=to,
        )
        story.ask(f"{step}, not the coordinator", "OffsetCommit", version, anyone, to=(to + 1) % 3)
        story.ask(
            f"{step}, no such group",
            "OffsetCommit",
            version,
            anyone | {"groupId": f"{group}x", "generationIdOrMemberEpoch": 3, "memberId": "m"},
            to=story.coordinator(f"{group}x"),
        )
    offsets_of(story, group, first, second)


@scenario("offset corners/metadata")
def metadata(story: Story) -> None:
    """Metadata is as long as Java counts it: a letter beyond the basic plane is two."""
    topic, group = story.topic("t", partitions=3), story.named("g")
    to = story.coordinator(group)
    for step, text in (
        ("two each", "\U0001f600" * 2048),
        ("one too many", "\U0001f600" * 2048 + "a"),
        ("umlauts", "ü" * 4096),
    ):
        wanted = {
            "groupId": group,
            "generationIdOrMemberEpoch": -1,
            "memberId": "",
            "topics": [committing(topic, (0, text))],
        }
        story.ask(step, "OffsetCommit", 8, wanted, to=to)


@scenario("offset corners/transactional commit v{version}", versions="TxnOffsetCommit")
def transactional_commit(story: Story, version: int) -> None:
    first, second, group = story.topic("t", partitions=3), story.topic("u", partitions=1), story.named("g")
    to = story.coordinator(group)
    producer = Producer.of(story).begun()
    producer.add_offsets(None, group)
    who = producer.who
    for step, topics in doubled(first, second).items():
        wanted = who | {"groupId": group, "generationIdOrMemberEpoch": -1, "memberId": "", "topics": topics}
        story.ask(step, "TxnOffsetCommit", version, wanted, to=to)
        story.ask(
            f"{step}, as a member",
            "TxnOffsetCommit",
            version,
            wanted | {"generationIdOrMemberEpoch": 3, "memberId": "m"},
            to=to,
        )
        story.ask(f"{step}, another producer", "TxnOffsetCommit", version, wanted | {"producerEpoch": 7}, to=to)
    offsets_of(story, group, first, second)


@scenario("offset corners/fetch v{version}", versions="OffsetFetch")
def fetch(story: Story, version: int) -> None:
    first, second, group = story.topic("t", partitions=3), story.topic("u", partitions=1), story.named("g")
    to = story.coordinator(group)
    anyone = {"groupId": group, "generationIdOrMemberEpoch": -1, "memberId": "", "topics": [committing(first, 0, 1)]}
    story.quiet("OffsetCommit", 8, anyone, to=to)
    one = {"name": first.name, "topicId": first.id}
    other = {"name": second.name, "topicId": second.id}
    absent = {"name": ABSENT, "topicId": ABSENT_ID}
    for step, topics in {
        "a topic twice": [one | {"partitionIndexes": [0]}, one | {"partitionIndexes": [1, BAD]}],
        "a partition twice": [one | {"partitionIndexes": [0, 0, 2, 2]}],
        "an absent one between": [
            one | {"partitionIndexes": [0]},
            absent | {"partitionIndexes": [0, 0]},
            one | {"partitionIndexes": [0]},
        ],
        "nothing of one": [
            other | {"partitionIndexes": []},
            one | {"partitionIndexes": []},
            absent | {"partitionIndexes": []},
        ],
        "no topics": [],
    }.items():
        for name in (group, ""):
            wanted = {
                "groupId": name,
                "topics": topics,
                "requireStable": True,
                "groups": [{"groupId": name, "memberId": None, "memberEpoch": -1, "topics": topics}],
            }
            story.ask(
                f"{step}, {'a' if name else 'no'} group",
                "OffsetFetch",
                version,
                wanted,
                to=story.coordinator(name) if name else to,
            )
    if version >= 8:
        doubled_group = {
            "groupId": group,
            "memberId": None,
            "memberEpoch": -1,
            "topics": [one | {"partitionIndexes": [0]}],
        }
        story.ask("a group twice", "OffsetFetch", version, {"groups": [doubled_group, doubled_group]}, to=to)
