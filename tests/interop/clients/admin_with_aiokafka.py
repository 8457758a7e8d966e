"""What an administrator does, with aiokafka. It has no way to delete a group, and its consumer lists offsets."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.interop.clients.common import say

ERRORS = {0: "", 3: "UNKNOWN_TOPIC_OR_PART", 36: "TOPIC_ALREADY_EXISTS"}


def error_in(entries: Any) -> str:
    return ERRORS[entries[0][1]]


def administer(servers: str, old: str, new: str, group: str) -> None:
    asyncio.run(work_through(servers, old, new, group))


async def work_through(servers: str, old: str, new: str, group: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    try:
        say(topics=sorted(await admin.list_topics()))
        wanted = [NewTopic(new, num_partitions=2, replication_factor=3, topic_configs={"cleanup.policy": "compact"})]
        say(created=error_in((await admin.create_topics(wanted)).topic_errors))
        say(created_again=error_in((await admin.create_topics(wanted)).topic_errors))
        say(grown=error_in((await admin.create_partitions({new: NewPartitions(4)})).topic_errors))
        (topic,) = await admin.describe_topics([new])
        say(replicas={str(one["partition"]): len(one["replicas"]) for one in topic["partitions"]})
        (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, new)])
        say(policy={entry[0]: entry[1] for entry in answer.resources[0][4]}["cleanup.policy"])
        async with AIOKafkaConsumer(old, bootstrap_servers=servers) as consumer:
            partitions = [TopicPartition(old, at) for at in range(3)]
            for name, ask in (("earliest", consumer.beginning_offsets), ("latest", consumer.end_offsets)):
                say(**{name: {str(one.partition): offset for one, offset in (await ask(partitions)).items()}})
        say(groups=[name for name, _ in await admin.list_consumer_groups()])
        (answer,) = await admin.describe_consumer_groups([group])
        _, _, state, _, _, members, *_ = answer.groups[0]
        say(state=state.lower(), members=len(members))
        committed = await admin.list_consumer_group_offsets(group)
        say(committed={str(one.partition): where.offset for one, where in committed.items()})
        say(brokers=sorted(node["node_id"] for node in (await admin.describe_cluster())["brokers"]))
        say(deleted=error_in((await admin.delete_topics([new])).topic_error_codes))
        say(deleted_again=error_in((await admin.delete_topics([new])).topic_error_codes))
        say(topics_after=sorted(await admin.list_topics()))
    finally:
        await admin.close()
