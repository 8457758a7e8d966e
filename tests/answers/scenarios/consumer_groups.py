"""Groups of the consumer protocol: their heartbeats, how members come to their targets, and what is wrong of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Story, Topic, mine

ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
SESSION_MS = 5000  # of tests.answers.scenarios.BASE


class Group:
    """A group of a scenario: its members' heartbeats, and what admins see of it."""

    def __init__(self, story: Story, short: str = "g", version: int = 1) -> None:
        self.story, self.version, self.id = story, version, story.named(short)
        self.to = story.coordinator(self.id)
        self.know_topics()
        self.described = 0

    def know_topics(self) -> None:
        """Wait until the coordinator knows the topics that there are; it hears of them after its broker."""
        self.story.settle()
        self.story.wait(300)

    def beat(self, step: str | None, member: str, epoch: int, *, to: int | None = None, **fields: Any) -> Any:
        """Heartbeat; what is not given is as it was last time."""
        wanted = {"groupId": self.id, "memberId": member, "memberEpoch": epoch, **NOTHING_NEW, **fields}
        version = fields.pop("version", self.version)
        wanted.pop("version", None)
        to = self.to if to is None else to
        return self.story.ask(step, "ConsumerGroupHeartbeat", version, wanted, to=to, client_id=f"c-{member}")

    def join(self, step: str | None, member: str, *topics: str, **fields: Any) -> Any:
        wanted = {"rebalanceTimeoutMs": 30_000, "subscribedTopicNames": list(topics), "topicPartitions": []}
        return self.beat(step, member, 0, **{**wanted, **fields})

    def owns(
        self, step: str | None, member: str, epoch: int, *owned: tuple[Topic, Iterable[int]], **fields: Any
    ) -> Any:
        partitions = [{"topicId": topic.id, "partitions": list(indexes)} for topic, indexes in owned]
        return self.beat(step, member, epoch, topicPartitions=partitions, **fields)

    def describe(self, step: str | None = None, version: int = 1) -> Any:
        self.described += 1
        name = step or f"look {self.described}"
        return self.story.ask(name, "ConsumerGroupDescribe", version, {"groupIds": [self.id]}, to=self.to)


NOTHING_NEW: dict[str, Any] = {
    "instanceId": None,
    "rackId": None,
    "rebalanceTimeoutMs": -1,
    "subscribedTopicNames": None,
    "subscribedTopicRegex": None,
    "serverAssignor": None,
    "topicPartitions": None,
}


@scenario("assigned group v{version}", versions="ConsumerGroupHeartbeat")
def two_members(story: Story, version: int) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story, version=version)
    group.join("m1 joins", "m1", topic.name, rackId="a")
    group.describe()
    group.owns("m1 has it", "m1", 2, (topic, [0, 1]))
    group.beat("m1 is quiet", "m1", 2)
    group.beat("m1 says all of it", "m1", 2, rebalanceTimeoutMs=30_000, subscribedTopicNames=[topic.name])
    full = {"rebalanceTimeoutMs": 30_000, "subscribedTopicNames": [topic.name]}
    group.owns("m1 says really all of it", "m1", 2, (topic, [0, 1]), **full)
    group.join("m2 joins", "m2", topic.name)
    group.describe()
    group.beat("m2 waits", "m2", 3)
    group.beat("m1 has to give", "m1", 2)
    group.describe()
    group.beat("m1 does not say", "m1", 2)
    group.owns("m1 has both still", "m1", 2, (topic, [0, 1]))
    group.beat("m2 waits still", "m2", 3)
    group.owns("m1 gives 1", "m1", 2, (topic, [0]))
    group.describe()
    group.beat("m2 gets it", "m2", 3)
    group.owns("m2 has it", "m2", 3, (topic, [1]))
    group.describe()
    group.beat("unknown member", "who", 3)
    group.beat("unknown member leaves", "who", -1)
    group.beat("an epoch ahead", "m1", 4)
    group.beat("an epoch behind, without partitions", "m1", 2)
    group.owns("an epoch behind, with its partitions", "m1", 2, (topic, [0]))
    group.owns("an epoch behind, with others' partitions", "m1", 2, (topic, [1]))
    group.owns("two epochs behind", "m1", 1, (topic, [0]))
    group.join("m1 joins again", "m1", topic.name)
    group.beat("m2 leaves", "m2", -1)
    group.beat("m2 leaves again", "m2", -1)
    group.beat("m2 goes on", "m2", 3)
    group.beat("m1 gets all", "m1", 3)
    group.beat("m1 leaves", "m1", -1)
    group.describe()
    group.join("m3 joins", "m3", topic.name)
    group.describe()
    group.beat("m3 leaves", "m3", -1)
    story.ask("the group", "DeleteGroups", 2, {"groupsNames": [group.id]}, to=group.to)
    group.describe("gone")
    group.beat("gone", "m1", 3)
    group.beat("gone, leaves", "m1", -1)


@scenario("assigned group/wrong v{version}", versions="ConsumerGroupHeartbeat")
def wrong(story: Story, version: int) -> None:
    topic = story.topic("t")
    group = Group(story, version=version)
    none = Group(story, "none", version)
    none.beat("no such group", "m1", 5)
    none.beat("no such group, leaves", "m1", -1)
    none.beat("no such group, leaves for a while", "m1", -2, instanceId="i")
    none.beat("no such group, nothing known", "", 5)
    group.join("another broker", "m1", topic.name, to=(group.to + 1) % 3)
    group.join("another broker, no time-out", "m1", topic.name, rebalanceTimeoutMs=-1, to=(group.to + 1) % 3)
    group.join("no group id", "m1", topic.name, groupId="")
    group.join("a blank group id", "m1", topic.name, groupId="  ")
    group.join("no member id", "", topic.name)
    group.join("a blank member id", " ", topic.name)
    group.beat("no member id, later", "", 1)
    group.beat("no member id, leaves", "", -1)
    group.beat("no member id, leaves for a while", "", -2, instanceId="i")
    group.join("an empty instance id", "m1", topic.name, instanceId="")
    group.join("an empty rack", "m1", topic.name, rackId="")
    group.join("a blank rack", "m1", topic.name, rackId=" ")
    group.join("no time-out", "m1", topic.name, rebalanceTimeoutMs=-1)
    group.join("no partitions said", "m1", topic.name, topicPartitions=None)
    owned = [{"topicId": topic.id, "partitions": [0]}]
    group.join("partitions owned", "m1", topic.name, topicPartitions=owned)
    group.join("no topics", "m1", subscribedTopicNames=None)
    group.join("empty everything", "m1", subscribedTopicNames=None, rebalanceTimeoutMs=-1, topicPartitions=None)
    group.beat("epoch -3", "m1", -3)
    group.beat("away without an instance id", "m1", -2)
    group.join("an assignor that is not there", "m1", topic.name, serverAssignor="sticky")
    group.join("an empty assignor", "m1", topic.name, serverAssignor="")
    group.join("an assignor by its class", "m1", topic.name, serverAssignor="UniformAssignor")
    group.describe("none of them made it")
    group.join("no names of topics", "m1")
    group.describe("with nothing to read")
    group.beat("an unknown assignor later", "m1", 1, serverAssignor="none")
    group.beat("an empty instance id later", "m1", 1, instanceId="")
    group.beat("an instance id later", "m1", 1, instanceId="i")
    group.beat("epoch 9, wrong assignor", "m1", 9, serverAssignor="none")
    group.join("a topic that is not there", "m1", story.named("none"))
    group.describe("waiting for a topic")


@scenario("assigned group/describe v{version}", versions="ConsumerGroupDescribe")
def described(story: Story, version: int) -> None:
    topic = story.topic("t", partitions=3)
    group = Group(story)
    group.join(None, "m1", topic.name, story.named("u"), rackId="b", instanceId="i1")
    other = story.named("classic")
    to = story.coordinator(other)
    offset = {"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}
    wanted: dict[str, Any] = {"groupId": other, "generationIdOrMemberEpoch": -1, "memberId": ""}
    wanted["topics"] = [{"name": topic.name, "partitions": [offset]}]
    story.quiet("OffsetCommit", 7, wanted, to=to)
    ask = "ConsumerGroupDescribe"
    story.ask("one", ask, version, {"groupIds": [group.id]}, to=group.to)
    wanted = {"groupIds": [group.id], "includeAuthorizedOperations": True}
    story.ask("with operations", ask, version, wanted, to=group.to)
    story.ask("a classic one", ask, version, {"groupIds": [other], "includeAuthorizedOperations": True}, to=to)
    story.ask("none", ask, version, {"groupIds": [story.named("none")]}, to=story.coordinator(story.named("none")))
    story.ask("an empty id", ask, version, {"groupIds": [""]}, to=group.to)
    story.ask("another broker", ask, version, {"groupIds": [group.id]}, to=(group.to + 1) % 3)
    story.ask("nobody", ask, version, {"groupIds": []}, to=group.to)
    story.ask("twice", ask, version, {"groupIds": [group.id, group.id]}, to=group.to)


@scenario("assigned group/static v{version}", versions="ConsumerGroupHeartbeat")
def static(story: Story, version: int) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story, version=version)
    group.join("joins", "m1", topic.name, instanceId="one")
    group.join("another one with the same instance", "m2", topic.name, instanceId="one")
    group.join("another instance", "m3", topic.name, instanceId="two")
    group.beat("goes on without its instance id", "m1", 2)
    group.owns("gives", "m1", 2, (topic, [0]), instanceId="one")
    group.beat("the other gets", "m3", 3, instanceId="two")
    group.describe()
    group.beat("an unknown instance", "m1", 3, instanceId="three")
    group.beat("another's instance", "m1", 3, instanceId="two")
    group.beat("an unknown instance leaves", "m1", -1, instanceId="three")
    group.beat("another's instance leaves", "m1", -1, instanceId="two")
    group.beat("an unknown instance goes away", "m1", -2, instanceId="three")
    group.beat("another's instance goes away", "m1", -2, instanceId="two")
    group.beat("goes away for a while", "m1", -2, instanceId="one")
    group.describe()
    group.beat("goes on while it is away", "m1", 3, instanceId="one")
    group.beat("goes away again", "m1", -2, instanceId="one")
    group.join("comes back", "m4", topic.name, instanceId="one")
    group.describe()
    group.beat("the old one", "m1", 3, instanceId="one")
    group.beat("the old one, without its instance", "m1", 3)
    group.beat("goes on", "m4", 3, instanceId="one")
    group.beat("goes away once more", "m4", -2, instanceId="one")
    group.join("comes back under the same id", "m4", topic.name, instanceId="one")
    group.beat("goes away, and reads something else", "m4", -2, instanceId="one")
    other = story.topic("u", partitions=2)
    group.know_topics()
    group.join("comes back for something else", "m5", other.name, instanceId="one")
    group.describe()
    group.beat("the other", "m3", 3, instanceId="two")
    group.beat("it has it all", "m5", 4, instanceId="one")
    group.beat("leaves", "m5", -1, instanceId="one")
    group.beat("leaves again", "m5", -1, instanceId="one")
    group.beat("leaves without its instance", "m3", -1)
    group.describe()


@scenario("assigned group/static session")
def static_session(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story)
    group.join("joins", "m1", topic.name, instanceId="one")
    group.join("the other joins", "m2", topic.name)
    group.owns("gives", "m1", 2, (topic, [0]), instanceId="one")
    group.beat("gets", "m2", 3)
    group.beat("goes away", "m1", -2, instanceId="one")
    story.wait(3000)
    group.beat("still away", "m2", 3)
    story.wait(3000)
    group.beat("it is given up", "m2", 3)
    group.describe()


@scenario("assigned group/session")
def session(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story)
    group.join("m1 joins", "m1", topic.name)
    group.join("m2 joins", "m2", topic.name)
    group.owns("m1 gives", "m1", 2, (topic, [0]))
    group.beat("m2 gets", "m2", 3)
    story.wait(3000)
    group.beat("m2 is there", "m2", 3)
    story.wait(3000)
    group.beat("m1 is gone", "m2", 3)
    group.describe()
    group.beat("m1 comes too late", "m1", 3)
    group.join("m1 joins again", "m1", topic.name)
    story.wait(6000)
    group.describe("all gone")


@scenario("assigned group/rebalance time-out")
def rebalance_timeout(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story)
    group.join("m1 joins", "m1", topic.name, rebalanceTimeoutMs=2000)
    group.join("m2 joins", "m2", topic.name, rebalanceTimeoutMs=2000)
    group.beat("m1 has to give", "m1", 2)
    story.wait(1200)
    group.owns("m1 does not", "m1", 2, (topic, [0, 1]))
    story.wait(1200)
    group.beat("m1 is put out", "m1", 2)
    group.beat("m2 gets all", "m2", 3)
    group.describe()


@scenario("assigned group/three")
def three(story: Story) -> None:
    topic = story.topic("t", partitions=6)
    group = Group(story)
    group.join("m1 joins", "m1", topic.name)
    group.join("m2 joins", "m2", topic.name)
    group.join("m3 joins", "m3", topic.name)
    group.describe()
    group.beat("m2 has nothing yet", "m2", 3)
    group.beat("m1 is to give", "m1", 2)
    group.owns("m1 gives one", "m1", 2, (topic, [0, 1, 2]))
    group.owns("m1 gives the rest", "m1", 2, (topic, [0, 1]))
    group.describe()
    group.beat("m3 gets its part", "m3", 4)
    group.beat("m2 gets its part", "m2", 4)
    group.describe()
    group.beat("m2 leaves", "m2", -1)
    group.beat("m3 goes on", "m3", 4)
    group.beat("m1 goes on", "m1", 4)
    group.describe()
    group.join("m4 joins while they move", "m4", topic.name)
    group.beat("m1 with m4", "m1", 5)
    group.beat("m3 with m4", "m3", 5)
    group.beat("m4 waits", "m4", 6)
    group.owns("m1 gives to m4", "m1", 5, (topic, [0, 1]))
    group.owns("m3 gives to m4", "m3", 5, (topic, [4, 5]))
    group.beat("m4 gets", "m4", 6)
    group.describe()


@scenario("assigned group/assignors")
def assignors(story: Story) -> None:
    topic = story.topic("t", partitions=3)  # of two topics uniform takes the one first whose random id says so
    group = Group(story)
    group.join("m1 asks for range", "m1", topic.name, serverAssignor="range")
    group.describe()
    group.join("m2 asks for none", "m2", topic.name)
    group.describe()
    group.beat("m1 gives", "m1", 2)
    group.owns("m1 has given", "m1", 2, (topic, [0, 1]))
    group.beat("m2 gets", "m2", 3)
    group.beat("m1 changes to uniform", "m1", 3, serverAssignor="uniform")
    group.describe()
    group.beat("m1 asks for uniform again", "m1", 4, serverAssignor="uniform")
    group.join("m3 asks for uniform", "m3", topic.name, serverAssignor="uniform")
    group.beat("m2 asks for range", "m2", 4, serverAssignor="range")
    group.describe()
    group.beat("m1 leaves", "m1", -1)
    group.beat("m3 leaves", "m3", -1)
    group.describe()
    group.beat("m2 has all", "m2", 4)
    group.describe()


@scenario("assigned group/subscriptions")
def subscriptions(story: Story) -> None:
    first, second = story.topic("t1", partitions=2), story.topic("t2", partitions=2)
    group = Group(story)
    group.join("m1 reads one", "m1", first.name)
    group.beat("m1 reads the same", "m1", 2, subscribedTopicNames=[first.name])
    group.beat("m1 reads both", "m1", 2, subscribedTopicNames=[first.name, second.name])
    group.describe()
    group.beat("m1 reads them in another order, twice", "m1", 3, subscribedTopicNames=[second.name, first.name] * 2)
    group.beat("m1 reads the other", "m1", 3, subscribedTopicNames=[second.name])
    group.describe()
    group.owns("m1 has given the first", "m1", 3, (second, [0, 1]))
    group.join("m2 reads both", "m2", first.name, second.name)
    group.beat("m1 after m2", "m1", 4)
    group.describe()
    group.owns("m1 gives", "m1", 4, (second, [0]))
    group.owns("m1 gives all", "m1", 4)
    group.beat("m2 gets", "m2", 5)
    group.describe()
    group.beat("m2 reads nothing", "m2", 5, subscribedTopicNames=[])
    group.describe()
    group.owns("m2 has nothing", "m2", 5)
    group.beat("m1 alone", "m1", 5)
    group.describe()
    group.beat("m1 changes its time-out", "m1", 6, rebalanceTimeoutMs=12_345)
    group.beat("m1 changes its rack", "m1", 6, rackId="b")
    group.describe()


@scenario("assigned group/topics change")
def topics_change(story: Story) -> None:
    topic = story.topic("t", partitions=1)
    later = story.named("later")
    group = Group(story)
    group.join("joins", "m1", topic.name, later)
    group.describe()
    group.beat("nothing is new", "m1", 2)
    wanted: dict[str, Any] = {"topics": [{"name": topic.name, "count": 3, "assignments": None}]}
    story.quiet("CreatePartitions", 3, {**wanted, "timeoutMs": 30_000, "validateOnly": False})
    group.know_topics()
    group.beat("it has more partitions", "m1", 2)
    group.describe()
    made = story.topic("later", partitions=2)
    group.know_topics()
    group.beat("the other topic is there", "m1", 3)
    group.describe()
    group.owns("it has all", "m1", 4, (topic, [0, 1, 2]), (made, [0, 1]))
    story.delete_topic(later)
    group.know_topics()
    group.beat("it is gone again", "m1", 4)
    group.describe()
    group.owns("it knows", "m1", 4, (topic, [0, 1, 2]))
    group.owns("it holds a topic that is nowhere", "m1", 5, (Topic("none", ZERO_ID, ()), [0]), (topic, [0, 1, 2]))
    group.describe()


EXPRESSIONS = (
    "[a-",
    "(a",
    "a)",
    "*",
    "a**",
    "a++",
    "\\",
    "\\q",
    "(?=x)",
    "(?<=x)y",
    "(?!x)",
    "a{2,1}",
    "[z-a]",
    "a{1001}",
    "(?P<n>a)(?P<n>b)",
    "(?P<n",
    "\\8",
    "(a)\\1",
    "[[:foo:]]",
    "\\pX",
    "(?z)",
    "x{,",
    "(?i)abc",
    "\\Qa.b\\E",
    "(?<n>a)",
    "\\p{Greek}",
    "[[:alpha:]]+",
    "a*?",
    "",
    " ",
)


@scenario("assigned group/expressions, right and wrong")
def wrong_expressions(story: Story) -> None:
    group = Group(story)
    for number, text in enumerate(EXPRESSIONS):
        member = f"m{number}"
        answer = group.join(f"{number}", member, subscribedTopicNames=None, subscribedTopicRegex=text)
        if answer["errorCode"] == 0:
            group.beat(None, member, -1)


@scenario("assigned group/expression")
def expression(story: Story) -> None:
    first = story.topic("logs-1", partitions=1)
    text = f"{story.prefix.replace('/', '-')}.logs-.*"
    group = Group(story)
    fields: dict[str, Any] = {"subscribedTopicNames": None, "subscribedTopicRegex": text}
    group.join("m1 joins", "m1", **fields)
    story.wait(1000)
    group.beat("m1 gets what matches", "m1", 1)
    group.describe()
    group.join("m2 joins with the same", "m2", **fields)
    group.beat("m1 after m2", "m1", 2)
    group.describe()
    group.join("m3 joins with names", "m3", first.name)
    group.describe()
    group.beat("m3 leaves", "m3", -1)
    group.beat("m2 names nothing any more", "m2", 3, subscribedTopicRegex="")
    group.describe()
    group.beat("m1 takes names beside", "m1", 2, subscribedTopicNames=[story.named("none")])
    group.describe()


@scenario("assigned group/expression and topics")
def expression_and_topics(story: Story) -> None:
    story.topic("logs-1", partitions=1)
    text = f"{story.prefix}.logs-.*"
    group = Group(story)
    group.join("m1 joins", "m1", subscribedTopicNames=None, subscribedTopicRegex=text)
    story.wait(1000)
    group.beat("m1 gets one", "m1", 1)
    story.topic("logs-2", partitions=1)
    group.know_topics()
    group.beat("too soon to look", "m1", 2)
    for _ in range(6):
        story.wait(2000)
        group.beat(None, "m1", 2)
    story.wait(500)
    group.beat("m1 gets the other", "m1", 2)
    group.describe()
    group.beat("another expression", "m1", 3, subscribedTopicRegex=f"{text}1")
    group.describe()


@scenario("assigned group/configs")
def configs(story: Story) -> None:
    topic = story.topic("t")
    group = Group(story)

    def set_config(name: str, value: str | None) -> None:
        config = {"name": name, "configOperation": 0 if value is not None else 1, "value": value}
        resource = {"resourceType": 32, "resourceName": group.id, "configs": [config]}
        answer = story.quiet("IncrementalAlterConfigs", 1, {"resources": [resource], "validateOnly": False})
        assert answer["responses"][0]["errorCode"] == 0, answer
        group.know_topics()

    group.join("joins", "m1", topic.name)
    set_config("consumer.heartbeat.interval.ms", "1500")
    group.beat("its own interval", "m1", 2)
    set_config("consumer.session.timeout.ms", "15000")
    group.beat("its own session", "m1", 2)
    story.wait(8000)
    group.beat("longer than the brokers'", "m1", 2)
    set_config("consumer.heartbeat.interval.ms", None)
    group.beat("the brokers' interval", "m1", 2)


@scenario("assigned group/assignment interval")
def assignment_interval(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story)
    config = {"name": "consumer.assignment.interval.ms", "configOperation": 0, "value": "3000"}
    resource = {"resourceType": 32, "resourceName": group.id, "configs": [config]}
    story.quiet("IncrementalAlterConfigs", 1, {"resources": [resource], "validateOnly": False})
    group.know_topics()
    group.join("m1 joins", "m1", topic.name)
    group.join("m2 joins too soon", "m2", topic.name)
    group.describe()
    group.beat("m1 has it all still", "m1", 2)
    group.beat("m2 has nothing", "m2", 2)
    story.wait(3200)
    group.beat("m2, when it is time", "m2", 2)
    group.describe()
    group.beat("m1 has to give", "m1", 2)


@scenario("assigned group/admin")
def admin(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story)
    group.join("joins", "m1", topic.name)
    right = group.to
    for version in range(6):
        story.ask("stable", "ListGroups", version, {}, to=right, only=mine(story, "groups"))
    for step, states, types in (
        ("of the type", [], ["consumer"]),
        ("of the type in capitals", [], ["CONSUMER"]),
        ("of another type", [], ["classic"]),
        ("of an unknown type", [], ["none"]),
        ("in the state", ["Stable"], []),
        ("in the state in capitals", ["STABLE"], []),
        ("in another state", ["Empty", "Assigning", "Reconciling"], []),
        ("in state and of type", ["stable"], ["consumer", "share"]),
    ):
        wanted = {"statesFilter": states, "typesFilter": types}
        story.ask(step, "ListGroups", 5, wanted, to=right, only=mine(story, "groups"))
    for version in (0, 4, 5, 6):
        story.ask("of another kind", "DescribeGroups", version, {"groups": [group.id]}, to=right)
    story.ask("with a member", "DeleteGroups", 2, {"groupsNames": [group.id]}, to=right)
    wanted = {"groupId": group.id, "topics": [{"name": topic.name, "partitions": [{"partitionIndex": 0}]}]}
    story.ask("of a topic that is read", "OffsetDelete", 0, wanted, to=right)
    group.beat("reads nothing", "m1", 2, subscribedTopicNames=[])
    story.ask("of a topic that nobody reads", "OffsetDelete", 0, wanted, to=right)
    group.beat("leaves", "m1", -1)
    story.ask("empty", "ListGroups", 5, {}, to=right, only=mine(story, "groups"))
    story.ask("of an empty one of another kind", "DescribeGroups", 6, {"groups": [group.id]}, to=right)
    story.ask("without members", "DeleteGroups", 2, {"groupsNames": [group.id]}, to=right)
    story.ask("gone", "ListGroups", 5, {}, to=right, only=mine(story, "groups"))
    for version in (2, 3, 4):
        wanted = {"key": group.id, "keyType": 0, "coordinatorKeys": [group.id]}
        story.ask("a group", "FindCoordinator", version, wanted, only=without_node)


def without_node(answer: Any) -> Any:
    """An answer of FindCoordinator without the broker, which is another in each run."""
    found = [dict(one) for one in answer.get("coordinators", [answer])]
    for one in found:
        one.pop("nodeId", None)
    return found
