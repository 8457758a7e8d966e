"""AddRaftVoter (key 80), RemoveRaftVoter (81): always fail, because the voters are fixed, as with ``kraft.version`` 0.

Errors: INCONSISTENT_CLUSTER_ID, INVALID_REQUEST, and UNSUPPORTED_VERSION for valid requests.
Source: KIP-853; KafkaRaftClient.handleAddVoterRequest and handleRemoveVoterRequest, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.controlled import check_controller
from mockbroker.state.errors import ApiError
from protocol.apis.raft_voters import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from protocol.error_codes import ErrorCode


@handles(AddRaftVoterRequest, access=Needs(cluster="Alter"), errors=Errors(words="meaning"))
def add_raft_voter(call: Call, request: AddRaftVoterRequest) -> AddRaftVoterResponse:
    raise refusal(call, request)


@handles(RemoveRaftVoterRequest, access=Needs(cluster="Alter"), errors=Errors(words="meaning"))
def remove_raft_voter(call: Call, request: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
    raise refusal(call, request)


def refusal(call: Call, request: AddRaftVoterRequest | RemoveRaftVoterRequest) -> ApiError:
    """The error of a request to change the voters."""
    check_controller(call)
    if request.cluster_id is not None and request.cluster_id != call.cluster.id:
        return ApiError(
            ErrorCode.INCONSISTENT_CLUSTER_ID, f"expected cluster {call.cluster.id}, got {request.cluster_id!r}"
        )
    if request.voter_id < 0:
        return ApiError(ErrorCode.INVALID_REQUEST, f"expected a voter's id from 0 on, got {request.voter_id}")
    return ApiError(ErrorCode.UNSUPPORTED_VERSION, "the voters are fixed while kraft.version is 0")
