"""A proxy for programs without a coroutine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.adapters.blocking import BlockingCluster

if TYPE_CHECKING:
    from mockbroker.proxy.adapters.server import KafkaProxy


class BlockingKafkaProxy(BlockingCluster["KafkaProxy"]):
    """What ``with KafkaProxy(...) as proxy:`` gives: the commands of ``KafkaProxy``, for any thread but its own."""

    _cluster: KafkaProxy
