"""KIP-660's three scenarios as placers: new brokers, brokers to be decommissioned, and brokers near capacity.

Each restricts the brokers and delegates the placement to another placer. The brokers are in a JSON file that may change
while the cluster runs; it is read again when its time or size has changed:

    {"new": [7, 8], "decommissioned": [3], "used_capacity": {"1": 0.93, "2": 0.4}, "capacity_limit": 0.85}

All keys are optional. Brokers that are not in the cluster are not an error: they may be down.

Source: KIP-660, motivation.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka_rack.errors import PlacerSettingsError, ReplicaPlacementError
from kafka_rack.placement.placer import ReplicaPlacer, UsableBroker
from kafka_rack.placement.rack_aware import RackAwarePlacer

STATE_FILE_SETTING = "replica.placer.state.file"
DEFAULT_CAPACITY_LIMIT = 0.85
KEYS = ("capacity_limit", "decommissioned", "new", "used_capacity")


@dataclass(frozen=True, slots=True)
class BrokerState:
    """The state of brokers from an operator or a monitor. Capacities are shares of what a broker can hold, 0 to 1."""

    new: frozenset[int] = frozenset()
    decommissioned: frozenset[int] = frozenset()
    used_capacity: Mapping[int, float] = field(default_factory=dict)
    capacity_limit: float = DEFAULT_CAPACITY_LIMIT

    def near_capacity(self, broker: int) -> bool:
        return self.used_capacity.get(broker, 0.0) >= self.capacity_limit


class ScenarioPlacer(ReplicaPlacer):
    """Reads the state file, restricts the brokers, and delegates to the rack-aware placer, or to another one."""

    needs_all_racks = True

    def __init__(self, state: BrokerState | None = None, inner: ReplicaPlacer | None = None) -> None:
        self.fixed_state = state
        self.inner = inner or RackAwarePlacer()
        self.path: Path | None = None
        self.stamp: tuple[int, int] | None = None
        self.read_state = BrokerState()

    def configure(self, settings: Mapping[str, str]) -> None:
        self.inner.configure(settings)
        name = str(settings.get(STATE_FILE_SETTING, "")).strip()
        if name:
            self.path = Path(name)
            self.state()
        elif self.fixed_state is None:
            raise PlacerSettingsError(
                f"{type(self).__name__} needs {STATE_FILE_SETTING}, the file that names the brokers"
            )

    def state(self) -> BrokerState:
        """The current state.

        Raises: PlacerSettingsError: the file is missing or invalid.
        """
        if self.path is None:
            return self.fixed_state or BrokerState()
        try:
            status = self.path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if stamp != self.stamp:
                self.read_state = parse_state(self.path.read_text(encoding="utf-8"), str(self.path))
                self.stamp = stamp
        except (OSError, UnicodeDecodeError) as error:
            raise PlacerSettingsError(f"{self.path}: cannot be read: {error}") from None
        return self.read_state

    @abstractmethod
    def place(
        self, start_partition: int, num_partitions: int, num_replicas: int, usable_brokers: Sequence[UsableBroker]
    ) -> list[list[int]]: ...

    def close(self) -> None:
        self.inner.close()


class NewBrokersPlacer(ScenarioPlacer):
    """``new-brokers``: a rack with new brokers uses only them, a rack without uses all of its brokers.

    So the spread over racks stays. If there are then fewer brokers than replicas, others fill up the rows.
    """

    def place(
        self, start_partition: int, num_partitions: int, num_replicas: int, usable_brokers: Sequence[UsableBroker]
    ) -> list[list[int]]:
        new = self.state().new
        renewed = {broker.rack for broker in usable_brokers if broker.id in new and not broker.fenced}
        pool = [
            broker
            for broker in usable_brokers
            if (broker.id in new and not broker.fenced) or broker.rack not in renewed
        ]
        width = min(num_replicas, len(pool))
        rows = self.inner.place(start_partition, num_partitions, width, pool)
        if width == num_replicas:
            return rows
        chosen = {broker.id for broker in pool}
        others = [broker for broker in usable_brokers if broker.id not in chosen]
        return filled_up(rows, num_replicas, usable_brokers, others)


class DecommissionedBrokersPlacer(ScenarioPlacer):
    """``decommissioned-brokers``: never places on brokers that will be decommissioned."""

    def place(
        self, start_partition: int, num_partitions: int, num_replicas: int, usable_brokers: Sequence[UsableBroker]
    ) -> list[list[int]]:
        leaving = self.state().decommissioned
        staying = [broker for broker in usable_brokers if broker.id not in leaving]
        if len(staying) < num_replicas:
            gone = ", ".join(str(broker.id) for broker in usable_brokers if broker.id in leaving)
            raise ReplicaPlacementError(
                f"replication factor {num_replicas}, but {len(staying)} of {len(usable_brokers)} brokers stay: "
                f"{gone} are being decommissioned"
            )
        return self.inner.place(start_partition, num_partitions, num_replicas, staying)


class CapacityPlacer(ScenarioPlacer):
    """``capacity``: avoids brokers near capacity; if too few others are left, it uses the least full of them."""

    def place(
        self, start_partition: int, num_partitions: int, num_replicas: int, usable_brokers: Sequence[UsableBroker]
    ) -> list[list[int]]:
        state = self.state()
        full = [broker for broker in usable_brokers if state.near_capacity(broker.id)]
        full.sort(key=lambda broker: (broker.fenced, state.used_capacity.get(broker.id, 0.0), broker.id))
        missing = num_replicas - (len(usable_brokers) - len(full))
        avoided = {broker.id for broker in full[max(0, missing) :]}
        rest = [broker for broker in usable_brokers if broker.id not in avoided]
        return self.inner.place(start_partition, num_partitions, num_replicas, rest)


def filled_up(
    rows: list[list[int]], num_replicas: int, brokers: Sequence[UsableBroker], others: Sequence[UsableBroker]
) -> list[list[int]]:
    """Rows with replicas added from other brokers: in the rack with the fewest of the row, then the least used."""
    rack_of = {broker.id: broker.rack for broker in brokers}
    load = {broker.id: 0 for broker in others}
    full_rows = []
    for row in rows:
        filled = list(row)
        while len(filled) < num_replicas:
            racks = [rack_of[broker] for broker in filled]
            best = min(
                (broker for broker in others if broker.id not in filled),
                key=lambda broker: (broker.fenced, racks.count(broker.rack), load[broker.id], broker.id),
            )
            load[best.id] += 1
            filled.append(best.id)
        full_rows.append(filled)
    return full_rows


def parse_state(text: str, where: str) -> BrokerState:
    """Parse a state file's text.

    Raises: PlacerSettingsError: not a JSON object, unknown keys, wrong values, or a broker that is new and leaving.

    >>> parse_state('{"new": [7]}', "brokers.json").new
    frozenset({7})
    """
    try:
        said = json.loads(text)
    except json.JSONDecodeError as error:
        raise PlacerSettingsError(f"{where}, line {error.lineno} column {error.colno}: {error.msg}") from None
    if not isinstance(said, dict):
        raise PlacerSettingsError(f"{where}: expected an object with {', '.join(KEYS)}, got {json.dumps(said)[:40]}")
    unknown = sorted(set(said) - set(KEYS))
    if unknown:
        raise PlacerSettingsError(f"{where}: unknown key {unknown[0]!r}, but keys are {', '.join(KEYS)}")
    state = BrokerState(
        new=broker_ids(said, "new", where),
        decommissioned=broker_ids(said, "decommissioned", where),
        used_capacity=capacities(said.get("used_capacity", {}), where),
        capacity_limit=share(said.get("capacity_limit", DEFAULT_CAPACITY_LIMIT), f"{where}: capacity_limit"),
    )
    both = sorted(state.new & state.decommissioned)
    if both:
        raise PlacerSettingsError(f"{where}: broker {both[0]} is both new and decommissioned")
    return state


def broker_ids(said: Mapping[str, Any], key: str, where: str) -> frozenset[int]:
    """The list of broker ids under a key."""
    ids = said.get(key, [])
    if not isinstance(ids, list) or not all(type(broker) is int for broker in ids):
        raise PlacerSettingsError(f"{where}: {key}: expected a list of broker ids, got {json.dumps(ids)}")
    return frozenset(ids)


def capacities(said: object, where: str) -> dict[int, float]:
    """The used capacity of each broker."""
    if not isinstance(said, dict):
        raise PlacerSettingsError(f"{where}: used_capacity: expected an object by broker id, got {json.dumps(said)}")
    found = {}
    for broker, used in said.items():
        if not broker.isdecimal():
            raise PlacerSettingsError(f"{where}: used_capacity: expected a broker id as key, got {broker!r}")
        found[int(broker)] = share(used, f"{where}: used_capacity of broker {broker}")
    return found


def share(value: object, what: str) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise PlacerSettingsError(f"{what}: expected a share from 0 to 1, got {json.dumps(value)}")
    return float(value)
