"""What holds for every placement: KIP-36's properties, and that fast ways agree with plain ones."""

from __future__ import annotations

from collections import Counter

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kafka_rack.java import JavaRandom, string_hash
from kafka_rack.placement import BUILT_IN, UsableBroker, place, rack_alternated
from kafka_rack.placement.rack_aware import RackWalk, place_over_racks, rounds
from kafka_rack.placement.striped import Stripes
from kafka_rack.selection import even_choice

PLAIN_PLACERS = sorted(
    set(BUILT_IN) - {"capacity", "decommissioned-brokers", "new-brokers", "broker-replica", "copyset"}
)
RACK_NAMES = [f"rack-{number}" for number in range(6)]
NAMED_RACKS = st.sampled_from(RACK_NAMES)
NEVER = st.just(value=False)
SEEDS = st.integers(-(2**63), 2**63 - 1)


@st.composite
def clusters(draw, racks=NAMED_RACKS, fenced=NEVER, largest=14):
    ids = draw(st.lists(st.integers(0, 50), min_size=1, max_size=largest, unique=True))
    return [UsableBroker(broker, draw(racks), draw(fenced)) for broker in ids]


@st.composite
def even_clusters(draw):
    """As many brokers in each rack."""
    racks, size = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    return [UsableBroker(number, RACK_NAMES[number % racks]) for number in range(racks * size)]


def racks_of(brokers):
    return {broker.id: broker.rack for broker in brokers}


@given(st.sampled_from(PLAIN_PLACERS), clusters(), st.data())
def test_replicas_are_distinct_known_brokers_as_many_as_asked_for(placer, brokers, data):
    replicas = data.draw(st.integers(1, len(brokers)))
    partitions = data.draw(st.integers(1, 60))
    rows = place(placer, brokers, data.draw(st.integers(0, 40)), partitions, replicas, seed=data.draw(SEEDS))
    assert len(rows) == partitions
    assert all(len(row) == len(set(row)) == replicas for row in rows)
    assert {broker for row in rows for broker in row} <= set(racks_of(brokers))


@given(clusters(), st.data())
def test_kip_36_each_partition_is_in_as_many_racks_as_it_can_be(brokers, data):
    replicas = data.draw(st.integers(1, len(brokers)))
    rack_of = racks_of(brokers)
    rows = place("rack-aware", brokers, 0, 3 * len(brokers), replicas, seed=data.draw(SEEDS))
    reach = min(replicas, len(set(rack_of.values())))
    assert {len({rack_of[broker] for broker in row}) for row in rows} == {reach}


@given(clusters(), st.integers(1, 3), st.data())
def test_kip_36_leaders_are_even_over_brokers_even_where_racks_are_not(brokers, rounds_of_leaders, data):
    replicas = data.draw(st.integers(1, len(brokers)))
    start = data.draw(st.integers(0, 100))
    rows = place("rack-aware", brokers, start, rounds_of_leaders * len(brokers), replicas, seed=data.draw(SEEDS))
    assert Counter(row[0] for row in rows) == {broker.id: rounds_of_leaders for broker in brokers}


@given(even_clusters(), st.data())
def test_kip_36_replicas_are_even_over_brokers_where_racks_are_of_one_size(brokers, data):
    replicas = data.draw(st.integers(1, len({broker.rack for broker in brokers})))
    rows = place("rack-aware", brokers, 0, 2 * len(brokers), replicas, seed=data.draw(SEEDS))
    assert Counter(broker for row in rows for broker in row) == {broker.id: 2 * replicas for broker in brokers}


@given(clusters())
def test_kip_36_neighbours_in_the_alternated_list_are_in_different_racks_until_racks_run_out(brokers):
    rack_of = racks_of(brokers)
    arranged = rack_alternated(rack_of)
    sizes = Counter(rack_of.values())
    assert sorted(arranged) == sorted(rack_of)
    for turn in range(min(sizes.values())):
        window = arranged[turn * len(sizes) : (turn + 1) * len(sizes)]
        assert [rack_of[broker] for broker in window] == sorted(sizes)


@given(clusters(racks=st.none()), st.data())
def test_without_racks_rack_aware_is_unaware(brokers, data):
    replicas, seed = data.draw(st.integers(1, len(brokers))), data.draw(SEEDS)
    assert place("rack-aware", brokers, 0, 30, replicas, seed=seed) == place(
        "unaware", brokers, 0, 30, replicas, seed=seed
    )


@given(st.sampled_from(["rack-aware", "broker-replica"]), even_clusters(), st.data())
def test_a_topic_that_grows_is_placed_as_if_it_had_always_been_large(placer, brokers, data):
    replicas = len({broker.rack for broker in brokers})
    cut, whole = sorted(data.draw(st.lists(st.integers(1, 70), min_size=2, max_size=2, unique=True)))
    at_once = place(placer, brokers, 0, whole, replicas, start_index=2)
    later = place(placer, brokers, cut, whole - cut, replicas, start_index=2)
    # The shift counts rounds from the first partition that a call places, so it must be carried on.
    if placer == "rack-aware":
        passed = cut // len(brokers) - (cut % len(brokers) == 0)
        later = place(placer, brokers, cut, whole - cut, replicas, start_index=2, next_replica_shift=2 + max(0, passed))
    assert later == at_once[cut:]


@given(clusters(largest=10), st.data())
def test_rows_from_the_table_are_those_of_the_walk(brokers, data):
    rack_of = racks_of(brokers)
    arranged = rack_alternated(rack_of)
    count, num_racks = len(arranged), len(set(rack_of.values()))
    replicas = data.draw(st.integers(1, count))
    first, shift = data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, count - 1))
    start, partitions = data.draw(st.integers(0, 30)), num_racks * count + 5
    names = sorted(set(rack_of.values()))
    walk = RackWalk(arranged, [names.index(rack_of[broker]) for broker in arranged], num_racks, replicas)
    assert place_over_racks(rack_of, start, partitions, replicas, first, shift) == [
        walk.row((leader + step) % count, round_shift * num_racks)
        for leader, length, round_shift in rounds(start, partitions, count, first, shift)
        for step in range(length)
    ]


@settings(max_examples=2 * settings().max_examples)
@given(
    clusters(racks=st.sampled_from([None, *RACK_NAMES[:3]]), fenced=st.sampled_from([False, False, False, True])),
    st.data(),
)
def test_striped_rows_of_whole_cycles_are_those_made_one_by_one(brokers, data):
    assume(not all(broker.fenced for broker in brokers))
    replicas, seed = data.draw(st.integers(1, len(brokers))), data.draw(SEEDS)
    one_by_one = Stripes(brokers, JavaRandom(seed))
    assert place("striped", brokers, 0, 80, replicas, seed=seed) == [one_by_one.row(replicas) for _ in range(80)]


@given(st.data())
def test_broker_replica_sets_are_disjoint_and_lead_evenly(data):
    replicas, groups = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 6))
    brokers = [UsableBroker(broker, data.draw(NAMED_RACKS)) for broker in range(replicas * groups)]
    rows = place("broker-replica", brokers, 0, 2 * len(brokers), replicas)
    sets = {frozenset(row) for row in rows}
    rack_of = racks_of(brokers)
    assert (len(sets), sum(map(len, sets))) == (groups, len(brokers))
    assert set(Counter(row[0] for row in rows).values()) == {2}
    if max(Counter(rack_of.values()).values()) <= groups:
        assert all(len({rack_of[broker] for broker in members}) == replicas for members in sets)


@given(st.data())
def test_copysets_never_hold_two_brokers_of_a_rack_where_racks_are_small_enough(data):
    replicas, groups = data.draw(st.integers(2, 4)), data.draw(st.integers(2, 5))
    brokers = [UsableBroker(broker, data.draw(NAMED_RACKS)) for broker in range(replicas * groups)]
    rack_of = racks_of(brokers)
    assume(max(Counter(rack_of.values()).values()) <= groups)
    rows = place("copyset", brokers, 0, 4 * len(brokers), replicas, seed=data.draw(st.integers(0, 99)))
    assert all(len({rack_of[broker] for broker in row}) == replicas for row in rows)


@given(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3, unique=True), min_size=1, max_size=8))
def test_the_even_choice_loads_no_broker_more_than_the_best_choice_would(rows):
    def least_peak(rest, loads):
        if not rest:
            return max(loads.values())
        return min(least_peak(rest[1:], {**loads, one: loads.get(one, 0) + 1}) for one in rest[0])

    chosen = even_choice(rows)
    assert all(one in row for one, row in zip(chosen, rows, strict=True))
    assert max(Counter(chosen).values()) == least_peak(rows, {})


@given(st.text(max_size=20))
def test_the_hash_of_a_string_is_the_polynomial_over_its_utf_16_units(text):
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = value * 31 + units[at] * 256 + units[at + 1]
    assert string_hash(text) == value % 2**32
