"""The log levels of brokers' loggers, which clients may describe and change, without effect on logging.

Changes are lost when the broker's process ends, so they are not in the image.

Source: RuntimeLoggerManager, Log4jCoreController and config/log4j2.yaml, Apache Kafka 4.4.

>>> loggers = BrokerLoggers()
>>> loggers.set("kafka.network", "DEBUG")
>>> loggers.levels()["kafka.network"], loggers.levels()["kafka.network.RequestChannel$"]
('DEBUG', 'WARN')
"""

from __future__ import annotations

from dataclasses import dataclass, field

ROOT = "root"
LEVELS = ("FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE")
FIRST_LEVELS = {
    ROOT: "INFO",
    "kafka": "INFO",
    "kafka.authorizer.logger": "INFO",
    "kafka.network.RequestChannel$": "WARN",
    "kafka.request.logger": "WARN",
    "org.apache.kafka": "INFO",
    "org.apache.kafka.controller": "INFO",
    "org.apache.kafka.storage.internals.log.LogCleaner": "INFO",
    "org.apache.kafka.storage.internals.log.LogCleaner$CleanerThread": "INFO",
    "state.change.logger": "INFO",
}
"""The loggers in Kafka's own configuration."""
OTHERS = (
    "kafka.log.LogManager",
    "kafka.network",
    "kafka.server.BrokerServer",
    "kafka.server.KafkaApis",
    "kafka.server.KafkaConfig",
    "kafka.server.ReplicaManager",
)
"""Some loggers of a broker's classes; they inherit the level of the nearest parent."""


@dataclass(slots=True)
class BrokerLoggers:
    """The loggers of a broker."""

    own: dict[str, str] = field(default_factory=lambda: dict(FIRST_LEVELS))

    def exists(self, name: str) -> bool:
        """True if the logger exists."""
        return name in self.own or name in OTHERS

    def set(self, name: str, level: str | None) -> None:
        """Set a logger's level; None makes it inherit from the nearest parent."""
        if level is None:
            self.own.pop(name, None)
        else:
            self.own[name] = level

    def levels(self) -> dict[str, str]:
        """The level of each logger."""
        return {name: self.level(name) for name in sorted({*self.own, *FIRST_LEVELS, *OTHERS})}

    def level(self, name: str) -> str:
        """A logger's level, its own or the nearest parent's."""
        while name not in self.own and "." in name:
            name = name.rpartition(".")[0]
        return self.own.get(name, self.own[ROOT])
