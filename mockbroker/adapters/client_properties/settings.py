"""Kafka's client properties, and how a connection is made by them.

Unused settings of Kafka's clients are ignored; a name that resembles one is refused, since it would have no effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mockbroker.adapters.client_properties.login import MECHANISMS, SaslLogin, login_of
from mockbroker.state.security.jaas import parse_jaas
from mockbroker.state.security.protocols import PLAINTEXT, SECURITY_PROTOCOLS, WITH_SASL, WITH_TLS, default_protocol

if TYPE_CHECKING:
    import ssl

NAMES = frozenset(Path(__file__).with_name("setting_names.txt").read_text(encoding="ascii").split())
"""The settings of AdminClientConfig, ConsumerConfig and ProducerConfig in Kafka 4.4, and those of older releases."""
CLIENT_ID = "kafka-rack"
DEFAULT_TIMEOUT_S = 10.0
MAX_TIMEOUT_S = 86_400
"""A day: what requests take as milliseconds, and sockets as seconds, with room to spare."""
TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 - a name, no password
REFUSED = {
    "config.providers": "values are taken as they stand, none is looked up",
    "ssl.engine.factory.class": "TLS is that of Python",
    "sasl.client.callback.handler.class": "only Kafka's own login is known",
    "sasl.login.class": "only Kafka's own login is known",
}
"""Settings that cannot be ignored, since the connection would differ from the expected one."""
LOGIN_HANDLER = "sasl.login.callback.handler.class"
KAFKA_LOGIN_HANDLERS = ("OAuthBearerLoginCallbackHandler", "OAuthBearerUnsecuredLoginCallbackHandler")


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """How a connection is made.

    ``login`` is a ``SaslLogin``, or has its methods. ``timeout_s`` is for a connection, and again for each answer;
    ``notes`` are lines for the user of the file.
    """

    login: Any = None
    tls: ssl.SSLContext | None = field(default=None, compare=False)
    client_id: str = CLIENT_ID
    timeout_s: float = DEFAULT_TIMEOUT_S
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def protocol(self) -> str:
        """The security protocol."""
        return default_protocol(has_users=self.login is not None, tls=self.tls is not None)


def client_settings_of(properties: Mapping[str, str]) -> ClientSettings:
    """The settings in Kafka's client properties. Raises ValueError."""
    notes = tuple(check_names(properties))
    protocol = properties.get("security.protocol", PLAINTEXT).upper()
    if protocol not in SECURITY_PROTOCOLS:
        raise ValueError(
            f"security.protocol: expected {', '.join(SECURITY_PROTOCOLS)}, got {properties['security.protocol']}"
        )
    tls = None
    if protocol in WITH_TLS:
        from mockbroker.adapters.client_properties.tls import client_context

        tls = client_context(properties)
    login = login_in(properties) if protocol in WITH_SASL else None
    client_id = properties.get("client.id") or CLIENT_ID
    return ClientSettings(login, tls, client_id, timeout_in(properties), notes)


def check_names(properties: Mapping[str, str]) -> list[str]:
    """Notes about what no client of Kafka's knows. Raises ValueError: a misspelt name, or what cannot be done."""
    notes = []
    for name in properties:
        if name in REFUSED:
            raise ValueError(f"{name} cannot be had: {REFUSED[name]}")
        if name in NAMES:
            continue
        near = get_close_matches(name, NAMES, n=1, cutoff=0.85)
        if near:
            raise ValueError(f"{name} is no setting of Kafka's clients; did you mean {near[0]}?")
        notes.append(f"{name} is no setting of Kafka's clients, and left alone")
    handler = properties.get(LOGIN_HANDLER, "").rpartition(".")[2]
    if handler and handler not in KAFKA_LOGIN_HANDLERS:
        raise ValueError(f"{LOGIN_HANDLER}: expected {' or '.join(KAFKA_LOGIN_HANDLERS)}, got {handler}")
    return notes


def login_in(properties: Mapping[str, str]) -> SaslLogin:
    """The login in the properties. Raises ValueError."""
    mechanism = properties.get("sasl.mechanism", "GSSAPI")
    if mechanism not in MECHANISMS:
        default = "" if "sasl.mechanism" in properties else ", which is Kafka's default"
        raise ValueError(f"sasl.mechanism: expected {', '.join(MECHANISMS)}, got {mechanism}{default}")
    text = properties.get("sasl.jaas.config")
    if not text:
        raise ValueError("sasl.jaas.config: expected a login module and its options, got none")
    try:
        module = parse_jaas(text)
        return login_of(mechanism, module.name, module.options, properties.get(TOKEN_URL))
    except ValueError as error:
        raise ValueError(f"sasl.jaas.config: {error}") from None


def timeout_in(properties: Mapping[str, str]) -> float:
    """``request.timeout.ms`` in seconds. Raises ValueError."""
    text = properties.get("request.timeout.ms")
    if text is None:
        return DEFAULT_TIMEOUT_S
    highest = MAX_TIMEOUT_S * 1000
    if not (text.isascii() and text.isdigit() and len(text) < 12 and 0 < int(text) <= highest):
        raise ValueError(f"request.timeout.ms: expected 1 to {highest}, got {text}")
    return int(text) / 1000
