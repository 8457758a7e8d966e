"""Explains a fault: how often it acted, or which calls came nearest and why they missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from kafka_rack.plurals import counted
from mockbroker.core.faults.effects import Error
from mockbroker.core.faults.fault import Fault
from mockbroker.core.faults.matching import NearMiss, name_test
from mockbroker.core.faults.reading import shown

if TYPE_CHECKING:
    from mockbroker.core.faults.faults import FaultHandle
    from mockbroker.state.cluster import Cluster


def explanation(handle: FaultHandle, cluster: Cluster) -> str:
    """Sentences that say how often a fault fired, or why it never did."""
    fault = handle.fault
    name = f"fault {fault.id!r}"
    if handle.fired:
        if fault.link:
            return f"{name} fired {counted(handle.fired, 'time')} on what went {fault.link}."
        return f"{name} fired on {handle.fired} of {counted(handle.matched, 'matching call')}."
    if handle.matched:
        return f"{name} never fired, though {counted(handle.matched, 'call')} matched: {why_not_due(handle)}."
    calls = handle.nearest.seen
    if not calls:
        sentences = [f"{name} never fired: no call came while it was set."]
    else:
        none = "it did not match" if calls == 1 else "none of them matched"
        sentences = [f"{name} never fired: {counted(calls, 'call')} came while it was set, and {none}."]
        misses = list(handle.nearest)
        nearest = [miss for miss in misses if len(miss.missed) == len(misses[0].missed)]
        if nearest:
            sentences.append("Nearest: " + "; ".join(miss_in_words(fault, miss) for miss in nearest) + ".")
    return " ".join([*sentences, *hints(fault, cluster)])


def why_not_due(handle: FaultHandle) -> str:
    """The reason why a fault acted on none of its matching calls."""
    fault = handle.fault
    if handle.preempted == handle.matched:
        return "a fault that was set before it ended them first"
    if handle.without_place:
        assert isinstance(fault.effect, Error)
        return f"the answers to {handle.without_place} of them have no place for {fault.effect.error}"
    when = fault.when
    if when.on_call is not UNSET:
        return f"when.on_call waits for number {when.on_call}"
    if when.every is not UNSET:
        return f"when.every waits for number {when.every}"
    return f"when.probability is {when.probability}"


def miss_in_words(fault: Fault, miss: NearMiss) -> str:
    """``Fetch v12 of client 'c' to broker 0 in rack 'a' (12 times): topic: expected 'orders', got 'payments'``."""
    missed = ", ".join(f"{name}: expected {wanted(fault, name)}, got {met}" for name, met in miss.missed.items())
    count = f" ({miss.count} times)" if miss.count > 1 else ""
    return f"{miss.call}{count}: {missed}"


def wanted(fault: Fault, name: str) -> str:
    """The values that a field of a fault expects, in words."""
    if name == "link":
        return f"a call {fault.link}"
    values = [shown(value) for value in fault.match.values(name)]
    return values[0] if len(values) == 1 else "one of " + ", ".join(values)


def hints(fault: Fault, cluster: Cluster) -> list[str]:
    """Sentences about the values of a fault that cannot match in this cluster."""
    found = []
    racks = cluster.liveness.racks()
    there = f"there {'are' if len(racks) > 1 else 'is'} {', '.join(racks)}" if racks else "brokers have no racks"
    match = fault.match
    if match.rack is not UNSET and not any(map(name_test(match.values("rack")), racks)):
        found.append(f"No broker is in rack {wanted(fault, 'rack')}; {there}.")
    if match.broker is not UNSET and not set(match.values("broker")) & set(cluster.brokers):
        ids = ", ".join(map(str, cluster.brokers))
        found.append(f"There is no broker {wanted(fault, 'broker')}; there are {ids}.")
    if fault.link:
        ends = fault.link.ends[1:] if fault.link.one_way else fault.link.ends
        if not any(map(name_test(ends), racks)):
            found.append(f"No broker is in rack {' or '.join(map(repr, ends))}; {there}.")
    return found
