"""Kafka's own kafka-dump-log reads what a cluster leaves in its data directory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from mockbroker import MockCluster
from mockbroker.data_directories.directory import METADATA
from protocol.uuids import uuid_to_text
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import TOOLS_VERSION, broker_jars, dump_log, tool_jars

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
VALUES = [f"order {number}" for number in range(60)]
BAD = re.compile(r"corrupt|mismatch|invalid|misordered|not found|could not|Exception|isvalid: false", re.IGNORECASE)


@pytest.fixture(scope="module")
def directories(tmp_path_factory) -> dict[str, Path]:
    """The directory of each log that has records, by topic; one partition a topic."""
    with skipped_without_tools():
        tool_jars()
        broker_jars(TOOLS_VERSION)
    path = tmp_path_factory.mktemp("data")
    settings = {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}
    with MockCluster(1, topics={"orders": 1}, data_dir=path, settings=settings) as cluster:
        for codec in CODECS:
            producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "compression.type": codec})
            for value in VALUES:
                producer.produce("orders", f"{codec} {value}")
            producer.flush()
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "cashier"})
        producer.init_transactions()
        for end in (producer.commit_transaction, producer.abort_transaction):
            producer.begin_transaction()
            producer.produce("orders", "in a transaction")
            producer.flush()
            end()
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "readers"})
        consumer.commit(offsets=[TopicPartition("orders", 0, 12)], asynchronous=False)
        consumer.close()
        topic_ids = cluster.run(lambda running: {topic.name: topic.id for topic in running.state.topics.values()})
    return {name: path / f"{uuid_to_text(topic_id)}-0" for name, topic_id in topic_ids.items()} | {
        METADATA: path / METADATA
    }


def dumped(directory: Path, *options: str) -> str:
    """What the tool prints of the log in a directory, which complains of nothing."""
    (path,) = directory.iterdir()
    printed = dump_log(*options, "--files", str(path))
    complaints = [line for line in printed.splitlines() if BAD.search(line)]
    assert not complaints, (complaints[:20], printed[-3000:])
    return printed


def test_it_reads_all_records_of_every_compression_and_the_markers_of_transactions(directories):
    printed = dumped(directories["orders"], "--deep-iteration", "--print-data-log")
    assert "Log starting offset: 0" in printed
    found = re.findall(r"payload: (.*)", printed)
    assert [one for one in found if " order " in one] == [f"{codec} {value}" for codec in CODECS for value in VALUES]
    assert set(re.findall(r"compresscodec: (\w+)", printed)) == set(CODECS)
    assert re.findall(r"endTxnMarker: (\w+)", printed) == ["COMMIT", "ABORT"]


def test_it_reads_committed_offsets_and_the_states_of_transactions(directories):
    printed = dumped(directories["__consumer_offsets"], "--offsets-decoder")
    assert re.search(r'"group":"readers","topic":"orders","partition":0.*"offset":12', printed)
    printed = dumped(directories["__transaction_state"], "--transaction-log-decoder")
    assert '"transactionalId":"cashier"' in printed


def test_it_reads_the_metadata_log(directories):
    printed = dumped(directories[METADATA], "--cluster-metadata-decoder")
    kinds = set(re.findall(r'"type":"(\w+)"', printed))
    assert {"FEATURE_LEVEL_RECORD", "TOPIC_RECORD", "PARTITION_RECORD"} <= kinds
    assert '"name":"orders"' in printed
    # the tool is of 4.1, which has no version 4 of RegisterBrokerRecord: one is written without ports, one with them
    assert printed.count("Failed to deserialize record") == 2
