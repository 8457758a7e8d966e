"""DeleteGroups: groups with members, without, unknown, twice, and at the wrong broker."""

from __future__ import annotations

from tests.answers.scenarios import scenario
from tests.answers.scenarios.classic_groups import commit, joined, leave
from tests.answers.story import Story, mine


@scenario("delete groups v{version}", versions="DeleteGroups")
def delete_groups(story: Story, version: int) -> None:
    topic = story.topic("t")
    group, simple, other = (story.named(short) for short in ("g", "simple", "other"))
    right = {name: story.coordinator(name) for name in (group, simple, other)}
    member = joined(story, group)
    for one in (simple, other):
        commit(story, one, topic)

    def delete(step: str, *groups: str, to: int | None = None) -> None:
        broker = right.get(groups[0] if groups else group, right[group]) if to is None else to
        story.ask(step, "DeleteGroups", version, {"groupsNames": list(groups)}, to=broker)

    delete("with a member", group)
    unknown = story.named("none")
    delete("unknown", unknown, to=story.coordinator(unknown))
    delete("not the coordinator", simple, to=story.not_coordinator(simple))
    delete("simple", simple)
    delete("simple again", simple)
    offsets = {"groupId": simple, "topics": [{"name": topic.name, "partitionIndexes": [0]}], "requireStable": False}
    story.ask("its offsets", "OffsetFetch", 7, offsets, to=right[simple])
    delete("twice", other, other)
    delete("none")
    delete("empty id", "", to=story.coordinator(""))
    leave(story, group, member)
    delete("after the member left", group)
    story.ask("deleted", "DescribeGroups", 5, {"groups": [group]}, to=right[group])
    story.ask("all that are left", "ListGroups", 4, {}, to=right[group], only=mine(story, "groups"))
