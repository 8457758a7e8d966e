"""AddRaftVoter (key 80), RemoveRaftVoter (81): always fail, because the voters are fixed, as with ``kraft.version`` 0.

Errors: INCONSISTENT_CLUSTER_ID, INVALID_REQUEST, and UNSUPPORTED_VERSION for valid requests.
Source: KIP-853; KafkaRaftClient.handleAddVoterRequest and handleRemoveVoterRequest, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import NoReturn

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.controlled import check_controller
from mockbroker.state.errors import ApiError
from protocol.apis.raft_voters import AddRaftVoterRequest, RemoveRaftVoterRequest
from protocol.error_codes import ErrorCode


@handles(AddRaftVoterRequest, access=Needs(cluster="Alter"), errors=Errors(words="meaning"))
@handles(RemoveRaftVoterRequest, access=Needs(cluster="Alter"), errors=Errors(words="meaning"))
def change_voters(call: Call, request: AddRaftVoterRequest | RemoveRaftVoterRequest) -> NoReturn:
    """Raises ApiError: the change is not supported."""
    check_controller(call)
    if request.cluster_id is not None and request.cluster_id != call.cluster.id:
        raise ApiError(
            ErrorCode.INCONSISTENT_CLUSTER_ID, f"expected cluster {call.cluster.id}, got {request.cluster_id!r}"
        )
    if request.voter_id < 0:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"expected a voter's id from 0 on, got {request.voter_id}")
    raise ApiError(ErrorCode.UNSUPPORTED_VERSION, "the voters are fixed while kraft.version is 0")
