"""A cluster that is to stay as it is answers what reads, and refuses all else."""

from __future__ import annotations

import pytest

from mockbroker.core.read_only import READS, REFUSAL, refuse_writes
from mockbroker.core.simulation import ConnectionClosedError, Simulation
from mockbroker.handlers import MODULE_OF_API
from protocol.records import Record, build_batch
from protocol.registry import message_class
from tests.answers.story import message_of

POLICY_VIOLATION, CLUSTER_AUTHORIZATION_FAILED = 44, 31
WORDS = ("Describe", "List", "Read", "Fetch", "Metadata", "Find", "ApiVersions", "OffsetFetch", "OffsetForLeader")
SESSIONS = ("JoinGroup", "SyncGroup", "LeaveGroup", "Heartbeat", "ConsumerGroup", "Sasl", "Telemetry")


@pytest.fixture
def sim() -> Simulation:
    """Three brokers with one topic, from now on read-only."""
    sim = Simulation()
    sim.cluster.create_topic("orders", 1, 3)
    sim.engine.path.limits.append(refuse_writes)
    return sim


def reply(sim, api, version, fields):
    return sim.replies[sim.send(message_of(f"{api}Request", version, fields), version=version)]


def produce(acks):
    records = build_batch([Record(0, 0, None, b"value")])
    topic = {"name": "orders", "partitionData": [{"index": 0, "records": records}]}
    return {"acks": acks, "timeoutMs": 1000, "topicData": [topic]}


def test_what_is_served_reads_by_its_name_or_belongs_to_a_session():
    for api_key in sorted(READS):
        name = message_class(api_key, "request").name
        assert name.startswith(WORDS) or any(word in name for word in SESSIONS) or "Describe" in name, name


def test_each_api_that_writes_is_refused():
    sim = Simulation()
    sim.engine.path.limits.append(refuse_writes)
    for api_key in sorted(set(MODULE_OF_API) - READS):
        request = message_class(api_key, "request")()
        before = sim.cluster.version
        sim.send(request, may_close=True)
        assert sim.cluster.version == before


def test_records_are_refused_and_none_is_kept(sim):
    (topic,) = reply(sim, "Produce", 9, produce(-1)).responses
    (partition,) = topic.partition_responses
    assert (partition.error_code, partition.error_message) == (POLICY_VIOLATION, REFUSAL)
    assert sim.cluster.topics["orders"].partitions[0].log.end_offset == 0


def test_a_producer_that_waits_for_no_answer_loses_its_connection(sim):
    with pytest.raises(ConnectionClosedError, match=REFUSAL):
        sim.send(message_of("ProduceRequest", 9, produce(0)), version=9)


def test_a_producer_that_asks_for_an_id_is_told_by_the_error_that_it_takes_as_final(sim):
    assert reply(sim, "InitProducerId", 4, {}).error_code == CLUSTER_AUTHORIZATION_FAILED


def test_no_topic_is_made(sim):
    (topic,) = reply(sim, "CreateTopics", 7, {"topics": [{"name": "more", "numPartitions": 1}]}).topics
    assert (topic.error_code, topic.error_message) == (POLICY_VIOLATION, REFUSAL)
    assert sorted(sim.cluster.topics) == ["orders"]


def test_no_config_is_changed(sim):
    change = {"name": "retention.ms", "configOperation": 0, "value": "1"}
    resource = {"resourceType": 2, "resourceName": "orders", "configs": [change]}
    (result,) = reply(sim, "IncrementalAlterConfigs", 1, {"resources": [resource]}).responses
    assert (result.error_code, result.error_message) == (POLICY_VIOLATION, REFUSAL)


def test_no_offset_is_committed(sim):
    topic = {"name": "orders", "partitions": [{"partitionIndex": 0, "committedOffset": 3}]}
    (answer,) = reply(sim, "OffsetCommit", 8, {"groupId": "readers", "topics": [topic]}).topics
    assert answer.partitions[0].error_code == POLICY_VIOLATION


def test_what_reads_is_answered_as_ever(sim):
    assert [topic.name for topic in reply(sim, "Metadata", 12, {"topics": None}).topics] == ["orders"]
    partitions = [{"partition": 0, "partitionMaxBytes": 100}]
    answer = reply(sim, "Fetch", 12, {"maxWaitMs": 0, "topics": [{"topic": "orders", "partitions": partitions}]})
    assert answer.responses[0].partitions[0].error_code == 0
