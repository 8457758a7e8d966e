"""Exchanges of Kafka 4.1 whose requests are sent as they were recorded: what happened before is read off the answers.

A topic has four partitions, led by brokers 0, 1, 2 and 0. Before a step the partitions that it asks about are filled up
to the high watermark of its answer, with the batches that answers of the scenario show.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from protocol.records import CompressionCodec, Record, build_batch
from tests.answers.comparison import Difference
from tests.answers.drivers import SimulatedCluster
from tests.answers.kafka_4_1 import FILE, LABEL, differing, recorded_by_4_1
from tests.answers.story import Story, Topic
from tests.fixture_data import json_lines

REPLAYED = re.compile(
    r"fetch v.*|fetch/(bounds|session|followers).*|create topics/settings.*|unregister broker|next/api versions.*"
    r"|create topics v.*|leader epoch ends .*|quotas .*|features .*|alter configs v.*|acls/none .*"
)
PREPARED: dict[str, dict[str, tuple[tuple[int, ...], ...]]] = {
    "leader epoch ends": {"t": ((0, 1, 2), (1, 2, 0))},
    "alter configs": {"t": ((0, 1, 2),)},
}
"""The topics that were there before scenarios whose names begin so, by their short names, with their replicas."""
WRITTEN = {"leader epoch ends": 2}
"""How many records their first partitions had."""
BROKER = re.compile(r"broker (\d)")
CUT_OFF = re.compile(r'(.*\{"partition":\d+,"fetchOffset":\d+),[^{}]*$')
PARTITIONS = 4


def scenarios_replayed() -> list[str]:
    return [name for name in recorded_by_4_1() if REPLAYED.fullmatch(name)]


def replayed(scenario: str) -> Iterator[Difference]:
    """Where a scenario's answers differ from those of ours with ``--emulate 4.1``."""
    lines = list(recorded_by_4_1()[scenario].values())
    header = next(iter(json_lines(FILE)))
    story = Story(scenario, SimulatedCluster(header["settings"][lines[0]["variant"]], "4.1"))
    shown = batches_shown(lines)
    topics: dict[str, Topic] = {}
    written: dict[tuple[str, int], int] = {}
    session = Session()
    for beginning, found in PREPARED.items():
        for short, rows in found.items() if scenario.startswith(beginning) else ():
            topic = topics[story.named(short)] = story.topic(short, assignments=rows)
            for _ in range(WRITTEN.get(beginning, 0)):
                story.produced(topic, b"x")
    for line in lines:
        request = whole(line["request"])
        if request is None:
            continue
        api, step = line["api"], line["step"].partition(", ")[2]
        if api == "Fetch":
            prepare(story, line, topics, written, shown)
            bind(request, topics, session)
        found = BROKER.search(step)
        to = int(found[1]) if found else 1 if "at the follower" in step or "from a follower" in step else 0
        client = "m1" if api != "Fetch" else "answers"
        given = story.quiet(api, line["version"], request, to=to, client_id=client)
        session.current = given.get("sessionId", 0) or session.current
        story.keep(str(len(story.kept)), api, line["version"], {}, given)
        ours = as_recorded(story.kept[-1].answer, line["answer"])
        for field, kafka, other in differing(line["answer"], json.loads(json.dumps(ours))):
            yield Difference(LABEL + scenario, line["step"], api, field, kafka, other)


def whole(text: str) -> dict[str, Any] | None:
    """A request; one that was cut off where it was recorded is a Fetch that ends soon, or None."""
    text = text.removesuffix("...")
    partition = CUT_OFF.match(text)
    starts = [
        text,
        text.rpartition(',"for')[0],
        *([f'{partition[1]},"partitionMaxBytes":1048576'] if partition else []),
    ]
    for start in starts:
        for end in ("", "}", "]}", "]}]}", "}]}]}"):
            try:
                request: dict[str, Any] = json.loads(start + end)
            except ValueError:
                continue
            return request | {"forgottenTopicsData": request.get("forgottenTopicsData", [])}
    return None


@dataclass(slots=True)
class Session:
    """The fetch session of a scenario: ours, and the number that Kafka gave it."""

    current: int = 0
    recorded: int = 0

    def of(self, literal: int) -> int:
        """Our number for a recorded one; another than the scenario's stays one that nobody has."""
        if literal <= 0:
            return literal
        self.recorded = self.recorded or literal
        return self.current if literal == self.recorded else self.current + 1


def partitions_of(answer: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The partitions of a Fetch's answer, with the topic's name or the text that stands for its id."""
    for topic in answer.get("responses", ()):
        name = topic.get("topic") or topic["topicId"].removeprefix("<id of ").rstrip(">")
        for partition in topic["partitions"]:
            yield name, partition


def batches_shown(lines: list[dict[str, Any]]) -> dict[tuple[str, int], dict[int, dict[str, Any]]]:
    """Every batch that a scenario's answers have, by topic, partition and first offset."""
    shown: dict[tuple[str, int], dict[int, dict[str, Any]]] = {}
    for line in lines:
        for name, partition in partitions_of(line["answer"]) if line["api"] == "Fetch" else ():
            for batch in partition.get("records") or ():
                if isinstance(batch, dict) and "baseOffset" in batch:
                    shown.setdefault((name, partition["partitionIndex"]), {})[batch["baseOffset"]] = batch
    return shown


def prepare(
    story: Story,
    line: dict[str, Any],
    topics: dict[str, Topic],
    written: dict[tuple[str, int], int],
    shown: dict[tuple[str, int], dict[int, dict[str, Any]]],
) -> None:
    """Bring the cluster to where it was when a Fetch was answered."""
    name = story.named("t")
    if name not in topics:
        topics[name] = story.topic("t", partitions=PARTITIONS)
    for topic, partition in partitions_of(line["answer"]):
        key = topic, partition["partitionIndex"]
        while topic in topics and written.get(key, 0) < partition["highWatermark"]:
            batch = shown.get(key, {}).get(written.get(key, 0))
            if batch is None:
                break
            write(story, topics[topic], key[1], batch)
            written[key] = written.get(key, 0) + batch["count"]


def write(story: Story, topic: Topic, index: int, batch: dict[str, Any]) -> None:
    records = [
        Record(key=data(one["key"]), value=data(one["value"]), timestamp=story.time(one["at"]))
        for one in batch["records"]
    ]
    partition = {"index": index, "records": build_batch(records, codec=CompressionCodec(batch["attributes"] & 7))}
    wanted = {"acks": -1, "timeoutMs": 1000, "topicData": [{"name": topic.name, "partitionData": [partition]}]}
    answer = story.quiet("Produce", 9, wanted, to=topic.leader(index))
    assert answer["responses"][0]["partitionResponses"][0]["errorCode"] == 0, answer


def data(text: str | None) -> bytes | None:
    if text is None:
        return None
    return bytes.fromhex(text[2:]) if text.startswith("0x") else text.encode()


def bind(request: dict[str, Any], topics: dict[str, Topic], session: Session) -> None:
    """Put our topic ids and our session in place of the recorded ones."""
    for topic in (*request.get("topics", ()), *request.get("forgottenTopicsData", ())):
        name = topic.get("topic")
        known = topics.get(name)
        topic["topicId"] = known.id if known else "EREREREREREREREREREREQ"
    request["sessionId"] = session.of(request.get("sessionId", 0))


def as_recorded(ours: Any, kafka: Any) -> Any:
    """Our answer in the form of that recorder where it has one of its own."""
    if "apis" in kafka:
        from tests.answers.scenarios.handshake import apis_of

        return apis_of(ours)
    partitions = [one for topic in kafka.get("topics", ()) for one in topic.get("partitions", ())]
    if partitions and isinstance(partitions[0].get("isrNodes"), int):
        from tests.answers.scenarios.metadata import placed_anywhere

        return placed_anywhere(ours)
    return ours
