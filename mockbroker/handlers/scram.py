"""DescribeUserScramCredentials (key 50), AlterUserScramCredentials (51): the passwords of users.

They read and change the credentials in the image. Errors, per user: DUPLICATE_RESOURCE, RESOURCE_NOT_FOUND,
UNACCEPTABLE_CREDENTIAL, UNSUPPORTED_SASL_MECHANISM.
Source: KIP-554; KafkaApis.handleDescribeUserScramCredentialsRequest, ControllerApis.handleAlterUserScramCredentials,
Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.api import Errors, Needs, RequestError, handles
from mockbroker.call import Call
from mockbroker.handlers.controlled import check_controller
from mockbroker.state.errors import ApiError
from mockbroker.state.security.scram import Upsertion, alter_credentials, describe_credentials
from protocol.apis.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

Described = DescribeUserScramCredentialsResponse.Result
Altered = AlterUserScramCredentialsResponse.Result


@handles(DescribeUserScramCredentialsRequest, access=Needs(cluster="Describe"), errors=Errors(parts="0+"))
def describe_user_scram_credentials(
    call: Call, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """The mechanisms and iterations of users' passwords, never the passwords."""
    users = None if request.users is None else [user.name for user in request.users]
    return DescribeUserScramCredentialsResponse(
        results=[described(user, held) for user, held in describe_credentials(call.cluster.image, users)]
    )


def described(user: str, held: list[tuple[int, int]] | ApiError) -> Described:
    if isinstance(held, ApiError):
        return Described(user=user, error_code=held.code, error_message=held.message)
    infos = [Described.CredentialInfo(mechanism=mechanism, iterations=iterations) for mechanism, iterations in held]
    return Described(user=user, credential_infos=infos)


def each_user(
    request: AlterUserScramCredentialsRequest,
    answer: AlterUserScramCredentialsResponse,
    error: RequestError,
    _version: int,
) -> AlterUserScramCredentialsResponse:
    """The answer to a failed request, with each user once."""
    users = sorted({one.name for one in request.deletions} | {one.name for one in request.upsertions})
    answer.results = [Altered(user=user, error_code=error.code, error_message=error.message) for user in users]
    return answer


@handles(AlterUserScramCredentialsRequest, access=Needs(cluster="Alter", in_words=True), errors=Errors(odd=each_user))
def alter_user_scram_credentials(
    call: Call, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    """Change the credentials of each user; the result per user."""
    check_controller(call)
    results = alter_credentials(
        call.cluster.writer,
        [(one.name, one.mechanism) for one in request.deletions],
        [
            Upsertion(one.name, one.mechanism, one.iterations, one.salt, one.salted_password)
            for one in request.upsertions
        ],
    )
    return AlterUserScramCredentialsResponse(
        results=[
            Altered(
                user=user,
                error_code=0 if error is None else error.code,
                error_message=None if error is None else error.message,
            )
            for user, error in results
        ]
    )
