"""The grid of clusters: what people write, what a file says, what cannot be."""

from __future__ import annotations

import pytest

from kafka_rack.availability import PLACERS
from kafka_rack.errors import InputError
from kafka_rack.pipeline.availability.grid import (
    HIGHEST,
    KAFKA_1736_GRID,
    MAX_POINTS,
    grids_of,
    points_of,
    values_in_text,
)

SMALL = {"brokers": (6,), "partitions": (12,), "replication_factor": (3,), "failures": (1,)}


@pytest.mark.parametrize(
    ("axis", "text", "values"),
    [
        ("brokers", "6", (6,)),
        ("brokers", " 9 , 6 ", (9, 6)),
        ("brokers", "3-5", (3, 4, 5)),
        ("brokers", "3-10/3", (3, 6, 9)),
        ("brokers", "4-4", (4,)),
        ("brokers", "6,3-9/3,6", (6, 3, 9)),
        ("racks", "none,3", (None, 3)),
        ("min_insync_replicas", "none", (None,)),
        ("placer", "all", PLACERS),
        ("placer", "copyset,all", ("copyset", *(name for name in PLACERS if name != "copyset"))),
    ],
)
def test_an_axis_is_values_and_ranges_each_once(axis, text, values):
    assert values_in_text(axis, text) == values


@pytest.mark.parametrize(
    ("axis", "text", "reason"),
    [
        ("brokers", "six", "brokers: expected numbers between commas or FROM-TO/STEP, got 'six'"),
        ("brokers", "", "brokers: expected numbers between commas or FROM-TO/STEP, got ''"),
        ("brokers", "6,", "brokers: expected numbers between commas or FROM-TO/STEP, got ''"),
        ("brokers", "-3", "brokers: expected numbers between commas or FROM-TO/STEP, got '-3'"),
        ("brokers", "1" * 10, f"brokers: expected numbers between commas or FROM-TO/STEP, got '{'1' * 10}'"),
        ("brokers", "none", "brokers: expected numbers between commas or FROM-TO/STEP, got 'none'"),
        ("brokers", "9-6", "brokers: expected a range as FROM-TO or FROM-TO/STEP, got '9-6'"),
        ("brokers", "6-9/0", "brokers: expected a range as FROM-TO or FROM-TO/STEP, got '6-9/0'"),
        (
            "brokers",
            "1-" + "9" * 30,
            f"brokers: '1-{'9' * 30}' has more values than the {MAX_POINTS} points of a grid",
        ),
        ("brokers", "2001", "brokers: 2001, but at most 2000 are taken"),
        ("partitions", "100001", "partitions: 100001, but at most 100000 are taken"),
        ("failures", "2001", "failures: 2001, but at most 2000 are taken"),
        ("placer", "best", f"placer: expected all or some of {', '.join(PLACERS)}, got 'best'"),
    ],
)
def test_an_axis_that_cannot_be_says_what_is_due(axis, text, reason):
    with pytest.raises(InputError) as refused:
        values_in_text(axis, text)
    assert str(refused.value) == reason


def test_a_files_axis_is_a_value_a_list_or_a_text():
    said = {"brokers": "3-9/3", "racks": [None, "none", 3], "partitions": 12, "replication_factor": [3], "failures": 1}
    assert grids_of(said) == [
        {"brokers": (3, 6, 9), "racks": (None, 3), "partitions": (12,), "replication_factor": (3,), "failures": (1,)}
    ]
    assert len(grids_of({"grids": [said, said]})) == 2


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ([], "expected an object of axes, or one with a list of grids"),
        ("brokers", "expected an object of axes, or one with a list of grids"),
        ({"broker": 3}, "no axis 'broker': there are brokers, racks, partitions"),
        ({"grids": []}, "grids: expected one or more"),
        ({"grids": [{}], "brokers": 3}, "'brokers' beside grids, but axes belong inside of them"),
        ({"grids": [{}, 3]}, "grid 2: expected an object of axes"),
        ({"grids": [{}, {"racks": -1}]}, "grid 2: racks: expected numbers from 0, got -1"),
        ({"brokers": []}, "brokers: expected one value or more"),
        ({"brokers": None}, "brokers: expected numbers from 0, got null"),
        ({"brokers": 6.5}, "brokers: expected numbers from 0, got 6.5"),
        ({"brokers": True}, "brokers: expected numbers from 0, got true"),
        ({"brokers": {"from": 3}}, 'brokers: expected numbers from 0, got {"from": 3}'),
        ({"brokers": [[3]]}, "brokers: expected numbers from 0, got [3]"),
        ({"brokers": 10**30}, f"brokers: {10**30}, but at most 2000 are taken"),
        ({"placer": 3}, "placer: expected all or some of"),
        ({"placer": [["copyset"]]}, "placer: expected all or some of"),
    ],
)
def test_a_file_that_is_no_grid_says_where_and_what_is_due(said, reason):
    with pytest.raises(InputError) as refused:
        grids_of(said)
    assert str(refused.value).startswith(reason)
    assert "\n" not in str(refused.value)


def test_points_are_every_combination_in_the_order_of_the_axes():
    points, skipped = points_of([{**SMALL, "brokers": (6, 9), "failures": (1, 2)}])
    assert [(point.question.brokers, point.question.failures) for point in points] == [(6, 1), (6, 2), (9, 1), (9, 2)]
    assert skipped == []


def test_min_insync_replicas_is_two_or_one_where_there_is_one_replica():
    points, _ = points_of([{**SMALL, "replication_factor": (1, 2, 3)}])
    assert [point.question.min_insync_replicas for point in points] == [1, 2, 2]


def test_a_scatter_width_is_asked_of_copysets_only_so_others_stand_once():
    points, _ = points_of([{**SMALL, "placer": ("copyset", "unaware"), "scatter_width": (2, 4)}])
    assert [(point.question.placer, point.scatter_width) for point in points] == [
        *(("copyset", 2), ("copyset", 4), ("unaware", None))
    ]


def test_points_of_several_grids_stand_once():
    points, _ = points_of([{**SMALL, "brokers": (6, 9)}, {**SMALL, "brokers": (9, 12)}])
    assert [point.question.brokers for point in points] == [6, 9, 12]


def test_combinations_that_cannot_be_have_the_reason():
    _, skipped = points_of([{**SMALL, "brokers": (2,)}, {**SMALL, "racks": (None, 7), "rack_failures": (1,)}])
    assert [one.reason for one in skipped] == [
        "replication factor: expected 1 to the 2 brokers, got 3",
        "1 failed racks, but there are 0",
        "racks: expected 1 to the 6 brokers, got 7",
    ]


def test_a_grid_without_its_axes_or_with_too_many_points_is_refused():
    with pytest.raises(InputError, match=r"^partitions, failures must be given$"):
        points_of([{"brokers": (6,), "replication_factor": (3,)}])
    with pytest.raises(InputError, match=r"^20100 combinations, but at most 20000 are taken: give fewer values$"):
        points_of([{**SMALL, "partitions": tuple(range(1, 202)), "failures": tuple(range(100))}])


def test_the_highest_values_make_a_grid_at_once():
    points, skipped = points_of([{axis: (most,) for axis, most in HIGHEST.items()} | {"failures": (2_000,)}])
    assert (len(points), skipped) == (1, [])


def test_kafka_1736s_grid_holds_its_cells():
    points, _ = points_of([KAFKA_1736_GRID])
    cells = {(point.question.brokers, point.question.placer, point.question.failures) for point in points}
    assert {
        (brokers, placer, 2) for brokers in (6, 9, 12) for placer in ("broker-replica", "unaware", "random")
    } <= cells
