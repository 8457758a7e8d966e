from __future__ import annotations

import pytest

from kafka_rack.java import CACHED_CHARACTERS, known_string_hash
from mockbroker.state.topics.coordinator_keys import partition_of_key


@pytest.mark.parametrize(
    ("group", "partition"),
    [
        ("readers", 28),
        ("payments", 13),
        ("a group with a long name", 0),  # whose hash is below 0
        ("\u00e4\U0001f600", 7),
        ("polygenelubricants", 0),  # whose hash has no absolute value among 32 bits
    ],
)
def test_a_groups_partition_is_the_one_that_kafka_finds(group, partition):
    assert partition_of_key(group, 50) == partition  # by Utils.abs(hashCode) % 50 in Java, kafka-clients 4.4.0


def test_long_keys_are_found_without_keeping_them():
    kept = known_string_hash.cache_info()
    long = "k" * (CACHED_CHARACTERS + 1)
    assert partition_of_key(long, 50) == 25  # by (31 ** 257 - 1) // 30 * ord("k"), as 32 signed bits
    assert known_string_hash.cache_info() == kept
