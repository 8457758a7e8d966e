"""What a client is sent in place of an answer when its whole request fails: the error, where that API has room for it.

Some APIs have one error for the whole answer, others one for each topic, partition or group of the request; then each
of them gets it. ``error_response`` is called by whoever runs handlers, with what a handler raised.
Source: ``getErrorResponse`` of each API's request class, called by KafkaApis.handleError, Apache Kafka 4.4; for the
versions that 4.x dropped, 3.9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mockbroker.handlers import admin_error_responses
from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode
from protocol.registry import message_class

NO_ACKS = 0
NO_OFFSET = -1
NO_NODE = -1
FETCH_TOP_LEVEL_VERSION = 7
FETCH_TOPIC_ID_VERSION = 13
PRODUCE_TOPIC_ID_VERSION = 13
OFFSET_FETCH_TOP_LEVEL_VERSION = 2
OFFSET_FETCH_GROUPS_VERSION = 8
FIND_COORDINATORS_VERSION = 4
NO_PROTOCOL_VERSION = 7
DELETE_BY_ID_VERSION = 6
ADD_PARTITIONS_TOP_LEVEL_VERSION = 4
SHARE_STATE_WITH_WORDS = (84, 85, 87)


class RequestError(NamedTuple):
    """An error as answers hold it.

    ``message`` is the refusal's own words: None where it has none, and for UNKNOWN_SERVER_ERROR, whose words are for
    the log. ``description`` is never None: those words, or what the error means.
    """

    code: int
    message: str | None
    description: str


Builder = Callable[[Any, Any, int, RequestError], Any]


def error_response(request: Any, version: int, error: Exception) -> Any:
    """The response to a request that failed as a whole.

    Args:
        error: an ApiError stands for itself, any other exception for UNKNOWN_SERVER_ERROR.

    Returns: a response message; None where only closing the connection is left (Produce with acks=0).

    >>> from protocol.apis.groups import ListGroupsRequest
    >>> error_response(ListGroupsRequest(), 4, ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    ListGroupsResponse(error_code=14)
    """
    api_key = type(request).api_key
    return BUILDERS[api_key](message_class(api_key, "response"), request, version, request_error(error))


def request_error(error: Exception) -> RequestError:
    """Code and words of what a handler raised. Source: ApiError.fromThrowable."""
    if isinstance(error, ApiError) and error.code != ErrorCode.UNKNOWN_SERVER_ERROR:
        return RequestError(int(error.code), error.message, error.message or meaning(error.code))
    unknown = ErrorCode.UNKNOWN_SERVER_ERROR
    return RequestError(int(unknown), None, unknown.meaning)


def meaning(code: int) -> str:
    """What an error means, for a number outside the table just that number."""
    try:
        return ErrorCode(code).meaning
    except ValueError:
        return f"error {code}"


def top_level(response: Any, _request: Any, _version: int, error: RequestError) -> Any:
    """One error for all, and nothing else."""
    return response(error_code=error.code)


def produce(response: Any, request: Any, version: int, error: RequestError) -> Any:
    if request.acks == NO_ACKS:
        return None
    by_topic_id = version >= PRODUCE_TOPIC_ID_VERSION
    named: dict[Any, dict[int, Any]] = {}
    for topic in request.topic_data:
        for partition in topic.partition_data:
            named.setdefault(topic.topic_id if by_topic_id else topic.name, {})[partition.index] = (
                response.Topic.Partition(
                    index=partition.index, error_code=error.code, base_offset=NO_OFFSET, error_message=error.message
                )
            )
    return response(
        responses=[
            response.Topic(
                **({"topic_id": topic} if by_topic_id else {"name": topic}),
                partition_responses=list(partitions.values()),
            )
            for topic, partitions in named.items()
        ]
    )


def fetch(response: Any, request: Any, version: int, error: RequestError) -> Any:
    """The partitions only where topics go by name: whoever asks by id reads the error at the top."""
    answer = response()
    if version >= FETCH_TOP_LEVEL_VERSION:
        answer.error_code, answer.session_id = error.code, request.session_id
    if version < FETCH_TOPIC_ID_VERSION:
        answer.responses = [
            response.Topic(
                topic=topic.topic,
                partitions=[
                    response.Topic.Partition(
                        partition_index=partition.partition,
                        error_code=error.code,
                        high_watermark=NO_OFFSET,
                        records=b"",
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    return answer


def delete_records(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(
        topics=[
            response.Topic(
                name=topic.name,
                partitions=[
                    response.Topic.Partition(
                        partition_index=partition.partition_index, low_watermark=NO_OFFSET, error_code=error.code
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def list_offsets(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(
        topics=[
            response.Topic(
                name=topic.name,
                partitions=[
                    response.Topic.Partition(partition_index=partition.partition_index, error_code=error.code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def metadata(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    """Each topic that was named, and since v13 the whole."""
    return response(
        error_code=error.code,
        topics=[
            response.Topic(name=topic.name or "", topic_id=topic.topic_id, error_code=error.code)
            for topic in request.topics or ()
        ],
    )


def offset_commit(response: Any, request: Any, version: int, error: RequestError) -> Any:
    answer = list_offsets(response, request, version, error)
    for topic, named in zip(answer.topics, request.topics, strict=True):
        topic.topic_id = named.topic_id
    return answer


def offset_fetch(response: Any, request: Any, version: int, error: RequestError) -> Any:
    """Each partition in v0-1, the whole in v2-7, since then each group."""
    if version >= OFFSET_FETCH_GROUPS_VERSION:
        return response(
            groups=[response.Group(group_id=group.group_id, error_code=error.code) for group in request.groups]
        )
    if version >= OFFSET_FETCH_TOP_LEVEL_VERSION:
        return response(error_code=error.code)
    return response(
        topics=[
            response.Topic(
                name=topic.name,
                partitions=[
                    response.Topic.Partition(partition_index=index, committed_offset=NO_OFFSET, error_code=error.code)
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    )


def find_coordinator(response: Any, request: Any, version: int, error: RequestError) -> Any:
    where = {
        "node_id": NO_NODE,
        "host": "",
        "port": -1,
        "error_code": error.code,
        "error_message": error.description,
    }
    if version < FIND_COORDINATORS_VERSION:
        return response(**where)
    return response(coordinators=[response.Coordinator(key=key, **where) for key in request.coordinator_keys])


def join_group(response: Any, _request: Any, version: int, error: RequestError) -> Any:
    return response(error_code=error.code, protocol_name=None if version >= NO_PROTOCOL_VERSION else "")


def describe_groups(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(groups=[response.Group(group_id=group_id, error_code=error.code) for group_id in request.groups])


def consumer_group_describe(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(groups=[response.Group(group_id=group_id, error_code=error.code) for group_id in request.group_ids])


def delete_groups(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(
        results=[response.Group(group_id=group_id, error_code=error.code) for group_id in request.groups_names]
    )


def create_topics(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(
        topics=[
            response.Topic(name=topic.name, error_code=error.code, error_message=error.message)
            for topic in request.topics
        ]
    )


def delete_topics(response: Any, request: Any, version: int, error: RequestError) -> Any:
    if version >= DELETE_BY_ID_VERSION:
        named = [{"name": topic.name, "topic_id": topic.topic_id} for topic in request.topics]
    else:
        named = [{"name": name} for name in request.topic_names]
    return response(responses=[response.Topic(**topic, error_code=error.code) for topic in named])


def create_partitions(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(
        results=[
            response.Topic(name=topic.name, error_code=error.code, error_message=error.message)
            for topic in request.topics
        ]
    )


def init_producer_id(response: Any, _request: Any, _version: int, error: RequestError) -> Any:
    return response(error_code=error.code, producer_id=-1, producer_epoch=-1)


def offset_for_leader_epoch(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(
        topics=[
            response.Topic(
                topic=topic.topic,
                partitions=[
                    response.Topic.Partition(partition=partition.partition, error_code=error.code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def add_partitions_to_txn(response: Any, request: Any, version: int, error: RequestError) -> Any:
    """Each partition in v0-3, since then the whole."""
    if version >= ADD_PARTITIONS_TOP_LEVEL_VERSION:
        return response(error_code=error.code)
    from protocol.apis.transactions import AddPartitionsToTxnTopicResult

    return response(
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnTopicResult.Partition(partition_index=index, partition_error_code=error.code)
                    for index in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ]
    )


def write_txn_markers(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(
        markers=[
            response.Marker(
                producer_id=marker.producer_id,
                topics=[
                    response.Marker.Topic(
                        name=topic.name,
                        partitions=[
                            response.Marker.Topic.Partition(partition_index=index, error_code=error.code)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def describe_producers(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(
        topics=[
            response.Topic(
                name=topic.name,
                partitions=[
                    response.Topic.Partition(partition_index=index, error_code=error.code)
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def describe_transactions(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(
        transaction_states=[
            response.Transaction(transactional_id=transactional_id, error_code=error.code)
            for transactional_id in request.transactional_ids
        ]
    )


def describe_configs(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(
        results=[
            response.Result(
                error_code=error.code,
                error_message=error.description,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


def alter_configs(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    """AlterConfigs, IncrementalAlterConfigs."""
    return response(
        responses=[
            response.Resource(
                error_code=error.code,
                error_message=error.message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


def alter_partition_reassignments(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    words = {"error_code": error.code, "error_message": error.message}
    return response(
        **words,
        responses=[
            response.Topic(
                name=topic.name,
                partitions=[
                    response.Topic.Partition(partition_index=partition.partition_index, **words)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def list_partition_reassignments(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    """The error at the top; the partitions that were named come back as they were."""
    return response(
        error_code=error.code,
        error_message=error.message,
        topics=[
            response.Topic(
                name=topic.name,
                partitions=[response.Topic.Partition(partition_index=index) for index in topic.partition_indexes],
            )
            for topic in request.topics or ()
        ],
    )


def describe_topic_partitions(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(topics=[response.Topic(name=topic.name, error_code=error.code) for topic in request.topics])


def share_state(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    """Reading and writing say why, beginning and deleting do not."""
    message = error.description if response.api_key in SHARE_STATE_WITH_WORDS else None
    return response(
        results=[
            response.Topic(
                topic_id=topic.topic_id,
                partitions=[
                    response.Topic.Partition(partition=one.partition, error_code=error.code, error_message=message)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def share_group_describe(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(groups=[response.Group(group_id=one, error_code=error.code) for one in request.group_ids])


def describe_share_offsets(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(
        groups=[
            response.Group(group_id=one.group_id, error_code=error.code, error_message=error.description)
            for one in request.groups
        ]
    )


def top_level_with_words(response: Any, _request: Any, _version: int, error: RequestError) -> Any:
    """One error for all, and the refusal's own words."""
    return response(error_code=error.code, error_message=error.message)


def top_level_described(response: Any, _request: Any, _version: int, error: RequestError) -> Any:
    """One error for all, and why."""
    return response(error_code=error.code, error_message=error.description)


BUILDERS: dict[int, Builder] = {
    **admin_error_responses.BUILDERS,
    0: produce,
    1: fetch,
    2: list_offsets,
    3: metadata,
    6: top_level,
    8: offset_commit,
    9: offset_fetch,
    10: find_coordinator,
    11: join_group,
    12: top_level,
    13: top_level,
    14: top_level,
    15: describe_groups,
    16: top_level,
    18: top_level,
    19: create_topics,
    20: delete_topics,
    21: delete_records,
    22: init_producer_id,
    23: offset_for_leader_epoch,
    24: add_partitions_to_txn,
    25: top_level,
    26: top_level,
    27: write_txn_markers,
    28: offset_commit,
    32: describe_configs,
    33: alter_configs,
    37: create_partitions,
    42: delete_groups,
    44: alter_configs,
    45: alter_partition_reassignments,
    46: list_partition_reassignments,
    47: top_level,
    61: describe_producers,
    65: describe_transactions,
    66: top_level,
    68: top_level,
    69: consumer_group_describe,
    71: top_level,
    72: top_level,
    74: top_level,
    75: describe_topic_partitions,
    76: top_level,
    77: share_group_describe,
    78: top_level,
    79: top_level,
    83: share_state,
    84: share_state,
    85: share_state,
    86: share_state,
    87: share_state,
    88: top_level,
    89: share_group_describe,
    90: describe_share_offsets,
    91: top_level_described,
    93: top_level_with_words,
    92: top_level_described,
}
"""Who builds the answer, by API key: one for each API that is served."""
