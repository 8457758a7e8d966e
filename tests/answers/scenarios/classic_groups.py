"""Classic groups: joining, syncing, heartbeats, leaving; static members; what is wrong of each."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Pending, Story, Topic

SETTINGS = {"group.max.size": "2"}

METADATA = bytes(10) + b"\2m1"
OTHER_METADATA = bytes(10) + b"\2m2"


def join_request(group: str, member: str = "", **fields: Any) -> dict[str, Any]:
    return {
        "groupId": group,
        "sessionTimeoutMs": 30_000,
        "rebalanceTimeoutMs": 30_000,
        "memberId": member,
        "groupInstanceId": None,
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": METADATA}],
        "reason": None,
    } | fields


def joined(story: Story, group: str, **fields: Any) -> str:
    """A member that is alone in its group, and synced, in generation 1; gives its id."""
    to = story.coordinator(group)
    wanted = join_request(group, **fields)
    member = story.quiet("JoinGroup", 5, wanted, to=to)["memberId"]
    if not fields.get("groupInstanceId"):
        answer = story.quiet("JoinGroup", 5, wanted | {"memberId": member}, to=to)
        assert answer["errorCode"] == 0, answer
    sync = {"groupId": group, "generationId": 1, "memberId": member, "groupInstanceId": fields.get("groupInstanceId")}
    sync["assignments"] = [{"memberId": member, "assignment": b"all of it"}]
    answer = story.quiet("SyncGroup", 3, sync, to=to)
    assert answer["errorCode"] == 0, answer
    return str(member)


def leave(story: Story, group: str, member: str) -> None:
    answer = story.quiet("LeaveGroup", 0, {"groupId": group, "memberId": member}, to=story.coordinator(group))
    assert answer["errorCode"] == 0, answer


def commit(story: Story, group: str, topic: Topic, index: int = 0, offset: int = 5, **fields: Any) -> None:
    """Commit an offset without a member."""
    partition = {"partitionIndex": index, "committedOffset": offset, "committedMetadata": ""} | fields
    wanted = {"groupId": group, "generationIdOrMemberEpoch": -1, "memberId": ""}
    wanted["topics"] = [{"name": topic.name, "partitions": [partition]}]  # type: ignore[assignment]
    answer = story.quiet("OffsetCommit", 7, wanted, to=story.coordinator(group))
    assert answer["topics"][0]["partitions"][0]["errorCode"] == 0, answer


class Members:
    """A group's members by short names: each its own connection and client id, its member id once it has one."""

    def __init__(self, story: Story, group: str, join: int, sync: int, heartbeat: int, leave: int) -> None:
        self.story, self.group, self.right = story, group, story.coordinator(group)
        self.versions = {"JoinGroup": join, "SyncGroup": sync, "Heartbeat": heartbeat, "LeaveGroup": leave}
        self.ids: dict[str, str] = {}
        self.generation = 1

    def where(self, who: str) -> dict[str, Any]:
        return {"to": self.right, "on": who, "client_id": who}

    def begin_join(self, step: str | None, who: str, **fields: Any) -> Pending:
        wanted = join_request(self.group, self.ids.get(who, ""), protocols=protocols(who)) | fields
        return self.story.begin(step, "JoinGroup", self.versions["JoinGroup"], wanted, **self.where(who))

    def joined(self, pending: Pending, who: str) -> dict[str, Any]:
        answer = pending.answer()
        if answer.get("memberId"):
            self.ids[who] = answer["memberId"]
        if answer["errorCode"] == 0:
            self.generation = answer["generationId"]
        return answer

    def join(self, step: str | None, who: str, **fields: Any) -> dict[str, Any]:
        return self.joined(self.begin_join(step, who, **fields), who)

    def enter(self, who: str, **fields: Any) -> None:
        """Get an id, as members do since v4, without keeping it."""
        if self.versions["JoinGroup"] >= 4 and not fields.get("groupInstanceId"):
            assert self.join(None, who, **fields)["errorCode"] == 79

    def sync(
        self, step: str | None, who: str, assigned: dict[str, bytes] | None = None, **fields: Any
    ) -> dict[str, Any]:
        wanted = {
            "groupId": self.group,
            "generationId": self.generation,
            "memberId": self.ids.get(who, who),
            "groupInstanceId": None,
            "protocolType": "consumer",
            "protocolName": "range",
            "assignments": [
                {"memberId": self.ids.get(name, name), "assignment": value} for name, value in (assigned or {}).items()
            ],
        }
        place = self.where(who) | ({"to": fields.pop("to")} if "to" in fields else {})
        return self.story.ask(step, "SyncGroup", self.versions["SyncGroup"], wanted | fields, **place)

    def beat(self, step: str, who: str, **fields: Any) -> dict[str, Any]:
        wanted = {"groupId": self.group, "generationId": self.generation, "memberId": self.ids.get(who, who)}
        version = self.versions["Heartbeat"]
        return self.story.ask(
            step, "Heartbeat", version, wanted | {"groupInstanceId": None} | fields, **self.where(who)
        )

    def leave(self, step: str | None, *who: str, **fields: Any) -> dict[str, Any]:
        members = [
            {"memberId": self.ids.get(one, one), "groupInstanceId": None, "reason": "test"} | fields for one in who
        ]
        wanted = {"groupId": self.group, "memberId": members[0]["memberId"] if members else "", "members": members}
        return self.story.ask(
            step, "LeaveGroup", self.versions["LeaveGroup"], wanted, **self.where(who[0] if who else "x")
        )

    def describe(self, step: str, version: int = 5, **fields: Any) -> None:
        self.story.ask(step, "DescribeGroups", version, {"groups": [self.group]} | fields, to=self.right)

    def commit(self, step: str, who: str, topic: Topic, version: int = 7, **fields: Any) -> None:
        partition = {"partitionIndex": 0, "committedOffset": 5, "committedMetadata": "", "committedLeaderEpoch": -1}
        wanted = {
            "groupId": self.group,
            "generationIdOrMemberEpoch": self.generation,
            "memberId": self.ids.get(who, who),
            "groupInstanceId": None,
            "topics": [{"name": topic.name, "partitions": [partition]}],
        }
        self.story.ask(step, "OffsetCommit", version, wanted | fields, **self.where(who))


def protocols(who: str, *names: str) -> list[dict[str, Any]]:
    """What a member offers: its metadata are its own, and say so."""
    return [{"name": name, "metadata": bytes(10) + bytes([len(who)]) + who.encode()} for name in names or ("range",)]


def members_of(story: Story, version: int, group: str | None = None) -> Members:
    """A group whose members speak a version of JoinGroup, and of the others as clients of that time."""
    return Members(
        story,
        group or story.named("g"),
        join=version,
        sync=min(version, 5),
        heartbeat=min(version, 4),
        leave=min(version, 5),
    )


@scenario("group v{version}", versions="JoinGroup")
def group_alone(story: Story, version: int) -> None:
    topic = story.topic("t")
    one = members_of(story, version)
    first = one.join("join", "m1")
    if first["errorCode"] == 79:
        one.join("join with the id", "m1")
    one.beat("before the sync", "m1")
    one.commit("before the sync", "m1", topic)
    one.describe("before the sync")
    one.sync("sync", "m1", {"m1": b"mine"})
    one.sync("sync again", "m1")
    one.beat("stable", "m1")
    one.describe("stable", version=6)
    one.commit("stable", "m1", topic)
    one.join("join again", "m1")
    before = {"generationId": 1}
    one.beat("the generation before", "m1", **before)
    one.sync("the generation before", "m1", {"m1": b"mine"}, **before)
    one.sync("the next generation", "m1", {"m1": b"again"})
    one.leave("leave", "m1")
    one.leave("leave again", "m1")
    one.beat("after leaving", "m1")
    one.sync("after leaving", "m1")
    one.commit("after leaving", "m1", topic)
    one.describe("empty", version=6)
    stranger = {"memberId": "no-such-member"}

    def refused(step: str, to: int = one.right, **fields: Any) -> None:
        wanted = join_request(one.group, "", protocols=protocols("m1")) | fields
        story.ask(step, "JoinGroup", version, wanted, to=to, on="other", client_id="m1")

    refused("a made up id", **stranger)
    refused("empty group id", groupId="", to=story.coordinator(""))
    refused("not the coordinator", to=(one.right + 1) % 3)
    refused("session too short", sessionTimeoutMs=500)
    refused("session too long", sessionTimeoutMs=1_800_001)
    refused("session 0", sessionTimeoutMs=0)
    refused("no protocols", protocols=[])
    refused("empty protocol type", protocolType="")
    refused("no protocols, a new group", groupId=story.named("n"), protocols=[], to=story.coordinator(story.named("n")))
    refused("an id in a new group", groupId=story.named("n"), to=story.coordinator(story.named("n")), **stranger)


@scenario("group/two members v{version}", versions="JoinGroup")
def group_of_two(story: Story, version: int) -> None:
    topic = story.topic("t")
    two = members_of(story, version)
    two.enter("m1")
    two.join(None, "m1")
    two.sync("alone", "m1", {"m1": b"all"})
    two.enter("m2")
    waiting = two.begin_join("m2 joined", "m2")
    assert not waiting.is_answered(200)
    two.beat("m1 hears of it", "m1")
    two.describe("preparing")
    two.sync("m1 while preparing", "m1")
    two.commit("m1 commits while preparing", "m1", topic)
    two.join("m1 joins again", "m1")
    two.joined(waiting, "m2")
    two.describe("completing")
    two.beat("m2 before the sync", "m2")
    follower = story.begin(
        "m2 follows",
        "SyncGroup",
        two.versions["SyncGroup"],
        {"groupId": two.group, "generationId": two.generation, "memberId": two.ids["m2"], "assignments": []}
        | {"protocolType": "consumer", "protocolName": "range"},
        **two.where("m2"),
    )
    assert not follower.is_answered(200)
    two.sync("m1 leads", "m1", {"m1": b"half", "m2": b"other half"})
    follower.answer()
    two.describe("stable")
    two.join("m2 joins again, nothing new", "m2")
    two.sync("m2 syncs again with an assignment", "m2", {"m1": b"stolen"})
    waiting = two.begin_join("m2 has something new", "m2", protocols=[{"name": "range", "metadata": b"something new"}])
    assert not waiting.is_answered(200)
    two.join("m1 joins, m2 has something new", "m1")
    two.joined(waiting, "m2")
    two.sync("m1 leads, nothing for m2", "m1", {"m1": b"half"})
    two.sync("m2 gets nothing", "m2")
    two.leave("m2 leaves", "m2")
    two.beat("m1 hears that m2 left", "m1")
    two.join("m1 alone again", "m1")
    two.beat("m1 before its sync", "m1")
    two.leave("m1 leaves", "m1")
    two.describe("empty")


@scenario("group/protocols v{version}", versions=("JoinGroup", 5, 9))
def group_protocols(story: Story, version: int) -> None:
    two = members_of(story, version)
    two.enter("m1")
    two.join(None, "m1", protocols=protocols("m1", "range", "sticky"))
    two.sync(None, "m1", {"m1": b"x"})
    two.enter("m2", protocols=protocols("m2", "sticky", "range"))
    waiting = two.begin_join("m2, a tie of votes", "m2", protocols=protocols("m2", "sticky", "range"))
    assert not waiting.is_answered(200)
    two.join("m1, a tie of votes", "m1", protocols=protocols("m1", "range", "sticky"))
    two.joined(waiting, "m2")
    two.describe("completing")

    def join(step: str, who: str = "", member: str = "", **fields: Any) -> None:
        wanted = join_request(two.group, member) | fields
        story.ask(step, "JoinGroup", version, wanted, to=two.right, on="other", client_id="m1")

    join("no protocol in common", protocols=protocols("m1", "other"))
    join("another protocol type", protocolType="connect")
    join("a member changes to what nobody has", member=two.ids["m2"], protocols=protocols("m2", "other"))
    join("a member without protocols", member=two.ids["m2"], protocols=[])
    join("a member of another type", member=two.ids["m2"], protocolType="connect")
    two.sync("another protocol's name", "m1", {"m1": b"x"}, protocolName="range")
    two.sync("another protocol type", "m1", {"m1": b"x"}, protocolName="sticky", protocolType="connect")
    two.sync("right", "m1", {"m1": b"x", "m2": b"y"}, protocolName="sticky")
    two.describe("stable")
    connect = members_of(story, version, story.named("h"))
    connect.enter("c1", protocolType="connect", protocols=[{"name": "compatible", "metadata": b"c"}])
    connect.join("connect", "c1", protocolType="connect", protocols=[{"name": "compatible", "metadata": b"c"}])
    connect.sync("connect", "c1", {"c1": b"x"}, protocolType="connect", protocolName="compatible")
    connect.describe("connect")
    state = {"statesFilter": ["Stable"], "typesFilter": ["classic"]}

    def connects(answer: Any) -> Any:
        return answer | {"groups": [one for one in answer["groups"] if one["groupId"] == connect.group]}

    story.ask("connect", "ListGroups", 5, state, to=connect.right, only=connects)
    empty = members_of(story, version, story.named("e"))
    empty.enter("e1", protocols=[{"name": "", "metadata": b"1"}])
    empty.join("empty protocol name", "e1", protocols=[{"name": "", "metadata": b"1"}])


@scenario("group/static members v{version}", versions=("JoinGroup", 5, 9))
def static_members(story: Story, version: int) -> None:
    topic = story.topic("t")
    one = members_of(story, version)
    name = {"groupInstanceId": "one"}
    one.join("join", "m1", **name)
    first = one.ids["m1"]
    one.sync("sync", "m1", {"m1": b"mine"}, **name)
    one.beat("with the instance", "m1", **name)
    one.beat("another instance", "m1", groupInstanceId="two")
    one.beat("without the instance", "m1")
    one.beat("another member id", "nobody", **name)
    one.describe("one static member")
    one.ids["m1"] = ""
    one.join("comes back", "m1", **name)
    one.sync("comes back", "m1", **name)
    one.beat("the new id", "m1", **name)
    one.ids["old"] = first
    one.beat("the old id", "old", **name)
    one.beat("the old id alone", "old")
    one.sync("the old id", "old", **name)
    one.begin_join("the old id", "old", **name).answer()
    one.commit("the old id", "old", topic, **name)
    one.commit("the new id", "m1", topic, **name)
    one.leave("the old id", "old", **name)
    wanted = join_request(one.group, "made-up", groupInstanceId="two", protocols=protocols("m1"))
    story.ask("unknown instance with an id", "JoinGroup", version, wanted, to=one.right, on="x", client_id="m1")
    one.describe("after coming back")
    one.ids["m1"] = ""
    one.join("comes back changed", "m1", protocols=[{"name": "range", "metadata": b"changed"}], **name)
    one.sync("comes back changed", "m1", {"m1": b"changed"}, **name)
    one.ids["m1"] = ""
    one.leave("by instance", "m1", **name)
    one.leave("by instance again", "m1", **name)
    one.describe("gone")


@scenario("group/leave several v{version}", versions=("LeaveGroup", 3, 5))
def leave_several(story: Story, version: int) -> None:
    two = Members(story, story.named("g"), join=7, sync=5, heartbeat=4, leave=version)
    two.join(None, "m1", groupInstanceId="one")
    two.sync(None, "m1", {"m1": b"x"}, groupInstanceId="one")

    def leave(step: str, *members: tuple[str, str | None], group: str = two.group) -> None:
        wanted = {"groupId": group, "members": [{"memberId": one, "groupInstanceId": two_} for one, two_ in members]}
        story.ask(step, "LeaveGroup", version, wanted, to=two.right if group else story.coordinator(""))

    leave("none")
    leave("none of an empty group", group="")
    leave("neither name", ("", None))
    leave("unknown and empty", ("who", None), ("", None))
    leave("unknown instance", ("", "who"))
    leave("a wrong member of a right instance", ("who", "one"))
    leave("unknown, then right", ("who", None), ("", "one"))
    leave("after that", ("", "one"))
    unknown = story.named("none")
    wanted = {"groupId": unknown, "members": [{"memberId": "a", "groupInstanceId": None}]}
    story.ask("unknown group", "LeaveGroup", version, wanted, to=story.coordinator(unknown))


@scenario("group/a member falls silent v{version}", versions=("JoinGroup", 2, 9))
def silent(story: Story, version: int) -> None:
    two = members_of(story, version)
    two.enter("m2", sessionTimeoutMs=1_000)
    two.join(None, "m2", sessionTimeoutMs=1_000, rebalanceTimeoutMs=60_000)
    two.enter("m1", rebalanceTimeoutMs=60_000)
    waiting = two.begin_join(None, "m1", rebalanceTimeoutMs=60_000)
    assert not waiting.is_answered(100)
    two.join(None, "m2", sessionTimeoutMs=1_000, rebalanceTimeoutMs=60_000)
    two.joined(waiting, "m1")
    leader = two.joined(two.begin_join(None, "m2", sessionTimeoutMs=1_000), "m2")["leader"]
    del leader
    story.wait(2_500)
    two.beat("the silent one", "m2")
    two.join("the other goes on", "m1", rebalanceTimeoutMs=60_000)
    two.beat("the silent one, again", "m2")
    two.describe("after it")


@scenario("group/a member does not sync v{version}", versions=("JoinGroup", 2, 9))
def never_synced(story: Story, version: int) -> None:
    two = members_of(story, version)
    two.enter("m1", rebalanceTimeoutMs=1_000)
    two.join(None, "m1", rebalanceTimeoutMs=1_000)
    story.wait(2_500)
    two.beat("after the rebalance time-out", "m1")
    two.describe("after it")


@scenario("group/too large v{version}", versions=("JoinGroup", 3, 9))
def too_large(story: Story, version: int) -> None:
    three = members_of(story, version)
    three.enter("m1")
    three.join(None, "m1")
    three.sync(None, "m1", {"m1": b"x"})
    three.enter("m2")
    waiting = three.begin_join(None, "m2")
    assert not waiting.is_answered(100)
    three.join(None, "m1")
    three.joined(waiting, "m2")
    refused = three.join("the third", "m3")
    if refused["errorCode"] == 79:
        three.join("the third, with its id", "m3")
    three.describe("two are there")


@scenario("heartbeat v{version}", versions="Heartbeat")
def heartbeat(story: Story, version: int) -> None:
    group = story.named("g")
    right = story.coordinator(group)
    member = joined(story, group)

    def ask(step: str, of: str = group, generation: int = 1, name: str = member, to: int = right, **more: Any) -> None:
        wanted = {"groupId": of, "generationId": generation, "memberId": name, "groupInstanceId": None} | more
        story.ask(step, "Heartbeat", version, wanted, to=to)

    ask("right")
    ask("generation 0", generation=0)
    ask("generation 2", generation=2)
    ask("generation -1", generation=-1)
    ask("unknown member", name="who")
    ask("no member", name="")
    ask("unknown group", of=story.named("none"), to=story.coordinator(story.named("none")))
    ask("empty group", of="", to=story.coordinator(""))
    ask("not the coordinator", to=(right + 1) % 3)
    if version >= 3:
        ask("unknown instance", groupInstanceId="who")
    leave(story, group, member)
    ask("after it left")


@scenario("sync v{version}", versions="SyncGroup")
def sync(story: Story, version: int) -> None:
    group, other = story.named("g"), story.named("h")
    right, member = story.coordinator(group), joined(story, group)

    def ask(step: str, of: str = group, generation: int = 1, name: str = member, to: int = right, **more: Any) -> None:
        wanted = {"groupId": of, "generationId": generation, "memberId": name, "groupInstanceId": None}
        wanted |= {"protocolType": "consumer", "protocolName": "range", "assignments": []} | more
        story.ask(step, "SyncGroup", version, wanted, to=to)

    ask("right")
    ask("generation 0", generation=0)
    ask("generation 2", generation=2)
    ask("unknown member", name="nobody")
    ask("no member", name="")
    ask("unknown group", of=story.named("none"), to=story.coordinator(story.named("none")))
    ask("empty group", of="", to=story.coordinator(""))
    ask("not the coordinator", to=(right + 1) % 3)
    ask("a new assignment", assignments=[{"memberId": member, "assignment": b"new"}])
    ask("what is assigned")
    if version >= 3:
        ask("unknown instance", groupInstanceId="who")
    if version >= 5:
        ask("another type", protocolType="connect")
        ask("another protocol", protocolName="sticky")
        ask("no type", protocolType=None)
        ask("no protocol", protocolName=None)
        ask("neither", protocolType=None, protocolName=None)
    to = story.coordinator(other)
    wanted = join_request(other)
    name = story.quiet("JoinGroup", 5, wanted, to=to)["memberId"]
    story.quiet("JoinGroup", 5, wanted | {"memberId": name}, to=to)
    stranger = [{"memberId": "stranger", "assignment": b"x"}]
    ask("an assignment for a stranger", of=other, name=name, to=to, assignments=stranger)
    ask("nothing for the leader", of=other, name=name, to=to)


@scenario("leave v{version}", versions="LeaveGroup")
def leave_alone(story: Story, version: int) -> None:
    group = story.named("g")
    right, member = story.coordinator(group), joined(story, group)

    def ask(step: str, name: str = member, of: str = group, to: int = right) -> None:
        members = [{"memberId": name, "groupInstanceId": None, "reason": "test"}]
        story.ask(step, "LeaveGroup", version, {"groupId": of, "memberId": name, "members": members}, to=to)

    ask("unknown member", "nobody")
    ask("no member id", "")
    ask("unknown group", of=story.named("none"), to=story.coordinator(story.named("none")))
    ask("empty group", of="", to=story.coordinator(""))
    ask("not the coordinator", to=(right + 1) % 3)
    ask("one")
    ask("it again")
    story.ask("all left", "DescribeGroups", 5, {"groups": [group]}, to=right)
