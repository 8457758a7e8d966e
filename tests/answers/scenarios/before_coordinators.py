"""Requests for coordinators of a cluster without their topics: only FindCoordinator creates them."""

from __future__ import annotations

from tests.answers.access_requests import SINCE, Present
from tests.answers.access_requests_of_the_cluster import all_requests
from tests.answers.scenarios import scenario, streams_groups, versions_of
from tests.answers.scenarios.consumer_group_offsets import Offsets
from tests.answers.scenarios.consumer_groups import Group
from tests.answers.scenarios.streams_groups import Joined, subtopology, topology
from tests.answers.story import Story, mine

SETTINGS = streams_groups.SETTINGS
OF_GROUPS = (
    "OffsetCommit",
    "OffsetFetch",
    "OffsetDelete",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "DescribeGroups",
    "ListGroups",
    "DeleteGroups",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupDescribe",
    "ShareGroupHeartbeat",
    "ShareGroupDescribe",
    "DescribeShareGroupOffsets",
    "AlterShareGroupOffsets",
    "DeleteShareGroupOffsets",
    "StreamsGroupHeartbeat",
    "StreamsGroupDescribe",
    "StreamsGroupTopologyDescriptionUpdate",
    "TxnOffsetCommit",
)
OF_TRANSACTIONS = (
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "EndTxn",
    "DescribeTransactions",
    "ListTransactions",
    "InitProducerId",
)


class Early(Present):
    """A topic, and names of a group and a transactional id that no broker coordinates."""

    def share_group(self) -> tuple[str, int]:
        return self.group, self.group_at


def ask_all(story: Story, apis: tuple[str, ...]) -> None:
    early = Early(story, story.topic("t"), story.named("g"), story.named("x"), 0, 0)
    for (api, what), make in all_requests().items():
        if api in apis and (api, what) != ("InitProducerId", ""):
            for version in versions_of(api)[SINCE.get((api, what), 0) :]:
                _, body = make(early)
                story.ask(what or "early", api, version, body, to=version % 3)


@scenario("before coordinators/groups")
def groups(story: Story) -> None:
    ask_all(story, OF_GROUPS)
    topic = story.topic("u")
    group = story.named("later")
    for role in range(3):
        body = {"groupIds": [group, ""], "includeAuthorizedOperations": True}
        for api in ("ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe"):
            story.ask(f"two, at {role}", api, 1, body, to=role)
        fetch = {"groups": [{"groupId": group, "topics": None}, {"groupId": "", "topics": None}]}
        story.ask(f"two, at {role}", "OffsetFetch", 8, {**fetch, "requireStable": False}, to=role)
    one = Joined(story, topology(subtopology(0, topic.name)), group="later")
    one.beat("once a coordinator was found")
    story.ask("once one was found", "ListGroups", 5, {}, to=one.right, only=mine(story, "groups"))
    story.ask(
        "at another broker",
        "StreamsGroupHeartbeat",
        1,
        {"groupId": one.group, "memberId": "one"},
        to=(one.right + 1) % 3,
    )


@scenario("before coordinators/transactions")
def transactions(story: Story) -> None:
    ask_all(story, OF_TRANSACTIONS)


@scenario("before coordinators/fetches of several groups v{version}", versions=("OffsetFetch", 8, 10))
def fetches(story: Story, version: int) -> None:
    """One request for groups of this coordinator, right and wrong, and for one of another."""
    topic = story.topic("t", partitions=2)
    group = Group(story)
    group.join(None, "m1", topic.name)
    Offsets(story, group, topic).commit("one", 9, "m1", 2, 0)
    names = [story.named(f"elsewhere-{number}") for number in range(9)]
    elsewhere = next(name for name in names if story.coordinator(name) != group.to)
    wanted = [{"name": topic.name, "topicId": topic.id, "partitionIndexes": [0, 1]}]

    def entry(name: str, member: str | None = None, epoch: int = -1, *, everything: bool = False) -> dict[str, object]:
        return {"groupId": name, "memberId": member, "memberEpoch": epoch, "topics": None if everything else wanted}

    def ask(step: str, *entries: dict[str, object]) -> None:
        for stable in (False, True):
            body = {"groups": list(entries), "requireStable": stable}
            story.ask(f"{step}{', stable' * stable}", "OffsetFetch", version, body, to=group.to)

    right = entry(group.id, "m1", 2)
    ask("another coordinator's", entry(elsewhere))
    ask("another coordinator's, by a member", entry(elsewhere, "m1", 2))
    ask("another coordinator's and one of here", entry(elsewhere), right)
    ask("one of here and all of another coordinator's", right, entry(elsewhere, everything=True))
    ask("an unknown member and another coordinator's", entry(group.id, "who", 2), entry(elsewhere))
    ask("a stale epoch and another coordinator's", entry(group.id, "m1", 1), entry(elsewhere, "who", 5))
    ask("a stale epoch and no id", entry(group.id, "m1", 9, everything=True), entry(""))
    ask("an unknown member and a group that is not there", entry(group.id, "who", 2), entry(story.named("not-there")))
    ask("right, stale and unknown", right, entry(group.id, "m1", 1), entry(group.id, "who", 2))


@scenario("before coordinators/fenced Streams members")
def fenced(story: Story) -> None:
    """A member that is fenced, or that has fallen silent, joins again with epoch 0."""
    topic = story.topic("t", partitions=2)
    story.settle()
    one = Joined(story, topology(subtopology(0, topic.name)))
    one.beat("joins")
    one.owning("stays")
    one.beat("an epoch ahead", memberEpoch=one.epoch + 5)
    one.beat("joins again", memberEpoch=0)
    one.describe("joined again")
    one.owning("stays again")
    two = Joined(story, one.topology, "two")
    two.beat("another joins")
    one.beat("an epoch behind, without tasks", memberEpoch=1, activeTasks=[], standbyTasks=[], warmupTasks=[])
    one.beat("joins while another waits", memberEpoch=0)
    one.owning("after that")
    two.owning("the other")
    one.describe("both")
    one.beat("leaves", memberEpoch=-1)
    one.beat("left, but stays", memberEpoch=3)
    one.beat("left, and joins", memberEpoch=0)
    two.owning("the other, at the end")
    one.describe("at the end")
