"""The faults that are set on a cluster, and their effects on its calls.

Without faults the path of a call has no stage for them. Otherwise each request passes the stage ``Faults.inject``:
every matching fault that is due acts on it, in the order in which they were set. A call is delayed before it ends, and
the first effect that ends it is the last that acts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, Self

from msgspec import UNSET

from kafka_rack.plurals import counted
from mockbroker.call import Call, Verdict, Wait
from mockbroker.core.faults.effects import Bucket, Error, Slowing
from mockbroker.core.faults.fault import ALWAYS, EVERY_CALL, Fault, parse_faults
from mockbroker.core.faults.matching import Hit, Matcher, link_test, miss_in_words
from mockbroker.core.faults.reading import FaultError
from mockbroker.core.own_thread import InOwnThread, in_own_thread
from mockbroker.state.replicas.network import LinkCondition

if TYPE_CHECKING:
    from mockbroker.core.path import CallPath
    from mockbroker.session import Session
    from mockbroker.state.cluster import Cluster

MAX_FAULTS = 1000
CONTROLLER_APIS = frozenset({4, 5, 6, 7})  # requests between brokers in ZooKeeper mode


class FaultHandle:
    """A fault that was set, with counts of its calls and a method to remove it.

    ``matched`` counts matching calls, ``fired`` those on which it acted; for a link both also count connections that
    were cut, and batches that followers got late or not at all. Both remain when the fault is removed.
    ``without_place`` counts matching calls whose response has no field for the error. As a context manager it removes
    the fault at the end.
    """

    def __init__(self, faults: Faults, fault: Fault, rng: Random) -> None:
        self._faults, self.fault, self.rng = faults, fault, rng
        self.matcher = Matcher(fault)
        self.matched = self.fired = self.preempted = self.without_place = 0
        self.is_active = True
        self.missed = 0
        self.nearest, self._nearest_rank = "", -1
        self.bucket: Bucket | None = None

    def __repr__(self) -> str:
        return f"<fault {self.id}: matched {self.matched}, fired {self.fired}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    @property
    def id(self) -> str:
        return self.fault.id

    def remove(self) -> None:
        """Remove the fault, if it was not removed already."""
        self._faults.discard(self)

    def explain(self) -> str:
        """How often it acted; if never, why not: the call that came nearest, and the field in which it missed."""
        name = f"fault {self.id!r}"
        if self.fired:
            if self.fault.link:
                return f"{name} fired {counted(self.fired, 'time')} on what went {self.fault.link}."
            return f"{name} fired on {self.fired} of {counted(self.matched, 'matching call')}."
        if self.matched:
            return f"{name} never fired, though {counted(self.matched, 'call')} matched: {why_not_due(self)}."
        if not self.missed:
            return f"{name} never fired: no call came while it was set."
        calls = counted(self.missed, "call")
        return f"{name} never fired: {calls} came while it was set, none of which matched. Nearest: {self.nearest}."

    def to_json(self) -> dict[str, Any]:
        """The fault's own JSON form, its counts, and the explanation if it has not fired."""
        found = {**self.fault.to_json(), "matched": self.matched, "fired": self.fired}
        if not self.fired:
            found["explanation"] = self.explain()
        return found

    def count(self) -> None:
        """Count a match on which it acted."""
        self.matched += 1
        self.fired += 1

    def hit(self, call: Call) -> Hit | None:
        """The matching part of a call, which is counted; None if it does not match."""
        hit = self.matcher.hit(call)
        if isinstance(hit, Hit):
            self.matched += 1
            return hit
        self.missed += 1
        if not self.matched and hit.rank > self._nearest_rank:
            self.nearest, self._nearest_rank = miss_in_words(self.fault, call, hit.field), hit.rank
        return None


class Faults(InOwnThread):
    """The faults of one cluster, in the order in which they were set; ``faults["slow"]`` is the one of this id.

    Args:
        path: the path of the calls that they act on.
        seed: seeds one random generator per fault, so that one fault does not change another.
        now_ms: returns the time.
        run_due: called after a change, to run timers that became due.

    >>> from mockbroker.core.simulation import Simulation
    >>> sim = Simulation()
    >>> handle = sim.faults.add(match={"api": "Fetch", "rack": "a"}, effect={"delay_ms": 200})
    >>> handle.id, handle.matched, handle.fired, len(sim.faults)
    ('fault-1', 0, 0, 1)
    """

    def __init__(
        self, path: CallPath, seed: int, now_ms: Callable[[], int], run_due: Callable[[], None] = lambda: None
    ) -> None:
        self.path, self._seed, self._now_ms, self._run_due = path, seed, now_ms, run_due
        self._active: dict[str, FaultHandle] = {}
        self._since_clear: deque[FaultHandle] = deque(maxlen=2 * MAX_FAULTS)
        self._numbered = 0
        self._conditions: dict[tuple[FaultHandle, ...], LinkCondition] = {}
        """The effective conditions of links, by their faults; one that stays retains its batches in transit."""

    def __iter__(self) -> Iterator[FaultHandle]:
        return iter(list(self._active.values()))

    def __len__(self) -> int:
        return len(self._active)

    def __contains__(self, fault_id: object) -> bool:
        return fault_id in self._active

    def __getitem__(self, fault_id: str) -> FaultHandle:
        """The fault of this id. Raises KeyError: none is set."""
        return self._active[fault_id]

    def add(
        self,
        fault: Mapping[str, Any] | Fault | None = None,
        *,
        id: str | None = None,
        match: Mapping[str, Any] | None = None,
        link: Mapping[str, Any] | None = None,
        effect: Mapping[str, Any] | None = None,
        when: Mapping[str, Any] | None = None,
    ) -> FaultHandle:
        """Set a fault, whole or by its parts. It matches calls from now on.

        Raises FaultError: it is invalid, or another has its id.
        """
        parts = {"id": id, "match": match, "link": link, "effect": effect, "when": when}
        given = {name: part for name, part in parts.items() if part is not None}
        if fault is not None and given:
            raise FaultError("", f"expected a fault or its parts, got both: {', '.join(given)}")
        try:
            return self.add_all([given if fault is None else fault])[0]
        except FaultError as error:
            raise type(error)(error.path.removeprefix("[0]").removeprefix("."), error.reason) from None

    @in_own_thread
    def add_all(self, faults: Iterable[Mapping[str, Any] | Fault]) -> list[FaultHandle]:
        """Set several faults, or none if one of them is invalid.

        Raises FaultError, whose path begins with the index of the fault in the list, from 0: ``[2].effect``.
        """
        found = parse_faults(faults, self._active, self._numbered + 1)
        if len(self._active) + len(found) > MAX_FAULTS:
            raise FaultError("", f"expected at most {MAX_FAULTS} faults at a time, got {len(found)} more")
        return [self._set(fault) for fault in found]

    def remove(self, fault_id: str) -> None:
        """Remove a fault. Raises KeyError: none of this id is set."""
        self.discard(self._active[fault_id])

    @in_own_thread
    def discard(self, handle: FaultHandle) -> None:
        """Remove a fault if it is still set."""
        if self._active.get(handle.id) is handle:
            del self._active[handle.id]
            handle.is_active = False
            if handle.fired:
                self._since_clear.remove(handle)
            self._changed()

    @in_own_thread
    def clear(self) -> None:
        """Remove all faults, and forget those that were set before."""
        for handle in self._active.values():
            handle.is_active = False
        self._active.clear()
        self._since_clear.clear()
        self._numbered = 0
        self._changed()

    @in_own_thread
    def to_json(self) -> list[dict[str, Any]]:
        """The JSON forms of the faults that are set, with their counts."""
        return [handle.to_json() for handle in self._active.values()]

    @in_own_thread
    def never_fired(self) -> list[FaultHandle]:
        """The faults that were set since the last ``clear``, removed ones too, and acted on no call."""
        return [handle for handle in self._since_clear if not handle.fired]

    # the stage

    def inject(self, call: Call) -> Verdict | Wait | None:
        """Apply the faults to a call that has just arrived."""
        until_ms = call.now_ms
        verdict: Verdict | Wait | None = None
        is_over = False
        for handle in list(self._active.values()):
            if call.api_key in CONTROLLER_APIS and handle.fault.match.api is UNSET:
                continue
            hit = handle.hit(call)
            if hit is None:
                continue
            if is_over:
                handle.preempted += 1
                continue
            if not handle.fault.when.is_due(handle.matched, handle.fired, handle.rng):
                continue
            acted = handle.fault.effect.act(handle, call, hit, until_ms)
            if acted is None:
                handle.without_place += 1
                continue
            until_ms, verdict = acted
            is_over = verdict is not None
            handle.fired += 1
            call.faults += (handle.id,)
        if until_ms > call.now_ms:
            return Wait(until_ms, (), lambda _call: verdict)
        return verdict

    # inside

    def _set(self, fault: Fault) -> FaultHandle:
        handle = FaultHandle(self, fault, Random(f"{self._seed} {fault.id}"))
        while f"fault-{self._numbered + 1}" in (fault.id, *self._active):
            self._numbered += 1  # that id is not assigned again
        self._active[fault.id] = handle
        self._since_clear.append(handle)
        fault.effect.begin(handle, self.path, self._now_ms())
        self._changed()
        return handle

    def _changed(self) -> None:
        stages = self.path.faults
        if self._active and self.inject not in stages:
            stages.append(self.inject)
        elif not self._active and self.inject in stages:
            stages.remove(self.inject)
        if not self.path.cluster.is_mirror:  # whose followers belong to a real cluster
            of_links, known = faults_of_links(self._active.values(), self.path.cluster), self._conditions
            self._conditions = {handles: known.get(handles) or condition_of(handles) for handles in of_links.values()}
            conditions = {pair: self._conditions[handles] for pair, handles in of_links.items()}
            if conditions != self.path.cluster.replication.conditions:
                self.path.cluster.set_link_conditions(conditions, self._now_ms())
        self._run_due()


def why_not_due(handle: FaultHandle) -> str:
    """The reason why a fault acted on none of its matching calls."""
    fault = handle.fault
    if handle.preempted == handle.matched:
        return "a fault that was set before it ended them first"
    if handle.without_place:
        assert isinstance(fault.effect, Error)
        return f"the answers to {handle.without_place} of them have no place for {fault.effect.error}"
    return f"it acts only with when: {fault.when}"


# links beyond calls: the fetches of followers from leaders, and existing connections of clients whose rack is known


def faults_of_links(handles: Iterable[FaultHandle], cluster: Cluster) -> dict[tuple[int, int], tuple[FaultHandle, ...]]:
    """The faults of links that act on followers, by the brokers of the follower and of its leader."""
    acting: dict[tuple[int, int], tuple[FaultHandle, ...]] = {}
    for handle in handles:
        fault = handle.fault
        is_whole = (fault.match, fault.when) == (EVERY_CALL, ALWAYS)  # of a link, always
        if not (fault.link and is_whole and fault.effect.reaches_followers):
            continue
        joins = link_test(fault.link)
        for follower in cluster.brokers.values():
            for leader in cluster.brokers.values():
                if follower is not leader and joins((follower.rack, leader.rack)):
                    pair = follower.id, leader.id
                    acting[pair] = (*acting.get(pair, ()), handle)
    return acting


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
    assert handle.fault.link
    joins = link_test(handle.fault.link)
    reason = f"fault {handle.id}: the link {handle.fault.link} is cut"

    def is_over_link(session: Session) -> bool:
        return joins((session.rack, session.broker.rack))

    for call in list(path.purgatory.parked):
        if is_over_link(call.session):
            handle.count()
            call.faults += (handle.id,)
            path.close(call, reason, now_ms)
    for connection in list(path.connections):
        if connection.closed is None and is_over_link(connection.session):
            handle.count()
            connection.end(reason)
