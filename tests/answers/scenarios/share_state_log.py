"""What share coordinators write into ``__share_group_state``: snapshots and updates of share partitions' states, and
tombstones.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import protocol
from protocol.codec import codec
from protocol.embedded.share_state_log import ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue
from protocol.embedded.versioned import read_versioned
from protocol.records import iter_records
from tests.answers.scenarios import scenario
from tests.answers.scenarios.share_state import asked, initial, request, share_coordinator, written
from tests.answers.story import Fields, Story

PARTITIONS = 50
SETTINGS = {
    "share.coordinator.snapshot.update.records.per.snapshot": "2",
    "share.coordinator.state.topic.num.partitions": str(PARTITIONS),
}
TOPIC = "__share_group_state"
TYPE_BYTES = 2
KINDS = {0: (ShareSnapshotKey, ShareSnapshotValue), 1: (ShareUpdateKey, ShareUpdateValue)}
EARLIEST, LATEST = -2, -1


class Log:
    """The partition of the topic that a share partition's state is in; nothing else of the cluster is in there."""

    def __init__(self, story: Story, short: str = "g") -> None:
        self.story, self.group = story, story.named(short)
        self.topic = story.topic("t", partitions=1)
        self.to = share_coordinator(story, self.group, self.topic)
        self.index = self._index()
        self.read(None)

    def ask(self, step: str | None, api: str, partition: Fields, version: int = 0) -> None:
        self.story.ask(step, api, version, request(self.group, self.topic.id, partition), to=self.to)

    def _index(self) -> int:
        """Java's hash of the coordinator's key, from the topics' own number of partitions."""
        from mockbroker.state.topics.coordinator_keys import partition_of_key

        return partition_of_key(f"{self.group}:{self.topic.id}:0", PARTITIONS)

    def offset(self, when: int) -> int:
        wanted = {"partitionIndex": self.index, "currentLeaderEpoch": -1, "timestamp": when}
        body = {"replicaId": -1, "isolationLevel": 0, "topics": [{"name": TOPIC, "partitions": [wanted]}]}
        answer = self.story.quiet("ListOffsets", 6, body, to=self.to)
        return int(answer["topics"][0]["partitions"][0]["offset"])

    def read(self, step: str | None) -> None:
        """Keep what a consumer reads from the first offset on."""
        partition = {
            "partition": self.index,
            "currentLeaderEpoch": -1,
            "fetchOffset": self.offset(EARLIEST),
            "partitionMaxBytes": 1 << 20,
        }
        body = {
            "maxWaitMs": 0,
            "minBytes": 0,
            "maxBytes": 1 << 20,
            "sessionEpoch": -1,
            "topics": [{"topic": TOPIC, "partitions": [partition]}],
        }
        self.story.ask(step, "Fetch", 11, body, to=self.to, only=self.opened)

    def until(self, when: int, offset: int) -> None:
        self.story.until(lambda: self.offset(when) >= offset, f"offset {offset} of the log")

    def opened(self, answer: Fields) -> Fields:
        (partition,) = answer["responses"][0]["partitions"]
        records = iter_records(b64decode(partition["records"] or ""))
        return {"errorCode": partition["errorCode"], "values": [self.shown(one) for one in records]}

    def shown(self, record: Any) -> Fields:
        """A record as text, without times: of these only whether there are two."""
        key_class, value_class = KINDS[int.from_bytes(record.key[:TYPE_BYTES])]
        key, end = codec(key_class, 0).decode(record.key, TYPE_BYTES)
        assert end == len(record.key)
        fields: Fields = {"offset": record.offset, "key": key_class.__name__, "partition": key.partition}
        fields["group"] = key.group_id
        if record.value is not None:
            value = read_versioned(value_class, record.value, trailing="error")
            fields |= protocol.to_json(value, 0)
            times = {fields.pop(name, 0) for name in ("createTimestamp", "writeTimestamp")}
            fields["version"], fields["times"] = int.from_bytes(record.value[:2]), len(times)
            fields["values"] = fields.pop("stateBatches")
        return fields


@scenario("share state log/written")
def log_of_one(story: Story) -> None:
    log = Log(story)
    log.ask("begun", "InitializeShareGroupState", initial(start=2, epoch=1))
    log.ask("read by a new leader", "ReadShareGroupState", asked(leader_epoch=3))
    log.read("begun and read")
    log.ask("written", "WriteShareGroupState", written((2, 5, 2, 1), (7, 9, 0, 2), epoch=1, leader_epoch=3, start=2))
    log.ask(
        "a snapshot", "WriteShareGroupState", written((3, 8, 2, 3), epoch=1, leader_epoch=3, start=3, complete=4), 1
    )
    log.read("a snapshot after two updates")
    log.ask(
        "after it", "WriteShareGroupState", written((12, 15, 4, 1), epoch=1, leader_epoch=4, start=-1, complete=9), 1
    )
    log.ask("begun anew", "InitializeShareGroupState", initial(start=-1, epoch=2))
    log.ask("after that", "WriteShareGroupState", written((0, 1, 0, 1), epoch=2, leader_epoch=4, start=0), 0)
    log.ask("another", "WriteShareGroupState", written((0, 1, 2, 2), epoch=2, leader_epoch=4, start=0), 0)
    log.ask("refused", "WriteShareGroupState", written((0, 1, 2, 2), epoch=1, leader_epoch=4, start=0), 0)
    log.ask("deleted", "DeleteShareGroupState", {"partition": 0})
    log.ask("deleted twice", "DeleteShareGroupState", {"partition": 0})
    log.read("deleted")
