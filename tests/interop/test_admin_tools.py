"""Kafka's own tools administer the cluster: features, the quorum, directories, access control, leaders."""

from __future__ import annotations

from mockbroker.adapters.blocking import BlockingMockCluster
from mockbroker.adapters.server import MockCluster
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_tool, tool_jars


def test_kafkas_tools_administer_a_cluster():
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with skipped_without_tools():
        tool_jars()
    with BlockingMockCluster(MockCluster(brokers=3, racks=("a", "b", "c"), settings=settings)) as cluster:
        cluster.create_topic("orders", 2, 3)

        def tool(name: str, *arguments: str) -> str:
            return kafka_tool(name, "--bootstrap-server", cluster.bootstrap_servers, *arguments)

        features = tool("FeatureCommand", "describe")
        assert "eligible.leader.replicas.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1" in features
        quorum = tool("MetadataQuorumCommand", "describe", "--status")
        assert quorum.split("LeaderId:")[1].split()[0] == "0"
        directories = tool("LogDirsCommand", "--describe", "--topic-list", "orders")
        assert directories.count('"partition":"orders-1"') == 3
        tool("AclCommand", "--add", "--allow-principal", "User:ann", "--operation", "Read", "--topic", "orders")
        entries = tool("AclCommand", "--list")
        assert "(principal=User:ann, host=*, operation=READ, permissionType=ALLOW)" in entries
        tool("LeaderElectionCommand", "--election-type", "preferred", "--all-topic-partitions")
