"""Operations that show, create and delete topics."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

import msgspec

from mockbroker.adapters.control.cluster_json import TopicDetails, TopicsView, details_of, topics_of
from mockbroker.adapters.control.operations import INTERNAL, ControlCall, as_response, known_topic, operation

MAX_PARTITIONS = 100_000  # of one topic


class NewTopic(msgspec.Struct, forbid_unknown_fields=True):
    """A new topic; the brokers' settings are the defaults."""

    name: str
    partitions: Annotated[int, msgspec.Meta(ge=1, le=MAX_PARTITIONS)] | None = None
    replication_factor: Annotated[int, msgspec.Meta(ge=1, le=32767)] | None = None
    configs: dict[str, str | int | float | bool | None] = {}
    diskless: bool = False


class Deleted(msgspec.Struct):
    """The deleted name."""

    deleted: str


@operation("GET", "/topics", "All topics with their partitions", answer=TopicsView, parameters=(INTERNAL,))
async def topics(call: ControlCall) -> Any:
    """By name: leaders, replicas, ISRs, offsets and sizes. Kafka's internal topics with ``internal=true``."""
    return TopicsView(topics_of(call.state, with_internal=call.with_internal()))


@operation("GET", "/topics/{topic}", "One topic", answer=TopicDetails)
async def topic(call: ControlCall) -> Any:
    """With its settings."""
    return details_of(known_topic(call), knows_logs=not call.state.is_mirror)


@operation("POST", "/topics", "Create a topic", body=NewTopic, answer=TopicDetails, status=201, statuses=(409,))
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


@operation("DELETE", "/topics/{topic}", "Delete a topic", answer=Deleted)
async def delete_topic(call: ControlCall) -> Any:
    """With its records, and what groups have committed there."""
    found = known_topic(call)
    call.cluster.delete_topic(found.name)
    return Deleted(found.name)
