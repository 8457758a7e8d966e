"""A plan's bytes across racks, against values worked out by hand and by listing every copy."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.errors import InputError
from kafka_rack.locality import Prices, forecast
from kafka_rack.locality.amounts import (
    Pace,
    bytes_text,
    covered_us,
    duration_text,
    money_text,
    parse_size,
    parse_window,
    window_for,
    window_text,
)
from kafka_rack.locality.forecast import copies_elsewhere
from kafka_rack.locality.prices import read_prices

MIB = 2**20


def test_three_even_racks_with_nothing_local_move_1200_mib_a_second_across_racks():
    """300 MiB/s in, RF 3, two readers: two thirds of what is produced, 200; two copies of all, 600; two readers of
    whom each finds two thirds elsewhere, 400.
    """
    plan = forecast(racks=3, replication_factor=3, bytes_in=300 * MIB, readers=2)
    assert plan.cross_by_kind == {"produce": 200 * MIB, "replication": 600 * MIB, "consume": 400 * MIB}
    assert plan.cross == 1200 * MIB
    assert plan.total == (300 + 600 + 600) * MIB


def test_tiers_apply_to_all_that_crosses_in_its_month():
    """1200 MiB/s make 3,306,789 GB a month: 1,000,000 for 0.02 $ and the rest for 0.01 $ a GB."""
    prices = read_prices("[[tiers]]\nabove = 1000000\negress = 0.005\ningress = 0.005", "p.toml")
    plan = forecast(racks=3, replication_factor=3, bytes_in=300 * MIB, readers=2)
    assert abs(sum(plan.month(prices).values()) - (20_000 + Decimal("23067.892736"))) < Decimal("1E-12")


def test_its_month_is_730_hours_at_two_cents_a_gigabyte():
    """1200 * 1048576 B/s * 2628000 s = 3306789273600000 B; at 0.02 $/GB 66135.785472 $."""
    plan = forecast(racks=3, replication_factor=3, bytes_in=300 * MIB, readers=2)
    assert sum(plan.month(Prices()).values()) == Decimal("66135.785472")
    free = plan.month(Prices().with_free_replication())
    assert (free["replication"], sum(free.values())) == (0, Decimal("33067.892736"))


def test_readers_in_their_rack_take_their_part_away():
    plan = forecast(racks=3, replication_factor=3, bytes_in=300 * MIB, readers=2, local_consumers=1)
    assert plan.cross_by_kind == {"produce": 200 * MIB, "replication": 600 * MIB, "consume": 0}
    half = forecast(racks=3, replication_factor=3, bytes_in=300 * MIB, readers=2, local_producers=Fraction(1, 2))
    assert half.cross_by_kind["produce"] == 100 * MIB


def test_one_rack_crosses_nothing():
    assert forecast(racks=1, replication_factor=3, bytes_in=1, readers=5).cross == 0


@given(st.integers(1, 7), st.integers(1, 9))
def test_copies_elsewhere_are_those_that_a_list_of_all_pairs_counts(racks, replication_factor):
    """Copies dealt to racks in turn, each as likely the leader."""
    dealt = [copy % racks for copy in range(replication_factor)]
    pairs = sum(one != other for one in dealt for other in dealt)
    assert copies_elsewhere(racks, replication_factor) == Fraction(pairs, replication_factor)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"racks": 0}, "racks: expected 1 at least, got 0"),
        ({"replication_factor": 0}, "replication factor: expected 1 at least, got 0"),
        ({"bytes_in": -1}, "bytes in: expected 0 at least, got -1"),
        ({"readers": -1}, "readers: expected 0 at least, got -1"),
        ({"local_consumers": 1.5}, "local consumers: expected a share from 0 to 1, got 1.5"),
    ],
)
def test_numbers_out_of_range_are_refused(changed, said):
    with pytest.raises(InputError, match=said):
        forecast(**{"racks": 3, "replication_factor": 3, "bytes_in": 1, **changed})


def test_spans_count_once_where_they_overlap_and_gaps_do_not_count():
    assert covered_us([(50, 60), (0, 10), (5, 20), (7, 8)]) == 30
    assert covered_us([]) == 0
    assert covered_us([(5, 5)]) == 0


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted), max_size=8))
def test_covered_time_is_what_ticking_it_off_counts(spans):
    ticked = {tick for first, last in spans for tick in range(first, last)}
    assert covered_us([(first, last) for first, last in spans]) == len(ticked)


def test_a_month_is_the_span_repeated():
    assert Pace(3_600_000_000).month(10) == 7300
    assert Pace(59_999_999).month(10) is None


@pytest.mark.parametrize("text", ["", "0s", "5", "5 weeks", "-5m", "1.5h", "٣s"])
def test_windows_that_are_none_are_refused(text):
    with pytest.raises(InputError, match="expected a number with ms, s, m, h or d, as 5m"):
        parse_window(text)


@given(st.integers(1, 10**6), st.sampled_from(["ms", "s", "m", "h", "d"]))
def test_windows_read_back_what_they_tell(count, unit):
    window = parse_window(f"{count}{unit}")
    assert parse_window(window_text(window)) == window


@given(st.integers(1, 60 * 28 * 86_400 * 10**6))
def test_a_span_has_sixty_windows_at_most(span_us):
    assert -(-span_us // window_for(span_us)) <= 60


@pytest.mark.parametrize("text", ["", "MiB", "5 parsecs", "-1MiB", "1e9"])
def test_sizes_that_are_none_are_refused(text):
    with pytest.raises(InputError, match="GiB or TiB, as 300MiB/s, got"):
        parse_size(text)


def test_amounts_as_people_read_them():
    assert parse_size("1.5 GB") == 1_500_000_000
    assert bytes_text(1023) == "1023 B"
    assert bytes_text(300 * MIB) == "300 MiB"
    assert money_text(None, "$") == "-"
    assert money_text(Decimal("0.0999"), "$") == "$0.10"
    assert duration_text(90_000_000) == "90.0 s"
