"""The events of a cluster while a test ran, short enough to be read under its failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kafka_rack.locality.amounts import bytes_text
from kafka_rack.plurals import counted

if TYPE_CHECKING:
    from mockbroker.adapters.blocking import BlockingCluster
    from mockbroker.adapters.served_cluster import ServedCluster
    from mockbroker.core.journal import JournalEntry

MAX_BROKERS, MAX_ROUTES, MAX_FAULTS, MAX_CALLS = 12, 10, 8, 12
MAX_WIDTH = 200
CONTROLLER = -1


def summary_of(cluster: BlockingCluster[ServedCluster], mark: int = 0) -> str:
    """The cluster now, and its calls since a mark of its journal."""
    return cluster.run(lambda running: "\n".join(clipped(lines_of(running, mark))))


def lines_of(cluster: ServedCluster, mark: int) -> Iterator[str]:
    entries = cluster.journal.since(mark)
    yield from broker_lines(cluster)
    yield ""
    yield from route_lines(entries)
    handles = {handle.id: handle for handle in [*cluster.faults, *cluster.faults.never_fired()]}
    if handles:
        yield ""
        yield "faults"
        yield from rows((handle.explain() for handle in handles.values()), MAX_FAULTS)
    if entries:
        yield ""
        yield f"the last of {len(entries)} calls, in ms before the end of the test"
        end_ms = cluster.now_ms()
        for entry in entries[-MAX_CALLS:]:
            yield f"  {call_in_words(entry, end_ms)}"


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


def route_lines(entries: Sequence[JournalEntry]) -> Iterator[str]:
    """The racks that served each client, most bytes first."""
    if not entries:
        yield "no calls came while the test ran"
        return
    calls: dict[tuple[str, str, str], int] = {}
    size: dict[tuple[str, str, str], int] = {}
    for entry in entries:
        key = (client_in_words(entry), "no rack" if entry.rack is None else f"rack {entry.rack}", verdict(entry))
        calls[key] = calls.get(key, 0) + 1
        size[key] = size.get(key, 0) + entry.bytes
    yield "who was served by which rack"
    found = sorted(calls, key=lambda key: (-size[key], key))
    yield from rows(
        (f"{key[0]} <- {key[1]}: {counted(calls[key], 'call')}, {bytes_text(size[key])}, {key[2]}" for key in found),
        MAX_ROUTES,
    )


def call_in_words(entry: JournalEntry, end_ms: int) -> str:
    """``-12 reader (rack a) Fetch v17 -> broker 1 (rack b) orders-0: 1.2 KiB in 3 ms``, and what was wrong with it."""
    rack = "no rack" if entry.rack is None else f"rack {entry.rack}"
    named = [name + "".join(f"-{one}" for one in some[:1]) for name, some in list(entry.topics.items())[:2]]
    more = sum(max(1, len(some)) for some in entry.topics.values()) - len(named)
    subjects = " ".join([*named, *([f"+{more}"] if more > 0 else []), *entry.groups[:1]])
    told = [*entry.errors, *(f"fault {one}" for one in entry.faults), *([entry.ending] if entry.reason else [])]
    api = f"{entry.api} v{entry.version}" if entry.api else "no request"
    return (
        f"{entry.at_ms - end_ms:>7} {client_in_words(entry)} {api} -> broker {entry.broker_id} ({rack})"
        f"{' ' + subjects if subjects else ''}: {bytes_text(entry.bytes)} in {entry.latency_ms} ms"
        f"{', ' if told else ''}{', '.join(told)}"
    )


def client_in_words(entry: JournalEntry) -> str:
    rack = "rack unknown" if entry.client_rack is None else f"rack {entry.client_rack}"
    return f"{entry.client_id or entry.client_address} ({rack})"


def verdict(entry: JournalEntry) -> str:
    if entry.locality != "cross" or entry.avoidable is None:
        return entry.locality
    from kafka_rack.locality.reasons import AVOIDABLE_WORDS

    return f"cross, {AVOIDABLE_WORDS[entry.avoidable]}"  # type: ignore[index]


def rows(lines: Iterable[str], most: int) -> Iterator[str]:
    """The first lines, indented, and how many are left."""
    found = list(lines)
    yield from (f"  {line}" for line in found[:most])
    if len(found) > most:
        yield f"  and {len(found) - most} more"


def clipped(lines: Iterable[str]) -> Iterator[str]:
    """Lines that are not too long.

    >>> [len(line) for line in clipped(["x" * 1000, "y"])]
    [200, 1]
    """
    for line in lines:
        yield line if len(line) <= MAX_WIDTH else f"{line[: MAX_WIDTH - 3]}..."
