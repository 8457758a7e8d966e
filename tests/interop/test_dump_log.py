"""Kafka's own kafka-dump-log reads what a cluster leaves in its data directory."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import TOOLS_VERSION, broker_jars, dump_log, tool_jars
from tests.progress import wait_until
from tests.storage import history
from tests.storage.questions import Asker
from tests.torture.killing.server import KilledServer

TOPICS: dict[str, Any] = {
    "orders": (3, {"segment.ms": "10", "retention.ms": "604800000"}),  # their timestamps are a millisecond apart
    "codecs": (1, {}),
    "payments": (2, {}),
}
OPTIONS = [
    *("--set", "offsets.topic.num.partitions=2", "--set", "transaction.state.log.num.partitions=2"),
    *("--set", "share.coordinator.state.topic.num.partitions=2"),
    *("--set", "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
    *("--set", "super.users=User:ANONYMOUS"),
]
SHARERS, NO_ID = "sharers", "AAAAAAAAAAAAAAAAAAAAAA"
BAD = re.compile(r"corrupt|mismatch|invalid|misordered|not found|Found timestamp|could not|Exception", re.IGNORECASE)


@pytest.fixture(scope="module", params=["ended", "killed"])
def data(request, tmp_path_factory) -> Path:
    """The directory of a cluster of one broker that ended in order, or that was killed and started once more."""
    with skipped_without_tools():
        tool_jars()
        broker_jars(TOOLS_VERSION)
    server = KilledServer(tmp_path_factory.mktemp(request.param), OPTIONS, brokers=1)
    server.start()
    try:
        history.happen_to_ours(server.bootstrap, int(time.time() * 1000), TOPICS, records_a_codec=80)
        have_share_states(server.bootstrap)
        if request.param == "killed":
            server.kill()
            server.start()
        assert server.stop() in (0, -signal.SIGTERM), server.said
    finally:
        if server.is_running():
            server.kill()
    return server.data


def have_share_states(address: str) -> None:
    """Have a share coordinator keep a state, as the leader of a partition does for a share group."""
    with Asker(address) as asker:
        metadata = asker.ask_json("Metadata", 12, {"topics": [{"name": "orders", "topicId": NO_ID}]})
        topic_id = metadata["topics"][0]["topicId"]
        keys = [f"{SHARERS}:{topic_id}:0"]

        def asked(api: str, version: int, **fields: object) -> int:
            partitions = [{"partition": 0, **fields}]
            request = {"groupId": SHARERS, "topics": [{"topicId": topic_id, "partitions": partitions}]}
            answer = asker.ask_json(api, version, request)
            return int(answer["results"][0]["partitions"][0]["errorCode"])

        def found() -> bool:
            answer = asker.ask_json("FindCoordinator", 6, {"keyType": 2, "coordinatorKeys": keys})
            return answer["coordinators"][0]["errorCode"] == 0

        wait_until(found, "the share coordinator")
        assert asked("InitializeShareGroupState", 0, stateEpoch=1, startOffset=2) == 0
        batches = [{"firstOffset": 2, "lastOffset": 4, "deliveryState": 0, "deliveryCount": 7}]
        state = {"stateEpoch": 1, "leaderEpoch": 0, "startOffset": 2, "deliveryCompleteCount": 0}
        assert asked("WriteShareGroupState", 1, **state, stateBatches=batches) == 0


def files(data: Path, pattern: str, *suffixes: str) -> str:
    """The files of some partitions with any of these suffixes, as the tool takes them."""
    found = {suffix: sorted(data.glob(f"**/{pattern}/*{suffix}")) for suffix in suffixes}
    assert all(found.values()), (pattern, found)
    return ",".join(str(path) for paths in found.values() for path in paths)


def dumped(data: Path, patterns: str | tuple[str, ...], suffixes: str | tuple[str, ...], *options: str) -> str:
    """What the tool prints, which complains of nothing. One Java reads all files."""
    patterns = (patterns,) if isinstance(patterns, str) else patterns
    suffixes = (suffixes,) if isinstance(suffixes, str) else suffixes
    printed = dump_log(*options, "--files", ",".join(files(data, pattern, *suffixes) for pattern in patterns))
    complaints = [line for line in printed.splitlines() if BAD.search(line)]
    assert not complaints, (complaints[:20], printed[-3000:])
    return printed


def test_it_reads_all_records_of_all_segments(data):
    printed = dumped(data, "orders-*", ".log", "--deep-iteration", "--print-data-log")
    found = re.findall(r"payload: (\{.*\})", printed)
    expected = [value.decode() for one in range(3) for _, value, _ in history.orders(one, 0)]
    assert sorted(found) == sorted(expected)
    assert printed.count("Log starting offset: 0") == 3
    assert printed.count("Log starting offset:") > 6
    assert "isvalid: false" not in printed


def test_it_reads_records_of_every_compression(data):
    printed = dumped(data, "codecs-0", ".log", "--deep-iteration")
    assert set(re.findall(r"compresscodec: (\w+)", printed)) == set(history.CODECS)
    assert "isvalid: false" not in printed
    assert len(re.findall(r"^\| offset:", printed, re.MULTILINE)) == 80 * len(history.CODECS)


@pytest.mark.parametrize("options", [(), ("--index-sanity-check",)], ids=["dumped", "checked"])
def test_its_checks_of_indexes_find_nothing(data, options):
    patterns, suffixes = ("orders-*", "codecs-0", "payments-*", "__consumer_offsets-*"), (".index", ".timeindex")
    printed = dumped(data, patterns, suffixes, *options)
    assert printed.count("Dumping ") == sum(files(data, one, *suffixes).count(",") + 1 for one in patterns)


def test_it_reads_aborted_transactions_and_snapshots_of_producers(data):
    assert len(re.findall(r"producerId", dumped(data, "payments-0", ".txnindex"))) == 2
    assert "producerEpoch" in dumped(data, "payments-0", ".snapshot")
    markers = dumped(data, "payments-0", ".log", "--deep-iteration")
    assert re.findall(r"endTxnMarker: (\w+)", markers) == ["COMMIT", "ABORT", "COMMIT", "ABORT", "COMMIT"]


def test_it_reads_committed_offsets_and_groups(data):
    printed = dumped(data, "__consumer_offsets-*", ".log", "--offsets-decoder")
    for group in history.GROUPS:
        key = rf'"group":"{group}","topic":"orders","partition":2\}}\}}'
        assert re.search(rf'{key} payload: \{{"version":"\d+","data":\{{"offset":12,', printed), group


def test_it_reads_the_states_of_transactions(data):
    printed = dumped(data, "__transaction_state-*", ".log", "--transaction-log-decoder")
    assert '"transactionalId":"cashier"' in printed


def test_it_reads_the_states_of_share_partitions(data):
    printed = dumped(data, "__share_group_state-*", ".log", "--share-group-state-decoder")
    assert f'"groupId":"{SHARERS}"' in printed
    assert '"firstOffset":2,"lastOffset":4,"deliveryState":0,"deliveryCount":7' in printed


def test_it_reads_the_metadata_log(data):
    printed = dumped(data, "__cluster_metadata-0", ".log", "--cluster-metadata-decoder")
    kinds = set(re.findall(r'"type":"(\w+)"', printed))
    assert {
        "FEATURE_LEVEL_RECORD",
        "TOPIC_RECORD",
        "PARTITION_RECORD",
        "CONFIG_RECORD",
        "ACCESS_CONTROL_ENTRY_RECORD",
        "USER_SCRAM_CREDENTIAL_RECORD",
        "CLIENT_QUOTA_RECORD",
    } <= kinds
    # the tool is of 4.1, which has no version 4 of RegisterBrokerRecord: each start of the broker writes one
    assert printed.count("Failed to deserialize record") in (1, 2)
    assert '"name":"orders"' in printed
