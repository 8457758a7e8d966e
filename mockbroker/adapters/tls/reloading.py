"""Stores of a listener that are changed while it listens: by configs of its broker, or by other files in their place.

A broker looks at its stores whenever any config of its own changes. New connections have the new ones, and those that
there are go on with theirs. What cannot be used, or names somebody else, is refused, and the old stores stay.
Source: KIP-226, KIP-978; SslFactory, DynamicBrokerConfig.processReconfiguration and
reloadUpdatedFilesWithoutConfigChange, Apache Kafka 4.4.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mockbroker.adapters.tls.contexts import TlsListener, files_of, put_key, put_trusted, reason_of, tls_listener
from mockbroker.state.configs.effective import BROKER
from mockbroker.state.settings import inter_broker_listener

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from mockbroker.state.brokers.broker import Broker, Listener
    from mockbroker.state.cluster import Cluster

HANDSHAKE_TURNS = 10
log = logging.getLogger("mockbroker")


class TlsReloading:
    """Keeps the listeners with TLS of all brokers as their configs say.

    Args:
        listeners: by broker and name, as the brokers' settings have them; changed in place.
    """

    def __init__(self, cluster: Cluster, listeners: Mapping[int, dict[str, TlsListener]]) -> None:
        self._cluster, self._listeners = cluster, listeners
        cluster.security.check_stores = self.check
        cluster.configs.lasting.append(self.changed)
        for broker_id in listeners:
            self.changed(BROKER, str(broker_id), frozenset())  # of before a restart

    def check(self, broker_id: int, configs: Mapping[str, str]) -> None:
        """Raises ValueError: a listener of the broker could not go on with what these configs name."""
        for broker, listener in self._of(broker_id):
            now = self._listeners[broker_id][listener.name]
            settings = self._cluster.security.tls_of(self._cluster, broker, listener, configs)
            if settings != now.settings:
                self._with_stores_of(broker, listener, configs)

    def changed(self, kind: str, resource: str, _: frozenset[str]) -> None:
        """Configs have changed: have the broker's listeners go by them, and by the files as they are now."""
        broker_id = int(resource) if kind == BROKER and resource.isdecimal() else -1
        configs = self._cluster.configs.own(BROKER, resource) if broker_id >= 0 else {}
        for broker, listener in self._of(broker_id):
            try:
                found = self._with_stores_of(broker, listener, configs)
            except ValueError as error:
                log.warning("broker %d keeps the stores that it has: %s", broker_id, error)
                continue
            if found is not self._listeners[broker_id][listener.name]:
                self._listeners[broker_id][listener.name] = found
                log.info("broker %d has new stores for listener %s", broker_id, listener.name)

    def _of(self, broker_id: int) -> list[tuple[Broker, Listener]]:
        names = self._listeners.get(broker_id, {})
        broker = self._cluster.brokers.get(broker_id)
        return [] if broker is None else [(broker, one) for one in broker.listeners if one.name in names]

    def _with_stores_of(self, broker: Broker, listener: Listener, configs: Mapping[str, str]) -> TlsListener:
        """The listener as it is to be: as it is where nothing has changed. Raises ValueError."""
        now = self._listeners[broker.id][listener.name]
        settings = self._cluster.security.tls_of(self._cluster, broker, listener, configs)
        if settings == now.settings and files_of(settings) == now.files:
            return now
        new = tls_listener(settings, is_sasl=now.is_sasl)
        try:
            check_same_owner(now, new)
            if now.settings.trust_store is None and settings.trust_store is not None:
                raise ValueError(
                    "Cannot add SSL truststore to an existing listener for which no truststore was configured."
                )
            cluster_settings = self._cluster.settings
            if inter_broker_listener(cluster_settings, cluster_settings.given_names) == listener.name.upper():
                check_handshake(now, new)
                check_handshake(new, now)
        except ValueError as error:
            raise ValueError(f"listener {listener.name}: {error}") from None
        return new


def check_same_owner(now: TlsListener, new: TlsListener) -> None:
    """Raises ValueError: the new certificate names another subject, or not all the names of the one that there is."""
    from cryptography.hazmat.primitives.serialization import Encoding

    from mockbroker.state.security.distinguished_names import subject_of

    before, after = certificate_of(now), certificate_of(new)
    names = [subject_of(one.public_bytes(Encoding.DER)) for one in (before, after)]
    if not new.settings.allow_dn_changes and names[0].lower() != names[1].lower():
        raise ValueError(f"Keystore DistinguishedName does not match: existing {names[0]}, new {names[1]}")
    missing = alternative_names(before) - alternative_names(after)
    if not new.settings.allow_san_changes and missing:
        raise ValueError(f"Keystore SubjectAltNames do not match: expected {', '.join(sorted(missing))} to stay")


def certificate_of(listener: TlsListener) -> Certificate:
    from cryptography.x509 import load_pem_x509_certificates

    return load_pem_x509_certificates(listener.key.chain.encode())[0]


def alternative_names(certificate: Certificate) -> set[str]:
    from cryptography.x509 import ExtensionNotFound, SubjectAlternativeName

    try:
        return {repr(one) for one in certificate.extensions.get_extension_for_class(SubjectAlternativeName).value}
    except ExtensionNotFound:
        return set()


def check_handshake(client: TlsListener, server: TlsListener) -> None:
    """Raises ValueError: a broker with the one's stores would not reach one with the other's, or not be let in."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    put_key(context, client.key)
    if client.settings.trust_store is None:
        context.load_default_certs()
    else:
        put_trusted(context, client.settings.trust_store)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [context.wrap_bio(to_client, to_server), server.context.wrap_bio(to_server, to_client, server_side=True)]
    for _ in range(HANDSHAKE_TURNS):
        for end in list(ends):
            try:
                end.do_handshake()
                ends.remove(end)
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError as error:
                raise ValueError(f"brokers would not reach each other by it: TLS: {reason_of(error)}") from None
        if not ends:
            return
    raise ValueError("brokers would not reach each other by it: the handshake has no end")
