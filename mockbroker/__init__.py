"""A whole Kafka cluster with racks in one process, for tests.

>>> from mockbroker import MockCluster
>>> with MockCluster(brokers=3, racks=("a", "b", "c")) as cluster:
...     cluster.stop_rack("a")
[0]

In a coroutine, ``async with`` runs it in the running event loop. ``KafkaProxy`` is used in the same way, in front of a
real cluster.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.adapters.blocking import BlockingMockCluster
    from mockbroker.adapters.server import MockCluster
    from mockbroker.proxy.adapters.blocking import BlockingKafkaProxy
    from mockbroker.proxy.adapters.server import KafkaProxy

__all__ = ["BlockingKafkaProxy", "BlockingMockCluster", "KafkaProxy", "MockCluster"]

if not TYPE_CHECKING:  # else type checkers accept every name, misspelt ones too
    _MODULES = {
        "BlockingKafkaProxy": "mockbroker.proxy.adapters.blocking",
        "BlockingMockCluster": "mockbroker.adapters.blocking",
        "KafkaProxy": "mockbroker.proxy.adapters.server",
        "MockCluster": "mockbroker.adapters.server",
    }

    def __getattr__(name: str) -> object:
        """Load a class at its first use."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(_MODULES[name]), name)
        return found


def __dir__() -> list[str]:
    return __all__
