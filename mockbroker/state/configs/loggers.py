"""The levels of brokers' loggers, which a client may show and change. Nothing is logged by them here.

A broker forgets what was changed when the process ends, so they are no part of the image.

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
"""The loggers that Kafka's own configuration names."""
OTHERS = (
    "kafka.log.LogManager",
    "kafka.network",
    "kafka.server.BrokerServer",
    "kafka.server.KafkaApis",
    "kafka.server.KafkaConfig",
    "kafka.server.ReplicaManager",
)
"""Some of those that a broker's classes have; their level is the nearest one above."""


@dataclass(slots=True)
class BrokerLoggers:
    """The loggers of one broker."""

    own: dict[str, str] = field(default_factory=lambda: dict(FIRST_LEVELS))

    def exists(self, name: str) -> bool:
        """Whether there is such a logger."""
        return name in self.own or name in OTHERS

    def set(self, name: str, level: str | None) -> None:
        """Give a logger a level, or by None that of the nearest one above."""
        if level is None:
            self.own.pop(name, None)
        else:
            self.own[name] = level

    def levels(self) -> dict[str, str]:
        """The level of each logger."""
        return {name: self.level(name) for name in sorted({*self.own, *FIRST_LEVELS, *OTHERS})}

    def level(self, name: str) -> str:
        """A logger's level, its own or that of the nearest one above."""
        while name not in self.own and "." in name:
            name = name.rpartition(".")[0]
        return self.own.get(name, self.own[ROOT])
