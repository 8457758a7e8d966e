"""Share groups: whether records were given out as KIP-932 promises, by what members asked and were answered.

A member acquires a record for a while; it accepts or rejects it, and nobody is given it again; or it releases it,
loses its lock or ends, and it is given out once more, until it was delivered as often as it may be. A share partition's
leader knows who has what, and a new leader does not; what members were told of acknowledgements, every leader knows.

>>> first = ShareDelivery("one", "workers", "orders", 0, offset=5, delivery_count=1, asked_at=1, answered_at=2)
>>> taken = ShareAcknowledgement(first, "accept", asked_at=3, answered_at=4, is_taken=True)
>>> again = ShareDelivery("two", "workers", "orders", 0, offset=5, delivery_count=2, asked_at=5, answered_at=6)
>>> print(check_sharing([first, again], [taken], [], lock_ms=30_000, max_delivery_count=5)[0])
settled-again: orders-0, offset 5: one was told at 4 ms that its accept counts, and two was given it at 6 ms
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

AcknowledgeType = Literal["accept", "release", "reject", "renew"]
RecordKey = tuple[str, str, int, int]  # group, topic, partition, offset

SHARING_KINDS = {
    "settled-again": "a record was delivered after its accept or reject had been answered",
    "delivered-too-often": "a record was delivered more often than the group's settings have it",
    "dishonest-count": "a delivery count that the deliveries there were do not explain",
    "acquired-twice": "two deliveries of a record under one leader while the first member had its lock",
    "acknowledged-by-another": "an acknowledgement counted of a member whose record another one had acquired since",
    "never-settled": "a record that nobody accepted or rejected and that was not delivered as often as it may be",
}


@dataclass(slots=True, eq=False)
class ShareDelivery:
    """A record that a member was given. Times in ms.

    ``released_at``: until when the member's session at the broker went on for certain, None for all the time;
    ``may_linger``: the member heard of it much later than that. ``renewed``: when the member asked for its lock to be
    renewed, and was told that it is (KIP-1222). ``leadership`` is what stood for the partition's leader and its
    epoch when it was asked and when it was answered.
    """

    member: str
    group: str
    topic: str
    partition: int
    offset: int
    delivery_count: int
    asked_at: int
    answered_at: int
    leadership: tuple[Hashable, Hashable] = (None, None)
    released_at: int | None = None
    may_linger: bool = False
    renewed: tuple[int, int] | None = None

    @property
    def key(self) -> RecordKey:
        return self.group, self.topic, self.partition, self.offset

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}, offset {self.offset}"


@dataclass(slots=True, eq=False)
class ShareAcknowledgement:
    """What a member said of a delivery. ``answered_at`` is None where the answer is not known; ``is_taken`` says that
    the answer had no error.
    """

    delivery: ShareDelivery
    type: AcknowledgeType
    asked_at: int
    answered_at: int | None = None
    is_taken: bool = False


@dataclass(slots=True, eq=False)
class LostShareFetch:
    """A fetch whose answer nobody saw: records may have been acquired by it."""

    group: str
    partitions: tuple[tuple[str, int], ...]
    asked_at: int


class SharingAnomaly(NamedTuple):
    """What a share group did that it must not, by a name of ``SHARING_KINDS``."""

    kind: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.evidence}"


SLACK_MS, LINGER_MS = 50, 20_000
"""How late a member hears what a broker says: usually, and when it was frozen."""


def check_sharing(
    deliveries: Iterable[ShareDelivery],
    acknowledgements: Iterable[ShareAcknowledgement],
    lost: Iterable[LostShareFetch],
    *,
    lock_ms: int,
    max_delivery_count: int,
    expected: Mapping[tuple[str, str, int], Iterable[int]] | None = None,
) -> list[SharingAnomaly]:
    """The anomalies in what members of share groups saw.

    Args:
        lock_ms, max_delivery_count: ``share.record.lock.duration.ms`` and ``share.delivery.count.limit``.
        expected: the offsets of records that a group should be done with by now, by group, topic and partition.
    """
    of_record: dict[RecordKey, list[ShareDelivery]] = defaultdict(list)
    for delivery in deliveries:
        of_record[delivery.key].append(delivery)
    said: dict[RecordKey, list[ShareAcknowledgement]] = defaultdict(list)
    for one in acknowledgements:
        said[one.delivery.key].append(one)
    unseen: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for fetch in lost:
        for topic, partition in fetch.partitions:
            unseen[fetch.group, topic, partition].append(fetch.asked_at)
    found: list[SharingAnomaly] = []
    for key, of_one in sorted(of_record.items()):
        of_one.sort(key=lambda one: (one.asked_at, one.answered_at))
        found += settled_again(of_one, said[key])
        found += dishonest_counts(of_one, said[key], unseen[key[:3]], max_delivery_count)
        found += acquired_twice(of_one, said[key], lock_ms)
        if len(of_one) + len(unseen[key[:3]]) < max_delivery_count:
            found += acknowledged_by_another(of_one, said[key])
    for place, offsets in (expected or {}).items():
        for offset in offsets:
            key = (*place, offset)
            given = of_record.get(key, [])
            is_settled = any(one.type != "release" and (one.is_taken or one.answered_at is None) for one in said[key])
            if is_settled or len(given) + len(unseen[place]) >= max_delivery_count:
                continue
            where = f"{place[1]}-{place[2]}, offset {offset}"
            counts = [one.delivery_count for one in given]
            found.append(SharingAnomaly("never-settled", f"{where}: group {place[0]} was given it at counts {counts}"))
    return found


def settled_again(
    deliveries: Sequence[ShareDelivery], said: Sequence[ShareAcknowledgement]
) -> Iterable[SharingAnomaly]:
    for one in said:
        if one.type == "release" or not one.is_taken or one.answered_at is None:
            continue
        for later in deliveries:
            if later.asked_at > one.answered_at:
                yield SharingAnomaly(
                    "settled-again",
                    f"{later}: {one.delivery.member} was told at {one.answered_at} ms that its {one.type} counts, and "
                    f"{later.member} was given it at {later.answered_at} ms",
                )
                break


def dishonest_counts(
    deliveries: Sequence[ShareDelivery],
    said: Sequence[ShareAcknowledgement],
    unseen: Sequence[int],
    max_delivery_count: int,
) -> Iterable[SharingAnomaly]:
    """Counts are 1 and more, above those of releases that counted, and not above the deliveries that there can have
    been. A new leader knows nothing of deliveries that nobody has said anything of, so counts may begin again.
    """
    for one in deliveries:
        count = one.delivery_count
        if count > max_delivery_count:
            yield SharingAnomaly(
                "delivered-too-often", f"{one}: {one.member} was given it at count {count} of {max_delivery_count}"
            )
        released = max(
            (
                ack.delivery.delivery_count
                for ack in said
                if ack.type == "release" and ack.is_taken and ack.answered_at is not None
                if ack.answered_at < one.asked_at
            ),
            default=0,
        )
        if count <= released:
            yield SharingAnomaly(
                "dishonest-count",
                f"{one}: {one.member} was given it at count {count}, and it had been released at count {released}",
            )
        before = sum(other is not one and other.asked_at <= one.answered_at for other in deliveries)
        before += sum(asked_at <= one.answered_at for asked_at in unseen)
        if count > before + 1:
            yield SharingAnomaly(
                "dishonest-count",
                f"{one}: {one.member} was given it at count {count}, and there were {before} deliveries before at most",
            )


def acquired_twice(
    deliveries: Sequence[ShareDelivery], said: Sequence[ShareAcknowledgement], lock_ms: int
) -> Iterable[SharingAnomaly]:
    spoken_at = {one.delivery: one.asked_at for one in reversed(said)}
    for index, first in enumerate(deliveries):
        locked_at = first.asked_at
        if first.renewed is not None and first.renewed[1] < locked_at + lock_ms:
            locked_at = first.renewed[0]  # later the record may be done with, and a renewal without effect is no error
        held_until = min(locked_at + lock_ms, spoken_at.get(first, locked_at + lock_ms))
        if first.released_at is not None:
            held_until = min(held_until, first.released_at - (LINGER_MS if first.may_linger else SLACK_MS))
        for later in deliveries[index + 1 :]:
            if (
                first.answered_at < later.asked_at
                and later.answered_at < held_until
                and first.leadership[0] == later.leadership[1]
            ):
                yield SharingAnomaly(
                    "acquired-twice",
                    f"{first}: {first.member} was given it at {first.answered_at} ms for {lock_ms} ms, and "
                    f"{later.member} at {later.answered_at} ms",
                )


def acknowledged_by_another(
    deliveries: Sequence[ShareDelivery], said: Sequence[ShareAcknowledgement]
) -> Iterable[SharingAnomaly]:
    """Of a record that nobody is done with: what is said of another does no harm, and is answered without an error."""
    for one in said:
        if not one.is_taken or one.answered_at is None:
            continue
        if any(other is not one and other.asked_at <= one.answered_at for other in said):
            continue
        for later in deliveries:
            if (
                later.member != one.delivery.member
                and later.asked_at > one.delivery.answered_at
                and later.answered_at < one.asked_at
            ):
                yield SharingAnomaly(
                    "acknowledged-by-another",
                    f"{later}: {later.member} was given it at {later.answered_at} ms, and a {one.type} of "
                    f"{one.delivery.member} counted that was sent at {one.asked_at} ms",
                )
