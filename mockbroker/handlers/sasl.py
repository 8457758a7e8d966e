"""SaslHandshake (key 17), SaslAuthenticate (36): who wants to log in is told that nobody has to.

Each answer is ILLEGAL_SASL_STATE, as that of a broker of Kafka on a listener without authentication.
Source: KIP-43, KIP-152; KafkaApis.handleSaslHandshakeRequest and handleSaslAuthenticateRequest, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.call import Call, handles
from protocol.apis.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from protocol.error_codes import ErrorCode


@handles(SaslHandshakeRequest)
def sasl_handshake(_call: Call, _request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)


@handles(SaslAuthenticateRequest)
def sasl_authenticate(_call: Call, _request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="expected no SaslAuthenticate: the connection needs no authentication",
    )
