"""A real Kafka starts on the data directory that a cluster left, and finds there all that was kept."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mockbroker.adapters.storage.data_directory import DataDirectory, DataDirectoryInUseError
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import broker_jars, kafka_brokers
from tests.progress import wait_until
from tests.storage import history
from tests.storage.questions import Asker, comparable, everything
from tests.storage.recorder import PATIENCE_S, SETTINGS, leads_all
from tests.torture.killing.server import KilledServer

TOPICS: dict[str, Any] = {
    "orders": (3, {"segment.ms": "10", "retention.ms": "604800000"}),
    "codecs": (1, {}),
    "payments": (2, {}),
    "trimmed": (1, {}),
}
OURS = ("offsets.topic.num.partitions", "transaction.state.log.num.partitions", "authorizer.class.name", "super.users")
ANSWERS_ALIKE = (
    *("Fetch", "ListOffsets", "OffsetFetch", "DescribeProducers", "DescribeTransactions", "ListTransactions"),
    *("DescribeAcls", "DescribeUserScramCredentials", "DescribeClientQuotas"),
)


@pytest.mark.parametrize("ending", ["ended", "killed"])
def test_it_answers_from_it_as_the_cluster_did_that_wrote_it(tmp_path, ending):
    with skipped_without_tools():
        broker_jars()
    server = KilledServer(
        tmp_path, [part for name in OURS for part in ("--set", f"{name}={SETTINGS[name]}")], brokers=1
    )
    server.start()
    began_ms = int(time.time() * 1000)
    times = [began_ms, began_ms + 3]
    try:
        history.happen_to_ours(server.bootstrap, began_ms, TOPICS, records_a_codec=8)
        before = list(everything(server.bootstrap, history.GROUPS, times))
        kept = {"log.dirs": str(server.data / "broker-0" / "0"), "metadata.log.dir": str(server.data / "controller")}
        if ending == "ended":
            with pytest.raises(AssertionError), kafka_brokers("a", tmp_path, {**SETTINGS, **kept}):
                pytest.fail("Kafka started on a directory that is in use")
        if ending == "killed":
            server.kill()
        else:
            server.stop()
    finally:
        if server.is_running():
            server.kill()
    with kafka_brokers("a", tmp_path, {**SETTINGS, **kept}) as kafka:
        with pytest.raises(DataDirectoryInUseError, match="in use by a broker of Apache Kafka"):
            DataDirectory.open(server.data)
        wait_until(lambda: leads_all(kafka.addresses[0]), "Kafka on the directory", quiet_s=PATIENCE_S)
        with Asker(kafka.addresses[0]) as asker:
            compared = 0
            for one in before:
                if one.api not in ANSWERS_ALIKE:
                    continue
                answer = asker.ask_json(one.api, one.version, one.request)
                assert comparable(one.api, answer) == comparable(one.api, one.answer), (one.api, one.request)
                compared += 1
    assert compared > 100
