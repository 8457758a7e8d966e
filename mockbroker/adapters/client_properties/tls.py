"""TLS as a client speaks it, by Kafka's ``ssl.*`` properties.

The stores are read, and refused, as those of brokers are. As in Java, whatever is in a trust store is trusted, and
certificates are judged even where names are not compared.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from mockbroker.adapters.client_properties.settings import NAMES
from mockbroker.adapters.tls.contexts import put_key, put_trusted, put_versions
from mockbroker.adapters.tls.stores import load_key
from mockbroker.adapters.tls.troubles import ALGORITHM
from mockbroker.state.security.listeners import ListenerSettings
from mockbroker.state.security.tls import key_store, trust_store, versions
from mockbroker.state.settings import KafkaSettings

KEY_STORE = ("ssl.keystore.", "ssl.key.password")


def client_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """The TLS context of a client's connections. Raises ValueError, which repeats no secret."""
    of_tls = {name: value for name, value in properties.items() if name.startswith("ssl.") and name in NAMES}
    own = ListenerSettings(KafkaSettings(of_tls), "")
    trusted = trust_store(own)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    put_versions(context, versions(own))
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = compares_names(properties)
    if trusted is None:
        context.load_default_certs()
    else:
        put_trusted(context, trusted)
    if any(name.startswith(KEY_STORE) for name in properties):
        put_key(context, load_key(key_store(own)))
    return context


def compares_names(properties: Mapping[str, str]) -> bool:
    """True if a certificate has to be for the address that is connected to. Raises ValueError."""
    algorithm = properties.get(ALGORITHM, "https").lower()
    if algorithm not in ("https", ""):
        raise ValueError(f"{ALGORITHM}: expected https, or nothing to compare no names, got {properties[ALGORITHM]}")
    return bool(algorithm)
