"""Kafka's configs that have an effect here. All others are accepted, stored and described, without effect.

To give a config an effect, add it here or to the settings.py of an optional part; docs/configs.md lists the rest.
"""

from __future__ import annotations

from mockbroker.parts import brought
from mockbroker.state.configs.definitions import BROKER, CLIENT_METRICS, GROUP, TOPIC, definition, names
from mockbroker.state.configs.effective import without_listener
from mockbroker.state.settings import DEFAULTS

LISTENER = "listener"


def of_parts(kind: str) -> frozenset[str]:
    """The names of a kind's configs that have an effect through optional parts."""
    return frozenset(name for effective in brought("effective_settings") for name in effective.get(kind, ()))


TOPICS = frozenset(names(TOPIC)) - {
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    "errors.deadletterqueue.group.enable",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "internal.segment.bytes",
    "local.retention.bytes",
    "local.retention.ms",
    "preallocate",
    "remote.copy.lag.bytes",
    "remote.copy.lag.ms",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "segment.index.bytes",
    "segment.jitter.ms",
}
GROUPS = of_parts(GROUP) | frozenset(
    {
        "consumer.assignment.interval.ms",
        "consumer.heartbeat.interval.ms",
        "consumer.session.timeout.ms",
    }
)
OF_LOGINS = of_parts(LISTENER) | frozenset(
    {
        "connection.failed.authentication.delay.ms",
        "connections.max.reauth.ms",
        "sasl.enabled.mechanisms",
        "sasl.server.max.receive.size",
    }
)
"""Configs for a cluster or for one listener."""
BROKERS = (
    of_parts(BROKER)
    | frozenset(
        {
            "cordoned.log.dirs",
            "follower.replication.throttled.rate",
            "group.coordinator.rebalance.protocols",
            "inter.broker.listener.name",
            "leader.replication.throttled.rate",
            "log.cleaner.backoff.ms",
            "log.dir",
            "log.dirs",
            "log.initial.task.delay.ms",
            "log.retention.check.interval.ms",
            "max.connections.per.ip.overrides",
            "process.roles",
            "producer.id.expiration.check.interval.ms",
            "security.inter.broker.protocol",
            "telemetry.max.bytes",
        }
    )
    | {name for name in names(BROKER) if name.startswith("group.consumer.") and "offload" not in name}
    | OF_LOGINS
)
"""Broker configs that are not in ``DEFAULTS`` of settings.py."""


OF_A_BROKER = frozenset(
    {
        "advertised.listeners",
        "broker.id",
        "broker.rack",
        "controller.listener.names",
        "listener.security.protocol.map",
        "listeners",
        "node.id",
        "process.roles",
    }
)
"""Configs that each broker's own ``server.properties`` must set. As settings of the whole cluster, those of
``OF_NUMBERED`` describe the listeners of numbered brokers; the others have no effect."""
OF_NUMBERED = frozenset({"advertised.listeners", "listener.security.protocol.map", "listeners"})
OF_LISTENERS = OF_LOGINS | {"sasl.jaas.config", "sasl.server.callback.handler.class"}
"""Configs with an effect after ``listener.name.LISTENER.``, or after that and a mechanism's name."""
OF_TLS = frozenset(name for name in names(BROKER) if name.startswith("ssl.")) - {
    "ssl.allow.dn.changes",
    "ssl.allow.san.changes",
    "ssl.cipher.suites",
    "ssl.endpoint.identification.algorithm",
    "ssl.engine.factory.class",
    "ssl.keymanager.algorithm",
    "ssl.provider",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
}
"""Configs of listeners with TLS, for all of them or after ``listener.name.LISTENER.``; brokers may differ in
them."""


def is_of_a_listener(name: str) -> bool:
    """True if a listener's config has an effect.

    >>> is_of_a_listener("listener.name.outside.plain.sasl.jaas.config")
    True
    """
    rest = without_listener(name)
    alone = OF_LISTENERS | OF_TLS | {"max.connections"}
    return rest != name and (rest in alone or rest.partition(".")[2] in OF_LISTENERS)


def is_of_tls(name: str) -> bool:
    """True if a TLS config has an effect, for all listeners or for one.

    >>> is_of_tls("ssl.keystore.location"), is_of_tls("listener.name.outside.ssl.client.auth")
    (True, True)
    """
    return without_listener(name) in OF_TLS


def with_effect(kind: str) -> frozenset[str]:
    """The names of a kind's configs that have an effect; for brokers also the defaults of topic configs."""
    if kind != BROKER:
        return {TOPIC: TOPICS, GROUP: GROUPS, CLIENT_METRICS: frozenset()}[kind]
    of_topics = {synonym for name in TOPICS for synonym in definition(TOPIC, name).synonyms}
    return frozenset(DEFAULTS) | of_topics | BROKERS | OF_TLS


def without_effect(kind: str) -> tuple[str, ...]:
    """The names of a kind's configs in Kafka that have no effect here, sorted."""
    effective = with_effect(kind) | OF_A_BROKER
    return tuple(name for name in names(kind) if name not in effective)
