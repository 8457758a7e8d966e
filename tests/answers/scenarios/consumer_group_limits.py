"""Consumer groups where the brokers' settings allow little: two members, range alone, no migration."""

from __future__ import annotations

from tests.answers.scenarios import scenario
from tests.answers.scenarios.consumer_group_migration import Classic, subscription
from tests.answers.scenarios.consumer_groups import Group
from tests.answers.story import Story

SETTINGS = {
    "group.consumer.max.size": "2",
    "group.consumer.assignors": "range",
    "group.consumer.migration.policy": "disabled",
}


@scenario("assigned group limits/members")
def members(story: Story) -> None:
    topic = story.topic("t", partitions=3)
    group = Group(story)
    group.join("one", "m1", topic.name)
    group.join("two", "m2", topic.name, instanceId="i")
    group.join("three", "m3", topic.name)
    group.join("three, static", "m3", topic.name, instanceId="j")
    group.join("one again", "m1", topic.name)
    group.beat("one goes on", "m1", 3)
    group.beat("a member that there is not", "m3", 3)
    group.beat("two goes away", "m2", -2, instanceId="i")
    group.join("three in its place", "m3", topic.name, instanceId="i")
    group.describe()
    group.beat("one leaves", "m1", -1)
    group.join("four", "m4", topic.name)
    Classic(story, group).join("a classic one", "", subscription(topic.name))


@scenario("assigned group limits/assignors")
def assignors(story: Story) -> None:
    topic = story.topic("t", partitions=3)
    group = Group(story)
    group.join("uniform", "m1", topic.name, serverAssignor="uniform")
    group.join("range", "m1", topic.name, serverAssignor="range")
    group.describe()


@scenario("assigned group limits/migration")
def migration(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story)
    classic = Classic(story, group)
    old = classic.alone(topic)
    group.join("joins a classic group", "m1", topic.name)
    classic.beat("it goes on", old, 1)
    classic.leave("leaves", (old, None))
    group.join("joins the empty classic group", "m1", topic.name)
    classic.join("a classic member", "", subscription(topic.name))
    classic.join("a classic member with an id", "who", subscription(topic.name))
    group.beat("leaves", "m1", -1)
    classic.join_new("a classic member of the empty group", subscription(topic.name))
    classic.list("classic again")
