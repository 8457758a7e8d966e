"""``GET /metrics`` in Prometheus' text format, and ``GET /traffic``, the same sums with what they cost.

Labels are bounded: racks, APIs and errors that exist, and the hundred busiest clients; the others are added up.
Source: Prometheus' exposition formats, text-based format 0.0.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from mockbroker.adapters.control.cluster_json import is_up
from mockbroker.adapters.control.operations import ControlCall, operation

if TYPE_CHECKING:
    from mockbroker.adapters.served_cluster import ServedCluster

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MAX_CLIENTS = 100
OTHERS = "(others)"
LOCALITIES = ("local", "cross", "unknown")
ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
Labels = Mapping[str, object]


class Exposition:
    """Metrics as text, each with its help and type in front.

    >>> text = Exposition()
    >>> text.add("kafka_rack_up", "gauge", "Whether it is.", [({"rack": 'a"b'}, 1)])
    >>> print(text, end="")
    # HELP kafka_rack_up Whether it is.
    # TYPE kafka_rack_up gauge
    kafka_rack_up{rack="a\\"b"} 1
    """

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, name: str, kind: str, meaning: str, samples: Iterable[tuple[Labels, float]]) -> None:
        """One metric; samples whose labels are equal are added up."""
        sums: dict[str, float] = {}
        for labels, value in samples:
            text = ",".join(f'{label}="{str(one).translate(ESCAPES)}"' for label, one in labels.items())
            shown = f"{name}{{{text}}}" if text else name
            sums[shown] = sums.get(shown, 0) + value
        self._lines += [f"# HELP {name} {meaning}\n# TYPE {name} {kind}\n"]
        self._lines += [f"{shown} {value}\n" for shown, value in sums.items()]

    def __str__(self) -> str:
        return "".join(self._lines)


@operation("GET", "/metrics", "Metrics for Prometheus", tag="requests", media_type="text/plain")
async def metrics(call: ControlCall) -> Any:
    """Bytes between racks, clients' locality, calls by API and error, calls that wait, connections, brokers."""
    text = Exposition()
    add_cluster(text, call.cluster)
    add_traffic(text, call.cluster.traffic.snapshot(now_ms=call.cluster.now_ms()))
    return Response(str(text).encode(errors="replace"), media_type=None, headers={"content-type": MEDIA_TYPE})


@operation("GET", "/traffic", "Bytes between racks and what they cost", tag="requests", answer=dict[str, Any])
async def traffic(call: ControlCall) -> Any:
    """Since the start or a reset: the headline, what is avoidable, flows by rack, crossings, calls by API, clients."""
    return call.cluster.traffic.snapshot(now_ms=call.cluster.now_ms())


def add_cluster(text: Exposition, cluster: ServedCluster) -> None:
    """Add counts of brokers, partitions, groups, faults, connections, and calls that wait."""
    state, journal = cluster.state, cluster.journal
    brokers = [({"broker": one.id, "rack": one.rack or ""}, one) for one in state.brokers.values()]
    up = [(labels, int(is_up(state, one))) for labels, one in brokers]
    text.add("kafka_rack_broker_up", "gauge", "Whether the controller counts a broker as up.", up)
    connections = cluster.connections()
    opened = [(labels, connections.get(one.id, 0)) for labels, one in brokers]
    text.add("kafka_rack_connections", "gauge", "Open connections of clients.", opened)
    topics = [topic for topic in state.topics.values() if not topic.is_internal]
    parts = [one for topic in topics if not topic.diskless for one in topic.partitions]
    out_of_sync = sum(len(one.isr) < len(one.replicas) for one in parts)
    fired = sum(one.fired for one in cluster.faults)
    gauges = [
        ("parked_calls", "Calls that wait for an answer.", cluster.engine.parked_calls),
        ("topics", "Topics, without internal ones.", len(topics)),
        ("partitions", "Partitions that have replicas.", len(parts)),
        ("partitions_without_leader", "Partitions without a leader.", sum(one.leader < 0 for one in parts)),
        ("partitions_under_replicated", "Partitions with replicas out of sync.", out_of_sync),
        ("faults", "Faults that are set.", len(cluster.faults)),
        ("faults_fired_total", "Calls on which these faults acted.", fired),
        ("journal_entries", "Calls in the journal.", len(journal)),
        ("journal_dropped_total", "Calls that the journal dropped.", journal.dropped),
    ]
    if not state.is_mirror:  # a real cluster does not report it
        size = sum(one.log.size_bytes for topic in state.topics.values() for one in topic.partitions)
        gauges.append(("record_bytes", "Records of all logs, each once.", size))
    memory = state.log_cleanup.memory
    if memory is not None:
        gauges += [
            ("record_bytes_limit", "The limit of these bytes.", memory.limit_bytes),
            ("record_bytes_dropped_total", "Records dropped because of the limit.", memory.dropped_bytes),
            ("producers_refused_total", "Produce requests refused because of the limit.", memory.refused),
        ]
    for name, meaning, value in gauges:
        kind = "counter" if name.endswith("_total") else "gauge"
        text.add(f"kafka_rack_{name}", kind, meaning, [({}, value)])


FLOW_LABELS = ("client_rack", "broker", "broker_rack", "category", "locality", "reason", "avoidable")


def add_traffic(text: Exposition, snapshot: Mapping[str, Any]) -> None:
    """Add the traffic between racks, by client, and its results."""
    pairs = [
        ({name: "" if one[name] is None else str(one[name]) for name in FLOW_LABELS}, one) for one in snapshot["flows"]
    ]
    text.add(
        "kafka_rack_bytes_total", "counter", "Bytes between racks: record batches by kind, all else as other.",
        [(labels, one["bytes"]) for labels, one in pairs],
    )  # fmt: skip
    text.add(
        "kafka_rack_pair_calls_total", "counter", "Calls between racks.",
        [(labels, one["calls"]) for labels, one in pairs],
    )  # fmt: skip
    text.add(
        "kafka_rack_calls_total", "counter", "Calls by API and by the error in their answer.",
        [({"api": one["api"], "error": one["error"]}, one["calls"]) for one in snapshot["apis"]],
    )  # fmt: skip
    busiest = sorted(snapshot["clients"], key=lambda one: -one["calls"])
    rows: list[tuple[Labels, float]] = []
    for place, one in enumerate(busiest):
        is_other = one["is_other"] or place >= MAX_CLIENTS
        client = {
            "client_id": OTHERS if is_other else one["client_id"] or "",
            "client_rack": "" if is_other else one["client_rack"] or "",
        }
        rows += [({**client, "locality": locality}, one[f"{locality}_bytes"]) for locality in LOCALITIES]
    text.add("kafka_rack_client_bytes_total", "counter", "Record batches of the busiest clients by locality.", rows)
    text.add(
        "kafka_rack_cost_total", "counter", "What crossing racks has cost until now.",
        [({**labels, "currency": snapshot["currency"]}, float(one["cost"])) for labels, one in pairs],
    )  # fmt: skip
