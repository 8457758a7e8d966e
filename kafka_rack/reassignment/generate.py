"""The proposal of ``kafka-reassign-partitions --generate``: places each topic again, without regard to moves.

Each topic is placed in one call of the striped placer, with one java.util.Random for all, in the order of a Java hash
map of the topics; the replication factor is that of the first partition in such a map. Equal seeds produce Kafka's text
byte for byte; Kafka itself draws a new seed each time.

Source: ReassignPartitionsCommand.calculateAssignment, Apache Kafka 4.1.0; fixtures/oracle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_rack.errors import InputError, KafkaRackError
from kafka_rack.java import HashTable, hash_order, partition_hash, string_hash
from kafka_rack.placement import ENFORCED, StripedPlacer, UsableBroker, apply_rack_mode, check_request


def propose(
    current: Mapping[str, Sequence[Sequence[int]]],
    brokers: Sequence[UsableBroker],
    *,
    seed: int,
    rack_mode: str = ENFORCED,
) -> dict[str, list[list[int]]]:
    """Place every topic of ``current`` again over ``brokers``.

    Args:
        current: topic -> the replicas of partition 0, 1, ...; the topics in the order of the request.
        rack_mode: ``enforced`` refuses brokers partly without a rack, ``disabled`` is ``--disable-rack-aware``.

    Raises:
        InputError: no topics.
        MissingRackError: see ``apply_rack_mode``.
        InvalidReplicationFactorError: a topic has more replicas than brokers exist; the message names it.

    >>> propose({"orders": [[0], [0]]}, [UsableBroker(0), UsableBroker(1)], seed=0)
    {'orders': [[1], [0]]}
    """
    if not current:
        raise InputError("no topics to move")
    usable = apply_rack_mode(brokers, rack_mode)
    placer = StripedPlacer(seed)
    proposed = {}
    for topic, replication_factor in walk(current):
        count = len(current[topic])
        try:
            check_request(count, replication_factor, usable)
        except KafkaRackError as error:
            raise type(error)(f"topic {topic}: {error}") from error
        proposed[topic] = placer.place(0, count, replication_factor, usable)
    return {topic: proposed[topic] for topic in sorted(proposed)}


def walk(current: Mapping[str, Sequence[Sequence[int]]]) -> list[tuple[str, int]]:
    """Topics with their replication factors, in the order in which Kafka's tool places them.

    Kafka puts the topics into a map, their partitions into another, and groups that by topic in a third.
    """
    topics = hash_order(list(current), string_hash)
    partitions = [(topic, number) for topic in topics for number in range(len(current[topic]))]
    groups: HashTable[str] = HashTable(string_hash)
    replicas: dict[str, int] = {}
    for topic, number in hash_order(partitions, partition_hash):
        groups.add_first(topic)
        replicas.setdefault(topic, len(current[topic][number]))
    return [(topic, replicas[topic]) for topic in groups]
