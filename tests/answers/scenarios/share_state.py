"""What share coordinators keep: InitializeShareGroupState, ReadShareGroupState, WriteShareGroupState,
DeleteShareGroupState, ReadShareGroupStateSummary, and FindCoordinator by share partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import LOADING, Story, Topic

SHARE = 2
NO_TOPIC = "AAAAAAAAAAAAAAAAAAAAAQ"
Batch = tuple[int, int, int, int]


def coordinator_of(story: Story, group: str, topic_id: str, index: int) -> int:
    """The broker that keeps a share partition's state, ready to."""

    def found() -> tuple[int] | None:
        wanted = {"keyType": SHARE, "coordinatorKeys": [f"{group}:{topic_id}:{index}"]}
        (answer,) = story.quiet("FindCoordinator", 6, wanted, on="settle")["coordinators"]
        if answer["errorCode"]:
            return None
        body = request(group, topic_id, asked(index))
        (ready,) = story.quiet("ReadShareGroupStateSummary", 0, body, to=answer["nodeId"], on="settle")["results"]
        return None if ready["partitions"][0]["errorCode"] in LOADING else (answer["nodeId"],)

    (node,) = story.until(found, "the share coordinator")
    return int(node)


def share_coordinator(story: Story, group: str, topic: Topic, index: int = 0) -> int:
    right = coordinator_of(story, group, topic.id, index)
    body = request(group, topic.id, asked(index))

    def knows() -> bool:
        answer = story.quiet("ReadShareGroupStateSummary", 0, body, to=right)
        return bool(answer["results"][0]["partitions"][0]["errorCode"] == 0)

    story.until(knows, "the topic at the share coordinator")
    return right


def request(group: str, topic_id: str, *partitions: dict[str, Any]) -> dict[str, Any]:
    """The one shape of all five requests."""
    return {"groupId": group, "topics": [{"topicId": topic_id, "partitions": list(partitions)}]}


def initial(index: int = 0, epoch: int = 0, start: int = 0) -> dict[str, Any]:
    return {"partition": index, "stateEpoch": epoch, "startOffset": start}


def asked(index: int = 0, leader_epoch: int = 0) -> dict[str, Any]:
    return {"partition": index, "leaderEpoch": leader_epoch}


def written(
    *batches: Batch, index: int = 0, epoch: int = 0, leader_epoch: int = 0, start: int = 0, complete: int = 0
) -> dict[str, Any]:
    return {
        "partition": index,
        "stateEpoch": epoch,
        "leaderEpoch": leader_epoch,
        "startOffset": start,
        "deliveryCompleteCount": complete,
        "stateBatches": [
            {"firstOffset": first, "lastOffset": last, "deliveryState": state, "deliveryCount": count}
            for first, last, state, count in batches
        ],
    }


def begun(story: Story, group: str, topic: Topic, indexes: Sequence[int] = (0,), *, start: int = 0) -> None:
    """Begin share partitions, unkept."""
    for index in indexes:
        body = request(group, topic.id, initial(index, start=start))
        right = share_coordinator(story, group, topic, index)

        def done(body: dict[str, Any] = body, right: int = right) -> bool:
            answer = story.quiet("InitializeShareGroupState", 0, body, to=right)
            return bool(answer["results"][0]["partitions"][0]["errorCode"] == 0)

        story.until(done, "a share partition")


@scenario("share state/initialize and read")
def initialize_and_read(story: Story) -> None:
    topic, group = story.topic("t", partitions=2), story.named("g")
    right = share_coordinator(story, group, topic)
    wrong = (right + 1) % 3
    body = request(group, topic.id, initial(start=5, epoch=2))
    story.ask("read what nobody began", "ReadShareGroupState", 0, request(group, topic.id, asked()), to=right)
    story.ask("not the coordinator", "InitializeShareGroupState", 0, body, to=wrong)
    story.ask("begun", "InitializeShareGroupState", 0, body, to=right)
    story.ask("once more", "InitializeShareGroupState", 0, body, to=right)
    story.ask("an older epoch", "InitializeShareGroupState", 0, request(group, topic.id, initial(epoch=1)), to=right)
    story.ask("a negative epoch", "InitializeShareGroupState", 0, request(group, topic.id, initial(epoch=-1)), to=right)
    story.ask("read", "ReadShareGroupState", 0, request(group, topic.id, asked(leader_epoch=3)), to=right)
    story.ask("read again", "ReadShareGroupState", 0, request(group, topic.id, asked(leader_epoch=3)), to=right)
    story.ask("by a newer leader", "ReadShareGroupState", 0, request(group, topic.id, asked(leader_epoch=4)), to=right)
    story.ask("by an older leader", "ReadShareGroupState", 0, request(group, topic.id, asked(leader_epoch=2)), to=right)
    story.ask("a negative leader epoch", "ReadShareGroupState", 0, request(group, topic.id, asked(0, -1)), to=right)
    story.ask("not the coordinator", "ReadShareGroupState", 0, request(group, topic.id, asked()), to=wrong)


@scenario("share state/what makes no sense")
def senseless(story: Story) -> None:
    topic, group = story.topic("t"), story.named("g")
    right = share_coordinator(story, group, topic)
    begun(story, group, topic)
    partitions = {
        "InitializeShareGroupState": initial(),
        "ReadShareGroupState": asked(),
        "WriteShareGroupState": written((0, 3, 2, 1)),
        "DeleteShareGroupState": {"partition": 0},
        "ReadShareGroupStateSummary": asked(),
    }
    for api, partition in partitions.items():
        story.ask("no group", api, 0, request("", topic.id, partition), to=right)
        story.ask("no topics", api, 0, {"groupId": group, "topics": []}, to=right)
        story.ask("no partitions", api, 0, request(group, topic.id), to=right)
        for name, topic_id, index in (
            ("an unknown topic", NO_TOPIC, 0),
            ("an unknown partition", topic.id, 7),
            ("a negative partition", topic.id, -1),
        ):
            where = coordinator_of(story, group, topic_id, index)
            story.ask(name, api, 0, request(group, topic_id, {**partition, "partition": index}), to=where)


@scenario("share state/write v{version}", versions="WriteShareGroupState")
def write(story: Story, version: int) -> None:
    topic, group = story.topic("t"), story.named("g")
    right = share_coordinator(story, group, topic)

    def send(step: str, partition: dict[str, Any], to: int = right) -> None:
        story.ask(step, "WriteShareGroupState", version, request(group, topic.id, partition), to=to)

    def shown(step: str) -> None:
        body = request(group, topic.id, asked(leader_epoch=1))
        story.ask(f"read {step}", "ReadShareGroupState", 0, body, to=right)
        story.ask(f"summary {step}", "ReadShareGroupStateSummary", version, body, to=right)

    send("what nobody began", written((0, 3, 2, 1)))
    begun(story, group, topic)
    story.quiet("ReadShareGroupState", 0, request(group, topic.id, asked(leader_epoch=1)), to=right)
    send("not the coordinator", written((0, 3, 2, 1), leader_epoch=1), (right + 1) % 3)
    send("by an older leader", written((0, 3, 2, 1)))
    send("at a negative leader epoch", written((0, 3, 2, 1), leader_epoch=-1))
    send("at a negative state epoch", written((0, 3, 2, 1), leader_epoch=1, epoch=-1))
    send("batches", written((0, 3, 2, 1), (4, 6, 0, 2), leader_epoch=1, complete=4))
    shown("batches")
    send("some that overlap", written((5, 5, 2, 2), (6, 9, 4, 3), (2, 3, 0, 1), leader_epoch=1, complete=5))
    shown("some that overlap")
    send("a start", written((10, 12, 0, 1), leader_epoch=1, start=5, complete=2))
    shown("a start")
    send("an earlier start", written((13, 13, 2, 1), leader_epoch=1, start=1, complete=9))
    shown("an earlier start")
    send("no batches", written(leader_epoch=1, start=-1, complete=7))
    shown("no batches")
    send("neighbours that are alike", written((14, 14, 2, 1), (15, 15, 2, 1), leader_epoch=1, start=5))
    shown("neighbours that are alike")
    send("a newer state epoch", written((16, 16, 2, 1), leader_epoch=1, epoch=3, start=5))
    begun_again = request(group, topic.id, initial(epoch=4, start=2))
    story.ask("begun anew", "InitializeShareGroupState", 0, begun_again, to=right)
    send("an older state epoch", written((3, 3, 2, 1), leader_epoch=1, start=2))
    shown("begun anew")


@scenario("share state/delete and summary v{version}", versions="ReadShareGroupStateSummary")
def delete(story: Story, version: int) -> None:
    topic, group = story.topic("t", partitions=3), story.named("g")
    right = share_coordinator(story, group, topic)
    body = request(group, topic.id, asked())
    gone = request(group, topic.id, {"partition": 0})
    story.ask("of what nobody began", "ReadShareGroupStateSummary", version, body, to=right)
    story.ask("what nobody began", "DeleteShareGroupState", 0, gone, to=right)
    begun(story, group, topic, start=-1)
    story.ask("of what has no start", "ReadShareGroupStateSummary", version, body, to=right)
    story.ask("what has no start", "ReadShareGroupState", 0, body, to=right)
    story.ask("not the coordinator", "ReadShareGroupStateSummary", version, body, to=(right + 1) % 3)
    story.ask("not the coordinator", "DeleteShareGroupState", 0, gone, to=(right + 1) % 3)
    story.ask("deleted", "DeleteShareGroupState", 0, gone, to=right)
    story.ask("deleted twice", "DeleteShareGroupState", 0, gone, to=right)
    story.ask("read when deleted", "ReadShareGroupState", 0, body, to=right)
    story.ask("when deleted", "ReadShareGroupStateSummary", version, body, to=right)
    story.ask("begun after that", "InitializeShareGroupState", 0, request(group, topic.id, initial(start=1)), to=right)
    story.ask("after that", "ReadShareGroupStateSummary", version, body, to=right)


@scenario("share state/find coordinator")
def find_coordinator(story: Story) -> None:
    topic, group = story.topic("t"), story.named("g")
    share_coordinator(story, group, topic)
    ids = ("nodeId", "key")

    def found(answer: Any) -> Any:
        """Who it is differs with the random id of the topic."""
        return {
            **answer,
            "coordinators": [
                {key: shown(value) if key in ids else value for key, value in one.items()}
                for one in answer["coordinators"]
            ],
        }

    def shown(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(topic.id, "<id of t>")
        return "<a broker>" if value >= 0 else value

    keys = {
        "right": f"{group}:{topic.id}:0",
        "of a partition that is not there": f"{group}:{topic.id}:99",
        "of a topic that is not there": f"{group}:{NO_TOPIC}:0",
        "of a group with colons": f"a:b:c:{topic.id}:0",
        "empty": "",
        "a group alone": group,
        "no group": f":{topic.id}:0",
        "a blank group": f" :{topic.id}:0",
        "no partition": f"{group}:{topic.id}:",
        "a word for a partition": f"{group}:{topic.id}:x",
        "a short id": f"{group}:abc:0",
        "a broken id": f"{group}:***:0",
        "a negative partition": f"{group}:{topic.id}:-1",
    }
    for step, key in keys.items():
        story.ask(step, "FindCoordinator", 6, {"keyType": SHARE, "coordinatorKeys": [key]}, only=found)
    for version in (4, 5):
        wanted = {"keyType": SHARE, "coordinatorKeys": [keys["right"]]}
        story.ask("too old", "FindCoordinator", version, wanted, only=found)
    story.ask("too old", "FindCoordinator", 3, {"keyType": SHARE, "key": keys["right"]})
    story.ask("an unknown kind", "FindCoordinator", 6, {"keyType": 3, "coordinatorKeys": [group]})
