"""What is asked about a data directory: the same of the Kafka that wrote it, of a Kafka that opened it, and of ours.

A question is an API's name, a version and the request in Kafka's JSON form; its answer is the response's. The records
of a Fetch stand as their size and their SHA-256, so that they are compared byte by byte and yet kept short.
"""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

import protocol
from protocol.records import iter_batches
from tests.answers.story import key_of, message_of

SIZE = struct.Struct(">i")
ANSWER_S = 60.0
FETCH_BYTES = 1 << 20
NEWEST, OLDEST, NEWEST_TIMESTAMP, OLDEST_LOCAL = -1, -2, -3, -4
READ_UNCOMMITTED, READ_COMMITTED = 0, 1

OF_THE_DAY = {"host", "port", "rack", "throttleTimeMs", "sessionId"}
LEADER_EPOCHS = ("Metadata", "DescribeTopicPartitions", "ListOffsets")
"""Where the epoch of the day is told: Kafka begins two when it starts again, one without a leader."""

Json = Any


class AnsweredQuestion(NamedTuple):
    """A question and what it was answered."""

    api: str
    version: int
    request: Json
    answer: Json


class Asker:
    """One connection to one broker, which asks one question after the other."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=ANSWER_S)
        self._answers = self._socket.makefile("rb")
        self._correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()
        self._socket.close()

    def ask(self, api: str, version: int, fields: Mapping[str, Any]) -> Any:
        """The answer as a message."""
        self._correlation_id += 1
        request = message_of(f"{api}Request", version, fields)
        self._socket.sendall(
            protocol.request_frame(request, version, correlation_id=self._correlation_id, client_id="asker")
        )
        (size,) = SIZE.unpack(self._answers.read(SIZE.size))
        return protocol.read_response(self._answers.read(size), key_of(api), version)[1]

    def ask_json(self, api: str, version: int, fields: Mapping[str, Any]) -> Json:
        """The answer in Kafka's JSON form, records shortened."""
        answer = protocol.to_json(self.ask(api, version, fields), version)
        if api == "Fetch":
            for topic in answer["responses"]:
                for partition in topic["partitions"]:
                    records = base64.b64decode(partition["records"] or "")
                    partition["records"] = {"size": len(records), "sha256": hashlib.sha256(records).hexdigest()}
        return answer

    def fetches(self, topic_id: str, partition: int, start: int, isolation: int) -> Iterator[AnsweredQuestion]:
        """Fetches from an offset on to the end of what may be read."""
        offset = start
        while True:
            fields = fetch_request(topic_id, partition, offset, isolation)
            answer = self.ask("Fetch", 16, fields)
            records = bytes(answer.responses[0].partitions[0].records or b"")
            shown = protocol.to_json(answer, 16)
            shown["responses"][0]["partitions"][0]["records"] = {
                "size": len(records),
                "sha256": hashlib.sha256(records).hexdigest(),
            }
            yield AnsweredQuestion("Fetch", 16, fields, shown)
            if not records:
                return
            last = list(iter_batches(records))[-1]
            offset = last.base_offset + last.last_offset_delta + 1


def fetch_request(topic_id: str, partition: int, offset: int, isolation: int) -> Json:
    return {
        "maxWaitMs": 0,
        "minBytes": 0,
        "maxBytes": FETCH_BYTES,
        "isolationLevel": isolation,
        "topics": [
            {
                "topicId": topic_id,
                "partitions": [{"partition": partition, "fetchOffset": offset, "partitionMaxBytes": FETCH_BYTES}],
            }
        ],
    }


def everything(address: str, groups: Mapping[str, str], times: list[int]) -> Iterator[AnsweredQuestion]:
    """Ask one broker, which leads all there is, for all that a data directory has to keep.

    Args:
        groups: their names and types, ``classic``, ``consumer`` or ``share``.
        times: timestamps to look offsets up by, in ms since 1970.
    """
    with Asker(address) as asker:

        def asked(api: str, version: int, fields: Mapping[str, Any] | None = None) -> AnsweredQuestion:
            return AnsweredQuestion(api, version, fields or {}, asker.ask_json(api, version, fields or {}))

        metadata = asked("Metadata", 13, {"topics": None})
        yield metadata
        topics = sorted(metadata.answer["topics"], key=lambda one: one["name"])
        yield asked("DescribeCluster", 2)
        yield asked("DescribeTopicPartitions", 0, {"topics": [{"name": one["name"]} for one in topics]})
        for topic in topics:
            partitions = range(len(topic["partitions"]))
            for isolation in (READ_UNCOMMITTED, READ_COMMITTED):
                for time in (OLDEST, NEWEST, NEWEST_TIMESTAMP, OLDEST_LOCAL, *times):
                    yield asked("ListOffsets", 10, list_offsets(topic["name"], partitions, time, isolation))
            oldest = asker.ask_json(
                "ListOffsets", 10, list_offsets(topic["name"], partitions, OLDEST, READ_UNCOMMITTED)
            )
            starts = {one["partitionIndex"]: one["offset"] for one in oldest["topics"][0]["partitions"]}
            for partition in partitions:
                for isolation in (READ_UNCOMMITTED, READ_COMMITTED):
                    yield from asker.fetches(topic["topicId"], partition, starts[partition], isolation)
            yield asked("DescribeProducers", 0, of_topic(topic["name"], "partitionIndexes", list(partitions)))
        resources = [(2, one["name"]) for one in topics if not one["isInternal"]] + [(4, "0"), (32, next(iter(groups)))]
        for kind, name in resources:
            resource = {"resourceType": kind, "resourceName": name, "configurationKeys": None}
            yield asked("DescribeConfigs", 4, {"resources": [resource]})
        yield asked("ListGroups", 5)
        for group, kind in groups.items():
            if kind == "share":
                yield asked("DescribeShareGroupOffsets", 1, {"groups": [{"groupId": group, "topics": None}]})
                yield asked("ShareGroupDescribe", 1, {"groupIds": [group]})
                continue
            for stable in (False, True):
                wanted = {"groups": [{"groupId": group, "topics": None}], "requireStable": stable}
                yield asked("OffsetFetch", 9, wanted)
            api, ids = ("DescribeGroups", "groups") if kind == "classic" else ("ConsumerGroupDescribe", "groupIds")
            yield asked(api, 6 if kind == "classic" else 1, {ids: [group]})
        listed = asked("ListTransactions", 2, {"durationFilter": -1})
        yield listed
        names = sorted(one["transactionalId"] for one in listed.answer["transactionStates"])
        yield asked("DescribeTransactions", 0, {"transactionalIds": names})
        anything = {"resourceTypeFilter": 1, "patternTypeFilter": 1, "operation": 1, "permissionType": 1}
        yield asked("DescribeAcls", 3, anything)
        yield asked("DescribeUserScramCredentials", 0, {"users": None})
        yield asked("DescribeClientQuotas", 1)


def of_topic(name: str, field: str, value: Any) -> Json:
    return {"topics": [{"name": name, field: value}]}


def list_offsets(name: str, partitions: range, timestamp: int, isolation: int) -> Json:
    wanted = [{"partitionIndex": one, "timestamp": timestamp} for one in partitions]
    return {"replicaId": -1, "isolationLevel": isolation, **of_topic(name, "partitions", wanted)}


def comparable(api: str, value: Any) -> Any:
    """An answer without what is of the day, its lists in one order."""
    if isinstance(value, dict):
        left_out = OF_THE_DAY | ({"leaderEpoch"} if api in LEADER_EPOCHS else set())
        return {name: comparable(api, one) for name, one in value.items() if name not in left_out}
    if isinstance(value, list):
        return sorted((comparable(api, one) for one in value), key=lambda one: json.dumps(one, sort_keys=True))
    return value
