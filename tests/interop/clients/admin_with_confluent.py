"""What an administrator does, with confluent-kafka."""

from __future__ import annotations

from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, OffsetSpec

from tests.interop.clients.common import say


def result(future: Any) -> Any:
    return future.result()


def error_of(futures: dict[Any, Any]) -> str:
    """The name of the one error there is, empty without."""
    try:
        for future in futures.values():
            result(future)
    except KafkaException as error:
        return error.args[0].name()
    return ""


def administer(servers: str, old: str, new: str, group: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 2})
    say(topics=sorted(admin.list_topics().topics))
    wanted = [NewTopic(new, num_partitions=2, replication_factor=3, config={"cleanup.policy": "compact"})]
    say(created=error_of(admin.create_topics(wanted)))
    say(created_again=error_of(admin.create_topics(wanted)))
    say(grown=error_of(admin.create_partitions([NewPartitions(new, 4)])))
    partitions = admin.list_topics(new).topics[new].partitions
    say(replicas={str(at): len(one.replicas) for at, one in partitions.items()})
    resource = ConfigResource(ConfigResource.Type.TOPIC, new)
    say(policy=result(admin.describe_configs([resource])[resource])["cleanup.policy"].value)
    for name, spec in (("earliest", OffsetSpec.earliest()), ("latest", OffsetSpec.latest())):
        asked = {TopicPartition(old, at): spec for at in range(3)}
        found = admin.list_offsets(asked, isolation_level=IsolationLevel.READ_UNCOMMITTED)
        say(**{name: {str(one.partition): result(future).offset for one, future in found.items()}})
    say(groups=[one.group_id for one in result(admin.list_consumer_groups()).valid])
    described = result(admin.describe_consumer_groups([group])[group])
    say(state=described.state.name.lower(), members=len(described.members))
    committed = result(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group])
    say(committed={str(one.partition): one.offset for one in committed.topic_partitions})
    say(brokers=sorted(node.id for node in result(admin.describe_cluster()).nodes))
    say(group_deleted=error_of(admin.delete_consumer_groups([group])))
    say(groups_after=[one.group_id for one in result(admin.list_consumer_groups()).valid])
    say(deleted=error_of(admin.delete_topics([new])))
    say(deleted_again=error_of(admin.delete_topics([new])))
    say(topics_after=sorted(admin.list_topics().topics))
