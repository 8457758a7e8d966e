"""Settings with which a client reaches a cluster and logs in there, ready to use, under each client's own names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mockbroker.state.security.mechanisms import PLAIN, SCRAM_MECHANISMS
from mockbroker.state.security.protocols import WITH_SASL

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

PREFERRED = (*reversed(SCRAM_MECHANISMS), PLAIN)
MODULES = {PLAIN: "plain.PlainLoginModule", **dict.fromkeys(SCRAM_MECHANISMS, "scram.ScramLoginModule")}


@dataclass(frozen=True, slots=True)
class ClientLogin:
    """Where a client connects, and as whom. Without a ``mechanism`` it does not log in."""

    servers: str
    protocol: str
    mechanism: str | None = None
    user: str = ""
    password: str = field(default="", repr=False)


def client_login(cluster: Cluster, servers: str, user: str | None, mechanism: str | None) -> ClientLogin:
    """How a client logs in by the listeners that these addresses are those of, the first of each broker.

    Args:
        user: the first who was given unless it is named.
        mechanism: the strongest that the listener has unless it is named.

    Raises: ValueError: there is no such user, or the mechanism is not one of the listener's.
    """
    listener = next(iter(cluster.brokers.values())).listeners[0]
    if listener.protocol not in WITH_SASL:
        if user is not None or mechanism is not None:
            raise ValueError(f"expected no user and no mechanism where nobody logs in, got {user or mechanism}")
        return ClientLogin(servers, listener.protocol)
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
    return ClientLogin(servers, listener.protocol, mechanism, name, password)


def settings_for(client: str, login: ClientLogin) -> dict[str, Any]:
    """The settings under a client's own names. Raises ValueError: a client that is not known here."""
    if client not in CLIENTS:
        raise ValueError(f"expected one of the clients {', '.join(CLIENTS)}, got {client!r}")
    return dict(CLIENTS[client](login))


def librdkafka(login: ClientLogin) -> Mapping[str, str]:
    found = {"bootstrap.servers": login.servers, "security.protocol": login.protocol}
    if login.mechanism is not None:
        found |= {
            "sasl.mechanism": login.mechanism,
            "sasl.username": login.user,
            "sasl.password": login.password,
        }
    return found


def java(login: ClientLogin) -> Mapping[str, str]:
    found = {"bootstrap.servers": login.servers, "security.protocol": login.protocol}
    if login.mechanism is not None:
        found["sasl.mechanism"] = login.mechanism
        found["sasl.jaas.config"] = (
            f"org.apache.kafka.common.security.{MODULES[login.mechanism]} required "
            f"username={quoted(login.user)} password={quoted(login.password)};"
        )
    return found


def pure_python(login: ClientLogin) -> Mapping[str, str]:
    found = {"bootstrap_servers": login.servers, "security_protocol": login.protocol}
    if login.mechanism is not None:
        found |= {
            "sasl_mechanism": login.mechanism,
            "sasl_plain_username": login.user,
            "sasl_plain_password": login.password,
        }
    return found


CLIENTS: dict[str, Callable[[ClientLogin], Mapping[str, Any]]] = {
    "confluent": librdkafka,
    "aiokafka": pure_python,
    "kafka-python": pure_python,
    "java": java,
}


def quoted(text: str) -> str:
    r"""A text as JAAS has it.

    >>> print(quoted('a"b\\c'))
    "a\"b\\c"
    """
    return '"{}"'.format(text.replace("\\", "\\\\").replace('"', '\\"'))
