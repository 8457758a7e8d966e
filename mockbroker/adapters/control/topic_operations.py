"""Looking at topics, making and deleting them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

import msgspec

from mockbroker.adapters.control.cluster_json import (
    PartitionView,
    TopicDetails,
    TopicsView,
    details_of,
    partition_of,
    topics_of,
)
from mockbroker.adapters.control.operations import INTERNAL, ControlCall, as_response, known_broker, operation
from mockbroker.adapters.control.problems import named, not_found
from mockbroker.state.topics.topic import Partition, Topic

MAX_PARTITIONS = 100_000  # of one topic


class NewTopic(msgspec.Struct, forbid_unknown_fields=True):
    """A topic to be made; what is left out is as the brokers' settings say."""

    name: str
    partitions: Annotated[int, msgspec.Meta(ge=1, le=MAX_PARTITIONS)] | None = None
    replication_factor: Annotated[int, msgspec.Meta(ge=1, le=32767)] | None = None
    configs: dict[str, str | int | float | bool | None] = {}
    diskless: bool = False


class ToBroker(msgspec.Struct, forbid_unknown_fields=True):
    """A target: a broker by its id."""

    broker: Annotated[int, msgspec.Meta(ge=0)]


class ToBrokers(msgspec.Struct, forbid_unknown_fields=True):
    """A target: brokers by id, in order."""

    brokers: Annotated[list[Annotated[int, msgspec.Meta(ge=0)]], msgspec.Meta(min_length=1, max_length=32767)]


class Deleted(msgspec.Struct):
    """The names that were deleted."""

    deleted: str


@operation(
    "GET", "/topics", "All topics with their partitions", tag="topics", answer=TopicsView, parameters=(INTERNAL,)
)
async def topics(call: ControlCall) -> Any:
    """By name: leaders, replicas, ISRs, offsets and sizes. Kafka's internal topics with ``internal=true``."""
    return TopicsView(topics_of(call.state, with_internal=call.with_internal()))


@operation("GET", "/topics/{topic}", "One topic", tag="topics", answer=TopicDetails, statuses=(404,))
async def topic(call: ControlCall) -> Any:
    """With its settings."""
    return details_of(known_topic(call), knows_logs=not call.state.is_mirror)


@operation(
    "POST", "/topics", "Create a topic", tag="topics", body=NewTopic, answer=TopicDetails, status=201, statuses=(409,)
)
async def create_topic(call: ControlCall) -> Any:
    """As Kafka creates it: over racks where brokers have them."""
    new: NewTopic = call.body
    made = call.cluster.create_topic(
        new.name,
        -1 if new.partitions is None else new.partitions,
        -1 if new.replication_factor is None else new.replication_factor,
        diskless=new.diskless,
        configs=new.configs,
    )
    response = as_response(details_of(made), HTTPStatus.CREATED)
    response.headers["location"] = f"/topics/{made.name}"
    return response


@operation("DELETE", "/topics/{topic}", "Delete a topic", tag="topics", answer=Deleted, statuses=(404,))
async def delete_topic(call: ControlCall) -> Any:
    """With its records, and what groups have committed there."""
    found = known_topic(call)
    call.cluster.delete_topic(found.name)
    return Deleted(found.name)


@operation(
    "POST",
    "/topics/{topic}/partitions/{partition}/leader",
    "Move a leader",
    tag="topics",
    body=ToBroker,
    answer=PartitionView,
    statuses=(404, 409),
)
async def move_leader(call: ControlCall) -> Any:
    """Another replica that is in sync leads, whenever it can, until the leader is moved again."""
    topic, partition = known_partition(call)
    call.cluster.move_leader(topic.name, partition.index, known_id(call, call.body.broker))
    return partition_of(topic, partition)


@operation(
    "POST",
    "/topics/{topic}/partitions/{partition}/replicas",
    "Move replicas",
    tag="topics",
    body=ToBrokers,
    answer=PartitionView,
    statuses=(404, 409),
)
async def move_replicas(call: ControlCall) -> Any:
    """To these brokers at once, the preferred leader first."""
    topic, partition = known_partition(call)
    brokers = [known_id(call, broker) for broker in call.body.brokers]
    call.cluster.move_replicas(topic.name, partition.index, brokers)
    return partition_of(topic, partition)


@operation(
    "POST",
    "/topics/{topic}/partitions/{partition}/isr",
    "Shrink or grow an ISR",
    tag="topics",
    body=ToBrokers,
    answer=PartitionView,
    statuses=(404, 409),
)
async def set_isr(call: ControlCall) -> Any:
    """Until it is this one; who is left out stays out until the ISR is set again."""
    topic, partition = known_partition(call)
    call.cluster.set_isr(topic.name, partition.index, [known_id(call, broker) for broker in call.body.brokers])
    return partition_of(topic, partition)


def known_id(call: ControlCall, broker: int) -> int:
    """A broker that a body names. Raises ControlProblem: 404."""
    return known_broker(call.state, str(broker))


def known_partition(call: ControlCall) -> tuple[Topic, Partition]:
    """The partition that the path names. Raises ControlProblem: 404."""
    topic, text = known_topic(call), call.names["partition"]
    if not text.isascii() or not text.isdigit() or len(text) > 10 or int(text) >= len(topic.partitions):
        raise not_found(
            f"there is no partition {text!r} of {topic.name}; its partitions: 0 to {len(topic.partitions) - 1}"
        )
    return topic, topic.partitions[int(text)]


def known_topic(call: ControlCall) -> Topic:
    """The topic that the path names. Raises ControlProblem: 404."""
    name = call.names["topic"]
    found = call.state.topics.get(name)
    if found is None:
        raise not_found(f"there is no topic {name!r}; the topics: {named(sorted(call.state.topics))}")
    return found
