"""CreateDelegationToken (key 38), RenewDelegationToken (39), ExpireDelegationToken (40), DescribeDelegationToken (41).

No broker has a ``delegation.token.secret.key``, so tokens do not exist: clients that have logged in receive
DELEGATION_TOKEN_AUTH_DISABLED, others DELEGATION_TOKEN_REQUEST_NOT_ALLOWED. With an authorizer, a token for another
user requires CreateTokens on that user, else DELEGATION_TOKEN_AUTHORIZATION_FAILED.
Source: KIP-48, KIP-373; KafkaApis.handleCreateTokenRequest, handleDescribeTokensRequest and allowTokenRequests, Apache
Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.controlled import check_controller
from mockbroker.state.errors import ApiError
from mockbroker.state.security.operations import Operation, ResourceType
from mockbroker.state.security.protocols import ANONYMOUS
from protocol.apis.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from protocol.error_codes import ErrorCode

USER_TYPE = "User"
NO_TIME = -1
REQUESTER_VERSION = 3
NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED

NO_TOKEN = {
    **dict.fromkeys(("principal_type", "token_requester_principal_type"), USER_TYPE),
    **dict.fromkeys(("principal_name", "token_requester_principal_name"), ANONYMOUS.partition(":")[2]),
    **dict.fromkeys(("issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms"), NO_TIME),
}
"""Fields of an answer with an error: no token, of an unknown user."""


def has_logged_in(call: Call) -> bool:
    """True if the client has authenticated."""
    return call.session.principal != ANONYMOUS


@handles(
    CreateDelegationTokenRequest,
    access=Needs(note="for another: CreateTokens on the user"),
    errors=Errors(failed=NO_TOKEN),
)
def create_delegation_token(call: Call, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    """An error, with the owner and the requester of the token.

    Raises ApiError: UNKNOWN_SERVER_ERROR for an owner without a type, on which Kafka fails.
    """
    requester = owner = call.session.principal
    if request.owner_principal_name:
        if request.owner_principal_type is None:
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        owner = f"{request.owner_principal_type}:{request.owner_principal_name}"
    answer = CreateDelegationTokenResponse()
    answer.principal_type, _, answer.principal_name = owner.partition(":")
    if call.version >= REQUESTER_VERSION:
        answer.token_requester_principal_type, _, answer.token_requester_principal_name = requester.partition(":")
    answer.error_code = refusal(call, owner, request)
    if answer.error_code:
        answer.issue_timestamp_ms = answer.expiry_timestamp_ms = answer.max_timestamp_ms = NO_TIME
        return answer
    check_controller(call)
    answer.error_code = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    return answer


def refusal(call: Call, owner: str, request: CreateDelegationTokenRequest) -> int:
    """The error for which a broker does not forward the request to the controller, 0 if it forwards it."""
    if not has_logged_in(call):
        return NOT_ALLOWED
    is_own = owner == call.session.principal
    if not is_own and not call.access.may(Operation.CREATE_TOKENS, ResourceType.USER, owner):
        return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    if any(one.principal_type != USER_TYPE for one in request.renewers):
        return ErrorCode.INVALID_PRINCIPAL_TYPE
    return 0


@handles(RenewDelegationTokenRequest, access=Needs(note="Nothing: tokens belong to the client"))
@handles(ExpireDelegationTokenRequest, access=Needs(note="Nothing: tokens belong to the client"))
def change_delegation_token(
    call: Call, request: RenewDelegationTokenRequest | ExpireDelegationTokenRequest
) -> RenewDelegationTokenResponse | ExpireDelegationTokenResponse:
    """Raises ApiError: DELEGATION_TOKEN_AUTH_DISABLED."""
    if not has_logged_in(call):
        renews = isinstance(request, RenewDelegationTokenRequest)
        response = RenewDelegationTokenResponse if renews else ExpireDelegationTokenResponse
        return response(error_code=NOT_ALLOWED, expiry_timestamp_ms=NO_TIME)
    check_controller(call)
    raise ApiError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)


@handles(
    DescribeDelegationTokenRequest,
    access=Needs(note="others' tokens: Describe on the token, or DescribeTokens on the user"),
)
def describe_delegation_token(call: Call, request: DescribeDelegationTokenRequest) -> DescribeDelegationTokenResponse:
    """Raises ApiError: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, DELEGATION_TOKEN_AUTH_DISABLED."""
    raise ApiError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED if has_logged_in(call) else NOT_ALLOWED)
