"""Clusters by chance, for audits."""

from __future__ import annotations

from random import Random
from typing import Any

SHARED_RACK = {"name": "shared", "brokers": [[0, "a"], [1, "a"], [2, "b"]], "topics": {"t": {"partitions": [[0, 1]]}}}
"""A description of a cluster that an audit finds fault with: two replicas share a rack while another has none."""


def random_cluster(name: str, seed: int) -> dict[str, Any]:
    """A description of a cluster as `kafka-rack audit` takes it: three racks, most of them wrong somewhere."""
    rng = Random(seed)
    brokers = [[number, rng.choice(["a", "b", "c"])] for number in range(rng.randint(3, 9))]
    topics = {
        topic: {
            "partitions": [rng.sample(range(len(brokers)), 3) for _ in range(rng.randint(1, 20))],
            "min_insync_replicas": rng.choice([1, 2]),
        }
        for topic in ("events", "orders")
    }
    return {"name": name, "brokers": brokers, "topics": topics}
