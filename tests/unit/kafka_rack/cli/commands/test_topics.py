"""kafka-rack topics: KIP-36's TopicCommand on a live cluster."""

from __future__ import annotations

import asyncio
import json

import pytest

from kafka_rack.cli import main
from kafka_rack.placement import UsableBroker, place
from mockbroker import MockCluster
from mockbroker.state.brokers.listeners import numbered_brokers
from protocol.error_codes import ErrorCode

RACKS = ("a", "b", "c")
SIX = {"brokers": 6, "racks": RACKS}


async def topics(mock, *arguments):
    return await asyncio.to_thread(main, ["topics", *arguments, "--bootstrap-server", mock.bootstrap_servers])


def create(*arguments):
    return ("create", "orders", *arguments)


def replicas(mock, name="orders"):
    return [list(partition.replicas) for partition in mock.state.topics[name].partitions]


SIZE = ("--partitions", "12", "--replication-factor", "3")
SMALL = ("--partitions", "1", "--replication-factor", "2")


async def test_a_topic_is_placed_over_racks_here_and_made_as_it_was_placed():
    async with MockCluster(**SIX) as mock:
        assert await topics(mock, *create(*SIZE, "--start-index", "2", "--next-replica-shift", "1")) == 0
        brokers = [UsableBroker(number, RACKS[number % 3]) for number in range(6)]
        assert replicas(mock) == place("rack-aware", brokers, 0, 12, 3, start_index=2, next_replica_shift=1)


async def test_the_cluster_gets_the_replicas_by_hand_and_the_settings():
    async with MockCluster(**SIX) as mock:
        await topics(mock, *create(*SIZE, "--seed", "3", "--set", "min.insync.replicas=2"))
        assert mock.state.topics["orders"].configs == {"min.insync.replicas": 2}
        assert len({tuple(row) for row in replicas(mock)}) > 3


async def test_equal_seeds_place_equally_and_without_one_the_start_is_drawn():
    async with MockCluster(**SIX) as mock:
        for name, seed in (("one", ["--seed", "5"]), ("two", ["--seed", "5"]), *((f"t{n}", []) for n in range(12))):
            await topics(mock, "create", name, "--partitions", "1", "--replication-factor", "3", *seed)
        assert replicas(mock, "one") == replicas(mock, "two")
        assert len({replicas(mock, f"t{number}")[0][0] for number in range(12)}) > 1


async def test_brokers_partly_without_a_rack_are_refused_and_named_unless_racks_are_ignored(capsys):
    brokers = numbered_brokers(3, ("a", "b", "c"), "127.0.0.1", 0)
    brokers[1].rack = None
    async with MockCluster(brokers=brokers) as mock:
        assert await topics(mock, *create(*SMALL)) == 1
        error = capsys.readouterr().err
        assert "broker 1 without a rack" in error
        assert "--ignore-racks" in error
        assert not mock.state.topics
        assert await topics(mock, *create(*SMALL, "--ignore-racks")) == 0


async def test_brokers_that_are_down_get_no_replicas():
    async with MockCluster(**SIX) as mock:
        await mock.stop_broker(4)
        await topics(mock, *create(*SIZE))
        assert all(4 not in row for row in replicas(mock))


async def test_a_topic_that_is_there_is_refused_or_done_as_one_wishes(capsys):
    async with MockCluster(**SIX, topics={"orders": 1}) as mock:
        assert await topics(mock, *create(*SIZE)) == 1
        assert capsys.readouterr().err.startswith("kafka-rack topics create: topic orders: TOPIC_ALREADY_EXISTS")
        assert await topics(mock, *create(*SIZE, "--if-not-exists")) == 0
        assert len(mock.state.topics["orders"].partitions) == 1


async def test_validating_makes_nothing():
    async with MockCluster(**SIX) as mock:
        assert await topics(mock, *create(*SIZE, "--validate-only")) == 0
        assert not mock.state.topics


async def test_the_clusters_own_words_are_told_when_it_refuses(capsys):
    async with MockCluster(**SIX) as mock:
        assert await topics(mock, *create(*SIZE, "--set", "min.insync.replicas=many")) == 1
    assert f"topic orders: {ErrorCode.INVALID_CONFIG.name}: " in capsys.readouterr().err


async def test_topics_are_described_with_the_racks_of_their_replicas(capsys):
    async with MockCluster(topics={"orders": (2, 3)}) as mock:
        await mock.stop_broker(0)
        assert await topics(mock, "describe", "orders") == 0
        assert capsys.readouterr().out.splitlines() == [
            "topic   partitions  replication factor  min.insync.replicas",
            "orders           2                   3                    1",
            "",
            "partition  leader  replicas  racks  isr",
            "orders-0        1  0,1,2     a,b,c  1,2",
            "orders-1        1  1,2,0     b,c,a  1,2",
        ]
        await topics(mock, "describe", "--format", "json")
    said = json.loads(capsys.readouterr().out)["topics"]["orders"]
    assert said["partitions"][0] == {
        "partition": 0,
        "leader": 1,
        "replicas": [0, 1, 2],
        "isr": [1, 2],
        "racks": ["a", "b", "c"],
    }


async def test_a_topic_that_grows_is_placed_as_kip_36_has_it(capsys):
    async with MockCluster(**SIX) as mock:
        mock.state.replication_control.create("orders", assignment=[[2, 3, 4], [3, 4, 5]])
        before = replicas(mock)
        capsys.readouterr()
        assert await topics(mock, "alter", "orders", "--partitions", "9") == 0
        brokers = [UsableBroker(number, RACKS[number % 3]) for number in range(6)]
        assert replicas(mock) == before + place("rack-aware", brokers, 2, 7, 3, start_index=2)
        assert capsys.readouterr().out.startswith("Topic orders has 9 partitions.\n\npartition  replicas")
        assert all(len({RACKS[broker % 3] for broker in row}) == 3 for row in replicas(mock)[2:])


async def test_a_diskless_topic_grows_without_replicas():
    async with MockCluster(diskless_topics={"events": 3}) as mock:
        assert await topics(mock, "alter", "events", "--partitions", "5") == 0
        assert len(mock.state.topics["events"].partitions) == 5


async def test_growth_is_validated_and_refused_in_the_clusters_own_words(capsys):
    async with MockCluster(topics={"orders": 4}) as mock:
        assert await topics(mock, "alter", "orders", "--partitions", "6", "--validate-only") == 0
        assert await topics(mock, "alter", "orders", "--partitions", "4") == 1
        assert "topic orders: INVALID_PARTITIONS: " in capsys.readouterr().err
        assert await topics(mock, "alter", "absent", "--partitions", "4") == 1
        assert await topics(mock, "alter", "absent", "--partitions", "4", "--if-exists") == 0
        assert len(mock.state.topics["orders"].partitions) == 4


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (create(), 2, "--partitions is missing"),
        (("create", *SIZE), 2, "NAME is missing"),
        (create(*SIZE, "--seed", "1", "--start-index", "0"), 2, "set one or the other"),
        (create("--partitions", "1", "--replication-factor", "4"), 1, "replication factor 4, but 3 brokers"),
        (create(*SIZE, "--placer", "nobody"), 2, "--placer: expected module:Class or one of broker-replica"),
        (("describe", "--partitions", "3"), 2, "no such option --partitions"),
        (("alter", "a", "--partitions", "3", "--set", "x=1"), 2, "--set x: kafka-configs.sh --alter changes settings"),
        (("describe", "absent"), 1, "topic absent: UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
async def test_bad_input_is_one_line_that_says_what_is_wrong_and_makes_nothing(arguments, code, text, capsys):
    async with MockCluster() as mock:
        assert await topics(mock, *arguments) == code
        assert not mock.state.topics
    said = capsys.readouterr()
    assert text in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)
