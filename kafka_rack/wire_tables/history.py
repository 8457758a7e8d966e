"""What was known of the cluster at an earlier frame, while reading has gone on."""

from __future__ import annotations

from typing import Any

from kafka_rack.wire_capture.frames import ObservedCluster

ABSENT: Any = object()


class Clock:
    """Counts changes; ``now`` is the number of the last one."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0


class HistoricDict(dict[Any, Any]):
    """A dict that also knows what it held at earlier times of its clock, since its past was last forgotten.

    >>> clock = Clock()
    >>> racks = HistoricDict({1: "a"}, clock)
    >>> before = clock.now
    >>> racks[1] = "b"
    >>> racks.at(before).get(1), racks.at(clock.now).get(1), racks.at(before).get(2)
    ('a', 'b', None)
    """

    def __init__(self, values: dict[Any, Any], clock: Clock) -> None:
        super().__init__(values)
        self.clock = clock
        self.past: dict[Any, list[tuple[int, Any]]] = {}
        """By key: when it changed, and what it was before."""

    def __setitem__(self, key: Any, value: Any) -> None:
        before = self.get(key, ABSENT)
        if before is value or before == value:
            return
        self.clock.now += 1
        self.past.setdefault(key, []).append((self.clock.now, before))
        super().__setitem__(key, value)

    def update(self, other: Any) -> None:  # type: ignore[override]  # nobody here gives more
        for key, value in other.items():
            self[key] = value

    def become(self, values: dict[Any, Any]) -> None:
        """Hold what another dict holds."""
        for key in [key for key in self if key not in values]:
            self.clock.now += 1
            self.past.setdefault(key, []).append((self.clock.now, self.pop(key)))
        self.update(values)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def at(self, time: int) -> Past:
        return Past(self, time)

    def forget(self) -> None:
        """Nobody will ask for earlier times any more."""
        self.past.clear()


class Past:
    """Such a dict as it was at a time."""

    __slots__ = ("now", "time")

    def __init__(self, now: HistoricDict, time: int) -> None:
        self.now, self.time = now, time

    def get(self, key: Any) -> Any:
        for changed, before in self.now.past.get(key, ()):
            if changed > self.time:
                return before if before is not ABSENT else None
        return self.now.get(key)


class PastCluster:
    """What was known at a time: all that rows ask of ``ObservedCluster``."""

    __slots__ = ("leaders", "racks", "topics")

    def __init__(self, known: HistoricCluster, time: int) -> None:
        self.topics, self.leaders, self.racks = known.topics.at(time), known.leaders.at(time), known.racks.at(time)


class HistoricCluster:
    """What is known, and was; from now on ``known`` keeps its past.

    Who reads may replace what it holds by dicts of his own, as at a checkpoint: then ``follow`` takes them over.
    """

    def __init__(self, known: ObservedCluster) -> None:
        self.clock = Clock()
        self.topics = HistoricDict(known.topics, self.clock)
        self.leaders = HistoricDict(known.leaders, self.clock)
        self.racks = HistoricDict(known.racks, self.clock)
        self.endpoints = HistoricDict(known.endpoints, self.clock)
        self.keep_in(known)

    def follow(self, known: ObservedCluster) -> None:
        """Take over what was replaced, if any was."""
        told: tuple[dict[Any, Any], ...] = known.topics, known.leaders, known.racks, known.endpoints
        for mine, theirs in zip(self.all(), told, strict=True):
            if theirs is not mine:
                mine.become(theirs)
        self.keep_in(known)

    def keep_in(self, known: ObservedCluster) -> None:
        """From now on ``known`` holds these."""
        known.topics, known.leaders, known.racks, known.endpoints = self.all()

    def all(self) -> tuple[HistoricDict, ...]:
        """All that is known, in the order of its class."""
        return self.topics, self.leaders, self.racks, self.endpoints

    def at(self, time: int) -> PastCluster:
        return PastCluster(self, time)

    def forget(self) -> None:
        for one in self.all():
            one.forget()
