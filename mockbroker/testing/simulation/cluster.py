"""The brokers of a simulation: one cluster after the other, each going on from what the last one left on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from mockbroker.core.commands import Result, StateCommands
from mockbroker.core.engine import Engine
from mockbroker.core.journal import Journal
from mockbroker.core.outcome import Outcome
from mockbroker.state.brokers.broker import Broker, Listener
from mockbroker.state.cluster import Cluster
from mockbroker.state.image.metadata_records import MetadataBatches, image_of

if TYPE_CHECKING:
    from mockbroker.core.faults import Faults


class SimulatedCluster(StateCommands):
    """A cluster without sockets, at the time that ``now_ms`` gives.

    ``failures`` has what our own code raised. ``journals`` has one journal a life: ``restart`` ends a life, and the
    next begins with what a data directory would have: the batches of the metadata log, and all other logs, those of the
    coordinators' topics among them.

    Args:
        racks: of brokers 0, 1, ...
        on_broker_gone: called with the id of a broker whose connections end with it.

    ``on_settled`` is called once what was due has happened: by then the controller may have something for brokers.
    """

    def __init__(
        self,
        racks: tuple[str, ...],
        *,
        seed: int,
        now_ms: Callable[[], int],
        settings: Mapping[str, Any] | None = None,
        release: str | None = None,
        on_broker_gone: Callable[[int], None] = lambda broker_id: None,
    ) -> None:
        self.racks, self.seed, self._now_ms, self._on_broker_gone = racks, seed, now_ms, on_broker_gone
        self.settings, self.release = dict(settings or {}), release
        self.metadata: list[bytes] = []
        self.end_offset = 0
        self.failures: list[Exception] = []
        self.journals: list[Journal] = []
        self.on_settled: Callable[[], None] = lambda: None
        self._faults: Faults | None = None
        self._begin_life(None)

    def _begin_life(self, before: Cluster | None) -> None:
        brokers = [Broker(index, rack, [Listener(port=9092 + index)]) for index, rack in enumerate(self.racks)]
        life = len(self.journals)
        durable: dict[str, Any] = {}
        if before is not None:
            durable = {"image": image_of(self.metadata), "log_store": before.log_store}
        self.state = Cluster.create(
            brokers,
            settings=self.settings,
            seed=self.seed + life,
            release=self.release,
            record_log=MetadataBatches(self._write, self._now_ms, life + 1, self.end_offset),
            now_ms=self._now_ms(),
            is_durable=True,
            **durable,
        )
        self.state.now_ms = self._now_ms()
        if before is not None:
            self.state.clock.offset_ms = before.clock.offset_ms
        self.engine = Engine(self.state, Random(self.seed + life))
        self.journals.append(Journal())
        self.engine.path.observers[:] = [self.journals[-1], self]
        self._faults = None

    def _write(self, batch: bytes, last_offset: int) -> None:
        self.metadata.append(batch)
        self.end_offset = last_offset + 1

    def call_ended(self, outcome: Outcome) -> None:
        """Keep what our own code raised."""
        if outcome.error is not None:
            self.failures.append(outcome.error)

    @property
    def faults(self) -> Faults:
        """The faults that are set on calls and links; a restart ends them."""
        if self._faults is None:
            from mockbroker.core.faults import Faults

            self._faults = Faults(self.engine.path, self.seed, self._now_ms, self.settle)
        return self._faults

    def clear_faults(self) -> None:
        if self._faults is not None:
            self._faults.clear()

    def next_deadline_ms(self) -> int | None:
        """When ``advance`` has to be called next."""
        return self.engine.next_deadline_ms()

    def advance(self, now_ms: int) -> None:
        """Let time reach ``now_ms``."""
        self.engine.advance(now_ms)
        self.on_settled()

    def settle(self) -> None:
        """Let happen what is due, and let calls go on that were woken."""
        self.advance(self._now_ms())

    def _change(self, command: Callable[[Cluster, int], Result]) -> Result:
        result = command(self.state, self._now_ms())
        self.settle()
        return result

    def stop_broker(self, broker_id: int) -> None:
        """Stop a broker as a controlled shutdown does; its connections end."""
        self.state.stop_broker(broker_id, self._now_ms())
        self._on_broker_gone(broker_id)
        self.settle()

    def crash_broker(self, broker_id: int) -> None:
        """End a broker without a word to the others; its connections end."""
        self.state.crash_broker(broker_id, self._now_ms())
        self._on_broker_gone(broker_id)
        self.settle()

    def start_broker(self, broker_id: int) -> None:
        self._change(lambda state, now_ms: state.start_broker(broker_id, now_ms))

    def restart(self) -> None:
        """End all brokers at once, and begin anew with what is durable."""
        for broker_id in self.state.brokers:
            self._on_broker_gone(broker_id)
        self._begin_life(self.state)
        self.settle()
