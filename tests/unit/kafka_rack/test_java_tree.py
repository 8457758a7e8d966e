"""Buckets of more than eight keys are walked as java.util.HashSet walks them."""

from __future__ import annotations

import pytest

from kafka_rack.java import HashTable, hash_order, int_hash


@pytest.mark.parametrize(
    ("count", "step", "order"),
    [
        (10, 16, [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]),
        (12, 64, [3, 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]),
        (16, 64, [3, 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
        (
            30,
            64,
            [
                7,
                3,
                0,
                1,
                2,
                4,
                5,
                6,
                8,
                9,
                10,
                11,
                12,
                13,
                14,
                15,
                16,
                17,
                18,
                19,
                20,
                21,
                22,
                23,
                24,
                25,
                26,
                27,
                28,
                29,
            ],
        ),
        (
            40,
            1024,
            [
                15,
                7,
                3,
                0,
                1,
                2,
                4,
                5,
                6,
                8,
                9,
                10,
                11,
                12,
                13,
                14,
                16,
                17,
                18,
                19,
                20,
                21,
                22,
                23,
                24,
                25,
                26,
                27,
                28,
                29,
                30,
                31,
                32,
                33,
                34,
                35,
                36,
                37,
                38,
                39,
            ],
        ),
        (13, 4096, [3, 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
    ],
)
def test_colliding_ints_come_in_javas_order(count, step, order):
    assert hash_order([step * number for number in range(count)], int_hash) == [step * number for number in order]


def test_a_table_with_trees_and_hash_order_agree():
    keys = [number * 64 for number in range(40)]
    table: HashTable[int] = HashTable(int_hash)
    for key in keys:
        table.add(key)
    assert list(table) == hash_order(keys, int_hash)


def test_a_key_removed_from_a_tree_is_gone():
    table: HashTable[int] = HashTable(int_hash)
    for number in range(14):
        table.add(number * 1024)
    assert table.remove(5 * 1024)
    assert sorted(table) == [number * 1024 for number in range(14) if number != 5]
