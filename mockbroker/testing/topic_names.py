"""Names of topics for tests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from mockbroker.adapters.options import TOPIC_ARGUMENTS, check_names

if TYPE_CHECKING:
    from mockbroker.adapters.blocking import BlockingMockCluster

MAX_READABLE = 80
FIRST_UNIQUE = 1


class KafkaTopic(str):
    """The name of a topic that a test has to itself. Called, it makes another one and gives its name."""

    __slots__ = ("_cluster", "_stem")
    _cluster: BlockingMockCluster
    _stem: str

    @classmethod
    def made(cls, cluster: BlockingMockCluster, test: str, arguments: Mapping[str, Any]) -> Self:
        """A topic that is named after a test, with what ``create_topic`` takes. Raises ApiError."""
        return cls._next(cluster, stem_of(test), arguments)

    def __call__(self, **arguments: Any) -> Self:
        """Another topic of the same test, with what ``create_topic`` takes. Raises ApiError, TypeError."""
        check_names("kafka_topic", arguments, TOPIC_ARGUMENTS)
        return type(self)._next(self._cluster, self._stem, arguments)

    @classmethod
    def _next(cls, cluster: BlockingMockCluster, stem: str, arguments: Mapping[str, Any]) -> Self:
        taken = cluster.run(lambda running: set(running.state.topics))
        number = FIRST_UNIQUE
        while (name := stem if number == FIRST_UNIQUE else f"{stem}-{number}") in taken:
            number += 1
        cluster.create_topic(name, **arguments)
        topic = cls(name)
        topic._cluster, topic._stem = cluster, stem
        return topic


def stem_of(test: str) -> str:
    """A test's name as far as a topic's may have it.

    >>> stem_of("test_reads[10 MB-π]")
    'test_reads-10-MB'
    """
    return re.sub(r"[^a-zA-Z0-9._-]+", "-", test).strip("-.")[:MAX_READABLE] or "test"
