"""Faults of links beyond calls: existing connections, and followers.

A link joins two racks: the fetches of followers from leaders, and the connections of clients whose rack is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mockbroker.core.faults.effects import Slowing
from mockbroker.core.faults.fault import ALWAYS, EVERY_CALL
from mockbroker.core.faults.matching import link_joins
from mockbroker.state.replicas.network import LinkCondition

if TYPE_CHECKING:
    from mockbroker.core.faults.faults import FaultHandle
    from mockbroker.core.path import CallPath
    from mockbroker.session import Session
    from mockbroker.state.cluster import Cluster

Pair = tuple[int, int]
Conditions = dict[Pair, tuple[tuple["FaultHandle", ...], LinkCondition]]


def acts_on_followers(handle: FaultHandle) -> bool:
    """True if a fault also affects followers: it applies to the whole link, always."""
    fault = handle.fault
    return bool(fault.link) and (fault.match, fault.when) == (EVERY_CALL, ALWAYS) and fault.effect.reaches_followers


def conditions_of(handles: Iterable[FaultHandle], cluster: Cluster, before: Conditions) -> Conditions:
    """The conditions of links under faults, by the brokers of the follower and of its leader.

    Args:
        before: the effective conditions; unchanged ones are reused, which retains batches in transit.
    """
    acting: dict[Pair, list[FaultHandle]] = {}
    for handle in handles:
        if not acts_on_followers(handle):
            continue
        joins = link_joins(handle.fault)
        for follower in cluster.brokers.values():
            for leader in cluster.brokers.values():
                if follower is not leader and joins(follower.rack, leader.rack):
                    acting.setdefault((follower.id, leader.id), []).append(handle)
    found: Conditions = {}
    for pair, several in acting.items():
        key = tuple(several)
        known = before.get(pair)
        found[pair] = known if known is not None and known[0] == key else (key, condition_of(key))
    return found


def condition_of(handles: tuple[FaultHandle, ...]) -> LinkCondition:
    """The state of a link under these faults."""
    slowing = [(handle, handle.fault.effect) for handle in handles if isinstance(handle.fault.effect, Slowing)]
    is_cut = len(slowing) < len(handles)

    def arrival(size_bytes: int, now_ms: int) -> int:
        arrives_ms = now_ms
        for handle, effect in slowing:
            arrives_ms = effect.arrival(handle, size_bytes, now_ms, arrives_ms)
        return arrives_ms

    def on_batch() -> None:
        for handle in handles:
            handle.count()

    return LinkCondition(is_cut, None if is_cut else arrival, on_batch)


def cut_connections(handle: FaultHandle, path: CallPath, now_ms: int) -> None:
    """Close the connections of clients over a link that was cut, with the calls that wait on them."""
    joins = link_joins(handle.fault)
    reason = f"fault {handle.id}: the link {handle.fault.link} is cut"

    def is_over_link(session: Session) -> bool:
        return joins(session.rack, session.broker.rack)

    for call in path.parked_calls():
        if is_over_link(call.session):
            handle.count()
            call.faults += (handle.id,)
            path.close(call, reason, now_ms)
    for connection in list(path.connections):
        if connection.closed is None and is_over_link(connection.session):
            handle.count()
            connection.end(reason)
