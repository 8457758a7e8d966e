"""What is measured: large messages as big clusters send them, and a corpus in which every API has its share."""

import base64
from collections import defaultdict
from random import Random
from typing import Any

import protocol
from tests.fixture_data import capture_names, captured_frames, golden_vectors

from .peers import Sample

RACKS = ("az-a", "az-b", "az-c")
BROKERS = 6
SHARE = 12  # captured frames of one message that enter the corpus at the most


def metadata(partitions: int, topics: int = 1, replicas: int = 3, version: int = 12, first_broker: int = 0) -> Sample:
    """A Metadata response: six brokers in three racks, every replica in sync and none offline."""
    topic_names = [f"topic-{index:04}" for index in range(topics)]
    return sample(
        "MetadataResponse",
        version,
        {
            "throttleTimeMs": 0,
            "brokers": [
                {
                    "nodeId": first_broker + node,
                    "host": f"broker-{node}.example.com",
                    "port": 9092,
                    "rack": RACKS[node % 3],
                }
                for node in range(BROKERS)
            ],
            "clusterId": "lTgOUfVPRZGBzS8Zlzr5gA",
            "controllerId": first_broker,
            "topics": [
                {
                    "errorCode": 0,
                    "name": name,
                    "topicId": uuid_text(index),
                    "isInternal": False,
                    "partitions": [
                        metadata_partition(number, replicas, first_broker) for number in range(partitions // topics)
                    ],
                    "topicAuthorizedOperations": -(2**31),
                }
                for index, name in enumerate(topic_names)
            ],
        },
    )


def metadata_partition(number: int, replicas: int, first_broker: int) -> dict[str, Any]:
    """One partition, its leader first among its replicas."""
    nodes = [first_broker + (number + step) % BROKERS for step in range(replicas)]
    return {
        "errorCode": 0,
        "partitionIndex": number,
        "leaderId": nodes[0],
        "leaderEpoch": number % 17,
        "replicaNodes": nodes,
        "isrNodes": nodes,
        "offlineReplicas": [],
    }


def fetch(partitions: int, version: int = 13) -> Sample:
    """A Fetch response of a consumer that is nearly up with its topics: 50 partitions a topic, 0-400 bytes in each."""
    rng = Random(1)
    return sample(
        "FetchResponse",
        version,
        {
            "throttleTimeMs": 0,
            "errorCode": 0,
            "sessionId": 7,
            "responses": [
                {
                    "topicId": uuid_text(index),
                    "partitions": [
                        {
                            "partitionIndex": number,
                            "errorCode": 0,
                            "highWatermark": 1_000_000 + number,
                            "lastStableOffset": 1_000_000 + number,
                            "logStartOffset": 0,
                            "abortedTransactions": None,
                            "preferredReadReplica": -1,
                            "records": base64.b64encode(rng.randbytes(rng.randrange(400))).decode(),
                        }
                        for number in range(50)
                    ],
                }
                for index in range(partitions // 50)
            ],
        },
    )


def offset_commit(partitions: int, version: int = 8) -> Sample:
    """An OffsetCommit request of a group that reads 50 topics."""
    return sample(
        "OffsetCommitRequest",
        version,
        {
            "groupId": "billing",
            "generationIdOrMemberEpoch": 12,
            "memberId": "consumer-billing-1-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
            "groupInstanceId": None,
            "topics": [
                {
                    "name": f"topic-{index:04}",
                    "partitions": [
                        {
                            "partitionIndex": number,
                            "committedOffset": 5_000_000 + 7 * number,
                            "committedLeaderEpoch": 4,
                            "committedMetadata": "",
                        }
                        for number in range(partitions // 50)
                    ],
                }
                for index in range(50)
            ],
        },
    )


def join_group(members: int, version: int = 9) -> Sample:
    """A JoinGroup response to the leader of a large group, each member's subscription in it."""
    rng = Random(2)
    subscription = bytes.fromhex("0003 00000003") + b"".join(
        len(name).to_bytes(2, "big") + name for name in (b"orders", b"payments", b"shipments")
    )
    return sample(
        "JoinGroupResponse",
        version,
        {
            "throttleTimeMs": 0,
            "errorCode": 0,
            "generationId": 3,
            "protocolType": "consumer",
            "protocolName": "range",
            "leader": "consumer-billing-1-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
            "skipAssignment": False,
            "memberId": "consumer-billing-1-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
            "members": [
                {
                    "memberId": f"consumer-billing-{number}-{rng.randbytes(16).hex()}",
                    "groupInstanceId": None,
                    "metadata": base64.b64encode(
                        subscription + bytes.fromhex("ffffffff00000000ffffffff0004") + RACKS[number % 3].encode()
                    ).decode(),
                }
                for number in range(members)
            ],
        },
    )


def large() -> dict[str, Sample]:
    """The large messages by a name for the table."""
    return {
        "Metadata v12 response, 1,000 partitions": metadata(1_000),
        "Metadata v12 response, 10,000 partitions of 200 topics": metadata(10_000, topics=200),
        "Fetch v13 response, 1,000 partitions": fetch(1_000),
        "OffsetCommit v8 request, 5,000 partitions": offset_commit(5_000),
        "JoinGroup v9 response, 500 members": join_group(500),
    }


def corpus() -> dict[str, list[Sample]]:
    """Every message with its samples: all golden vectors, and of real frames the first few of each version."""
    found: dict[str, list[Sample]] = defaultdict(list)
    for vector in golden_vectors():
        found[vector.message].append(Sample(vector.message, vector.api_key, vector.kind, vector.version, vector.body))
    taken: dict[tuple[str, int], int] = defaultdict(int)
    for name in capture_names():
        for frame in captured_frames(name):
            message = protocol.message_class(frame.api_key, frame.kind)
            seen = message.name, frame.version
            if taken[seen] < SHARE and (body := frame_body(frame)) is not None:
                taken[seen] += 1
                found[message.name].append(Sample(message.name, frame.api_key, frame.kind, frame.version, body))
    return dict(sorted(found.items()))


def frame_body(frame: Any) -> bytes | None:
    """What stands behind the header, or None for the few frames that do not come back byte for byte."""
    try:
        if frame.kind == "request":
            _, message = protocol.read_request(frame.data)
        else:
            _, message = protocol.read_response(frame.data, frame.api_key, frame.version)
        body = protocol.encode(message, frame.version)
    except protocol.ProtocolError:
        return None
    return body if frame.data.endswith(body) else None


def sample(name: str, version: int, obj: Any) -> Sample:
    """A message given in Kafka's JSON form."""
    message = protocol.named_class(name)
    data = protocol.encode(protocol.from_json(name, version, obj), version)
    return Sample(name, message.api_key, message.kind, version, data)


def uuid_text(number: int) -> str:
    """A topic id that is not zero."""
    return protocol.uuid_to_text((number + 1).to_bytes(16, "big"))
