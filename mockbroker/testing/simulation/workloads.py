"""Who takes part in a run, by workload: each draws from the seed and its own name, so one that comes or goes leaves the
others as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from mockbroker.testing.simulation.clients.admin import AdminSettings
from mockbroker.testing.simulation.clients.consumer import ConsumerSettings
from mockbroker.testing.simulation.clients.pipeline import PipelineSettings
from mockbroker.testing.simulation.clients.producer import ProducerSettings
from mockbroker.testing.simulation.clients.share_consumer import ShareConsumerSettings

ClientSettings = ProducerSettings | ConsumerSettings | PipelineSettings | AdminSettings | ShareConsumerSettings
NamedSettings = list[tuple[str, ClientSettings]]

SECOND_PIPELINE = "pipeline-1"
SHARE_GROUP = "sharers"
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")


def producers(rng: Random) -> NamedSettings:
    """Two with all promises, two with fewer, and one to a topic whose records are deleted."""
    found: NamedSettings = []
    for number in range(2):
        settings = ProducerSettings(
            "orders",
            rng.randint(25, 55),
            max_in_flight=rng.choice([1, 5, 5]),
            delivery_timeout_ms=rng.choice([None, None, 6_000]),
            compression=rng.choice(COMPRESSIONS),
            pause_ms=rng.choice([150, 400, 600]),
        )
        found.append((f"orders-{number}", settings))
    for number in range(2):
        acks = rng.choice([1, -1, 1, 0])
        settings = ProducerSettings(
            "events",
            rng.randint(10, 30),
            acks=acks,
            is_idempotent=acks == -1 and rng.random() < 0.5,
            compression=rng.choice(COMPRESSIONS),
            pause_ms=rng.choice([200, 500]),
        )
        found.append((f"events-{number}", settings))
    found.append(("visits-0", ProducerSettings("visits", 15, pause_ms=500)))
    return found


def consumers(rng: Random) -> NamedSettings:
    """Members of groups of both protocols."""
    found: NamedSettings = []
    level: Any = rng.choice(["read_committed", "read_uncommitted"])
    has_static_members = rng.random() < 0.3
    for number in range(rng.randint(1, 3)):
        instance = f"reader-{number}" if has_static_members else None
        found.append((f"readers-{number}", ConsumerSettings(("orders",), "readers", level, instance)))
    for number in range(rng.randint(1, 2)):
        found.append((f"others-{number}", ConsumerSettings(("results", "events"), "others", "read_committed")))
    found.append(("visitors-0", ConsumerSettings(("visits",), "visitors")))
    modern = ConsumerSettings(("orders", "results"), "modern", "read_committed", group_protocol="consumer")
    found += [(f"modern-{number}", modern) for number in range(rng.choice([0, 1, 2, 2, 3]))]
    return found


def pipelines(rng: Random) -> NamedSettings:
    """One or two that read, write and commit in transactions, of one version of the protocol."""
    version: Any = rng.choice([1, 2, 2])
    timeout_ms = rng.choice([4_000, 12_000])
    return [
        (name, PipelineSettings("orders", "results", "pipelines", name, timeout_ms, version))
        for name in ("pipeline-0", SECOND_PIPELINE)[: rng.randint(1, 2)]
    ]


def admins(rng: Random) -> NamedSettings:
    settings = AdminSettings(("orders", "events", "results"), ("orders",), ("visits",), rng.randint(3, 8))
    return [("admin", settings)]


def sharers(rng: Random) -> NamedSettings:
    """The members of a share group, in about half of the seeds."""
    mode: Any = rng.choice(["implicit", "explicit", "explicit"])
    settings = ShareConsumerSettings(("orders",), SHARE_GROUP, mode, rng.choice([5, 20]))
    return [(f"sharer-{number}", settings) for number in range(rng.choice([0, 0, 1, 2, 3]))]


WORKLOADS: dict[str, Callable[[Random], NamedSettings]] = {
    "producers": producers,
    "consumers": consumers,
    "pipelines": pipelines,
    "admins": admins,
    "sharers": sharers,
}
