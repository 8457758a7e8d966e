"""``GET /metrics`` in Prometheus' text format, and ``GET /traffic``, the same sums with what they cost.

Labels are bounded: racks, APIs and errors that exist, and the hundred busiest clients; the others are added up.
Source: Prometheus' exposition formats, text-based format 0.0.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from mockbroker.adapters.control.cluster_json import is_up
from mockbroker.adapters.control.operations import ControlCall, operation
from mockbroker.core.traffic import OTHERS
from mockbroker.state.logs.log import UNBOUNDED

if TYPE_CHECKING:
    from mockbroker.adapters.served_cluster import ServedCluster

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MAX_CLIENTS = 100
LOCALITIES = ("local", "cross", "unknown")
ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
FLOW_LABELS = ("client_rack", "broker", "broker_rack", "category", "locality", "reason", "avoidable")
Sample = tuple[Mapping[str, object], float]
Metric = tuple[str, str, Iterable[Sample]]
"""A name without ``kafka_rack_``, a meaning, and values by labels; counters end with ``_total``."""


def exposition(metrics: Iterable[Metric]) -> str:
    """Metrics as text, each with its help and type in front; samples whose labels are equal are added up.

    >>> print(exposition([("up", "Whether it is.", [({"rack": 'a"b'}, 1)])]), end="")
    # HELP kafka_rack_up Whether it is.
    # TYPE kafka_rack_up gauge
    kafka_rack_up{rack="a\\"b"} 1
    """
    lines = []
    for name, meaning, samples in metrics:
        metric, kind = f"kafka_rack_{name}", "counter" if name.endswith("_total") else "gauge"
        lines.append(f"# HELP {metric} {meaning}\n# TYPE {metric} {kind}\n")
        sums: dict[str, float] = {}
        for labels, value in samples:
            text = ",".join(f'{label}="{str(one).translate(ESCAPES)}"' for label, one in labels.items())
            shown = f"{metric}{{{text}}}" if text else metric
            sums[shown] = sums.get(shown, 0) + value
        lines += [f"{shown} {value}\n" for shown, value in sums.items()]
    return "".join(lines)


@operation("GET", "/metrics", "Metrics for Prometheus", media_type="text/plain")
async def metrics(call: ControlCall) -> Any:
    """Bytes between racks, clients' locality, calls by API and error, calls that wait, connections, brokers."""
    snapshot = call.cluster.traffic.snapshot(now_ms=call.cluster.now_ms())
    text = exposition([*cluster_metrics(call.cluster), *traffic_metrics(snapshot)])
    return Response(text.encode(errors="replace"), media_type=None, headers={"content-type": MEDIA_TYPE})


@operation("GET", "/traffic", "Bytes between racks and what they cost", answer=dict[str, Any])
async def traffic(call: ControlCall) -> Any:
    """Since the start or a reset: the headline, what is avoidable, flows by rack, crossings, calls by API, clients."""
    return call.cluster.traffic.snapshot(now_ms=call.cluster.now_ms())


def cluster_metrics(cluster: ServedCluster) -> Iterator[Metric]:
    """Counts of brokers, partitions, groups, faults, connections, and calls that wait."""
    state, journal, connections = cluster.state, cluster.journal, cluster.connections()
    brokers = [({"broker": one.id, "rack": one.rack or ""}, one) for one in state.brokers.values()]
    up = [(labels, int(is_up(state, one))) for labels, one in brokers]
    yield "broker_up", "Whether the controller counts a broker as up.", up
    opened = [(labels, connections.get(one.id, 0)) for labels, one in brokers]
    yield "connections", "Open connections of clients.", opened
    topics = [topic for topic in state.topics.values() if not topic.is_internal]
    parts = [one for topic in topics if not topic.diskless for one in topic.partitions]
    out_of_sync = sum(len(one.isr) < len(one.replicas) for one in parts)
    sums = [
        ("parked_calls", "Calls that wait for an answer.", cluster.engine.parked_calls),
        ("topics", "Topics, without internal ones.", len(topics)),
        ("partitions", "Partitions that have replicas.", len(parts)),
        ("partitions_without_leader", "Partitions without a leader.", sum(one.leader < 0 for one in parts)),
        ("partitions_under_replicated", "Partitions with replicas out of sync.", out_of_sync),
        ("faults", "Faults that are set.", len(cluster.faults)),
        ("faults_fired_total", "Calls on which these faults acted.", sum(one.fired for one in cluster.faults)),
        ("journal_entries", "Calls in the journal.", len(journal)),
        ("journal_dropped_total", "Calls that the journal dropped.", journal.dropped),
    ]
    if not state.is_mirror:  # a real cluster does not report it
        size = sum(one.log.size_bytes for topic in state.topics.values() for one in topic.partitions)
        sums.append(("record_bytes", "Records of all logs, each once.", size))
    memory = state.log_cleanup.memory
    if memory.limit_bytes != UNBOUNDED:
        sums += [
            ("record_bytes_limit", "The limit of these bytes.", memory.limit_bytes),
            ("record_bytes_dropped_total", "Records dropped because of the limit.", memory.dropped_bytes),
        ]
    for name, meaning, value in sums:
        yield name, meaning, [({}, value)]


def traffic_metrics(snapshot: Mapping[str, Any]) -> Iterator[Metric]:
    """The traffic between racks, by client, and its results."""
    flows = [({name: "" if one[name] is None else one[name] for name in FLOW_LABELS}, one) for one in snapshot["flows"]]
    sizes = [(labels, one["bytes"]) for labels, one in flows]
    yield "bytes_total", "Bytes between racks: record batches by kind, all else as other.", sizes
    yield "pair_calls_total", "Calls between racks.", [(labels, one["calls"]) for labels, one in flows]
    calls = [({"api": one["api"], "error": one["error"]}, one["calls"]) for one in snapshot["apis"]]
    yield "calls_total", "Calls by API and by the error in their answer.", calls
    rows: list[Sample] = []
    for place, one in enumerate(sorted(snapshot["clients"], key=lambda one: -one["calls"])):
        is_other = one["is_other"] or place >= MAX_CLIENTS
        client = {
            "client_id": OTHERS if is_other else one["client_id"] or "",
            "client_rack": "" if is_other else one["client_rack"] or "",
        }
        rows += [({**client, "locality": locality}, one[f"{locality}_bytes"]) for locality in LOCALITIES]
    yield "client_bytes_total", "Record batches of the busiest clients by locality.", rows
    costs = [({**labels, "currency": snapshot["currency"]}, float(one["cost"])) for labels, one in flows]
    yield "cost_total", "What crossing racks has cost until now.", costs
