"""What an administrator does, with kafka-python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic, OffsetSpec
from kafka.errors import KafkaError

from tests.interop.clients.common import say

ERRORS = {
    "TopicAlreadyExistsError": "TOPIC_ALREADY_EXISTS",
    "UnknownTopicOrPartitionError": "UNKNOWN_TOPIC_OR_PART",
}


def error_of(work: Callable[[], Any]) -> str:
    try:
        work()
    except KafkaError as error:
        name = type(error).__name__
        return ERRORS.get(name, name)
    return ""


def administer(servers: str, old: str, new: str, group: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=servers)
    say(topics=sorted(admin.list_topics()))
    wanted = [NewTopic(new, num_partitions=2, replication_factor=3, topic_configs={"cleanup.policy": "compact"})]
    say(created=error_of(lambda: admin.create_topics(wanted)))
    say(created_again=error_of(lambda: admin.create_topics(wanted)))
    say(grown=error_of(lambda: admin.create_partitions({new: 4})))
    (topic,) = admin.describe_topics([new])
    say(replicas={str(one["partition_index"]): len(one["replica_nodes"]) for one in topic["partitions"]})
    say(policy=policy_in(admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, new)])))
    for name, spec in (("earliest", OffsetSpec.EARLIEST), ("latest", OffsetSpec.LATEST)):
        found = admin.list_partition_offsets({TopicPartition(old, at): spec for at in range(3)})
        say(**{name: {str(one.partition): where.offset for one, where in found.items()}})
    say(groups=[one["group_id"] for one in admin.list_groups()])
    described = admin.describe_groups([group])[group]
    say(state=described["group_state"].lower(), members=len(described["members"]))
    committed = admin.list_group_offsets({group: None})[group]
    say(committed={str(one.partition): where.offset for one, where in committed.items()})
    say(brokers=sorted(node["broker_id"] for node in admin.describe_cluster()["brokers"]))
    say(group_deleted=error_of(lambda: admin.delete_groups([group])))
    say(groups_after=[one["group_id"] for one in admin.list_groups()])
    say(deleted=error_of(lambda: admin.delete_topics([new])))
    say(deleted_again=error_of(lambda: admin.delete_topics([new])))
    say(topics_after=sorted(admin.list_topics()))
    admin.close()


def policy_in(described: Any) -> Any:
    (configs,) = described.values() if isinstance(described, dict) else described
    while "cleanup.policy" not in configs:
        (configs,) = configs.values()
    return configs["cleanup.policy"]["value"]
