"""What everybody in a simulation shares: time, the network, the brokers, what clients put down, and the story."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from mockbroker.testing.simulation.cluster import SimulatedCluster
from mockbroker.testing.simulation.history import ClientHistory
from mockbroker.testing.simulation.network import SimulatedNetwork
from mockbroker.testing.simulation.scheduler import Scheduler

START_MS = 1_735_689_600_000  # 2025-01-01, since records have times that brokers compare with their own


@dataclass(slots=True, eq=False)
class World:
    """One simulation. ``story`` has what happened, with its time in ms since the start."""

    scheduler: Scheduler
    network: SimulatedNetwork
    cluster: SimulatedCluster
    history: ClientHistory = field(default_factory=ClientHistory)
    story: list[tuple[int, str]] = field(default_factory=list)

    @classmethod
    def create(
        cls, racks: tuple[str, ...], *, seed: int, settings: Mapping[str, Any] | None = None, release: str | None = None
    ) -> World:
        """Brokers 0, 1, ... on these racks, nobody connected.

        >>> world = World.create(("a", "b"), seed=1)
        >>> sorted(world.cluster.state.brokers), world.now_ms
        ([0, 1], 0)
        """
        scheduler = Scheduler(START_MS)
        network = SimulatedNetwork(scheduler, Random(f"{seed} network"))
        cluster = SimulatedCluster(
            racks,
            seed=seed,
            now_ms=lambda: scheduler.now_ms,
            settings=settings,
            release=release,
            on_broker_gone=network.broker_gone,
        )
        network.cluster = cluster
        if not cluster.state.support.is_kraft:
            from mockbroker.testing.simulation.controller import SimulatedControllerChannels

            cluster.on_settled = SimulatedControllerChannels(cluster, network).send
        scheduler.next_deadline_ms, scheduler.on_deadline = cluster.next_deadline_ms, cluster.advance
        return cls(scheduler, network, cluster)

    @property
    def now_ms(self) -> int:
        """The time since the start."""
        return self.scheduler.now_ms - START_MS

    def tell(self, what: str) -> None:
        """Put down for the story what has happened now."""
        self.story.append((self.now_ms, what))
