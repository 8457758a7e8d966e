"""Names of topics for tests."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from mockbroker.adapters.options import TOPIC_ARGUMENTS, check_names

if TYPE_CHECKING:
    from mockbroker.adapters.blocking import BlockingMockCluster

MAX_READABLE = 80


class KafkaTopic(str):
    """The name of a topic that a test has to itself. Called, it makes another one and gives its name."""

    __slots__ = ("_cluster", "_stem")
    _cluster: BlockingMockCluster
    _stem: str

    def __call__(self, **arguments: Any) -> Self:
        """Another topic of the same test, with what ``create_topic`` takes. Raises ApiError, TypeError."""
        check_names("kafka_topic", arguments, TOPIC_ARGUMENTS)
        return type(self).made(self._cluster, self._stem, arguments)

    @classmethod
    def made(cls, cluster: BlockingMockCluster, stem: str, arguments: Mapping[str, Any]) -> Self:
        """A topic with this name, or with a number after it, and what ``create_topic`` takes. Raises ApiError."""
        taken = cluster.run(lambda running: set(running.state.topics))
        names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
        name = next(one for one in names if one not in taken)
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
