"""The parts of Java's library on which Kafka's decisions depend: random numbers, hashes, and the order of a hash map.

Kafka iterates over hash maps and draws from ``java.util.Random`` while it places replicas and assigns partitions, so
equal answers need equal orders. The code follows OpenJDK 8 to 21, which agree on all of it. One thing is approximate:
the order of a bucket of nine or more keys, which Java stores as a tree (java_tree), after keys were removed from it.

Source: the documented generator of java.util.Random; the behaviour of java.util.HashMap, as fixtures/oracle records it.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Generic, TypeVar

from kafka_rack.java_tree import TreeBucket

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)

MASK_32 = 0xFFFFFFFF
MASK_48 = (1 << 48) - 1
MULTIPLIER = 0x5DEECE66D
"""The factor of java.util.Random's linear congruential generator; its increment is 11."""
INCREMENT = 0xB
DEFAULT_CAPACITY = 16
"""Buckets in a fresh java.util.HashMap."""
TREE_THRESHOLD = 8
"""With more keys in one bucket, Java grows a small table, or turns the bucket of a large one into a tree."""
UNTREE_THRESHOLD = 6
"""With at most this many keys, a part of a tree becomes a list again when the table grows."""
CACHED_CHARACTERS = 256
"""The longest string whose hash is cached; longer ones would take too much memory."""
TREE_CAPACITY = 64
"""The number of buckets from which Java makes trees instead of growing early."""


class JavaRandom:
    """``java.util.Random``: the same seed gives the same numbers.

    >>> JavaRandom(42).next_int(10), JavaRandom(42).next_int()
    (0, -1170105035)
    """

    __slots__ = ("state",)

    def __init__(self, seed: int) -> None:
        self.state = (seed ^ MULTIPLIER) & MASK_48

    def next_bits(self, bits: int) -> int:
        """The next ``bits`` (1 to 32) random bits, as an unsigned number."""
        self.state = (self.state * MULTIPLIER + INCREMENT) & MASK_48
        return self.state >> (48 - bits)

    def next_int(self, bound: int | None = None) -> int:
        """A number from 0 up to, not including, ``bound`` (1 to 2**31 - 1), or any signed 32-bit number."""
        if bound is None:
            return to_int32(self.next_bits(32))
        if bound <= 0:
            raise ValueError(f"bound {bound}, but it must be positive")
        bits = self.next_bits(31)
        if bound & (bound - 1) == 0:
            return (bound * bits) >> 31
        value = bits % bound
        while bits - value + bound - 1 > 0x7FFFFFFF:
            bits = self.next_bits(31)
            value = bits % bound
        return value

    def shuffle(self, items: list[Item]) -> None:
        """``Collections.shuffle``: from the end, swap each item with one drawn from those up to it."""
        for last in range(len(items) - 1, 0, -1):
            other = self.next_int(last + 1)
            items[last], items[other] = items[other], items[last]


def to_int32(value: int) -> int:
    """``value`` cut to 32 bits and read as Java's signed int."""
    value &= MASK_32
    return value - 0x100000000 if value & 0x80000000 else value


def utf16_key(text: str) -> bytes:
    """A sort key that orders strings as Java does: by UTF-16 code units.

    Python compares code points, which differs only for characters beyond U+FFFF against U+E000 to U+FFFF.
    """
    return text.encode("utf-16-be", "surrogatepass")


def in_string_order(items: Iterable[Item], text_of: Callable[[Item], str]) -> list[Item]:
    """Items sorted by a text, as Java compares strings; a stable sort.

    >>> in_string_order(["b", "\uff5e", "\U0001f600", "a"], str)
    ['a', 'b', '\U0001f600', '\uff5e']
    """
    items = list(items)
    if "".join(map(text_of, items)).isascii():
        # For ASCII, code units are code points, which Python compares.
        return sorted(items, key=text_of)
    return sorted(items, key=lambda item: utf16_key(text_of(item)))


def string_hash(text: str) -> int:
    """``String.hashCode`` as an unsigned 32-bit number; hashes of recent short strings are cached.

    >>> string_hash("rack-a") == to_int32(string_hash("rack-a")) & 0xFFFFFFFF
    True
    >>> string_hash("Aa") == string_hash("BB") == 2112
    True
    >>> to_int32(string_hash("polygenelubricants"))
    -2147483648
    """
    return known_string_hash(text) if len(text) <= CACHED_CHARACTERS else hash_of_string(text)


def hash_of_string(text: str) -> int:
    value = 0
    if text.isascii():
        for unit in text.encode("ascii"):
            value = (value * 31 + unit) & 0xFFFFFFFF
        return value
    encoded = utf16_key(text)
    for (unit,) in struct.iter_unpack(">H", encoded):
        value = (value * 31 + unit) & 0xFFFFFFFF
    return value


known_string_hash = lru_cache(maxsize=4096)(hash_of_string)


def optional_string_hash(text: str | None) -> int:
    """The hash of an ``Optional<String>`` or of a string that may be null, whose hash is 0."""
    return 0 if text is None else string_hash(text)


def int_hash(value: int) -> int:
    """``Integer.hashCode`` as an unsigned 32-bit number."""
    return value & MASK_32


def partition_hash(partition: tuple[str, int]) -> int:
    """The hash of Kafka's ``TopicPartition``, given as (topic, partition)."""
    topic, number = partition
    return (31 * (31 + number) + string_hash(topic)) & MASK_32


def murmur2(data: bytes) -> int:
    """The hash by which Kafka's producers spread keys, as a signed number of 32 bits. Source: Utils.murmur2, Kafka.

    >>> murmur2(b"21"), murmur2(b"foobar"), murmur2(b"a-little-bit-long-string")
    (-973932308, -790332482, -985981536)
    """
    multiplier, mask = 0x5BD1E995, 0xFFFFFFFF
    value = (0x9747B28C ^ len(data)) & mask
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * multiplier & mask
        word = (word ^ word >> 24) * multiplier & mask
        value = value * multiplier & mask ^ word
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * multiplier & mask
    value = (value ^ value >> 13) * multiplier & mask
    return to_int32(value ^ value >> 15)


def to_positive(number: int) -> int:
    """A signed number of 32 bits without its sign bit. Source: Utils.toPositive, Kafka.

    It is not the absolute value:

    >>> to_positive(5), to_positive(-1), to_positive(-(2**31))
    (5, 2147483647, 0)
    """
    return number & 0x7FFFFFFF


def uuid_hash(uuid: bytes) -> int:
    """The hash of Kafka's ``Uuid``, given as 16 bytes: its halves xored, then the halves of that."""
    mixed = int.from_bytes(uuid[:8], "big") ^ int.from_bytes(uuid[8:], "big")
    return (mixed >> 32) ^ (mixed & MASK_32)


def spread(hash_value: int) -> int:
    """The hash that ``HashMap`` masks: the upper half mixed into the lower."""
    hash_value &= MASK_32
    return hash_value ^ (hash_value >> 16)


def table_size_for(capacity: int) -> int:
    """The power of two, at least 1, that a ``HashMap`` made for ``capacity`` uses.

    >>> [table_size_for(capacity) for capacity in (0, 1, 12, 16, 17)]
    [1, 1, 16, 16, 32]
    """
    return 1 if capacity <= 1 else 1 << (capacity - 1).bit_length()


def set_copy_capacity(size: int) -> int:
    """The capacity of ``new HashSet<>(collection)``: max(size / 0.75 + 1, 16)."""
    return max(int(size / 0.75) + 1, 16)


def hash_order(keys: Iterable[Key], hash_of: Callable[[Key], int], capacity: int = DEFAULT_CAPACITY) -> list[Key]:
    """The iteration order of a ``HashMap`` or ``HashSet`` after ``keys`` were added in this order.

    Args:
        keys: in the order of their insertion; repeated ones count once.
        hash_of: the hash of a key, as ``string_hash`` returns it.
        capacity: the map's initial capacity.

    This holds for ``put`` and ``add``; for ``computeIfAbsent`` and removals use ``HashTable``.

    >>> hash_order(["rack-a", "rack-b", "rack-c"], string_hash)
    ['rack-c', 'rack-b', 'rack-a']
    """
    unique = list(dict.fromkeys(keys))
    length = table_size_for(capacity)
    while len(unique) * 4 > length * 3:
        length *= 2
    hashes = [spread(hash_of(key)) for key in unique]
    if len(unique) > TREE_THRESHOLD and ever_overfull(hashes, length):
        table: HashTable[Key] = HashTable(hash_of, capacity)
        for key in unique:
            table.add(key)
        return list(table)
    mask = length - 1
    buckets = [value & mask for value in hashes]
    order = sorted(range(len(unique)), key=buckets.__getitem__)
    return [unique[index] for index in order]


def ever_overfull(hashes: list[int], length: int) -> bool:
    """True if a bucket of a table that has grown to ``length`` ever held more than ``TREE_THRESHOLD`` keys.

    A table of half the length held no more than three eighths of ``length`` keys, and so on downwards.
    """
    count = len(hashes)
    while count > TREE_THRESHOLD:
        mask = length - 1
        if max(Counter([value & mask for value in hashes[:count]]).values()) > TREE_THRESHOLD:
            return True
        length //= 2
        count = min(count, length * 3 // 4 + 1)
    return False


def tie_key(key: object) -> Any:
    """The sort key of keys with equal hashes in a tree: strings and uuids compare as in Java, others do not."""
    if isinstance(key, str):
        return utf16_key(key)
    if isinstance(key, bytes):
        return int.from_bytes(key[:8], "big", signed=True), int.from_bytes(key[8:], "big", signed=True)
    return 0


class HashTable(Generic[Key]):
    """The keys of a ``HashMap`` or ``HashSet`` with insertions and removals, iterated in Java's order.

    ``add`` is put: a new key goes to the end of its bucket, and the table doubles once its size exceeds three quarters
    of its length. ``add_first`` is computeIfAbsent, compute and merge: a new key goes to the head of its bucket, and
    the table doubles beforehand. Removing never shrinks the table.
    """

    __slots__ = ("buckets", "hash_of", "length", "size", "trees")

    def __init__(self, hash_of: Callable[[Key], int], capacity: int = DEFAULT_CAPACITY) -> None:
        self.hash_of = hash_of
        self.length = table_size_for(capacity)
        self.size = 0
        self.buckets: dict[int, list[Key]] = {}
        # Overfull buckets; each shares its list with ``buckets``.
        self.trees: dict[int, TreeBucket[Key]] = {}

    def add(self, key: Key) -> bool:
        """Add a key; False if it exists."""
        bucket = self.bucket_of(key)
        if key in bucket:
            return False
        self._put(key, bucket, len(bucket))
        if self.size * 4 > self.length * 3:
            self.grow()
        return True

    def add_first(self, key: Key) -> bool:
        """Add a key as computeIfAbsent does; False if it exists."""
        if self.size * 4 > self.length * 3:
            self.grow()
        bucket = self.bucket_of(key)
        if key in bucket:
            return False
        # Java counts one key fewer here than in put before it grows early or makes a tree.
        self._put(key, bucket, 0, TREE_THRESHOLD - 1)
        return True

    def remove(self, key: Key) -> bool:
        """Remove a key; False if it is missing."""
        bucket = self.bucket_of(key)
        if key not in bucket:
            return False
        bucket.remove(key)
        self.size -= 1
        number = self.number_of(key)
        if self.trees.pop(number, None) is not None:
            self.settle(number, bucket)
        return True

    def first(self) -> Key:
        """The first key of an iteration.

        Raises: KeyError: the table is empty.
        """
        for key in self:
            return key
        raise KeyError("first key of an empty table")

    def number_of(self, key: Key) -> int:
        return spread(self.hash_of(key)) & (self.length - 1)

    def bucket_of(self, key: Key) -> list[Key]:
        return self.buckets.setdefault(self.number_of(key), [])

    def grow(self) -> None:
        """Double the table; keys of one bucket keep their order in the two that it becomes."""
        old_buckets, old_trees = self.buckets, self.trees
        old_length = self.length
        self.length *= 2
        self.buckets, self.trees = {}, {}
        for number, keys in old_buckets.items():
            for part in (number, number + old_length):
                mine = [key for key in keys if self.number_of(key) == part]
                if number in old_trees and len(mine) == len(keys):
                    self.trees[part] = old_trees[number]
                    self.buckets[part] = keys
                elif number in old_trees:
                    self.settle(part, mine)
                else:
                    self.buckets[part] = mine

    def settle(self, number: int, keys: list[Key]) -> None:
        """Store the rest of a tree as a list if it is short, else as a tree."""
        self.buckets[number] = keys
        if len(keys) > UNTREE_THRESHOLD:
            self._make_tree(number)

    def _put(self, key: Key, bucket: list[Key], place: int, threshold: int = TREE_THRESHOLD) -> None:
        number = self.number_of(key)
        self.size += 1
        if number in self.trees:
            self.trees[number].add(key)
            return
        bucket.insert(place, key)
        if len(bucket) > threshold:
            if self.length < TREE_CAPACITY:
                self.grow()
            else:
                self._make_tree(number)

    def _make_tree(self, number: int) -> None:
        tree = TreeBucket(self.buckets[number], lambda key: to_int32(spread(self.hash_of(key))), tie_key)
        self.trees[number] = tree
        self.buckets[number] = tree.order

    def __iter__(self) -> Iterator[Key]:
        for number in sorted(self.buckets):
            yield from list(self.buckets[number])

    def __len__(self) -> int:
        return self.size

    def __contains__(self, key: object) -> bool:
        return any(key in bucket for bucket in self.buckets.values())
