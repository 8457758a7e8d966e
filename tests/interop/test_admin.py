"""What each library's administrator asks of a cluster: topics, partitions, configurations, offsets, groups."""

from __future__ import annotations

import pytest

from mockbroker import MockCluster
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from tests.interop.client_process import LIBRARIES, ClientProcess, consume, produce, values

OLD_TOPIC, NEW_TOPIC, GROUP = "orders", "customers", "billing"
PARTITIONS, COUNT = 3, 30


@pytest.mark.parametrize("library", LIBRARIES)
async def test_an_administrator_creates_grows_describes_and_deletes(library):
    async with MockCluster(topics={OLD_TOPIC: PARTITIONS}) as cluster:
        servers = cluster.bootstrap_servers
        await produce(library, OLD_TOPIC, values(0, COUNT, PARTITIONS), servers=servers)
        await consume(library, [OLD_TOPIC], COUNT, servers=servers, group=GROUP)
        order = {"servers": servers, "old": OLD_TOPIC, "new": NEW_TOPIC, "group": GROUP}
        async with ClientProcess(library, "administer", **order) as admin:
            found = {name: value for line in await admin.finish() for name, value in line.items()}
        each_partition = [str(index) for index in range(PARTITIONS)]
        expected = {
            "topics": [OFFSETS_TOPIC, OLD_TOPIC],
            "created": "",
            "created_again": "TOPIC_ALREADY_EXISTS",
            "grown": "",
            "replicas": dict.fromkeys("0123", 3),
            "policy": "compact",
            "earliest": dict.fromkeys(each_partition, 0),
            "latest": dict.fromkeys(each_partition, COUNT // PARTITIONS),
            "groups": [GROUP],
            "state": "empty",
            "members": 0,
            "committed": dict.fromkeys(each_partition, COUNT // PARTITIONS),
            "brokers": [0, 1, 2],
            "group_deleted": "",
            "groups_after": [],
            "deleted": "",
            "deleted_again": "UNKNOWN_TOPIC_OR_PART",
            "topics_after": [OFFSETS_TOPIC, OLD_TOPIC],
        }
        if library == "aiokafka":  # which cannot delete a group
            del expected["group_deleted"], expected["groups_after"]
        assert found == expected
        assert sorted(cluster.state.topics) == [OFFSETS_TOPIC, OLD_TOPIC]
