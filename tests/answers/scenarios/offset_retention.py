"""Offsets that are kept for the time that their commit gave."""

from __future__ import annotations

from tests.answers.scenarios import scenario
from tests.answers.scenarios.offset_corners import committing, offsets_of
from tests.answers.story import Fields, Story

SETTINGS = {"offsets.retention.check.interval.ms": "1000"}


@scenario("offset retention v{version}", versions=("OffsetCommit", 2, 4))
def retention(story: Story, version: int) -> None:
    """Until version 4 a commit may say how long it is to be kept: each offset goes by its own time."""
    topic, group = story.topic("t", partitions=3), story.named("g")
    to = story.coordinator(group)

    def kept(index: int, time_ms: int) -> Fields:
        return {
            "groupId": group,
            "generationIdOrMemberEpoch": -1,
            "memberId": "",
            "retentionTimeMs": time_ms,
            "topics": [committing(topic, index)],
        }

    for index, kept_ms in enumerate((1_500, -1, 600_000)):
        story.ask(f"kept {kept_ms} ms", "OffsetCommit", version, kept(index, kept_ms), to=to)
    offsets_of(story, group, topic)
    story.wait(6_000)
    offsets_of(story, group, topic)
    for index, kept_ms in ((1, 0), (2, -2)):
        story.ask(f"again, kept {kept_ms} ms", "OffsetCommit", version, kept(index, kept_ms), to=to)
    story.wait(3_000)
    offsets_of(story, group, topic)
    story.ask("a group without offsets", "DescribeGroups", 5, {"groups": [group]}, to=to)
