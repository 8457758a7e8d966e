"""The security protocols of listeners.

Source: SecurityProtocol and SocketServerConfigs.LISTENER_SECURITY_PROTOCOL_MAP_CONFIG, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping

PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL = "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"
SECURITY_PROTOCOLS = {PLAINTEXT: 0, SSL: 1, SASL_PLAINTEXT: 2, SASL_SSL: 3}
"""Their numbers in records of registered brokers."""
WITH_SASL = frozenset({SASL_PLAINTEXT, SASL_SSL})
WITH_TLS = frozenset({SSL, SASL_SSL})
ANONYMOUS = "User:ANONYMOUS"
"""The principal of a listener without authentication. Source: KafkaPrincipal, Apache Kafka."""


def protocols_in(text: str) -> dict[str, str]:
    """Listener name -> security protocol, from ``listener.security.protocol.map``. Raises ValueError.

    >>> protocols_in("INSIDE:PLAINTEXT, OUTSIDE:SASL_SSL")
    {'INSIDE': 'PLAINTEXT', 'OUTSIDE': 'SASL_SSL'}
    """
    found = {}
    for pair in text.split(","):
        if not pair.strip():
            continue
        name, colon, protocol = (part.strip() for part in pair.partition(":"))
        if not colon:
            raise ValueError(f"listener.security.protocol.map: expected NAME:PROTOCOL, got {pair.strip()!r}")
        if protocol.upper() not in SECURITY_PROTOCOLS:
            raise ValueError(
                f"listener.security.protocol.map: expected {', '.join(SECURITY_PROTOCOLS)}, got {protocol} for {name}"
            )
        found[name.upper()] = protocol.upper()
    return found


def protocol_of(listener: str, protocols: Mapping[str, str]) -> str | None:
    """The security protocol of a listener: from the map, else its own name if that is one."""
    name = listener.upper()
    return protocols.get(name, name if name in SECURITY_PROTOCOLS else None)


def default_protocol(*, has_users: bool, tls: bool) -> str:
    """The default security protocol of listeners.

    >>> default_protocol(has_users=True, tls=False)
    'SASL_PLAINTEXT'
    """
    if has_users:
        return SASL_SSL if tls else SASL_PLAINTEXT
    return SSL if tls else PLAINTEXT
