from __future__ import annotations

from types import SimpleNamespace

import pytest

import protocol
from mockbroker.core.redaction import redacted_request, redacted_response
from protocol.apis.configs import AlterConfigsRequest, IncrementalAlterConfigsRequest
from protocol.apis.delegation_tokens import (
    CreateDelegationTokenResponse,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from protocol.apis.metadata import MetadataRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol.apis.scram import AlterUserScramCredentialsRequest

SECRET = b"a-secret"
TEXT = SECRET.decode()
UPSERTION = AlterUserScramCredentialsRequest.Upsertion(name="alice", mechanism=1, salt=b"salt", salted_password=SECRET)


def configs(request_class: type) -> object:
    resource = request_class.Resource
    return request_class(
        resources=[
            resource(
                resource_type=4,
                resource_name="0",
                configs=[
                    resource.Config(name="ssl.key.password", value=TEXT),
                    resource.Config(name="listener.name.a.plain.sasl.jaas.config", value=TEXT),
                    resource.Config(name="delegation.token.secret.key", value=TEXT),
                    resource.Config(name="log.retention.ms", value="1000"),
                ],
            )
        ]
    )


@pytest.mark.parametrize(
    "request_",
    [
        SaslAuthenticateRequest(auth_bytes=SECRET),
        AlterUserScramCredentialsRequest(upsertions=[UPSERTION]),
        RenewDelegationTokenRequest(hmac=SECRET),
        ExpireDelegationTokenRequest(hmac=SECRET),
        configs(AlterConfigsRequest),
        configs(IncrementalAlterConfigsRequest),
    ],
    ids=lambda request: type(request).__name__,
)
def test_no_version_of_a_request_keeps_its_secret_and_all_can_be_read(request_):
    for version in type(request_).valid_versions:
        frame = protocol.request_frame(request_, version, correlation_id=3, client_id="c")[4:]
        assert SECRET in frame
        written = redacted_request(frame)
        assert SECRET not in written
        header, message = protocol.read_request(written)
        assert (header.correlation_id, type(message)) == (3, type(request_))


TOKEN = DescribeDelegationTokenResponse.Token(principal_type="User", principal_name="a", token_id="id", hmac=SECRET)


@pytest.mark.parametrize(
    "response",
    [
        SaslAuthenticateResponse(auth_bytes=SECRET),
        CreateDelegationTokenResponse(principal_type="User", principal_name="a", token_id="id", hmac=SECRET),
        DescribeDelegationTokenResponse(tokens=[TOKEN, TOKEN]),
    ],
    ids=lambda response: type(response).__name__,
)
def test_no_version_of_an_answer_keeps_its_secret_and_all_can_be_read(response):
    for version in type(response).valid_versions:
        data = protocol.response_frame(response, version, correlation_id=3)[4:]
        assert SECRET in data
        call = SimpleNamespace(api_key=type(response).api_key, version=version)
        written = redacted_response(call, data)
        assert SECRET not in written
        assert len(written) == len(data)
        header, message = protocol.read_response(written, call.api_key, version)
        assert (header.correlation_id, type(message)) == (3, type(response))


def test_what_is_no_secret_stays():
    frame = protocol.request_frame(configs(IncrementalAlterConfigsRequest), 1, correlation_id=3, client_id="c")[4:]
    _, message = protocol.read_request(redacted_request(frame))
    assert [one.value for one in message.resources[0].configs] == ["hidden", "hidden", "hidden", "1000"]
    other = protocol.request_frame(MetadataRequest(topics=[]), 9, correlation_id=3, client_id=TEXT)[4:]
    assert redacted_request(other) == other


@pytest.mark.parametrize("cut", range(1, 40))
def test_of_a_request_that_cannot_be_read_nothing_is_left_but_its_start(cut):
    frame = protocol.request_frame(SaslAuthenticateRequest(auth_bytes=SECRET * 4), 1, correlation_id=3, client_id="c")
    written = redacted_request(frame[4:-cut] if cut else frame[4:])
    assert SECRET not in written
    assert len(written) == len(frame) - 4 - cut
