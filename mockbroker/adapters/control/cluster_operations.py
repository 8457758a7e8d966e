"""Operations on the whole cluster: its state, reset and end."""

from __future__ import annotations

from typing import Any

import msgspec

from mockbroker.adapters.control.cluster_json import ClusterView, cluster_of
from mockbroker.adapters.control.operations import INTERNAL, ControlCall, operation
from mockbroker.adapters.control.problems import conflict


class ClusterStatus(msgspec.Struct):
    """The state of the cluster, in words."""

    status: str


@operation("GET", "/healthz", "Whether the cluster serves", answer=ClusterStatus)
async def health(_: ControlCall) -> Any:
    """Answers as soon as every broker accepts connections."""
    return ClusterStatus("ok")


@operation(
    "GET", "/cluster", "Brokers, racks, topics, leaders, ISRs, offsets", answer=ClusterView, parameters=(INTERNAL,)
)
async def cluster(call: ControlCall) -> Any:
    """Brokers, racks, topics and settings; Kafka's internal topics with ``internal=true``."""
    return cluster_of(call.state, with_internal=call.with_internal())


@operation("POST", "/reset", "Back to how it was started", answer=ClusterStatus, statuses=(409,))
async def reset(call: ControlCall) -> Any:
    """Its topics with their records of then, no groups, no faults, an empty journal, all brokers up, the same ports.

    Connections of clients are closed: begin with new clients. A cluster with a data directory is not reset.
    """
    try:
        await call.cluster.reset()
    except ValueError as error:  # it keeps its data
        raise conflict(str(error)) from None
    return ClusterStatus("as started")


@operation("POST", "/shutdown", "End the cluster", status=202, answer=ClusterStatus, statuses=(409,))
async def shutdown(call: ControlCall) -> Any:
    """`kafka-rack serve` then ends with exit code 0."""
    if call.server.on_shutdown is None:
        raise conflict("this cluster ends with the program that runs it, and not by this call")
    call.server.on_shutdown()
    return ClusterStatus("shutting down")
