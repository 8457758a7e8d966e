"""certify --server on a real Kafka: it keeps every promise that it makes, and nothing stays there."""

from __future__ import annotations

from mockbroker.adapters.client_properties.settings import ClientSettings
from mockbroker.testing.certify.server_checks import SERVER_CHECKS, certify_server
from mockbroker.testing.certify.server_under_test import ServerPlan, ServerUnderTest
from tests.interop.certify_run import RACKS
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_brokers, kafka_tool


def test_kafka_keeps_its_promises_and_offers_no_diskless_topics(tmp_path):
    with skipped_without_tools(), kafka_brokers(RACKS, tmp_path) as running:
        servers = [("127.0.0.1", int(address.rpartition(":")[2])) for address in running.addresses]
        plan = ServerPlan(
            RACKS,
            "kafka-rack-certify-interop",
            partitions=3,
            zone_client_id="kafka-rack,diskless_az={rack}",
            metadata_age_s=300,
            stop_rack=lambda rack: running.stop(RACKS.index(rack)),
            start_rack=lambda rack: running.start(RACKS.index(rack)),
        )
        server = ServerUnderTest(servers, ClientSettings(timeout_s=60), plan)
        checks = certify_server(server, lambda _: None)
        server.close()
        listed = kafka_tool("TopicCommand", "--bootstrap-server", running.addresses[0], "--list")
    expected = {name: "not offered" if name.startswith("diskless") else "pass" for name, *_ in SERVER_CHECKS}
    assert {one.id: one.verdict for one in checks} == expected, [(one.id, one.evidence) for one in checks]
    assert "diskless.enable" in checks[-1].evidence
    assert "kafka-rack-certify" not in listed
