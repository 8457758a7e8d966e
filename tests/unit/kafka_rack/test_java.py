"""Java's random numbers and hash orders. Expected values were printed by OpenJDK 17."""

from __future__ import annotations

import pytest

from kafka_rack.java import (
    CACHED_CHARACTERS,
    HashTable,
    JavaRandom,
    hash_order,
    int_hash,
    known_string_hash,
    optional_string_hash,
    partition_hash,
    set_copy_capacity,
    string_hash,
    to_int32,
    utf16_key,
    uuid_hash,
)

MEMBERS = [f"consumer-{number * 7919 % 1000}" for number in range(30)] + ["größe", "\U0001f600 rack"]
MEMBERS_AS_JAVA_WALKS_THEM = [
    *(f"consumer-{number}" for number in (919, 838, 757, 218, 56, 813, 0, 975, 514, 542, 785, 461)),
    "\U0001f600 rack",
    *(f"consumer-{number}" for number in (380, 28, 704, 947, 109, 623, 866, 676, 137, 732, 894, 433)),
    "größe",
    *(f"consumer-{number}" for number in (595, 299, 651, 352, 271, 190)),
]


def colliding(count, pairs):
    """Strings that all hash alike: Aa and BB do."""
    return ["".join(("Aa", "BB")[number >> place & 1] for place in range(pairs)) for number in range(count)]


def test_a_seed_gives_javas_numbers():
    random = JavaRandom(42)
    drawn = [random.next_int(10) for _ in range(4)] + [random.next_int(16) for _ in range(3)]
    for _ in range(5):
        random.next_int()
    drawn += [random.next_int((1 << 30) + 1) for _ in range(4)]
    assert drawn == [
        *(0, 3, 8, 4, 4, 15, 4),
        *(791955276, 819572292, 592164476, 995688456),
    ]


def test_a_negative_seed_shuffles_as_collections_shuffle_does_and_leaves_the_same_state():
    random = JavaRandom(-7)
    items = list(range(12))
    random.shuffle(items)
    assert (items, random.next_int(1000)) == ([2, 11, 7, 8, 1, 6, 3, 4, 9, 0, 5, 10], 921)


@pytest.mark.parametrize("bound", [0, -1])
def test_a_bound_below_one_is_refused(bound):
    with pytest.raises(ValueError, match="must be positive"):
        JavaRandom(0).next_int(bound)


def test_a_hash_set_walks_strings_as_java_does():
    assert hash_order(MEMBERS, string_hash) == MEMBERS_AS_JAVA_WALKS_THEM


def test_a_set_made_large_enough_at_once_walks_as_one_that_grew():
    assert hash_order(MEMBERS, string_hash, set_copy_capacity(len(MEMBERS))) == MEMBERS_AS_JAVA_WALKS_THEM


def test_keys_given_twice_count_once():
    assert hash_order(MEMBERS * 2, string_hash) == MEMBERS_AS_JAVA_WALKS_THEM


def test_nine_keys_in_one_bucket_make_a_small_table_grow_early():
    keys = ["rack-1", "zeta", "q", *colliding(9, 4)]
    assert hash_order(keys, string_hash) == ["zeta", *colliding(9, 4), "q", "rack-1"]


def test_compute_if_absent_puts_new_keys_first_and_grows_later_than_put():
    table = HashTable(string_hash)
    for member in MEMBERS[:14]:
        table.add_first(member)
    numbers = (919, 28, 838, 947, 757, 109, 0, 514, 676, 433, 595, 352, 271, 190)
    assert list(table) == [f"consumer-{number}" for number in numbers]


def test_compute_if_absent_turns_the_order_of_a_bucket_round():
    table = HashTable(string_hash)
    for key in [*colliding(8, 3), "x"]:
        table.add_first(key)
    assert list(table) == [*reversed(colliding(8, 3)), "x"]


def test_a_table_walks_on_in_order_while_keys_come_and_go():
    table = HashTable(string_hash)
    for member in MEMBERS:
        table.add(member)
    table.remove(MEMBERS_AS_JAVA_WALKS_THEM[0])
    table.add("consumer-0")
    assert (table.first(), len(table), "consumer-919" in table) == ("consumer-838", len(MEMBERS) - 1, False)


def test_an_empty_table_has_no_first_key():
    with pytest.raises(KeyError):
        HashTable(string_hash).first()


def test_hashes_are_javas():
    assert string_hash("größe") == string_hash("gr\u00f6\u00dfe") != string_hash("grosse")
    assert (optional_string_hash(None), optional_string_hash("")) == (0, 0)
    assert to_int32(int_hash(-1)) == -1
    assert partition_hash(("", 3)) == 31 * 34
    assert uuid_hash(bytes(7) + b"\x01" + bytes(7) + b"\x03") == 2


def test_strings_sort_by_utf_16_code_units():
    assert sorted(["\uff5e", "\U0001f600", "z"], key=utf16_key) == ["z", "\U0001f600", "\uff5e"]


def test_hashes_of_long_strings_are_not_kept_in_memory():
    end = string_hash("x" * CACHED_CHARACTERS)
    kept = known_string_hash.cache_info()
    assert string_hash("x" * (CACHED_CHARACTERS + 1)) == (end * 31 + ord("x")) & 0xFFFFFFFF
    assert known_string_hash.cache_info() == kept
