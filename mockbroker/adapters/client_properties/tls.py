"""TLS as a client speaks it, by Kafka's ``ssl.*`` properties.

The stores are read, and refused, as those of brokers are. As in Java, whatever is in a trust store is trusted, and
certificates are judged even where names are not compared.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from mockbroker.adapters.client_properties.setting_names import NAMES
from mockbroker.adapters.tls.contexts import VERSIONS, choose_suites, put_key, reason_of
from mockbroker.adapters.tls.stores import StoreError, load_key, load_trusted
from mockbroker.adapters.tls.troubles import ALGORITHM
from mockbroker.state.security.listeners import ListenerSettings
from mockbroker.state.security.principal_mapping import parse_rules
from mockbroker.state.security.tls import NONE, KeyStore, ListenerTls, key_store, trust_store, versions
from mockbroker.state.settings import KafkaSettings

KEY_STORE = ("ssl.keystore.", "ssl.key.password")
NO_KEY_STORE = KeyStore("", None, None, None, None, None)


def client_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """The TLS context of a client's connections. Raises ValueError, which repeats no secret."""
    of_tls = {name: value for name, value in properties.items() if name.startswith("ssl.") and name in NAMES}
    own = ListenerSettings(KafkaSettings(of_tls), "")
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
    """True if a certificate has to be for the address that is connected to. Raises ValueError."""
    algorithm = properties.get(ALGORITHM, "https").lower()
    if algorithm not in ("https", ""):
        raise ValueError(f"{ALGORITHM}: expected https, or nothing to compare no names, got {properties[ALGORITHM]}")
    return bool(algorithm)
