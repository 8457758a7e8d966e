"""Answers of diskless Kafkas to drawn clients, compared with their own classes: over 100,000 of each."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_rack.diskless import (
    CIDR_BLOCKS,
    AutoMQ,
    DisklessBrokers,
    DisklessClient,
    DisklessPartition,
    Inkless,
    InklessManaged,
    Lakestream,
    ShownPartition,
)
from tests.fixture_data import oracle

PARTITIONS = 100


def as_text(shown: ShownPartition) -> str:
    return f"{shown.leader} {list(shown.replicas)} {list(shown.isr)} {list(shown.offline)}"


def partitions_of(said: dict[str, Any]) -> Iterator[DisklessPartition]:
    topic_id = base64.urlsafe_b64decode(said["topic_id"] + "==")
    for number in range(said["first"], said["first"] + PARTITIONS):
        yield DisklessPartition(topic_id, number, said.get("tiered", False))


def inkless(said: dict[str, Any]) -> list[str]:
    """Inkless knows the racks of brokers that are alive, and of its map of listeners."""
    alive = [(broker, rack) for broker, rack in said["brokers"] if broker not in said["down"]]
    racks = {rack for _, rack in alive} | {said["listener_rack"]}
    profile = InklessManaged({"default.replication.factor": 3}) if said["replicas"] else Inkless({})
    rack = profile.rack(None, said["client_id"], said["listener_rack"], racks)
    client = DisklessClient(DisklessBrokers(alive), rack, said["client_id"])
    if not isinstance(profile, InklessManaged):
        return [as_text(profile.shown(client, one)) for one in partitions_of(said)]
    replicas = said["replicas"]
    return [
        as_text(profile.shown_with(client, one, replicas[place % len(replicas)]))
        for place, one in enumerate(partitions_of(said))
    ]


def automq(said: dict[str, Any]) -> list[str]:
    """For each client and each leading broker: the leader shown, and the brokers that accept the client's records."""
    answers = []
    ids = [broker for broker, _ in said["brokers"]]
    brokers = DisklessBrokers((broker, rack) for broker, rack in said["brokers"])
    for client_id in said["client_ids"]:
        for main in ids:
            profile = LedBy(said["blocks"], main)
            rack = profile.rack(None, client_id, profile.place(said["address"], None), None)
            client = DisklessClient(brokers, rack, client_id)
            shown = profile.shown_with(client, main)
            some = DisklessPartition(bytes(16), 0)
            takers = [one for one in ids if profile.accepts(client, some, one, reading=False)]
            told = profile.leader(client, some)
            answers.append(f"{shown.leader} {shown.replicas} {shown.isr} {takers} {told}")
    return answers


class LedBy(AutoMQ):
    """With a given real leader, which AutoMQ's controller chooses."""

    def __init__(self, blocks: str, main: int) -> None:
        super().__init__({CIDR_BLOCKS: blocks})
        self.led_by = main

    def main(self, client: DisklessClient, partition: DisklessPartition) -> int:
        return self.led_by


def lakestream(said: dict[str, Any]) -> list[str]:
    profile = Lakestream({})
    brokers = DisklessBrokers((broker, rack) for broker, rack in said["brokers"])
    client = DisklessClient(brokers, profile.rack(None, said["client_id"], None, None), said["client_id"])
    return [as_text(profile.shown(client, one)) for one in partitions_of(said)]


@pytest.mark.parametrize("answer", [inkless, automq, lakestream])
def test_each_client_is_told_what_the_systems_own_class_tells_it(answer: Callable[[dict[str, Any]], list[str]]):
    lines = oracle(f"diskless-{answer.__name__}")
    assert sum(line["count"] for line in lines) >= 100_000
    for line in lines:
        found, expected = answer(line["input"]), line["expect"]
        assert len(found) == line["count"]
        if isinstance(expected, str):
            found, expected = [hashlib.sha256("\n".join(found).encode()).hexdigest()[: len(expected)]], [expected]
        assert found == expected, line["input"]


@pytest.mark.parametrize("system", ["inkless", "automq", "lakestream"])
def test_enough_of_the_clients_drawn_name_a_zone_that_has_brokers(system):
    named = 0
    lines = oracle(f"diskless-{system}")
    for line in lines:
        said = line["input"]
        racks = {rack.replace("/", "%2F") for _, rack in said["brokers"] if rack} | {r for _, r in said["brokers"] if r}
        ids = said.get("client_ids") or [said["client_id"] or ""]
        named += any(f"={rack}" in client_id for rack in racks for client_id in ids)
    assert named > len(lines) / 2
