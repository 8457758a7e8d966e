"""TLS as a client speaks it, by Kafka's ``ssl.*`` properties, and what its failures mean for whoever set them.

The stores are read, and refused, as those of brokers are. As in Java, whatever is in a trust store is trusted, and
certificates are judged even where names are not compared.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from kafka_rack.cli.client_setting_names import NAMES
from mockbroker.adapters.tls.contexts import VERSIONS, choose_suites, put_key, reason_of
from mockbroker.adapters.tls.stores import StoreError, load_key, load_trusted
from mockbroker.state.security.listeners import ListenerSettings
from mockbroker.state.security.principal_mapping import parse_rules
from mockbroker.state.security.tls import NONE, KeyStore, ListenerTls, key_store, trust_store, versions
from mockbroker.state.settings import Settings

ALGORITHM = "ssl.endpoint.identification.algorithm"
KEY_STORE = ("ssl.keystore.", "ssl.key.password")
NO_KEY_STORE = KeyStore("", None, None, None, None, None)
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
"""Alerts of a broker that asks for a client's certificate, or does not take the one it was shown."""


def client_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """What connections are made with. Raises ValueError, which repeats no secret."""
    of_tls = {name: value for name, value in properties.items() if name.startswith("ssl.") and name in NAMES}
    own = ListenerSettings(Settings(of_tls), "")
    has_key = any(name.startswith(KEY_STORE) for name in properties)
    settings = ListenerTls(
        "",
        key_store(own) if has_key else NO_KEY_STORE,
        trust_store(own),
        versions(own),
        own.value("ssl.cipher.suites"),
        NONE,
        parse_rules("DEFAULT"),
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    spoken = choose_suites(context, settings)
    context.minimum_version, context.maximum_version = VERSIONS[spoken[0]], VERSIONS[spoken[-1]]
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = compares_names(properties)
    if settings.trust_store is None:
        context.load_default_certs()
    else:
        try:
            context.load_verify_locations(cadata=load_trusted(settings.trust_store))
        except ssl.SSLError as error:
            raise StoreError(f"ssl.truststore: {reason_of(error)}") from None
    if has_key:
        put_key(context, load_key(settings.key_store))
    return context


def compares_names(properties: Mapping[str, str]) -> bool:
    """Whether a certificate has to be for the address that is connected to. Raises ValueError."""
    algorithm = properties.get(ALGORITHM, "https").lower()
    if algorithm not in ("https", ""):
        raise ValueError(f"{ALGORITHM}: expected https, or nothing to compare no names, got {properties[ALGORITHM]}")
    return bool(algorithm)


def tls_trouble(error: ssl.SSLError) -> str:
    """What went wrong between a client and a broker, and which setting is about it."""
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
