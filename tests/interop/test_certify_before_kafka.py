"""certify before a real Kafka: programs that say racks pass there, and one that does not fails."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.interop.capture_evidence import evidence_in
from tests.interop.certified_clients import certified_clients
from tests.interop.certify_run import RACKS, built, certify
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_brokers, kafka_tool
from tests.interop.matrix.target import SETTINGS

CLIENTS = certified_clients()


@pytest.fixture(scope="module")
def servers(tmp_path_factory) -> Iterator[str]:
    with skipped_without_tools(), kafka_brokers(RACKS, tmp_path_factory.mktemp("kafka"), SETTINGS) as running:
        yield ",".join(running.addresses)


@pytest.mark.parametrize("name", ["java", "confluent-kafka"])
def test_a_rack_aware_reader_passes_before_real_brokers_as_its_capture_shows(name, servers, tmp_path):
    command = built(CLIENTS[name].command, "consume", "{rack}")
    ran = certify(command, tmp_path, "--bootstrap-server", servers, "--fail-below", "C")
    assert ran.exit_code == 0, (ran.complaints, ran.printed.get("checks"))
    shown = evidence_in(ran.capture)
    assert {rack: set(shown.fetch_racks[rack]) for rack in RACKS} == {rack: {rack} for rack in RACKS}
    assert shown.redirects
    passed = {check for check, verdict in ran.verdicts.items() if verdict == "pass"}
    assert passed >= {"fetch_rack", "rack_name", "preferred_replica", "assignor_rack", "no_loss"}
    assert ran.printed["outage_rack"] in RACKS


def test_a_reader_without_a_rack_fails_before_real_brokers_and_leaves_nothing_there(servers, tmp_path):
    command = built(CLIENTS["confluent-kafka"].command, "consume", "")
    ran = certify(command, tmp_path, "--bootstrap-server", servers, "--fail-below", "C")
    assert ran.exit_code == 3, ran.complaints
    assert ran.printed["grade"] in {"D", "E", "F"}
    failed = {check for check, verdict in ran.verdicts.items() if verdict == "fail"}
    assert failed >= {"fetch_rack", "assignor_rack", "near_reads"}
    assert not evidence_in(ran.capture).redirects
    assert "kafka-rack-certify" not in kafka_tool("TopicCommand", "--bootstrap-server", servers, "--list")
