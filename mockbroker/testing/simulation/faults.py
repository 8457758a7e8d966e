"""What goes wrong in a storm, by name. A fault begins at its time, draws what it meets, and ends when it is told to.

Each gives what undoes it; undone twice, or after a restart of the cluster, nothing more happens.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any

from mockbroker.state.errors import ApiError
from mockbroker.state.replicas.network import CONTROLLER

if TYPE_CHECKING:
    from mockbroker.testing.simulation.run import LiveClient, SimulationRun

Undo = Callable[[], None]
Begin = Callable[["SimulationRun", Random], Undo]
MAX_CLOCK_JUMP_MS = 20 * 60_000
INJECTED: tuple[tuple[str, str], ...] = (
    ("Produce", "NOT_LEADER_OR_FOLLOWER"),
    ("Produce", "NOT_ENOUGH_REPLICAS"),
    ("Fetch", "NOT_LEADER_OR_FOLLOWER"),
    ("Metadata", "LEADER_NOT_AVAILABLE"),
    ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
    ("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("Heartbeat", "REBALANCE_IN_PROGRESS"),
    ("OffsetCommit", "NOT_COORDINATOR"),
    ("InitProducerId", "COORDINATOR_NOT_AVAILABLE"),
    ("EndTxn", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("TxnOffsetCommit", "COORDINATOR_NOT_AVAILABLE"),
)


def nothing() -> None:
    """What has no end needs no mending."""


def some_broker(run: SimulationRun, rng: Random) -> int:
    return rng.randrange(len(run.plan.racks))


def some_partition(run: SimulationRun, rng: Random) -> Any:
    """A partition of one of the plan's topics; None where there is none."""
    names = sorted(topic.name for topic in run.plan.topics if topic.name in run.cluster.state.topics)
    if not names:
        return None
    return rng.choice(run.cluster.state.topics[rng.choice(names)].partitions)


def some_client(live: Sequence[LiveClient], rng: Random) -> LiveClient:
    """One of these clients, more often one that others may take the place of: a member of a group."""
    members = [one for one in live if hasattr(one.work, "membership")]
    return rng.choice(members if members and rng.random() < 0.6 else live)


def stop_broker(run: SimulationRun, rng: Random) -> Undo:
    broker = some_broker(run, rng)
    run.world.tell(f"broker {broker} is stopped")
    run.cluster.stop_broker(broker)
    return lambda: start(run, broker)


def crash_broker(run: SimulationRun, rng: Random) -> Undo:
    broker = some_broker(run, rng)
    run.world.tell(f"broker {broker} crashes")
    run.cluster.crash_broker(broker)
    return lambda: start(run, broker)


def start(run: SimulationRun, broker: int) -> None:
    if not run.cluster.state.brokers[broker].is_running:
        run.world.tell(f"broker {broker} starts")
        run.cluster.start_broker(broker)


def crash_leader(run: SimulationRun, rng: Random) -> Undo:
    partition = some_partition(run, rng)
    if partition is None or partition.leader < 0:
        return nothing
    broker = partition.leader
    run.world.tell(f"broker {broker}, which leads {partition.topic.name}-{partition.index}, crashes")
    run.cluster.crash_broker(broker)
    return lambda: start(run, broker)


def stop_rack(run: SimulationRun, rng: Random) -> Undo:
    rack = rng.choice(sorted(set(run.plan.racks)))
    brokers = [broker for broker, of in enumerate(run.plan.racks) if of == rack]
    crashes = rng.random() < 0.5
    run.world.tell(f"rack {rack} {'loses its power' if crashes else 'is stopped'}: brokers {brokers}")
    for broker in brokers:
        (run.cluster.crash_broker if crashes else run.cluster.stop_broker)(broker)

    def undo() -> None:
        for broker in brokers:
            start(run, broker)

    return undo


def fence_broker(run: SimulationRun, rng: Random) -> Undo:
    cluster = run.cluster
    texts = ("broker {} is fenced", "broker {} is fenced no longer")
    return disable_broker(run, some_broker(run, rng), cluster.fence_broker, cluster.unfence_broker, texts)


def fill_disk(run: SimulationRun, rng: Random) -> Undo:
    cluster = run.cluster
    texts = ("the disk of broker {} is full", "there is room on the disk of broker {} again")
    return disable_broker(run, some_broker(run, rng), cluster.fill_disk, cluster.empty_disk, texts)


def disable_broker(
    run: SimulationRun, broker: int, begin: Callable[[int], object], end: Callable[[int], bool], texts: tuple[str, str]
) -> Undo:
    """Do to a broker in KRaft mode what ``end`` takes back, and tell both; ``end`` says whether there was anything."""
    if not run.cluster.state.support.is_kraft:
        return nothing
    run.world.tell(texts[0].format(broker))
    begin(broker)

    def undo() -> None:
        if end(broker):
            run.world.tell(texts[1].format(broker))

    return undo


def isolate_broker(run: SimulationRun, rng: Random) -> Undo:
    broker = some_broker(run, rng)
    run.world.tell(f"broker {broker} reaches no other broker and no controller")
    run.cluster.isolate_broker(broker)
    return lambda: rejoin(run, broker)


def rejoin(run: SimulationRun, broker: int) -> None:
    run.world.tell(f"broker {broker} reaches the others again")
    run.cluster.rejoin_broker(broker)


def cut_link(run: SimulationRun, rng: Random) -> Undo:
    one, other = rng.sample([CONTROLLER, *range(len(run.plan.racks))], 2)
    names = " and ".join("the controller" if node == CONTROLLER else f"broker {node}" for node in (one, other))
    run.world.tell(f"{names} no longer reach each other")
    run.cluster.cut_link(one, other)

    def undo() -> None:
        run.world.tell(f"{names} reach each other again")
        run.cluster.mend_link(one, other)

    return undo


def lag(run: SimulationRun, rng: Random) -> Undo:
    broker, records = some_broker(run, rng), rng.randint(1, 8)
    run.world.tell(f"the followers on broker {broker} are {records} records behind")
    run.cluster.set_follower_lag(broker, records)

    def undo() -> None:
        run.world.tell(f"the followers on broker {broker} are behind no longer")
        run.cluster.set_follower_lag(broker, 0)

    return undo


def slow_link(run: SimulationRun, rng: Random) -> Undo:
    one, other = rng.sample(sorted(set(run.plan.racks)), 2)
    effect = rng.choice([{"delay_ms": 150, "jitter_ms": 200}, {"delay_ms": 900}, {"bandwidth": "2kB/s"}])
    return set_fault(run, {"link": {"between": [one, other]}, "effect": effect})


def cut_racks(run: SimulationRun, rng: Random) -> Undo:
    one, other = rng.sample(sorted(set(run.plan.racks)), 2)
    link: Mapping[str, Any] = rng.choice([{"between": [one, other]}, {"from": one, "to": other}])
    return set_fault(run, {"link": link, "effect": {"cut": True}})


def inject_error(run: SimulationRun, rng: Random) -> Undo:
    api, error = rng.choice(INJECTED)
    when = rng.choice([{"probability": 0.5}, {"every": 2}, {"times": 3}])
    return set_fault(run, {"match": {"api": api}, "effect": {"error": error}, "when": when})


def disturb_calls(run: SimulationRun, rng: Random) -> Undo:
    effect = rng.choice([{"disconnect": True}, {"silence": True}, {"delay_ms": 700}, {"throttle_ms": 300}])
    match = {"broker": some_broker(run, rng)}
    return set_fault(run, {"match": match, "effect": effect, "when": {"probability": 0.3}})


def set_fault(run: SimulationRun, fault: dict[str, Any]) -> Undo:
    faults = run.cluster.faults
    handle = faults.add(fault)
    run.world.tell(f"{handle.id} is set: {json.dumps(fault)}")

    def undo() -> None:
        if handle.is_active:
            run.world.tell(f"{handle.id} is taken back")
            handle.remove()

    return undo


def break_connections(run: SimulationRun, rng: Random) -> Undo:
    share = rng.choice([0.3, 1.0])
    count = run.world.network.break_where(lambda connection: rng.random() < share)
    run.world.tell(f"{count} connections of clients break")
    return nothing


def silence(run: SimulationRun, rng: Random) -> Undo:
    rack, broker = rng.choice(sorted(set(run.plan.racks))), some_broker(run, rng)
    run.world.tell(f"what clients in rack {rack} and broker {broker} send each other is lost")
    run.world.network.silent[rack, broker] = None

    def undo() -> None:
        run.world.tell(f"clients in rack {rack} and broker {broker} hear each other again")
        run.world.network.silent.pop((rack, broker), None)

    return undo


def freeze_client(run: SimulationRun, rng: Random) -> Undo:
    live = run.live_clients()
    if not live:
        return nothing
    name, ms = some_client(live, rng).client.name, rng.choice([2_000, 9_000, 14_000])
    run.world.tell(f"{name} is frozen for {ms} ms")
    run.world.network.freeze(name, ms)
    return nothing


def restart_client(run: SimulationRun, rng: Random) -> Undo:
    live = [one for one in run.live_clients() if run.may_restart(one)]
    if live:
        one = rng.choice(live)
        run.world.tell(f"{one.client.name} is ended and started again")
        run.replace(one)
    return nothing


def replace_frozen_client(run: SimulationRun, rng: Random) -> Undo:
    """Start a client's successor while it is frozen: once it thaws it has to be fenced."""
    live = [one for one in run.live_clients() if run.may_restart(one)]
    if live:
        one, ms = some_client(live, rng), rng.choice([3_000, 9_000])
        run.world.tell(f"{one.client.name} is frozen for {ms} ms, and its successor starts meanwhile")
        run.world.network.freeze(one.client.name, ms)
        run.replace(one, is_frozen=True)
    return nothing


def move_leaders(run: SimulationRun, rng: Random) -> Undo:
    for _ in range(3):
        partition = some_partition(run, rng)
        if partition is not None and partition.replicas:
            broker, name = rng.choice(partition.replicas), f"{partition.topic.name}-{partition.index}"
            with suppress(ApiError):
                if run.cluster.move_leader(partition.topic.name, partition.index, broker):
                    run.world.tell(f"broker {broker} leads {name} from now on")
    return nothing


def move_coordinator(run: SimulationRun, rng: Random) -> Undo:
    key, broker = rng.choice(run.coordinated_keys()), some_broker(run, rng)
    with suppress(ApiError):
        run.cluster.move_coordinator(key, broker)
        run.world.tell(f"broker {broker} coordinates {key} from now on")
    return nothing


def shrink_isr(run: SimulationRun, rng: Random) -> Undo:
    partition = some_partition(run, rng)
    if partition is None:
        return nothing
    others = [replica for replica in partition.replicas if replica != partition.leader]
    out = rng.sample(others, min(len(others), rng.randint(1, 2)))
    topic, index = partition.topic.name, partition.index
    with suppress(ApiError):
        run.cluster.shrink_isr(topic, index, out)
        run.world.tell(f"brokers {out} fall out of the ISR of {topic}-{index}")

    def undo() -> None:
        run.world.tell(f"brokers {out} may be in the ISR of {topic}-{index} again")
        with suppress(ApiError):
            run.cluster.grow_isr(topic, index, out)

    return undo


def jump_clock(run: SimulationRun, rng: Random) -> Undo:
    ms = rng.randint(-MAX_CLOCK_JUMP_MS, MAX_CLOCK_JUMP_MS)
    run.world.tell(f"the brokers' wall clock jumps by {ms} ms")
    run.cluster.jump_clock(ms)
    return nothing


def restart_cluster(run: SimulationRun, rng: Random) -> Undo:
    run.world.tell("all brokers end at once, and start again from what is on disk")
    run.cluster.restart()
    return nothing


FAULTS: dict[str, Begin] = {
    "stop-broker": stop_broker,
    "crash-broker": crash_broker,
    "crash-leader": crash_leader,
    "stop-rack": stop_rack,
    "fence-broker": fence_broker,
    "isolate-broker": isolate_broker,
    "cut-link": cut_link,
    "cut-racks": cut_racks,
    "lag": lag,
    "slow-link": slow_link,
    "inject-error": inject_error,
    "disturb-calls": disturb_calls,
    "break-connections": break_connections,
    "silence": silence,
    "freeze-client": freeze_client,
    "restart-client": restart_client,
    "replace-frozen-client": replace_frozen_client,
    "move-leaders": move_leaders,
    "move-coordinator": move_coordinator,
    "shrink-isr": shrink_isr,
    "fill-disk": fill_disk,
    "jump-clock": jump_clock,
    "restart-cluster": restart_cluster,
}
