"""Failures of TLS, and the ``ssl.*`` properties of clients that cause them."""

from __future__ import annotations

import ssl

from mockbroker.adapters.tls.contexts import reason_of

ALGORITHM = "ssl.endpoint.identification.algorithm"
EXPIRED, NOT_YET_VALID, OTHER_NAME, OTHER_ADDRESS = 10, 9, 62, 64
"""OpenSSL's numbers of what is wrong with a certificate."""
NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"})
OTHER_VERSION = frozenset({"TLSV1_ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL", "NO_PROTOCOLS_AVAILABLE"})
KEPT_OUT = frozenset(
    {
        "TLSV13_ALERT_CERTIFICATE_REQUIRED",
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_HANDSHAKE_FAILURE",
        "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
        "TLSV1_ALERT_UNKNOWN_CA",
        "TLSV1_ALERT_ACCESS_DENIED",
    }
)
"""Alerts of a broker that requires a client's certificate, or refuses it."""


def tls_trouble(error: ssl.SSLError) -> str:
    """The failure between a client and a broker, and the setting that it is about."""
    if isinstance(error, ssl.SSLCertVerificationError):
        said = error.verify_message.rstrip(".")
        if error.verify_code in (OTHER_NAME, OTHER_ADDRESS):
            return f"its certificate is for another name: {said}; {ALGORITHM}, left empty, compares no names"
        if error.verify_code in (EXPIRED, NOT_YET_VALID):
            return f"its certificate is not taken: {said}"
        return f"its certificate is not trusted: {said}; does ssl.truststore.location hold the authority's?"
    if error.reason in NOT_TLS:
        return "it does not speak TLS; is it a listener of PLAINTEXT or SASL_PLAINTEXT?"
    if error.reason in OTHER_VERSION:
        return (
            f"no version of TLS that both sides speak ({reason_of(error)}); ssl.enabled.protocols says which are ours"
        )
    if error.reason in KEPT_OUT:
        return f"the broker refuses us ({reason_of(error)}); ssl.keystore.location has to hold what it trusts"
    return f"TLS failed: {reason_of(error)}"
