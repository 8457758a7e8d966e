"""CreateDelegationToken (key 38), RenewDelegationToken (39), ExpireDelegationToken (40), DescribeDelegationToken (41).

There are no tokens here. Whoever has not logged in may have none: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, as from a
broker of Kafka on a listener without authentication. Others are told DELEGATION_TOKEN_AUTH_DISABLED, as from one
without ``delegation.token.secret.key``.
Source: KIP-48, KIP-373; KafkaApis.allowTokenRequests, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.call import Call, handles
from mockbroker.state.errors import ApiError
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

NO_TIME = -1
REQUESTER_VERSION = 3


def refusal(call: Call) -> ErrorCode:
    """Why there is no token for a client."""
    if call.session.principal == ANONYMOUS:
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


@handles(CreateDelegationTokenRequest)
def create_delegation_token(call: Call, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    """Refused; the answer repeats whose token it would have been.

    Raises ApiError: UNKNOWN_SERVER_ERROR for an owner without a type, at which Kafka fails.
    """
    requester_type, _, requester_name = call.session.principal.partition(":")
    owner_type, owner_name = requester_type, requester_name
    if request.owner_principal_name:
        if request.owner_principal_type is None:
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        owner_type, owner_name = request.owner_principal_type, request.owner_principal_name
    if call.version < REQUESTER_VERSION:
        requester_type = requester_name = ""
    return CreateDelegationTokenResponse(
        error_code=refusal(call),
        principal_type=owner_type,
        principal_name=owner_name,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester_name,
        issue_timestamp_ms=NO_TIME,
        expiry_timestamp_ms=NO_TIME,
        max_timestamp_ms=NO_TIME,
    )


@handles(RenewDelegationTokenRequest)
def renew_delegation_token(call: Call, request: RenewDelegationTokenRequest) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(error_code=refusal(call), expiry_timestamp_ms=NO_TIME)


@handles(ExpireDelegationTokenRequest)
def expire_delegation_token(call: Call, request: ExpireDelegationTokenRequest) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(error_code=refusal(call), expiry_timestamp_ms=NO_TIME)


@handles(DescribeDelegationTokenRequest)
def describe_delegation_token(call: Call, request: DescribeDelegationTokenRequest) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(error_code=refusal(call))
