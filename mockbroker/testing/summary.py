"""The events of a cluster while a test ran, short enough to be read under its failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kafka_rack.plurals import counted
from mockbroker.core.journal.assertions import call_line, listed

if TYPE_CHECKING:
    from mockbroker.adapters.blocking import BlockingCluster
    from mockbroker.adapters.served_cluster import ServedCluster

MAX_BROKERS, MAX_FAULTS, MAX_CALLS = 12, 8, 12
MAX_WIDTH = 200
CONTROLLER = -1


def summary_of(cluster: BlockingCluster[ServedCluster], mark: int = 0) -> str:
    """The cluster now, and its calls since a mark of its journal."""
    return cluster.run(lambda running: "\n".join(clipped(lines_of(running, mark))))


def lines_of(cluster: ServedCluster, mark: int) -> Iterator[str]:
    entries = cluster.journal.since(mark)
    yield from broker_lines(cluster)
    yield ""
    if entries:
        yield "who was served by which rack"
        yield from listed([(entry, entry.shares) for entry in entries], reasons=False).splitlines()[1:]
    else:
        yield "no calls came while the test ran"
    handles = {handle.id: handle for handle in [*cluster.faults, *cluster.faults.never_fired()]}
    if handles:
        yield ""
        yield "faults"
        yield from (f"  {handle.explain()}" for handle in list(handles.values())[:MAX_FAULTS])
        if len(handles) > MAX_FAULTS:
            yield f"  and {len(handles) - MAX_FAULTS} more"
    if entries:
        yield ""
        yield f"the last of {counted(len(entries), 'call')}"
        yield from (f"  {call_line(entry)}" for entry in entries[-MAX_CALLS:])


def broker_lines(cluster: ServedCluster) -> Iterator[str]:
    """Each broker with its rack, and what is wrong with it."""
    yield "brokers"
    brokers = list(cluster.state.brokers.values())
    if len(brokers) > MAX_BROKERS:
        impaired = [broker for broker in brokers if condition(cluster, broker.id) != "up"]
        yield f"  {len(brokers) - len(impaired)} of {len(brokers)} are up"
        brokers = impaired
    by_rack: dict[str, list[str]] = {}
    for broker in brokers[:MAX_BROKERS]:
        rack = "without a rack" if broker.rack is None else f"rack {broker.rack}"
        by_rack.setdefault(rack, []).append(f"{broker.id} {condition(cluster, broker.id)}")
    for rack, found in sorted(by_rack.items()):
        yield f"  {rack}: {', '.join(found)}"


def condition(cluster: ServedCluster, broker_id: int) -> str:
    """``up``, or what keeps a broker from serving as it should."""
    state = cluster.state
    broker = state.brokers[broker_id]
    if state.is_mirror:
        return "stopped here" if not broker.is_running else "up" if broker.online else "away"
    if not broker.is_running:
        return "down" if not broker.online else "crashed"
    found = []
    if broker_id in state.cluster_control.fenced:
        found.append("fenced")
    elif not broker.online:
        found.append("taken for gone")
    if broker_id in state.cluster_control.full_disks:
        found.append("disk full")
    cut = [other for other in (CONTROLLER, *state.brokers) if not state.network.connects(broker_id, other)]
    if cut:
        found.append("cut off from " + ", ".join("the controller" if one == CONTROLLER else str(one) for one in cut))
    if state.replication.lags.get(broker_id):
        found.append(f"{state.replication.lags[broker_id]} records behind")
    return f"up, {' and '.join(found)}," if found else "up"


def clipped(lines: Iterable[str]) -> Iterator[str]:
    """Lines that are not too long.

    >>> [len(line) for line in clipped(["x" * 1000, "y"])]
    [200, 1]
    """
    for line in lines:
        yield line if len(line) <= MAX_WIDTH else f"{line[: MAX_WIDTH - 3]}..."
