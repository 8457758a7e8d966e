"""CreateDelegationToken (key 38), RenewDelegationToken (39), ExpireDelegationToken (40), DescribeDelegationToken (41).

Whoever has not logged in, or has with a token, may have none: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED. Without
``delegation.token.secret.key`` others are told DELEGATION_TOKEN_AUTH_DISABLED. With an authorizer a token for another
takes CreateTokens on that user, else DELEGATION_TOKEN_AUTHORIZATION_FAILED; those of others are seen with
DescribeTokens on their owner or Describe on the token.
Source: KIP-48, KIP-373; KafkaApis.handleCreateTokenRequest, handleDescribeTokensRequest and allowTokenRequests,
ControllerApis, Apache Kafka 4.4.
"""

from __future__ import annotations

from kafka_rack.java import hash_order, string_hash
from mockbroker.call import Call, handles
from mockbroker.handlers.controlled import check_controller
from mockbroker.state.errors import ApiError
from mockbroker.state.security.access import access_of
from mockbroker.state.security.delegation_tokens import USER_TYPE, DelegationTokens, concerns
from mockbroker.state.security.operations import CREATE_TOKENS, DELEGATION_TOKEN, DESCRIBE, DESCRIBE_TOKENS, USER
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
from protocol.embedded.metadata_security import DelegationTokenRecord
from protocol.error_codes import ErrorCode

NO_TIME = -1
REQUESTER_VERSION = 3
NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
Token = DescribeDelegationTokenResponse.Token


def has_logged_in(call: Call) -> bool:
    """Whether the client has said who it is, and not by a token: others have nothing to do with tokens."""
    return call.session.principal != ANONYMOUS and not call.session.by_token


def may(call: Call, operation: int, resource_type: int, name: str) -> bool:
    """Whether the client may do something, which anybody may where there is no authorizer."""
    access = access_of(call.cluster, call.session.principal, call.session.address)
    return access is None or access.may(operation, resource_type, name)


@handles(CreateDelegationTokenRequest)
def create_delegation_token(call: Call, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    """A token, or why there is none; either repeats whose it is.

    Raises ApiError: UNKNOWN_SERVER_ERROR for an owner without a type, at which Kafka fails.
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
    renewers = [f"{one.principal_type}:{one.principal_name}" for one in request.renewers]
    tokens = DelegationTokens(call.cluster)
    try:
        record = tokens.create(owner, requester, renewers, request.max_lifetime_ms, call.now_ms)
    except ApiError as error:
        answer.error_code = error.code
        return answer
    answer.issue_timestamp_ms, answer.max_timestamp_ms = record.issue_timestamp, record.max_timestamp
    answer.expiry_timestamp_ms = record.expiration_timestamp
    answer.token_id, answer.hmac = record.token_id, tokens.password_of(record.token_id)
    return answer


def refusal(call: Call, owner: str, request: CreateDelegationTokenRequest) -> int:
    """Why a broker does not ask the controller for a token, 0 where it does."""
    if not has_logged_in(call):
        return NOT_ALLOWED
    if owner != call.session.principal and not may(call, CREATE_TOKENS, USER, owner):
        return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    if any(one.principal_type != USER_TYPE for one in request.renewers):
        return ErrorCode.INVALID_PRINCIPAL_TYPE
    return 0


@handles(RenewDelegationTokenRequest)
def renew_delegation_token(call: Call, request: RenewDelegationTokenRequest) -> RenewDelegationTokenResponse:
    """When a token expires from now on."""
    if not has_logged_in(call):
        return RenewDelegationTokenResponse(error_code=NOT_ALLOWED, expiry_timestamp_ms=NO_TIME)
    check_controller(call)
    tokens, principal = DelegationTokens(call.cluster), call.session.principal
    expires_ms = tokens.renew(request.hmac, principal, request.renew_period_ms, call.now_ms)
    return RenewDelegationTokenResponse(expiry_timestamp_ms=expires_ms)


@handles(ExpireDelegationTokenRequest)
def expire_delegation_token(call: Call, request: ExpireDelegationTokenRequest) -> ExpireDelegationTokenResponse:
    """When a token expires from now on; one that does at once is gone."""
    if not has_logged_in(call):
        return ExpireDelegationTokenResponse(error_code=NOT_ALLOWED, expiry_timestamp_ms=NO_TIME)
    check_controller(call)
    tokens, principal = DelegationTokens(call.cluster), call.session.principal
    expires_ms = tokens.expire(request.hmac, principal, request.expiry_time_period_ms, call.now_ms)
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=expires_ms)


@handles(DescribeDelegationTokenRequest)
def describe_delegation_token(call: Call, request: DescribeDelegationTokenRequest) -> DescribeDelegationTokenResponse:
    """The tokens of owners, or all, as far as the client may see them; none for an empty list.

    Raises ApiError: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, DELEGATION_TOKEN_AUTH_DISABLED.
    """
    if not has_logged_in(call):
        raise ApiError(NOT_ALLOWED)
    tokens = DelegationTokens(call.cluster)
    if not tokens.is_enabled:
        raise ApiError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    owners = request.owners
    asked_for = None if owners is None else [f"{one.principal_type}:{one.principal_name}" for one in owners]
    found = {
        record.token_id: record
        for record in tokens.records
        if (asked_for is None or any(concerns(record, one) for one in asked_for)) and is_visible(call, record)
    }
    return DescribeDelegationTokenResponse(
        tokens=[
            described(call, found[token_id], tokens.password_of(token_id))
            for token_id in hash_order(sorted(found), string_hash)
        ]
    )


def is_visible(call: Call, record: DelegationTokenRecord) -> bool:
    return (
        concerns(record, call.session.principal)
        or may(call, DESCRIBE, DELEGATION_TOKEN, record.token_id)
        or may(call, DESCRIBE_TOKENS, USER, record.owner)
    )


def described(call: Call, record: DelegationTokenRecord, password: bytes) -> Token:
    owner_type, _, owner_name = record.owner.partition(":")
    token = Token(
        principal_type=owner_type,
        principal_name=owner_name,
        issue_timestamp=record.issue_timestamp,
        expiry_timestamp=record.expiration_timestamp,
        max_timestamp=record.max_timestamp,
        token_id=record.token_id,
        hmac=password,
        renewers=[
            Token.Renewer(principal_type=kind, principal_name=name)
            for kind, _, name in (one.partition(":") for one in record.renewers)
        ],
    )
    if call.version >= REQUESTER_VERSION:
        kind, _, token.token_requester_principal_name = record.requester.partition(":")
        token.token_requester_principal_type = kind
    return token
