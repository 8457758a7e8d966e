"""What the administrative APIs answer in place of an answer: a part of ``error_responses``, whose builders these are.

Source: ``getErrorResponse`` of each API's request class, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker.state.security.protocols import ANONYMOUS

if TYPE_CHECKING:
    from mockbroker.handlers.error_responses import Builder, RequestError

NO_TIME = -1
REQUESTER_VERSION = 3
ELECTION_ERROR_VERSION = 1


def top_level(response: Any, _request: Any, _version: int, error: RequestError) -> Any:
    """One error for all, and nothing else."""
    return response(error_code=error.code)


def top_level_with_words(response: Any, _request: Any, _version: int, error: RequestError) -> Any:
    """One error for all, and what it says."""
    return response(error_code=error.code, error_message=error.message)


def top_level_described(response: Any, _request: Any, _version: int, error: RequestError) -> Any:
    """One error for all, and what it says or means."""
    return response(error_code=error.code, error_message=error.description)


def create_acls(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    failed = response.Result(error_code=error.code, error_message=error.message)
    return response(results=[failed] * len(request.creations))


def delete_acls(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    failed = response.FilterResult(error_code=error.code, error_message=error.message)
    return response(filter_results=[failed] * len(request.filters))


def alter_replica_log_dirs(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(
        results=[
            response.Topic(
                topic_name=topic.name,
                partitions=[
                    response.Topic.Partition(partition_index=index, error_code=error.code) for index in topic.partitions
                ],
            )
            for directory in request.dirs
            for topic in directory.topics
        ]
    )


def create_delegation_token(response: Any, _request: Any, version: int, error: RequestError) -> Any:
    """Nobody's token, from nobody."""
    kind, _, name = ANONYMOUS.partition(":")
    requester = {"token_requester_principal_type": kind, "token_requester_principal_name": name}
    return response(
        error_code=error.code,
        principal_type=kind,
        principal_name=name,
        **(requester if version >= REQUESTER_VERSION else {}),
        issue_timestamp_ms=NO_TIME,
        expiry_timestamp_ms=NO_TIME,
        max_timestamp_ms=NO_TIME,
    )


def elect_leaders(response: Any, request: Any, version: int, error: RequestError) -> Any:
    """The top since v1, and each partition that was named."""
    words = {"error_code": error.code, "error_message": error.message}
    return response(
        error_code=error.code if version >= ELECTION_ERROR_VERSION else 0,
        replica_election_results=[
            response.Topic(
                topic=topic.topic,
                partition_result=[response.Topic.Partition(partition_id=index, **words) for index in topic.partitions],
            )
            for topic in request.topic_partitions or ()
        ],
    )


def describe_client_quotas(response: Any, _request: Any, _version: int, error: RequestError) -> Any:
    return response(error_code=error.code, error_message=error.message, entries=None)


def alter_client_quotas(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    return response(
        entries=[
            response.Entry(
                error_code=error.code,
                error_message=error.description,
                entity=[
                    response.Entry.Entity(entity_type=part.entity_type, entity_name=part.entity_name)
                    for part in entry.entity
                ],
            )
            for entry in request.entries
        ]
    )


def describe_user_scram_credentials(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    """Above, and for each user, whose name is left out."""
    words = {"error_code": error.code, "error_message": error.message}
    return response(**words, results=[response.Result(**words) for _ in request.users or ()])


def alter_user_scram_credentials(response: Any, request: Any, _version: int, error: RequestError) -> Any:
    users = sorted({one.name for one in (*request.deletions, *request.upsertions)})
    return response(
        results=[response.Result(user=user, error_code=error.code, error_message=error.message) for user in users]
    )


BUILDERS: dict[int, Builder] = {
    17: top_level,
    29: top_level_with_words,
    30: create_acls,
    31: delete_acls,
    34: alter_replica_log_dirs,
    35: top_level,
    36: top_level_with_words,
    38: create_delegation_token,
    39: top_level,
    40: top_level,
    41: top_level,
    43: elect_leaders,
    48: describe_client_quotas,
    49: alter_client_quotas,
    50: describe_user_scram_credentials,
    51: alter_user_scram_credentials,
    55: top_level_described,
    57: top_level_with_words,
    60: top_level_with_words,
    64: top_level_described,
    80: top_level_described,
    81: top_level_described,
    94: top_level_described,
}
"""Who builds the answer, by API key."""
