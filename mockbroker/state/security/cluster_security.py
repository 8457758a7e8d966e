"""The users of a cluster, and the security settings of its listeners."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mockbroker.state.security.protocols import WITH_SASL, WITH_TLS

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker, Listener
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.security.authentication import Authenticator
    from mockbroker.state.security.listeners import ListenerSecurity
    from mockbroker.state.security.mechanisms import Exchange
    from mockbroker.state.security.tls import ListenerTls

SALT_BYTES = 16


class ClusterSecurity:
    """The security settings of each listener; ``users`` are the initial users with their passwords."""

    __slots__ = ("users", "_listeners")

    def __init__(self) -> None:
        self.users: dict[str, str] = {}
        self._listeners: dict[str, ListenerSecurity] = {}

    def add_users(self, cluster: Cluster, users: Mapping[str, str], entropy: Callable[[int], bytes]) -> None:
        """Add users for PLAIN and both SCRAM mechanisms. Raises ValueError: an empty name or password."""
        from mockbroker.state.security.mechanisms import MIN_ITERATIONS, SCRAM_MECHANISMS, salted_password
        from mockbroker.state.security.scram import Upsertion, credential

        for user, password in users.items():
            if not user or not password:
                raise ValueError(f"expected a user and a password, got {'no password' if user else 'no name'}")
            for mechanism in SCRAM_MECHANISMS.values():
                salt = entropy(SALT_BYTES)
                hashed = salted_password(mechanism, password, salt)
                cluster.writer.commit([credential(Upsertion(user, mechanism, MIN_ITERATIONS, salt, hashed))])
        self.users.update(users)

    def of_listener(self, cluster: Cluster, listener: Listener) -> ListenerSecurity:
        """The security settings of a SASL listener. Raises ValueError."""
        found = self._listeners.get(listener.name)
        if found is None:
            from mockbroker.state.security.listeners import security_of

            found = self._listeners[listener.name] = security_of(cluster.settings, listener.name, self.users)
        return found

    def check(self, cluster: Cluster) -> None:
        """Raises ValueError: a listener's settings contradict each other, or are not supported."""
        cluster.support.check(cluster)
        for broker in cluster.brokers.values():
            for listener in broker.listeners:
                if listener.protocol in WITH_SASL:
                    self.of_listener(cluster, listener)
                if listener.protocol in WITH_TLS:
                    self.tls_of(cluster, broker, listener)

    def tls_of(self, cluster: Cluster, broker: Broker, listener: Listener) -> ListenerTls:
        """The settings of a broker's TLS listener when the broker starts. Raises ValueError."""
        from mockbroker.state.security.tls import tls_of

        settings: Mapping[str, Any] = ChainMap(dict(broker.settings), cluster.settings)
        return tls_of(settings, listener.name, listener.protocol)

    def authenticator(
        self, cluster: Cluster, listener: Listener, entropy: Callable[[int], bytes]
    ) -> Authenticator | None:
        """The authenticator of a new connection to a listener; None without authentication here.

        A real broker authenticates the clients of a proxy.
        """
        if listener.protocol not in WITH_SASL or cluster.is_mirror:
            return None
        from mockbroker.state.security.authentication import Authenticator

        security = self.of_listener(cluster, listener)
        return Authenticator(security, lambda name: exchange_of(cluster, security, name, entropy))


def exchange_of(cluster: Cluster, security: ListenerSecurity, name: str, entropy: Callable[[int], bytes]) -> Exchange:
    """A new exchange of a mechanism."""
    from mockbroker.state.security import mechanisms

    if name == mechanisms.PLAIN:
        return mechanisms.plain(security.passwords)
    if name in security.makers:
        return security.makers[name](cluster.clock)
    credentials, number = cluster.image.scram_credentials, mechanisms.SCRAM_MECHANISMS[name]
    nonce = entropy(SALT_BYTES).hex()
    return mechanisms.scram(name, lambda user: credentials.get((user, number)), nonce)
