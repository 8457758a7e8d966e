"""A whole Kafka cluster with racks in one asyncio process, for tests.

>>> from mockbroker import MockCluster  # doctest: +SKIP
>>> async with MockCluster(brokers=3, racks=("a", "b", "c")) as cluster:  # doctest: +SKIP
...     print(cluster.bootstrap_servers)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mockbroker.adapters.server import MockCluster

__all__ = ["MockCluster"]


def __getattr__(name: str) -> Any:
    """Load the server only when it is asked for."""
    if name == "MockCluster":
        from mockbroker.adapters.server import MockCluster

        return MockCluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
