"""OffsetCommit, OffsetFetch, OffsetDelete, DescribeGroups, ListGroups: of simple groups and of groups with members."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.scenarios.classic_groups import commit, join_request, joined, leave
from tests.answers.scenarios.metadata import ASKED_ID
from tests.answers.story import Story, Topic, mine

IDS_VERSION = 10  # of OffsetCommit and OffsetFetch: topics by id


def by_name_or_id(topics: list[Topic | str], version: int) -> list[dict[str, Any]]:
    """Topics as a version names them; of one that is only a name the id is one that nothing has."""
    return [
        ({"topicId": ASKED_ID if isinstance(one, str) else one.id} if version >= IDS_VERSION else {})
        | {"name": one if isinstance(one, str) else one.name}
        for one in topics
    ]


@scenario("offset commit v{version}", versions="OffsetCommit")
def offset_commit(story: Story, version: int) -> None:  # noqa: PLR0915 - one story, step after step
    t, u = story.topic("t", partitions=3), story.topic("u")
    story.names.know(ASKED_ID, "<asked id 1>")
    group, other = story.named("g"), story.named("h")
    right = story.coordinator(group)

    def part(index: int, offset: int, metadata: str | None = "", epoch: int = -1) -> dict[str, Any]:
        return {
            "partitionIndex": index,
            "committedOffset": offset,
            "committedMetadata": metadata,
            "committedLeaderEpoch": epoch,
        }

    def ask(
        step: str,
        *rows: tuple[Topic | str, list[dict[str, Any]]],
        of: str = group,
        to: int | None = None,
        generation: int = -1,
        member: str = "",
        **more: Any,
    ) -> None:
        topics = [
            named | {"partitions": parts}
            for named, (_, parts) in zip(by_name_or_id([row[0] for row in rows], version), rows, strict=True)
        ]
        wanted = {"groupId": of, "generationIdOrMemberEpoch": generation, "memberId": member, "groupInstanceId": None}
        wanted |= {"retentionTimeMs": -1, "topics": topics} | more
        story.ask(step, "OffsetCommit", version, wanted, to=story.coordinator(of) if to is None else to)

    ask("simple", (t, [part(0, 10, "note")]))
    ask("three partitions", (t, [part(0, 11)]), (t, [part(1, 12)]), (t, [part(2, 13)]))
    ask("partitions of two topics", (t, [part(0, 11), part(1, 12)]), (u, [part(0, 13)]))
    ask("lower", (t, [part(0, 2)]))
    ask("offset -1", (t, [part(1, -1)]))
    ask("offset -2", (t, [part(1, -2)]))
    ask("a leader epoch", (t, [part(2, 5, "", 7)]))
    ask("null metadata", (t, [part(2, 6, None)]))
    ask("unknown partition", (t, [part(9, 1)]))
    ask("partition -1", (t, [part(-1, 1)]))
    ask("unknown topic", ("no-such-topic", [part(0, 1)]))
    ask("good and bad", (t, [part(0, 20)]), ("no-such-topic", [part(0, 1)]))
    ask("good and two bad", (t, [part(0, 20), part(9, 1)]), ("no-such-topic", [part(0, 1)]))
    ask("bad topic name", ("a b", [part(0, 1)]))
    ask("empty topic name", ("", [part(0, 1)]))
    ask("metadata of 4096", (t, [part(0, 21, "m" * 4096)]))
    ask("metadata of 4097", (t, [part(0, 22, "m" * 4097)]))
    ask("one too large, one right", (t, [part(0, 23, "m" * 5000)]), (t, [part(1, 24)]))
    ask("one too large, one right, together", (t, [part(0, 23, "m" * 5000), part(1, 24)]))
    ask("a partition twice", (t, [part(0, 25), part(0, 26)]))
    ask("a topic twice", (t, [part(0, 27)]), (t, [part(1, 28)]))
    ask("no partitions", (t, []))
    ask("no partitions and one", (t, []), (u, [part(0, 29)]))
    ask("no partitions of an unknown topic", ("no-such-topic", []))
    ask("no topics")
    ask("empty group", (t, [part(0, 1)]), of="")
    ask("not the coordinator", (t, [part(0, 1)]), to=(right + 1) % 3)
    ask("not the coordinator, bad topic", ("no-such-topic", [part(0, 1)]), to=(right + 1) % 3)
    ask("generation 3", (t, [part(0, 1)]), generation=3)
    ask("generation -2", (t, [part(0, 1)]), generation=-2)
    ask("member, no generation", (t, [part(0, 1)]), member="who")
    ask("generation 3 in a new group", (t, [part(0, 1)]), of=story.named("n"), generation=3, member="who")
    ask("generation 0 in a new group", (t, [part(0, 1)]), of=story.named("n"), generation=0)
    if version >= 7:
        ask("an instance", (t, [part(0, 1)]), groupInstanceId="who")
    if version >= IDS_VERSION:
        wanted = {"groupId": group, "generationIdOrMemberEpoch": -1, "memberId": ""}
        zero = {"topicId": "A" * 22, "partitions": [part(0, 1)]}
        story.ask("no id", "OffsetCommit", version, wanted | {"topics": [zero]}, to=right)
    fetch = {"groupId": group, "topics": [{"name": t.name, "partitionIndexes": [0, 1, 2, 9]}], "requireStable": False}
    story.ask("what is there", "OffsetFetch", 7, fetch, to=right)
    story.ask("a simple group", "DescribeGroups", 5, {"groups": [group]}, to=right)
    member = joined(story, other)
    ask("right", (t, [part(0, 31)]), of=other, generation=1, member=member)
    ask("simple into a group with members", (t, [part(0, 32)]), of=other)
    ask("generation 0", (t, [part(0, 33)]), of=other, generation=0, member=member)
    ask("generation 2", (t, [part(0, 33)]), of=other, generation=2, member=member)
    ask("generation -1", (t, [part(0, 33)]), of=other, member=member)
    ask("unknown member", (t, [part(0, 33)]), of=other, generation=1, member="who")
    ask("no member", (t, [part(0, 33)]), of=other, generation=1)
    ask("unknown member, unknown topic", ("no-such-topic", [part(0, 33)]), of=other, generation=1, member="who")
    if version >= 7:
        ask("unknown instance", (t, [part(0, 33)]), of=other, generation=1, member=member, groupInstanceId="who")
    fetch = {"groupId": other, "topics": [{"name": t.name, "partitionIndexes": [0]}], "requireStable": False}
    story.ask("of the group with members", "OffsetFetch", 5, fetch, to=story.coordinator(other))
    story.delete_topic(u.name)
    ask("deleted topic", (u, [part(0, 1)]))
    fetch = {"groupId": group, "topics": [{"name": u.name, "partitionIndexes": [0]}], "requireStable": False}
    story.until(
        lambda: story.quiet("OffsetFetch", 7, fetch, to=right)["topics"][0]["partitions"][0]["committedOffset"] == -1,
        "the end of a deleted topic's offsets",
    )
    story.ask("of a deleted topic", "OffsetFetch", 7, fetch, to=right)


@scenario("offset fetch v{version}", versions="OffsetFetch")
def offset_fetch(story: Story, version: int) -> None:
    t, u = story.topic("t", partitions=3), story.topic("u")
    story.names.know(ASKED_ID, "<asked id 1>")
    group, none = story.named("g"), story.named("none")
    right = story.coordinator(group)
    commit(story, group, t, 0, 5, committedLeaderEpoch=3, committedMetadata="note")
    commit(story, group, t, 1, 6)
    commit(story, group, u, 0, 7)

    def ask(
        step: str, *rows: tuple[Topic | str, list[int]], of: str = group, to: int | None = None, **more: Any
    ) -> None:
        topics: list[dict[str, Any]] | None = [
            named | {"partitionIndexes": parts}
            for named, (_, parts) in zip(by_name_or_id([row[0] for row in rows], version), rows, strict=True)
        ]
        if more.pop("everything", False):
            topics = None
        one = {"groupId": of, "topics": topics} | {
            name: more[name] for name in ("memberId", "memberEpoch") if name in more
        }
        wanted = {"groups": [one], "requireStable": more.get("requireStable", False)}
        if version < 8:
            wanted |= {"groupId": of, "topics": topics}
        story.ask(step, "OffsetFetch", version, wanted, to=story.coordinator(of) if to is None else to)

    ask("one", (t, [0]))
    ask("all of both", (t, [0, 1, 2]), (u, [0]))
    ask("unknown partition", (t, [9]))
    ask("partition -1", (t, [-1]))
    ask("unknown topic", ("no-such-topic", [0]))
    ask("bad name", ("a b", [0]))
    ask("good and unknown", (t, [0]), ("no-such-topic", [0]))
    ask("a partition twice", (t, [0, 0]))
    ask("a topic twice", (t, [0]), (t, [1]))
    ask("a topic without partitions", (t, []))
    ask("no topics")
    ask("unknown group", (t, [0]), of=none)
    ask("empty group", (t, [0]), of="")
    ask("not the coordinator", (t, [0]), to=(right + 1) % 3)
    if version >= 2:
        ask("everything", everything=True)
        ask("everything of an unknown group", everything=True, of=none)
        ask("everything at another broker", everything=True, to=(right + 1) % 3)
    ask("stable ones", (t, [0, 1]), requireStable=True)
    if version >= 8:

        def groups(step: str, *entries: dict[str, Any]) -> None:
            story.ask(step, "OffsetFetch", version, {"groups": list(entries), "requireStable": False}, to=right)

        first = by_name_or_id([t], version)[0] | {"partitionIndexes": [0]}
        groups("a group twice", {"groupId": group, "topics": [first]}, {"groupId": group, "topics": None})
        groups("no groups")
    if version >= 9:
        ask("a member", (t, [0]), memberId="who", memberEpoch=-1)
        ask("a member's epoch", (t, [0]), memberId="who", memberEpoch=3)
        ask("an epoch", (t, [0]), memberEpoch=3)
        ask("a member's epoch in an unknown group", (t, [0]), of=none, memberId="who", memberEpoch=3)
        other = story.named("h")
        member = joined(story, other)
        ask("a member's epoch in a group with members", (t, [0]), of=other, memberId=member, memberEpoch=1)
        ask("another epoch in a group with members", (t, [0]), of=other, memberId=member, memberEpoch=7)
    if version >= IDS_VERSION:
        zero = {"topicId": "A" * 22, "partitionIndexes": [0]}
        groups("no id", {"groupId": group, "topics": [zero]})


@scenario("offset delete v{version}", versions="OffsetDelete")
def offset_delete(story: Story, version: int) -> None:
    t, u = story.topic("t", partitions=2), story.topic("u")
    group, other, none = story.named("g"), story.named("h"), story.named("none")
    for topic, index in ((t, 0), (t, 1), (u, 0)):
        commit(story, group, topic, index)
        commit(story, other, topic, index)

    def ask(step: str, *rows: tuple[str, list[int]], of: str = group, to: int | None = None) -> None:
        topics = [{"name": name, "partitions": [{"partitionIndex": one} for one in parts]} for name, parts in rows]
        place = story.coordinator(of) if to is None else to
        story.ask(step, "OffsetDelete", version, {"groupId": of, "topics": topics}, to=place)

    ask("one", (t.name, [0]))
    ask("again", (t.name, [0]))
    ask("not the coordinator", (t.name, [1]), to=story.not_coordinator(group))
    ask("unknown topic", ("no-such-topic", [0]))
    ask("unknown partition", (t.name, [9]))
    ask("good and bad", (t.name, [1, 9]), ("no-such-topic", [0]))
    ask("nothing")
    ask("no partitions", (t.name, []))
    ask("no partitions of an unknown topic", ("no-such-topic", []))
    ask("unknown group", (t.name, [0]), of=none)
    ask("unknown group, unknown topic", ("no-such-topic", [0]), of=none)
    ask("empty group id", (t.name, [0]), of="")
    # A member of consumers that reads t: version 0, one topic, no user data.
    subscription = bytes(2) + (1).to_bytes(4) + len(t.name).to_bytes(2) + t.name.encode() + bytes(4)
    member = joined(story, other, protocols=[{"name": "range", "metadata": subscription}])
    ask("a topic that is read", (t.name, [0]), of=other)
    ask("another topic", (u.name, [0]), of=other)
    ask("both", (t.name, [0, 1]), (u.name, [0]), of=other)
    leave(story, other, member)
    ask("after the member left", (t.name, [0]), of=other)
    connect = story.named("c")
    to = story.coordinator(connect)
    commit(story, connect, t)
    wanted = join_request(connect, protocolType="connect", protocols=[{"name": "c", "metadata": b"c"}])
    name = story.quiet("JoinGroup", 5, wanted, to=to)["memberId"]
    story.quiet("JoinGroup", 5, wanted | {"memberId": name}, to=to)
    ask("a group of another type", (t.name, [0]), of=connect)
    fetch = {"groupId": other, "topics": None, "requireStable": False}
    story.ask("what is left", "OffsetFetch", 7, fetch, to=story.coordinator(other))


@scenario("describe groups v{version}", versions="DescribeGroups")
def describe_groups(story: Story, version: int) -> None:
    topic = story.topic("t")
    story.client_id = "m1"
    group, simple, none = story.named("g"), story.named("simple"), story.named("none")
    right = story.coordinator(group)
    commit(story, "", topic)
    member = joined(story, group)
    commit(story, simple, topic)

    def ask(step: str, *groups: str, to: int | None = None, **more: Any) -> None:
        place = to
        if place is None:
            place = story.coordinator(groups[0]) if groups else right
        story.ask(step, "DescribeGroups", version, {"groups": list(groups)} | more, to=place)

    ask("stable", group)
    ask("simple", simple)
    ask("unknown", none)
    ask("empty id", "")
    ask("not the coordinator", group, to=(right + 1) % 3)
    ask("none")
    ask("twice", group, group)
    if version >= 3:
        ask("operations", group, includeAuthorizedOperations=True)
        ask("operations of none", none, includeAuthorizedOperations=True)
        ask("operations at another broker", group, to=(right + 1) % 3, includeAuthorizedOperations=True)
    leave(story, group, member)
    ask("empty", group)


@scenario("list groups v{version}", versions="ListGroups")
def list_groups(story: Story, version: int) -> None:
    topic = story.topic("t")
    own = mine(story, "groups")
    stable, empty, simple = story.named("g"), story.named("h"), story.named("simple")
    where = {name: story.coordinator(name) for name in (stable, empty, simple)}
    joined(story, stable)
    to = where[empty]
    wanted = join_request(empty, protocolType="connect", protocols=[{"name": "c", "metadata": b"c"}])
    member = story.quiet("JoinGroup", 5, wanted, to=to)["memberId"]
    story.quiet("JoinGroup", 5, wanted | {"memberId": member}, to=to)
    leave(story, empty, member)
    commit(story, simple, topic)
    states = ([], ["Stable"], ["Empty"], ["stable"], ["Dead"], ["Nonsense"], ["Empty", "Stable"], [""], ["Assigning"])
    kinds = ([], ["classic"], ["Classic"], ["consumer"], ["share"], ["streams"], ["nonsense"], ["classic", "consumer"])
    for name, group in (("stable", stable), ("empty", empty), ("simple", simple)):
        place = where[group]

        def only(answer: Any, group: str = group) -> Any:
            kept = own(answer)
            kept["groups"] = [one for one in kept["groups"] if one["groupId"] == group]
            return kept

        story.ask(f"{name}: no filter", "ListGroups", version, {}, to=place, only=only)
        if version >= 4:
            for filtered in states:
                step = f"{name}: states {filtered}"
                story.ask(step, "ListGroups", version, {"statesFilter": filtered}, to=place, only=only)
        if version >= 5:
            for filtered in kinds:
                step = f"{name}: types {filtered}"
                story.ask(step, "ListGroups", version, {"typesFilter": filtered}, to=place, only=only)
            both = {"statesFilter": ["Empty"], "typesFilter": ["classic"]}
            story.ask(f"{name}: both", "ListGroups", version, both, to=place, only=only)
