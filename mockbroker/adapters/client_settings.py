"""Settings for clients to connect and log in, under each client's own names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mockbroker.state.security.mechanisms import PLAIN, SCRAM_MECHANISMS
from mockbroker.state.security.protocols import SSL, WITH_SASL, WITH_TLS

if TYPE_CHECKING:
    from mockbroker.adapters.tls.material import TlsMaterial
    from mockbroker.adapters.tls.stores import Identity
    from mockbroker.state.brokers.broker import Listener
    from mockbroker.state.cluster import Cluster

PREFERRED = (*reversed(SCRAM_MECHANISMS), PLAIN)
MODULES = {PLAIN: "plain.PlainLoginModule", **dict.fromkeys(SCRAM_MECHANISMS, "scram.ScramLoginModule")}


@dataclass(frozen=True, slots=True)
class ClientLogin:
    """A client's addresses and login. Without a ``mechanism`` it does not log in.

    ``trusted`` are certificates that verify brokers, ``identity`` is the client's own.
    """

    servers: str
    protocol: str
    mechanism: str | None = None
    user: str = ""
    password: str = field(default="", repr=False)
    trusted: str | None = None
    identity: Identity | None = None


def client_login(
    cluster: Cluster,
    listener: Listener,
    servers: str,
    user: str | None = None,
    mechanism: str | None = None,
    tls: TlsMaterial | None = None,
) -> ClientLogin:
    """The login of a client at a listener of this kind.

    Args:
        user: default: the first user; with test certificates and without logins, the name in the certificate.
        mechanism: default: the listener's strongest.
        tls: the test certificates, if any.

    Raises: ValueError: unknown user, or a mechanism that the listener does not have.
    """
    trusted = tls.ca_pem if tls is not None and listener.protocol in WITH_TLS else None
    if listener.protocol == SSL and tls is not None and mechanism is None:
        identity = tls.client() if user is None else tls.client(user)
        return ClientLogin(servers, listener.protocol, trusted=trusted, identity=identity)
    if listener.protocol not in WITH_SASL or cluster.is_mirror:  # the real brokers know the users of a proxy
        if user is not None or mechanism is not None:
            raise ValueError(f"expected no user and no mechanism where nobody logs in, got {user or mechanism}")
        return ClientLogin(servers, listener.protocol, trusted=trusted)
    there = cluster.security.of_listener(cluster, listener)
    scram, plain = cluster.security.users, there.passwords
    name = next(iter({**scram, **plain}), None) if user is None else user
    if name is None or name not in {**scram, **plain}:
        raise ValueError(f"expected one of the users {', '.join({**scram, **plain}) or '(none)'}, got {name}")
    possible = [one for one in PREFERRED if one in there.mechanisms and (one == PLAIN or name in scram)]
    if mechanism is None and possible:
        mechanism = possible[0]
    if mechanism not in possible:
        raise ValueError(
            f"expected one of the mechanisms {', '.join(possible) or '(none)'} for {name}, got {mechanism}"
        )
    password = plain[name] if mechanism == PLAIN else scram[name]
    return ClientLogin(servers, listener.protocol, mechanism, name, password, trusted)


def settings_for(client: str, login: ClientLogin) -> dict[str, Any]:
    """The settings under a client's own names. Raises ValueError: an unknown client."""
    if client not in CLIENTS:
        raise ValueError(f"expected one of the clients {', '.join(CLIENTS)}, got {client!r}")
    return CLIENTS[client](login)


def librdkafka(login: ClientLogin) -> dict[str, Any]:
    found = {"bootstrap.servers": login.servers, "security.protocol": login.protocol}
    if login.mechanism is not None:
        found |= {"sasl.mechanism": login.mechanism, "sasl.username": login.user, "sasl.password": login.password}
    if login.trusted is not None:
        found["ssl.ca.pem"] = login.trusted
    if login.identity is not None:
        found |= {"ssl.certificate.pem": login.identity.certificate, "ssl.key.pem": login.identity.key}
    return found


def java(login: ClientLogin) -> dict[str, Any]:
    found = {"bootstrap.servers": login.servers, "security.protocol": login.protocol}
    if login.mechanism is not None:
        found["sasl.mechanism"] = login.mechanism
        found["sasl.jaas.config"] = (
            f"org.apache.kafka.common.security.{MODULES[login.mechanism]} required "
            f"username={quoted(login.user)} password={quoted(login.password)};"
        )
    if login.trusted is not None:
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": login.trusted}
    if login.identity is not None:
        chain, key = login.identity.certificate, login.identity.key
        found |= {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}
    return found


def pure_python(login: ClientLogin) -> dict[str, Any]:
    own = {"sasl.username": "sasl_plain_username", "sasl.password": "sasl_plain_password"}
    to_connect = librdkafka(replace(login, trusted=None, identity=None))
    found = {own.get(name) or name.replace(".", "_"): value for name, value in to_connect.items()}
    if login.trusted is not None:
        from mockbroker.adapters.tls.material import client_context

        found["ssl_context"] = client_context(login.trusted, login.identity)
    return found


CLIENTS = {"confluent": librdkafka, "aiokafka": pure_python, "kafka-python": pure_python, "java": java}


def quoted(text: str) -> str:
    r"""A text for JAAS.

    >>> print(quoted('a"b\\c'))
    "a\"b\\c"
    """
    return '"{}"'.format(text.replace("\\", "\\\\").replace('"', '\\"'))
