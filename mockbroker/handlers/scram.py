"""DescribeUserScramCredentials (key 50), AlterUserScramCredentials (51): the passwords of users.

They read and change the credentials in the image. Errors, per user: DUPLICATE_RESOURCE, RESOURCE_NOT_FOUND,
UNACCEPTABLE_CREDENTIAL, UNSUPPORTED_SASL_MECHANISM.
Source: KIP-554; KafkaApis.handleDescribeUserScramCredentialsRequest, ControllerApis.handleAlterUserScramCredentials,
Apache Kafka 4.4.
"""

from __future__ import annotations

from collections import Counter

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.controlled import check_controller
from mockbroker.handlers.error_responses import reported
from mockbroker.state.errors import ApiError
from mockbroker.state.security.scram import CredentialDeletion, Upsertion, alter_credentials, describe_credentials
from protocol.apis.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from protocol.error_codes import ErrorCode

Described = DescribeUserScramCredentialsResponse.Result
Altered = AlterUserScramCredentialsResponse.Result


@handles(DescribeUserScramCredentialsRequest, access=Needs(cluster="Describe"), errors=Errors(parts="0+"))
def describe_user_scram_credentials(
    call: Call, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """The mechanisms and iterations of users' passwords, never the passwords."""
    image = call.cluster.image
    requested = [user.name for user in request.users or ()] or sorted({user for user, _ in image.scram_credentials})
    response = DescribeUserScramCredentialsResponse()
    for user, times in Counter(requested).items():
        entry = Described(user=user)
        response.results.append(entry)
        with reported(entry):
            if times > 1:
                raise ApiError(ErrorCode.DUPLICATE_RESOURCE, f"expected each user once, got {user} {times} times")
            entry.credential_infos = [
                Described.CredentialInfo(mechanism=mechanism, iterations=iterations)
                for mechanism, iterations in describe_credentials(image, user)
            ]
    return response


def each_user(
    request: AlterUserScramCredentialsRequest,
    answer: AlterUserScramCredentialsResponse,
    error: ApiError,
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
    deletions = [CredentialDeletion(one.name, one.mechanism) for one in request.deletions]
    upsertions = [
        Upsertion(one.name, one.mechanism, one.iterations, one.salt, one.salted_password) for one in request.upsertions
    ]
    response = AlterUserScramCredentialsResponse()
    for user, error in alter_credentials(call.cluster.writer, [*deletions, *upsertions]).items():
        entry = Altered(user=user, error_message=None)
        response.results.append(entry)
        if error is not None:
            entry.error_code, entry.error_message = error.code, error.message
    return response
