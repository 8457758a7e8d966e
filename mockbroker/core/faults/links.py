"""What faults of links do beyond calls: to connections that are there already, and to followers.

A link joins two racks. Over it go the fetches of followers from leaders, and the connections of clients whose rack is
known. Of the effects, cut, silence, delay and bandwidth act on followers; an error, a throttle and a disconnect are
answers to clients, which followers here do not get.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mockbroker.core.faults.fault import ALWAYS
from mockbroker.core.faults.matching import link_joins
from mockbroker.state.replicas.link_conditions import LinkCondition

if TYPE_CHECKING:
    from mockbroker.core.faults.faults import FaultHandle
    from mockbroker.core.path import CallPath
    from mockbroker.session import Session
    from mockbroker.state.cluster import Cluster

FOLLOWER_EFFECTS = frozenset({"cut", "silence", "delay_ms", "bandwidth"})

Pair = tuple[int, int]
Conditions = dict[Pair, tuple[tuple["FaultHandle", ...], LinkCondition]]


def acts_on_followers(handle: FaultHandle) -> bool:
    """Whether a fault means followers too: it does where it means the whole link, always."""
    fault = handle.fault
    return fault.link is not None and not fault.match and fault.when == ALWAYS and fault.effect.kind in FOLLOWER_EFFECTS


def conditions_of(handles: Iterable[FaultHandle], cluster: Cluster, before: Conditions) -> Conditions:
    """What faults hold followers up, by the brokers of the follower and of its leader.

    Args:
        before: what was in force; where nothing has changed it stays, and so does what is on its way.
    """
    acting: dict[Pair, list[FaultHandle]] = {}
    for handle in handles:
        if not acts_on_followers(handle):
            continue
        assert handle.fault.link is not None
        joins = link_joins(handle.fault.link)
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
    is_cut = any(handle.fault.effect.kind in ("cut", "silence") for handle in handles)

    def arrival(size_bytes: int, now_ms: int) -> int:
        arrives_ms = now_ms
        for handle in handles:
            if handle.bucket is not None:
                arrives_ms = max(arrives_ms, handle.bucket.take(size_bytes, now_ms))
        return arrives_ms + sum(handle.delay_ms() for handle in handles if handle.fault.effect.kind == "delay_ms")

    def on_batch() -> None:
        for handle in handles:
            handle.matched += 1
            handle.fired += 1

    return LinkCondition(is_cut, None if is_cut else arrival, on_batch)


def cut_connections(handle: FaultHandle, path: CallPath, now_ms: int) -> None:
    """End the connections of clients over a link that is cut now, with the calls that wait on them."""
    assert handle.fault.link is not None
    joins = link_joins(handle.fault.link)
    reason = f"fault {handle.id}: the link {handle.fault.link} is cut"

    def is_over_link(session: Session) -> bool:
        return joins(session.rack, session.broker.rack)

    for call in path.parked_calls():
        if is_over_link(call.session):
            count(handle)
            call.faults += (handle.id,)
            path.close(call, reason, now_ms)
    for connection in list(path.connections):
        if connection.closed is None and is_over_link(connection.session):
            count(handle)
            connection.end(reason)


def count(handle: FaultHandle) -> None:
    handle.matched += 1
    handle.fired += 1
