"""DeleteRecords whose time is up before followers have heard of it."""

from __future__ import annotations

from tests.answers.scenarios import scenario
from tests.answers.story import Story

LET_FOLLOW_MS = 1500


@scenario("delete records/in no time v{version}", versions="DeleteRecords")
def in_no_time(story: Story, version: int) -> None:
    topic, alone = story.topic("t"), story.topic("u", replicas=1)
    for one in (topic, alone):
        story.produced(one, *(b"%d" % number for number in range(9)))
    story.wait(LET_FOLLOW_MS)
    for number, timeout_ms in enumerate((-1, 0, 1)):
        for step, one in {"three replicas": topic, "one replica": alone}.items():
            for offset in (2 * number + 1, 2 * number + 2):
                partitions = [{"partitionIndex": 0, "offset": offset}]
                wanted = {"topics": [{"name": one.name, "partitions": partitions}], "timeoutMs": timeout_ms}
                story.ask(f"{step}, before {offset} in {timeout_ms} ms", "DeleteRecords", version, wanted)
                story.wait(LET_FOLLOW_MS)
                story.ask(f"{step}, {offset} again in {timeout_ms} ms", "DeleteRecords", version, wanted)
