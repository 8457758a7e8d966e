"""The cluster as a whole: looking at it, its links, its clock, its end."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from mockbroker.adapters.control.cluster_json import ClusterView, cluster_of
from mockbroker.adapters.control.operations import INTERNAL, ControlCall, operation
from mockbroker.adapters.control.problems import bad_request, conflict
from mockbroker.state.replicas.network import CONTROLLER

MAX_JUMP_MS = 10**14  # some three thousand years
Node = Annotated[int, msgspec.Meta(ge=CONTROLLER)]


class Health(msgspec.Struct):
    """The cluster runs."""

    status: str


class Link(msgspec.Struct, forbid_unknown_fields=True):
    """Two brokers by id; -1 is the controller."""

    between: tuple[Node, Node]


class LinkChanged(msgspec.Struct):
    """The ends of the link."""

    between: tuple[int, int]


class Jump(msgspec.Struct, forbid_unknown_fields=True):
    """How far the wall clock goes forward, or back where it is negative."""

    jump_ms: Annotated[int, msgspec.Meta(ge=-MAX_JUMP_MS, le=MAX_JUMP_MS)]


class ClockMoved(msgspec.Struct):
    """How far the wall clock is from where it would be."""

    clock_ms: int


@operation("GET", "/healthz", "Whether the cluster serves", tag="cluster", answer=Health)
async def health(_: ControlCall) -> Any:
    """Answers as soon as every broker accepts connections."""
    return Health("ok")


@operation(
    "GET",
    "/cluster",
    "Brokers, racks, topics, leaders, ISRs, offsets",
    tag="cluster",
    answer=ClusterView,
    parameters=(INTERNAL,),
)
async def cluster(call: ControlCall) -> Any:
    """Brokers, racks, topics and settings; Kafka's internal topics with ``internal=true``."""
    return cluster_of(call.state, with_internal=call.with_internal())


@operation(
    "POST", "/links/cut", "Cut a link between two brokers", tag="links", body=Link, answer=LinkChanged, statuses=(404,)
)
async def cut_link(call: ControlCall) -> Any:
    """Both stay up, and clients reach both: followers fall out of ISRs, a broker without its controller is fenced."""
    call.cluster.cut_link(*link_of(call))
    return LinkChanged(call.body.between)


@operation("POST", "/links/restore", "Restore a link", tag="links", body=Link, answer=LinkChanged, statuses=(404,))
async def restore_link(call: ControlCall) -> Any:
    """The two reach each other again."""
    call.cluster.restore_link(*link_of(call))
    return LinkChanged(call.body.between)


@operation("POST", "/clock", "Move the wall clock", tag="cluster", body=Jump, answer=ClockMoved)
async def jump_clock(call: ControlCall) -> Any:
    """LogAppendTime and retention use it; sessions and timeouts do not."""
    call.cluster.jump_clock(call.body.jump_ms)
    return ClockMoved(call.state.clock.offset_ms)


class Reset(msgspec.Struct):
    """The cluster is as it was started."""

    status: str


@operation("POST", "/reset", "Back to how it was started", tag="cluster", answer=Reset, statuses=(409,))
async def reset(call: ControlCall) -> Any:
    """Its topics with their records of then, no groups, no faults, an empty journal, all brokers up, the same ports.

    Connections of clients are closed: begin with new clients. A cluster with a data directory is not reset.
    """
    try:
        await call.cluster.reset()
    except ValueError as error:  # it keeps its data
        raise conflict(str(error)) from None
    return Reset("as started")


class ShuttingDown(msgspec.Struct):
    """The cluster is about to end."""

    status: str


@operation("POST", "/shutdown", "End the cluster", tag="cluster", status=202, answer=ShuttingDown, statuses=(409,))
async def shutdown(call: ControlCall) -> Any:
    """`kafka-rack serve` then ends with exit code 0."""
    if call.server.on_shutdown is None:
        raise conflict("this cluster ends with the program that runs it, and not by this call")
    call.server.on_shutdown()
    return ShuttingDown("shutting down")


def link_of(call: ControlCall) -> tuple[int, int]:
    """The ends of the link that the body names. Raises ControlProblem: 400 for one that has no two ends."""
    first, second = call.body.between
    if first == second:
        raise bad_request(f"between: expected two brokers, got {first} twice", field="between")
    return first, second
