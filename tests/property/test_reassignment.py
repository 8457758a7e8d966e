"""What holds for every repair of rack violations, held against all ways there are in small clusters."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations, product
from math import prod

from hypothesis import example, given
from hypothesis import strategies as st

from kafka_rack.cluster_layout import layout_of_json
from kafka_rack.rack_spread import spread_of, usable_racks
from kafka_rack.reassignment import repair

MAX_WAYS = 3_000


@st.composite
def layouts(draw, brokers=6, partitions=4, replicas=4):
    racks = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=brokers))
    down = draw(st.lists(st.booleans(), min_size=len(racks), max_size=len(racks)))
    everyone = [
        [broker, rack, draw(st.booleans()) and gone]
        for broker, (rack, gone) in enumerate(zip(racks, down, strict=True))
    ]
    row = st.lists(st.integers(0, len(racks) - 1), min_size=1, max_size=min(replicas, len(racks)), unique=True)
    rows = draw(st.lists(row, min_size=1, max_size=partitions))
    entries = [{"replicas": row, "leader": draw(st.sampled_from(row))} if draw(st.booleans()) else row for row in rows]
    return layout_of_json({"brokers": everyone, "topics": {"t": entries}})


def one_rack_down(racks, down, *entries):
    """Brokers 0, 1, ... in these racks, of which one rack is down, and a topic."""
    brokers = [[broker, rack, rack == down] for broker, rack in enumerate(racks)]
    return layout_of_json({"brokers": brokers, "topics": {"t": list(entries)}})


DOWN_AND_ALONE = one_rack_down("aabac", "b", [0, 1, 2], [0, 1, 2])
"""Found by the fuzz profile: replica 2 is down and alone in its rack, 0 and 1 share theirs, rack c is free."""
DOWN_AND_ALONE_BESIDE_THE_LEADER = one_rack_down("aaaabc", "c", {"replicas": [0, 5, 1], "leader": 1})
"""Found by the fuzz profile: of the two that share rack a one is preferred leader, the other leads."""


def rows_of(layout, said=None):
    rows = layout.replicas_by_topic()["t"]
    for entry in said.entries if said else ():
        rows[entry.partition] = list(entry.replicas)
    return rows


def misplaced(layout, row):
    return spread_of(row, layout.rack_of, usable_racks(layout)).misplaced


def racks_of(layout, row):
    """The number of racks over which a row is spread."""
    return len({layout.rack_of[broker] for broker in row})


def restored(layout):
    return repair(layout) if usable_racks(layout) else None


@given(layouts(brokers=12, partitions=12, replicas=7))
@example(DOWN_AND_ALONE)
@example(DOWN_AND_ALONE_BESIDE_THE_LEADER)
def test_no_violation_is_left_and_each_move_adds_a_rack(layout):
    said = restored(layout)
    if said is None:
        return
    before, after = rows_of(layout), rows_of(layout, said)
    assert [misplaced(layout, row) for row in after] == [0] * len(after)
    moved = Counter(move.partition for move in said.moves)
    assert [moved[number] for number in range(len(before))] == [misplaced(layout, row) for row in before]
    gained = [racks_of(layout, new) - racks_of(layout, old) for old, new in zip(before, after, strict=True)]
    assert [moved[number] for number in range(len(before))] == gained
    assert [entry.partition for entry in said.entries] == sorted(moved)


@given(layouts(brokers=12, partitions=12, replicas=7))
def test_replicas_keep_their_number_and_places_and_preferred_leaders_stay(layout):
    said = restored(layout)
    if said is None:
        return
    up = {broker.id for broker in layout.brokers if not broker.fenced}
    for before, after in zip(rows_of(layout), rows_of(layout, said), strict=True):
        assert len(set(after)) == len(after) == len(before)
        assert after[0] == before[0]
        assert {new for old, new in zip(before, after, strict=True) if old != new} <= up
    assert said.after == {
        **dict.fromkeys(said.before, 0),
        **Counter(broker for row in rows_of(layout, said) for broker in row),
    }


@given(layouts(brokers=12, partitions=12, replicas=7))
def test_a_second_repair_moves_nothing(layout):
    said = restored(layout)
    if said is not None:
        brokers = [list(broker) for broker in layout.brokers]
        assert repair(layout_of_json({"brokers": brokers, "topics": {"t": rows_of(layout, said)}})).moves == ()


@given(layouts())
@example(DOWN_AND_ALONE)
@example(DOWN_AND_ALONE_BESIDE_THE_LEADER)
def test_no_other_choice_of_as_few_moves_is_more_even_or_moves_fewer_leaders(layout):
    said = restored(layout)
    if said is None:
        return
    partitions = layout.topics["t"].partitions
    choices = [ways(layout, partition) for partition in partitions]
    fewest = sum(min(led for _, led in ways_of_one) for ways_of_one in choices)
    assert sum(move.takes_leader for move in said.moves) == fewest
    gentle = [{row for row, led in one if led == min(led for _, led in one)} for one in choices]
    if prod(map(len, gentle)) <= MAX_WAYS:
        best = min(sum(count**2 for count in Counter(sum(rows, ())).values()) for rows in product(*gentle))
        assert sum(count**2 for count in said.after.values()) == best


def ways(layout, partition):
    """Every row that the fewest moves can make of a partition, with whether the broker that leads now goes.

    Each move adds a rack to the partition. A row with fewer racks can look repaired while a rack is down, when the move
    took the replica that was there instead of one of two that share a rack; it is wrong again once that rack is back.
    """
    row, due = partition.replicas, misplaced(layout, partition.replicas)
    others = [broker.id for broker in layout.brokers if not broker.fenced and broker.id not in row]
    racks = racks_of(layout, row)
    found = set()
    for gone in combinations(row[1:], due):
        for new in permutations(others, due):
            kept = tuple(sorted({*row, *new} - set(gone)))
            if racks_of(layout, kept) == racks + due:
                found.add((kept, partition.leader in gone))
    return found
