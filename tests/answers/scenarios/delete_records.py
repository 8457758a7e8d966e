"""DeleteRecords: the start of logs moves."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.scenarios.fetch import at, of
from tests.answers.scenarios.list_offsets import of as offsets_of
from tests.answers.scenarios.list_offsets import when
from tests.answers.story import Story, Topic


def before(topic: Topic, *offsets: tuple[int, int], timeout_ms: int = 10_000) -> dict[str, Any]:
    """A request by partition and offset."""
    partitions = [{"partitionIndex": index, "offset": offset} for index, offset in offsets]
    return {"topics": [{"name": topic.name, "partitions": partitions}], "timeoutMs": timeout_ms}


@scenario("delete records v{version}", versions="DeleteRecords")
def plain(story: Story, version: int) -> None:
    topic = story.topic("t", partitions=2)
    for number in range(3):
        story.produced(topic, b"a", b"b", at=1000 * number)

    def ask(step: str, request: dict[str, Any], **more: Any) -> None:
        story.ask(step, "DeleteRecords", version, request, **more)

    def see(step: str) -> None:
        story.ask(f"{step}, the earliest", "ListOffsets", 5, offsets_of(topic, when(-2)))
        story.ask(f"{step}, the newest", "ListOffsets", 8, offsets_of(topic, when(-3)))
        story.ask(f"{step}, by time", "ListOffsets", 5, offsets_of(topic, when(story.time())))
        for offset in (0, 1, 2, 3, 6):
            story.ask(f"{step}, from {offset}", "Fetch", 12, of(topic, at(offset)))
        for epoch in (0, 1):
            request = {
                "replicaId": -1,
                "topics": [
                    {
                        "topic": topic.name,
                        "partitions": [{"partition": 0, "currentLeaderEpoch": -1, "leaderEpoch": epoch}],
                    }
                ],
            }
            story.ask(f"{step}, epoch {epoch}", "OffsetForLeaderEpoch", 4, request)
        produce = {
            "acks": 1,
            "timeoutMs": 1000,
            "topicData": [{"name": topic.name, "partitionData": [{"index": 0, "records": b""}]}],
        }
        story.ask(f"{step}, refused records", "Produce", 9, produce)

    ask("before 0", before(topic, (0, 0)))
    ask("in the first batch", before(topic, (0, 1)))
    see("in the first batch")
    ask("before the second batch", before(topic, (0, 2)))
    ask("back again", before(topic, (0, 1)))
    ask("past the end", before(topic, (0, 7)))
    ask("before -1", before(topic, (0, -1)))
    see("all")
    ask("before -2", before(topic, (0, -2)))
    ask("the end", before(topic, (0, 6)))
    ask("empty, 0", before(topic, (1, 0)), to=1)
    ask("empty, 1", before(topic, (1, 1)), to=1)
    ask("empty, -1", before(topic, (1, -1)), to=1)
    ask("another broker's", before(topic, (1, 0)))
    ask("unknown partition", before(topic, (9, 0)))
    ask("unknown topic", before(Topic("no-such-topic-here", "", ()), (0, 0)))
    ask("twice", before(topic, (0, 99), (0, 6)))
    ask("twice, the other way", before(topic, (0, 6), (0, 99)))
    ask("good and bad", before(topic, (0, 6), (1, 0), (7, 0)))
    ask("nothing", {"topics": [], "timeoutMs": 1000})
    ask("no partitions", before(topic))
    ask("no time", before(topic, (0, 6), timeout_ms=0))
    compacted = story.topic("compacted", configs={"cleanup.policy": "compact"})
    both = story.topic("both", configs={"cleanup.policy": "compact,delete"})
    ask("compacted", before(compacted, (0, 0)))
    ask("compacted, past the end", before(compacted, (0, 5)))
    ask("compacted and deleted", before(both, (0, 0)))
    story.produced(topic, b"later", at=9000)
    see("written on")
