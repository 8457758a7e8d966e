"""KRaft's striped placement: stripes over racks, and inside each rack over its brokers, fenced brokers last.

It depends on the order of a Java hash map and on the draws of a java.util.Random, so that equal seeds place as Kafka.
With a start index each topic starts at the same place instead, so that tests can know the leaders of its first
partitions. Rows are computed one by one if lists of brokers can run empty, else a whole cycle at a time.

Source: org.apache.kafka.controller / metadata.placement StripedReplicaPlacer, Apache Kafka 4.1.0 to 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from operator import mod

from kafka_rack.java import JavaRandom, hash_order, optional_string_hash, utf16_key
from kafka_rack.placement.placer import (
    START_INDEX_SETTING,
    ReplicaPlacer,
    UsableBroker,
    optional_whole_number,
    seed_setting,
)


class StripedPlacer(ReplicaPlacer):
    """``striped``: one Random for the placer's life, so a topic's rows depend on the topics placed before.

    With ``start_index`` they do not: the rack with that index, modulo the racks, leads partition 0, the broker with it
    comes first in each rack, only the shuffles between cycles are drawn, and a growing topic continues as if it had
    been created with its new size.

    >>> brokers = [UsableBroker(0, "a"), UsableBroker(1, "b"), UsableBroker(2, "c")]
    >>> StripedPlacer(start_index=0).place(0, 3, 2, brokers)
    [[0, 1], [1, 2], [2, 0]]
    """

    def __init__(self, seed: int = 0, start_index: int | None = None) -> None:
        self.seed = seed
        self.start_index = start_index
        self.random = JavaRandom(seed)

    def configure(self, settings: Mapping[str, str]) -> None:
        self.seed = seed_setting(settings)
        self.start_index = optional_whole_number(settings, START_INDEX_SETTING)
        self.random = JavaRandom(self.seed)

    def place(
        self, start_partition: int, num_partitions: int, num_replicas: int, usable_brokers: Sequence[UsableBroker]
    ) -> list[list[int]]:
        if self.start_index is None:
            return Stripes(usable_brokers, self.random).rows(num_partitions, num_replicas)
        first = max(0, start_partition)
        stripes = Stripes(usable_brokers, JavaRandom(self.seed), self.start_index)
        return stripes.rows(first + num_partitions, num_replicas)[first:]


class BrokerList:
    """The fenced or the unfenced brokers of one rack, returned in rotation; each step of a cycle starts one further."""

    __slots__ = ("brokers", "epoch", "index", "offset")

    def __init__(self) -> None:
        self.brokers: list[int] = []
        self.epoch = 0
        self.index = 0
        self.offset = 0

    def initialize(self, draw: Callable[[int], int]) -> None:
        if self.brokers:
            self.brokers.sort()
            self.offset = draw(len(self.brokers))

    def next(self, epoch: int) -> int:
        """The next broker for partition ``epoch`` of the cycle; -1 if all were returned for it."""
        if not self.brokers:
            return -1
        if self.epoch != epoch:
            self.epoch = epoch
            self.index = 0
            self.offset = (self.offset + 1) % len(self.brokers)
        if self.index >= len(self.brokers):
            return -1
        broker = self.brokers[(self.index + self.offset) % len(self.brokers)]
        self.index += 1
        return broker


class Rack:
    """The brokers of one rack: those that are up before those that are fenced."""

    __slots__ = ("fenced", "unfenced")

    def __init__(self) -> None:
        self.fenced = BrokerList()
        self.unfenced = BrokerList()

    def next(self, epoch: int) -> int:
        broker = self.unfenced.next(epoch)
        return broker if broker >= 0 else self.fenced.next(epoch)


class Stripes:
    """The racks of one placement, and its position."""

    def __init__(self, brokers: Sequence[UsableBroker], random: JavaRandom, start_index: int | None = None) -> None:
        self.random = random
        draw = random.next_int if start_index is None else partial(mod, start_index)
        by_name: dict[str | None, Rack] = {}
        for broker in brokers:
            rack = by_name.setdefault(broker.rack, Rack())
            (rack.fenced if broker.fenced else rack.unfenced).brokers.append(broker.id)
        self.num_unfenced = sum(not broker.fenced for broker in brokers)
        self.walk = [by_name[name] for name in hash_order(by_name, optional_string_hash)]
        """Racks in the order of Java's hash map, for draws and shuffles."""
        for rack in self.walk:
            rack.fenced.initialize(draw)
            rack.unfenced.initialize(draw)
        self.stripe = [by_name[name] for name in sorted(by_name, key=rack_name_key)]
        """Racks in the order in which partitions use them."""
        self.offset = draw(len(self.stripe))
        self.epoch = 0

    def rows(self, num_partitions: int, num_replicas: int) -> list[list[int]]:
        """The next partitions: by whole cycles if no list can run empty, else row by row."""
        rows: list[list[int]] = []
        if not self.cycles_are_regular(num_replicas):
            return [self.row(num_replicas) for _ in range(num_partitions)]
        while len(rows) < num_partitions:
            # The first row of a cycle may use a list whose last epoch was also 0, which then does not rotate.
            rows.append(self.row(num_replicas))
            rest = min(self.num_unfenced - self.epoch, num_partitions - len(rows))
            rows += self.regular_rows(rest, num_replicas)
        return rows

    def row(self, num_replicas: int) -> list[int]:
        """The brokers of one partition."""
        if self.epoch == self.num_unfenced and self.num_unfenced > 1:
            self.shuffle()
            self.epoch = 0
        stripe, epoch = self.stripe, self.epoch
        if self.offset == len(stripe):
            self.offset = 0
        leader_rack = self.offset
        leader = stripe[leader_rack].unfenced.next(epoch)
        while leader < 0:
            leader_rack = (leader_rack + 1) % len(stripe)
            leader = stripe[leader_rack].unfenced.next(epoch)
        row = [leader]
        position = self.offset
        while len(row) < num_replicas:
            if position == leader_rack:
                leader_rack = -1  # skipped once, so that the second replica is in another rack
            else:
                broker = stripe[position].next(epoch)
                if broker >= 0:
                    row.append(broker)
            position = (position + 1) % len(stripe)
        self.epoch += 1
        self.offset += 1
        return row

    def shuffle(self) -> None:
        lists = [part.brokers for rack in self.walk for part in (rack.fenced, rack.unfenced)]
        self.random.shuffle(self.stripe)
        for brokers in lists:
            self.random.shuffle(brokers)

    def cycles_are_regular(self, num_replicas: int) -> bool:
        """True if every row takes the same number of unfenced brokers from consecutive racks, with none missing.

        Cycles must be at least twice as long as the number of racks: in shorter ones a list may be used again in the
        epoch in which the cycle before last used it, and then returns its next broker without a rotation.
        """
        laps = -(-num_replicas // len(self.stripe))
        enough = all(len(rack.unfenced.brokers) >= laps for rack in self.stripe)
        return enough and self.num_unfenced >= 2 * len(self.stripe)

    def regular_rows(self, count: int, num_replicas: int) -> list[list[int]]:
        """``count`` rows of one cycle after its first; slot j of a row is in the rack j places past the row's own.

        Rows that are one lap of the racks apart take their slots from the same racks, so each slot of them is a slice
        of a rack's rotation.
        """
        if count <= 0:
            return []
        num_racks = len(self.stripe)
        offset = self.offset % num_racks
        feeds = [self.feed(position, count, num_replicas) for position in range(num_racks)]
        rows: list[list[int]] = [[]] * count
        for first in range(min(num_racks, count)):
            columns = [
                feeds[(offset + first + slot) % num_racks](first, slot // num_racks) for slot in range(num_replicas)
            ]
            rows[first::num_racks] = map(list, zip(*columns, strict=True))
        self.epoch += count
        self.offset = (offset + count - 1) % num_racks + 1
        return rows

    def feed(self, position: int, count: int, num_replicas: int) -> Callable[[int, int], list[int]]:
        """The brokers of a rack in the next ``count`` rows; advances its state past them.

        Returns: a function of the first of the rows that are a lap of the racks apart, and of the lap inside the row;
            it returns one broker for each of those rows.
        """
        brokers, num_racks = self.stripe[position].unfenced, len(self.stripe)
        turned = brokers.brokers[brokers.offset + 1 :] + brokers.brokers[: brokers.offset + 1]
        brokers.epoch = self.epoch + count - 1
        if num_replicas > num_racks:
            # The rack is in every row, and rotates with each; a later lap takes the next broker.
            brokers.offset = (brokers.offset + count) % len(turned)
            handed_out = turned * ((count + num_replicas) // len(turned) + 1)
            return lambda first, lap: handed_out[first + lap : count + lap : num_racks]
        first_row = (position - self.offset) % num_racks
        touched = touches(first_row, count, num_racks, num_replicas)
        brokers.offset = (brokers.offset + touched) % len(turned)
        handed_out = (turned * (touched // len(turned) + 1))[:touched]
        # It rotates with each row that it is in, and ``touches`` counts those before a row.
        return lambda first, _: handed_out[touches(first_row, first, num_racks, num_replicas) :: num_replicas]


@lru_cache(maxsize=4096)
def touches(first_row: int, count: int, num_racks: int, num_replicas: int) -> int:
    """The number of ``count`` rows with a slot of a rack that is first the leader's rack at ``first_row``."""
    whole, rest = divmod(count, num_racks)
    return whole * num_replicas + sum((first_row - row) % num_racks < num_replicas for row in range(rest))


def rack_name_key(name: str | None) -> tuple[bool, bytes]:
    """Brokers without a rack first, then the racks by name."""
    return (name is not None, utf16_key(name or ""))
