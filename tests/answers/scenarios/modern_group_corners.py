"""Corners of share groups and Streams groups that random requests have found."""

from __future__ import annotations

from tests.answers.scenarios import scenario, share_fetch, streams_groups
from tests.answers.scenarios.share_fetch import ACCEPT, REJECT, RELEASE, Member
from tests.answers.story import Story

SETTINGS = streams_groups.SETTINGS
ROLES = ("activeTasks", "standbyTasks", "warmupTasks")


@scenario("modern group corners/acknowledging over the start v{version}", versions="ShareAcknowledge")
def over_the_start(story: Story, version: int) -> None:
    """An acknowledgement that begins before the start of a partition and ends behind it, where nothing is acquired."""
    one = share_fetch.member(story, version, counts=(6,))
    two = Member(story, one.topic, "two", version=version)
    one.fetch("takes all")
    two.fetch("nothing is left", maxWaitMs=0)
    one.acknowledge("all but the last", (0, 4, [ACCEPT]))
    two.acknowledge("over the start, of another", (3, 5, [ACCEPT]))
    one.acknowledge("over the start", (3, 5, [ACCEPT]))
    one.acknowledge("before the start", (1, 3, [REJECT]))
    for step, batch in {
        "over the start of nothing": (1, 9, [ACCEPT]),
        "up to the start": (1, 6, [RELEASE]),
        "before it": (1, 5, [RELEASE]),
        "from the start": (6, 9, [ACCEPT]),
        "a type that is none": (1, 9, [9]),
    }.items():
        one.acknowledge(step, batch)
        one.acknowledge(f"{step}, and the session goes on", (0, 0, [ACCEPT]))
        two.fetch(f"{step}, by a fetch", batch, maxWaitMs=0)
        two.fetch(f"{step}, and that session goes on", maxWaitMs=0)
        one.acknowledge(f"{step}, behind another", (0, 0, [ACCEPT]), batch)
    one.acknowledge("over the start of nothing, and the last", (1, 9, [ACCEPT]), epoch=-1)
    one.acknowledge("after that", (0, 0, [ACCEPT]))
    two.fetch("over the start of nothing, the last", (1, 9, [ACCEPT]), epoch=-1, maxWaitMs=0)
    two.fetch("after that", maxWaitMs=0)


@scenario("modern group corners/joining without tasks v{version}", versions="StreamsGroupHeartbeat")
def without_tasks(story: Story, version: int) -> None:
    """Who joins a Streams group has to say that it has no tasks, of each kind."""
    topic = story.topic("t")
    story.settle()
    one = streams_groups.Joined(
        story, streams_groups.topology(streams_groups.subtopology(0, topic.name)), version=version
    )
    for number in range(1, 8):
        absent = {role: None for place, role in enumerate(ROLES) if number >> place & 1}
        one.beat(f"without {', '.join(absent)}", **absent)
    one.beat("with them")
    one.beat("again, without any", **dict.fromkeys(ROLES), memberEpoch=0)
