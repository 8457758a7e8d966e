"""A proxy for programs without coroutines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.adapters.blocking import BlockingCluster

if TYPE_CHECKING:
    from mockbroker.proxy.adapters.server import KafkaProxy


class BlockingKafkaProxy(BlockingCluster["KafkaProxy"]):
    """The result of ``with KafkaProxy(...) as proxy:``: the commands of ``KafkaProxy``, for any thread but its own."""

    _cluster: KafkaProxy
