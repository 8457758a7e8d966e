"""A request of each API that asks for nothing but access: what follows once it is allowed changes next to nothing.

``REQUESTS`` has Kafka's name of the API and what is special -> a function from what there is to the broker and the
fields. A request is written in its newest form; fields that an older version does not have are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from protocol.records import Record, build_batch
from tests.answers.scenarios.share_state import coordinator_of as share_coordinator_of
from tests.answers.scenarios.streams_groups import subtopology, topology
from tests.answers.story import Fields, Story, Topic

NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
UNKNOWN_ID = "aaaaaaaaaaaaaaaaaaaaaQ"
TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


@dataclass(slots=True)
class Present:
    """What a scenario has for its requests: a topic, a group and a transactional id, each at its broker."""

    story: Story
    topic: Topic
    group: str
    id: str
    group_at: int
    id_at: int
    producer: tuple[int, int] = (-1, -1)

    @classmethod
    def of(cls, story: Story) -> Present:
        topic, group, id_ = story.topic("t"), story.named("g"), story.named("x")
        found = cls(story, topic, group, id_, story.coordinator(group), story.coordinator(id_, 1))
        story.produced(topic, b"x")
        partitions = [{"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}]
        commit = {"groupId": group, "memberId": "", "generationIdOrMemberEpoch": -1}
        commit["topics"] = [{"name": topic.name, "partitions": partitions}]  # type: ignore[assignment]
        story.quiet("OffsetCommit", 9, commit, to=found.group_at)
        begins = {"transactionalId": id_, "transactionTimeoutMs": 60_000, "producerId": -1, "producerEpoch": -1}
        story.until(lambda: story.quiet("InitProducerId", 4, begins, to=found.id_at)["errorCode"] == 0, "an id")
        given = story.quiet("InitProducerId", 4, begins, to=found.id_at)
        found.producer = given["producerId"], given["producerEpoch"]
        return found

    @property
    def missing(self) -> str:
        """A topic that is not there."""
        return self.story.named("missing")

    @property
    def who(self) -> Fields:
        """The producer of the transactional id, in an epoch that it has not got."""
        return {"transactionalId": self.id, "producerId": self.producer[0], "producerEpoch": self.producer[1] + 7}

    def share_group(self) -> tuple[str, int]:
        """A share group without members that has begun to read the topic, and its coordinator."""
        group = self.story.named("shared")
        at = self.story.coordinator(group)
        member = {"groupId": group, "memberId": UNKNOWN_ID, "subscribedTopicNames": [self.topic.name]}
        for epoch in (0, -1):
            answer = self.story.quiet("ShareGroupHeartbeat", 1, {**member, "memberEpoch": epoch}, to=at)
            assert answer["errorCode"] == 0, answer

        def begun() -> bool:
            alter = {"groupId": group, "topics": named(self.topic, startOffset=0)}
            answer = self.story.quiet("AlterShareGroupOffsets", 0, alter, to=at)
            return bool(answer["responses"] and not answer["responses"][0]["partitions"][0]["errorCode"])

        self.story.until(begun, "the share partition")
        return group, at


Request = Callable[[Present], tuple[int, Fields]]
REQUESTS: dict[tuple[str, str], Request] = {}
SINCE = {
    ("Metadata", ""): 4,
    ("Metadata", "by id"): 12,
    ("Metadata", "of all"): 1,
    ("OffsetFetch", "of all"): 2,
    ("CreateDelegationToken", "for another"): 3,
}
"""The first version that can ask so."""


def request(api: str, what: str = "") -> Callable[[Request], Request]:
    def add(function: Request) -> Request:
        REQUESTS[api, what] = function
        return function

    return add


def named(topic: Topic, **partition: Any) -> list[Fields]:
    """The one partition of a topic, in all the ways in which requests name it."""
    return [
        {
            "name": topic.name,
            "topic": topic.name,
            "topicName": topic.name,
            "topicId": topic.id,
            "partitions": [{"partition": 0, "partitionIndex": 0, **partition}],
        }
    ]


# records


def produce(there: Present, acks: int = -1, transactional_id: str | None = None, **fields: Any) -> tuple[int, Fields]:
    batch = build_batch([Record(value=b"y", timestamp=there.story.time())], **fields)
    data = {"name": there.topic.name, "topicId": there.topic.id, "partitionData": [{"index": 0, "records": batch}]}
    body = {"transactionalId": transactional_id, "acks": acks, "timeoutMs": 10_000, "topicData": [data]}
    return there.topic.leader(), body


request("Produce")(produce)


@request("Produce", "in a transaction")
def produce_transactional(there: Present) -> tuple[int, Fields]:
    producer_id, epoch = there.producer
    fields: Fields = {"producer_id": producer_id, "producer_epoch": epoch + 7, "base_sequence": 0}
    return produce(there, transactional_id=there.id, transactional=True, **fields)


@request("Produce", "in a transaction of no id")
def produce_without_id(there: Present) -> tuple[int, Fields]:
    producer_id, epoch = there.producer
    fields: Fields = {"producer_id": producer_id, "producer_epoch": epoch + 7, "base_sequence": 0}
    return produce(there, transactional=True, **fields)


@request("Produce", "of an idempotent producer")
def produce_idempotent(there: Present) -> tuple[int, Fields]:
    return produce(there, producer_id=9_000_000, producer_epoch=0, base_sequence=5)


def fetch_of(topics: list[Fields], **fields: Any) -> Fields:
    return {
        "maxWaitMs": 0,
        "minBytes": 0,
        "maxBytes": 1 << 20,
        "sessionEpoch": -1,
        "topics": topics,
        **fields,
    }


@request("Fetch")
def fetch(there: Present) -> tuple[int, Fields]:
    return there.topic.leader(), fetch_of(named(there.topic, fetchOffset=0, partitionMaxBytes=1 << 20))


@request("Fetch", "as a broker")
def fetch_as_broker(there: Present) -> tuple[int, Fields]:
    topics = named(there.topic, fetchOffset=0, partitionMaxBytes=1 << 20, currentLeaderEpoch=9)
    return there.topic.leader(), fetch_of(topics, replicaId=2, replicaState={"replicaId": 2, "replicaEpoch": 1})


@request("ListOffsets")
def list_offsets(there: Present) -> tuple[int, Fields]:
    topics = named(there.topic, currentLeaderEpoch=-1, timestamp=-2)
    return there.topic.leader(), {"replicaId": -1, "isolationLevel": 0, "topics": topics}


@request("OffsetForLeaderEpoch")
def leader_epochs(there: Present) -> tuple[int, Fields]:
    topics = named(there.topic, currentLeaderEpoch=-1, leaderEpoch=0)
    return there.topic.leader(), {"replicaId": -1, "topics": topics}


@request("DeleteRecords")
def delete_records(there: Present) -> tuple[int, Fields]:
    return there.topic.leader(), {"topics": named(there.topic, offset=0), "timeoutMs": 5000}


@request("DescribeProducers")
def describe_producers(there: Present) -> tuple[int, Fields]:
    return there.topic.leader(), {"topics": [{"name": there.topic.name, "partitionIndexes": [0]}]}


# topics


@request("Metadata")
def metadata(there: Present) -> tuple[int, Fields]:
    topics = [{"name": there.topic.name}, {"name": there.missing}]
    operations = {"includeClusterAuthorizedOperations": True, "includeTopicAuthorizedOperations": True}
    return 0, {"topics": topics, "allowAutoTopicCreation": False, **operations}


@request("Metadata", "of one")
def metadata_of_one(there: Present) -> tuple[int, Fields]:
    return 0, {"topics": [{"name": there.topic.name}], "allowAutoTopicCreation": True}


@request("Metadata", "by id")
def metadata_by_id(there: Present) -> tuple[int, Fields]:
    topics = [{"name": None, "topicId": one} for one in (there.topic.id, UNKNOWN_ID)]
    return 0, {"topics": topics, "allowAutoTopicCreation": False, "includeTopicAuthorizedOperations": True}


@request("Metadata", "of all")
def metadata_of_all(_there: Present) -> tuple[int, Fields]:
    return 0, {"topics": None, "allowAutoTopicCreation": True, "includeTopicAuthorizedOperations": True}


@request("DescribeTopicPartitions")
def describe_topic_partitions(there: Present) -> tuple[int, Fields]:
    return 0, {"topics": [{"name": there.topic.name}, {"name": there.missing}], "responsePartitionLimit": 100}


@request("DescribeTopicPartitions", "of all")
def describe_all_topic_partitions(_there: Present) -> tuple[int, Fields]:
    return 0, {"topics": [], "responsePartitionLimit": 100}


@request("CreateTopics")
def create_topics(there: Present) -> tuple[int, Fields]:
    topics = [
        {"name": name, "numPartitions": 1, "replicationFactor": 1, "assignments": [], "configs": []}
        for name in (there.story.named("new"), there.topic.name)
    ]
    return 0, {"topics": topics, "timeoutMs": 5000, "validateOnly": True}


@request("DeleteTopics")
def delete_topics(there: Present) -> tuple[int, Fields]:
    return 0, {"topics": [{"name": there.missing}], "topicNames": [there.missing], "timeoutMs": 5000}


@request("CreatePartitions")
def create_partitions(there: Present) -> tuple[int, Fields]:
    topics = [{"name": name, "count": 1, "assignments": None} for name in (there.topic.name, there.missing)]
    return 0, {"topics": topics, "timeoutMs": 5000, "validateOnly": True}


# configs


def of_resource(kind: int, name: Callable[[Present], str], config: str, value: str, what: str) -> None:
    def described(there: Present) -> tuple[int, Fields]:
        resource = {"resourceType": kind, "resourceName": name(there), "configurationKeys": [config]}
        return 0, {"resources": [resource], "includeSynonyms": False, "includeDocumentation": False}

    def altered(there: Present) -> tuple[int, Fields]:
        change = {"name": config, "value": value, "configOperation": 0}
        resource = {"resourceType": kind, "resourceName": name(there), "configs": [change]}
        return 0, {"resources": [resource], "validateOnly": True}

    REQUESTS["DescribeConfigs", what] = described
    if kind != LOGGER:
        REQUESTS["AlterConfigs", what] = altered
    REQUESTS["IncrementalAlterConfigs", what] = altered


of_resource(TOPIC, lambda there: there.topic.name, "retention.ms", "1000", "of a topic")
of_resource(BROKER, lambda _there: "0", "log.cleaner.threads", "1", "of a broker")
of_resource(LOGGER, lambda _there: "0", "no.such.logger", "WARN", "of loggers")
of_resource(CLIENT_METRICS, lambda there: there.story.named("m"), "interval.ms", "1000", "of client metrics")
of_resource(GROUP, lambda there: there.group, "consumer.session.timeout.ms", "46000", "of a group")


@request("ListConfigResources")
def list_config_resources(_there: Present) -> tuple[int, Fields]:
    return 0, {"resourceTypes": [CLIENT_METRICS]}


# groups


@request("OffsetCommit")
def offset_commit(there: Present) -> tuple[int, Fields]:
    topics = named(there.topic, committedOffset=1, committedMetadata="")
    return there.group_at, {
        "groupId": there.group,
        "memberId": "",
        "generationId": -1,
        "generationIdOrMemberEpoch": -1,
        "topics": topics,
    }


@request("OffsetFetch")
def offset_fetch(there: Present) -> tuple[int, Fields]:
    topics = [{"name": there.topic.name, "topicId": there.topic.id, "partitionIndexes": [0]}]
    group = {"groupId": there.group, "topics": topics}
    return there.group_at, {**group, "groups": [group], "requireStable": False}


@request("OffsetFetch", "of all")
def offset_fetch_of_all(there: Present) -> tuple[int, Fields]:
    group = {"groupId": there.group, "topics": None}
    return there.group_at, {**group, "groups": [group], "requireStable": False}


@request("OffsetDelete")
def offset_delete(there: Present) -> tuple[int, Fields]:
    topics = [{"name": name, "partitions": [{"partitionIndex": 7}]} for name in (there.topic.name, there.missing)]
    return there.group_at, {"groupId": there.group, "topics": topics}


def coordinator_of(kind: int, key: Callable[[Present], str]) -> Request:
    def find(there: Present) -> tuple[int, Fields]:
        there.story.until(
            lambda: (
                not there.story.quiet("FindCoordinator", 6, {"coordinatorKeys": [key(there)], "keyType": kind})[
                    "coordinators"
                ][0]["errorCode"]
            ),
            "the coordinators' topic",
        )
        return 0, {"key": key(there), "keyType": kind, "coordinatorKeys": [key(there)]}

    return find


REQUESTS["FindCoordinator", "of a group"] = coordinator_of(0, lambda there: there.group)
REQUESTS["FindCoordinator", "of a transactional id"] = coordinator_of(1, lambda there: there.id)
REQUESTS["FindCoordinator", "of a share partition"] = coordinator_of(2, lambda there: f"{there.group}:{UNKNOWN_ID}:0")

MEMBER: Fields = {"memberId": "nobody", "generationId": 3, "groupInstanceId": None}


@request("JoinGroup")
def join_group(there: Present) -> tuple[int, Fields]:
    protocols = [{"name": "range", "metadata": b"m"}]
    times = {"sessionTimeoutMs": 30_000, "rebalanceTimeoutMs": 30_000}
    body = {**MEMBER, "groupId": there.group, "protocolType": "consumer", "protocols": protocols, **times}
    return there.group_at, body


@request("SyncGroup")
def sync_group(there: Present) -> tuple[int, Fields]:
    names = {"protocolType": "consumer", "protocolName": "range", "assignments": []}
    return there.group_at, {**MEMBER, "groupId": there.group, **names}


@request("Heartbeat")
def heartbeat(there: Present) -> tuple[int, Fields]:
    return there.group_at, {**MEMBER, "groupId": there.group}


@request("LeaveGroup")
def leave_group(there: Present) -> tuple[int, Fields]:
    member = {"memberId": "nobody", "groupInstanceId": None, "reason": None}
    return there.group_at, {"groupId": there.group, "memberId": "nobody", "members": [member]}


@request("DescribeGroups")
def describe_groups(there: Present) -> tuple[int, Fields]:
    return there.group_at, {"groups": [there.group], "includeAuthorizedOperations": True}


@request("ListGroups")
def list_groups(there: Present) -> tuple[int, Fields]:
    return there.group_at, {"statesFilter": [], "typesFilter": []}


@request("DeleteGroups")
def delete_groups(there: Present) -> tuple[int, Fields]:
    return there.group_at, {"groupsNames": [there.story.named("missing")]}


@request("ConsumerGroupHeartbeat")
def consumer_heartbeat(there: Present) -> tuple[int, Fields]:
    body = {"groupId": there.group, "memberId": "nobody", "memberEpoch": 3, "subscribedTopicNames": [there.topic.name]}
    return there.group_at, {**body, "rebalanceTimeoutMs": -1}


@request("ShareGroupHeartbeat")
def share_heartbeat(there: Present) -> tuple[int, Fields]:
    body = {"groupId": there.group, "memberId": UNKNOWN_ID, "memberEpoch": 3}
    return there.group_at, {**body, "subscribedTopicNames": [there.topic.name]}


@request("StreamsGroupHeartbeat")
def streams_heartbeat(there: Present) -> tuple[int, Fields]:
    body = {"groupId": there.group, "memberId": "nobody", "memberEpoch": 3, "endpointInformationEpoch": 0}
    return there.group_at, {**body, "topology": None, "shutdownApplication": False}


@request("StreamsGroupHeartbeat", "that joins")
def streams_join(there: Present) -> tuple[int, Fields]:
    told = topology(subtopology(0, there.topic.name))
    body = {"groupId": there.group, "memberId": "nobody", "memberEpoch": 0, "endpointInformationEpoch": 0}
    tasks: Fields = {"activeTasks": [], "standbyTasks": [], "warmupTasks": []}
    more = {
        "topology": told,
        "processId": "p",
        "clientTags": [],
        "rebalanceTimeoutMs": -5,
        "shutdownApplication": False,
    }
    return there.group_at, {**body, **tasks, **more}


@request("StreamsGroupTopologyDescriptionUpdate")
def topology_description(there: Present) -> tuple[int, Fields]:
    body = {"groupId": there.group, "memberId": "nobody", "topologyEpoch": 0}
    return there.group_at, {**body, "topologyDescription": {"subtopologies": [], "globalStores": []}}


for described in ("ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe"):
    REQUESTS[described, ""] = lambda there: (
        there.group_at,
        {
            "groupIds": [there.group, there.story.named("missing")],
            "includeAuthorizedOperations": True,
            "includeTopologyDescription": False,
        },
    )


# share groups


def share_session(there: Present, epoch: int) -> tuple[int, Fields]:
    topics = named(there.topic, partitionIndex=7, acknowledgementBatches=[])
    body = {"groupId": there.group, "memberId": UNKNOWN_ID, "shareSessionEpoch": epoch, "topics": topics}
    sizes = {"maxWaitMs": 0, "minBytes": 0, "maxBytes": 1 << 20, "maxRecords": 10, "batchSize": 10}
    return there.topic.leader(), {**body, **sizes, "forgottenTopicsData": []}


@request("ShareFetch")
def share_fetch(there: Present) -> tuple[int, Fields]:
    return share_session(there, 9)


@request("ShareFetch", "that begins")
def share_begin(there: Present) -> tuple[int, Fields]:
    return share_session(there, 0)


@request("ShareAcknowledge")
def share_acknowledge(there: Present) -> tuple[int, Fields]:
    return share_session(there, 9)


SHARE_PARTITION = {"partition": 0, "stateEpoch": 0, "leaderEpoch": 0, "startOffset": 0, "stateBatches": []}
for asked in ("Initialize", "Read", "Write", "Delete", "ReadSummary"):
    name = "ReadShareGroupStateSummary" if asked == "ReadSummary" else f"{asked}ShareGroupState"
    REQUESTS[name, ""] = lambda there: (
        share_coordinator_of(there.story, there.group, UNKNOWN_ID, 0),
        {"groupId": there.group, "topics": [{"topicId": UNKNOWN_ID, "partitions": [SHARE_PARTITION]}]},
    )


@request("DescribeShareGroupOffsets")
def describe_share_offsets(there: Present) -> tuple[int, Fields]:
    group, at = there.share_group()
    topics = [{"topicName": name, "partitions": [0]} for name in (there.topic.name, there.missing)]
    return at, {"groups": [{"groupId": group, "topics": topics}]}


@request("DescribeShareGroupOffsets", "of all")
def describe_all_share_offsets(there: Present) -> tuple[int, Fields]:
    group, at = there.share_group()
    return at, {"groups": [{"groupId": group, "topics": None}]}


@request("AlterShareGroupOffsets")
def alter_share_offsets(there: Present) -> tuple[int, Fields]:
    group, at = there.share_group()
    return at, {"groupId": group, "topics": named(there.topic, startOffset=0)}


@request("DeleteShareGroupOffsets")
def delete_share_offsets(there: Present) -> tuple[int, Fields]:
    group, at = there.share_group()
    return at, {"groupId": group, "topics": [{"topicName": name} for name in (there.topic.name, there.missing)]}
