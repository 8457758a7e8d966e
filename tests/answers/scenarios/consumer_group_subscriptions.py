"""Consumer groups whose members come to their topics in different ways: by names and by expressions."""

from __future__ import annotations

from tests.answers.scenarios import scenario
from tests.answers.scenarios.consumer_groups import Group
from tests.answers.story import Story


@scenario("mixed subscriptions/names and an expression")
def mixed(story: Story) -> None:
    topic = story.topic("t", partitions=6)
    group = Group(story)
    group.join("m1 names it", "m1", topic.name)
    group.join("m2 has an expression", "m2", subscribedTopicNames=None, subscribedTopicRegex=f"{story.prefix}.t")
    story.wait(1000)
    group.beat("m2 after it was matched", "m2", 3)
    group.describe()
    group.beat("m1 has to give", "m1", 2)
    group.owns("m1 gives all", "m1", 2)
    group.beat("m2 gets", "m2", 3)
    group.beat("m2 goes on", "m2", 4)
    group.describe()


@scenario("mixed subscriptions/two expressions")
def two_expressions(story: Story) -> None:
    story.topic("t", partitions=6)
    group = Group(story)
    for member, text in (("m1", f"{story.prefix}.t"), ("m2", f"{story.prefix}.t.*")):
        group.join(f"{member} joins", member, subscribedTopicNames=[], subscribedTopicRegex=text)
        story.wait(1000)
        group.beat(f"{member} after it was matched", member, 1 if member == "m1" else 3)
        group.describe()
    story.wait(2500)
    group.beat("m1 is there", "m1", 2)
    group.beat("m2 is there", "m2", 3)
    story.wait(4000)
    group.beat("m1 is still there", "m1", 2)
    group.beat("m2 is still there", "m2", 3)
    story.wait(4000)
    group.beat("m1 has the second looked at", "m1", 2)
    story.wait(1000)
    group.beat("m1 with both matched", "m1", 2)
    group.beat("m2 with both matched", "m2", 3)
    group.describe()


@scenario("mixed subscriptions/names of one more")
def one_more(story: Story) -> None:
    topic = story.topic("t", partitions=6)
    group = Group(story)
    group.join("m1", "m1", topic.name)
    group.join("m2 names one more that is not there", "m2", topic.name, story.named("none"))
    group.describe()
    group.join("m3 has them both by its class", "m3", topic.name, serverAssignor="range")
    group.describe()
