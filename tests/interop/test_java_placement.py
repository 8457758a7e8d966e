"""Placements beside Apache Kafka's own classes, on fresh and larger inputs than those that were recorded."""

from __future__ import annotations

from random import Random

import pytest

from kafka_rack.errors import InvalidPartitionsError, InvalidReplicationFactorError, MissingRackError
from kafka_rack.placement import UsableBroker, place
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_placement import DRAWN, PlacementQuestion, java_placements

CASES = 400
ERRORS = {
    InvalidReplicationFactorError: "InvalidReplicationFactorException",
    InvalidPartitionsError: "InvalidPartitionsException",
    MissingRackError: "AdminOperationException",
}


def cases(placer, random):
    for _ in range(CASES):
        count, racks = random.randint(1, 60), random.randint(1, 9)
        letters = "".join(random.choices("abcXYZ019-_.äß\u3042\U0001f600", k=random.randint(0, 6)))
        names = [f"{letters}{rack}" for rack in range(racks)]
        missing = random.choice([0.0, 0.0, 0.0, 0.2, 1.0])
        fenced = random.choice([0.0, 0.0, 0.3]) if placer == "striped" else 0.0
        even = random.random() < 0.5
        brokers = [
            UsableBroker(
                broker,
                None if random.random() < missing else names[at % racks] if even else random.choice(names),
                random.random() < fenced,
            )
            for at, broker in enumerate(random.sample(range(200), count))
        ]
        partitions = random.choice([1, random.randint(1, 60), random.randint(60, 900)])
        replicas = min(count, random.randint(1, 6)) if random.random() < 0.9 else random.randint(-1, count + 2)
        start = random.choice([0, random.randint(0, 300)])
        start_index = DRAWN if random.random() < 0.5 else random.randrange(count)
        yield PlacementQuestion(
            placer, brokers, start, partitions, replicas, random.getrandbits(60) - (1 << 59), start_index
        )


def ours(asked):
    drawn = asked.start_index == DRAWN or asked.placer == "striped"
    chosen = {"seed": asked.seed} if drawn else {"start_index": asked.start_index}
    try:
        return place(asked.placer, asked.brokers, asked.start_partition, asked.partitions, asked.replicas, **chosen)
    except tuple(ERRORS) as error:
        return ERRORS[type(error)]


@pytest.mark.parametrize("placer", ["rack-aware", "unaware", "striped"])
def test_kafkas_own_classes_place_the_same(placer):
    asked = list(cases(placer, Random(f"{placer} beside Java")))
    with skipped_without_tools():
        answers = java_placements(asked)
    assert sum(isinstance(answer, list) for answer in answers) > CASES / 2
    for one, answer in zip(asked, answers, strict=True):
        assert ours(one) == answer, one
