"""kafka-rack topics: KIP-36's TopicCommand on a live cluster."""

from __future__ import annotations

import asyncio
import json

import pytest

from kafka_rack.cli import main
from kafka_rack.placement import UsableBroker, place
from mockbroker import MockCluster
from mockbroker.state.brokers.numbered import numbered_brokers
from protocol.error_codes import ErrorCode

RACKS = ("a", "b", "c")
SIX = {"brokers": 6, "racks": RACKS}


async def topics(mock, *arguments):
    return await asyncio.to_thread(main, ["topics", *arguments, "--bootstrap-server", mock.bootstrap_servers])


def create(*arguments):
    return ("--create", "--topic", "orders", *arguments)


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
        await topics(mock, *create(*SIZE, "--seed", "3", "--config", "min.insync.replicas=2"))
        assert mock.state.topics["orders"].configs == {"min.insync.replicas": 2}
        assert len({tuple(row) for row in replicas(mock)}) > 3


async def test_equal_seeds_place_equally_and_without_one_the_start_is_drawn():
    async with MockCluster(**SIX) as mock:
        for name, seed in (("one", ["--seed", "5"]), ("two", ["--seed", "5"]), *((f"t{n}", []) for n in range(12))):
            await topics(mock, "--create", "--topic", name, "--partitions", "1", "--replication-factor", "3", *seed)
        assert replicas(mock, "one") == replicas(mock, "two")
        assert len({replicas(mock, f"t{number}")[0][0] for number in range(12)}) > 1


async def test_replicas_by_hand_are_sent_as_they_are_with_a_note_where_they_share_a_rack(capsys):
    async with MockCluster(**SIX) as mock:
        assert await topics(mock, *create("--replica-assignment", "5:2,0:1")) == 0
        assert replicas(mock) == [[5, 2], [0, 1]]
    said = capsys.readouterr()
    assert "1 of 2 partitions have two replicas in a rack while another rack has none, first partition 0" in said.err
    assert "orders-0   5,2       c,c" in said.out


async def test_brokers_partly_without_a_rack_are_refused_and_named_unless_racks_are_ignored(capsys):
    brokers = numbered_brokers(3, ("a", "b", "c"), "127.0.0.1", 0)
    brokers[1].rack = None
    async with MockCluster(brokers=brokers) as mock:
        assert await topics(mock, *create(*SMALL)) == 1
        error = capsys.readouterr().err
        assert "broker 1 without a rack" in error
        assert "--ignore-racks" in error
        assert not mock.state.topics
        assert await topics(mock, *create(*SMALL, "--disable-rack-aware")) == 0


async def test_brokers_that_are_down_get_no_replicas():
    async with MockCluster(**SIX) as mock:
        await mock.stop_broker(4)
        await topics(mock, *create(*SIZE))
        assert all(4 not in row for row in replicas(mock))


async def test_a_topic_that_is_there_is_refused_or_done_as_one_wishes(capsys):
    async with MockCluster(**SIX, topics={"orders": 1}) as mock:
        assert await topics(mock, *create(*SIZE)) == 1
        assert capsys.readouterr().err.startswith("kafka-rack topics: topic orders: TOPIC_ALREADY_EXISTS")
        assert await topics(mock, *create(*SIZE, "--if-not-exists")) == 0
        assert len(mock.state.topics["orders"].partitions) == 1


async def test_validating_makes_nothing():
    async with MockCluster(**SIX) as mock:
        assert await topics(mock, *create(*SIZE, "--validate-only")) == 0
        assert not mock.state.topics


async def test_the_clusters_own_words_are_told_when_it_refuses(capsys):
    async with MockCluster(**SIX) as mock:
        assert await topics(mock, *create(*SIZE, "--config", "min.insync.replicas=many")) == 1
    assert f"topic orders: {ErrorCode.INVALID_CONFIG.name}: " in capsys.readouterr().err


async def test_topics_are_described_with_the_racks_of_their_replicas(capsys):
    async with MockCluster(topics={"orders": (2, 3)}) as mock:
        await mock.stop_broker(0)
        assert await topics(mock, "--describe", "--topic", "orders") == 0
        assert capsys.readouterr().out.splitlines() == [
            "topic   partitions  replication factor  min.insync.replicas",
            "orders           2                   3                    1",
            "",
            "partition  leader  replicas  racks  isr",
            "orders-0        1  0,1,2     a,b,c  1,2",
            "orders-1        1  1,2,0     b,c,a  1,2",
        ]
        await topics(mock, "--describe", "--format", "json")
    said = json.loads(capsys.readouterr().out)["topics"]["orders"]
    assert said["partitions"][0] == {
        "partition": 0,
        "leader": 1,
        "replicas": [0, 1, 2],
        "isr": [1, 2],
        "racks": ["a", "b", "c"],
    }


async def test_topics_are_listed_by_name_without_kafkas_own_if_one_wishes(capsys):
    async with MockCluster(topics={"orders": 1, "audits": 1}) as mock:
        mock.state.create_topic("__consumer_offsets", 1, 1)
        assert await topics(mock, "--list") == 0
        assert capsys.readouterr().out == "__consumer_offsets\naudits\norders\n"
        assert await topics(mock, "--list", "--exclude-internal") == 0
        assert capsys.readouterr().out == "audits\norders\n"
        assert await topics(mock, "--list", "--topic", "orders", "--format", "json") == 0
        assert json.loads(capsys.readouterr().out) == {"topics": ["orders"]}


async def test_a_topic_that_grows_is_placed_as_kip_36_has_it(capsys):
    async with MockCluster(**SIX) as mock:
        await topics(mock, *create("--replica-assignment", "2:3:4,3:4:5"))
        before = replicas(mock)
        capsys.readouterr()
        assert await topics(mock, "--alter", "--topic", "orders", "--partitions", "9") == 0
        brokers = [UsableBroker(number, RACKS[number % 3]) for number in range(6)]
        assert replicas(mock) == before + place("rack-aware", brokers, 2, 7, 3, start_index=2)
        assert capsys.readouterr().out.startswith("Topic orders has 9 partitions.\n\npartition  replicas")
        assert all(len({RACKS[broker % 3] for broker in row}) == 3 for row in replicas(mock)[2:])


async def test_a_topic_grows_by_replicas_by_hand_of_which_those_that_are_there_stay():
    async with MockCluster(**SIX) as mock:
        await topics(mock, *create("--replica-assignment", "0:1"))
        assert await topics(mock, "--alter", "--topic", "orders", "--replica-assignment", "9:9,4:5,5:0") == 2
        assert await topics(mock, "--alter", "--topic", "orders", "--replica-assignment", "2:3,4:5,5:0") == 0
        assert replicas(mock) == [[0, 1], [4, 5], [5, 0]]


async def test_a_diskless_topic_grows_without_replicas():
    async with MockCluster(diskless_topics={"events": 3}) as mock:
        assert await topics(mock, "--alter", "--topic", "events", "--partitions", "5") == 0
        assert len(mock.state.topics["events"].partitions) == 5


async def test_growth_is_validated_and_refused_in_the_clusters_own_words(capsys):
    async with MockCluster(topics={"orders": 4}) as mock:
        assert await topics(mock, "--alter", "--topic", "orders", "--partitions", "6", "--validate-only") == 0
        assert await topics(mock, "--alter", "--topic", "orders", "--partitions", "4") == 1
        assert "topic orders: INVALID_PARTITIONS: " in capsys.readouterr().err
        assert await topics(mock, "--alter", "--topic", "absent", "--partitions", "4") == 1
        assert await topics(mock, "--alter", "--topic", "absent", "--partitions", "4", "--if-exists") == 0
        assert len(mock.state.topics["orders"].partitions) == 4


async def test_topics_are_deleted_by_their_whole_names_or_none_of_them_is(capsys):
    async with MockCluster(topics={"orders.v1": 1, "orders-v1": 1, "audits": 1}) as mock:
        assert await topics(mock, "--delete", "--topic", "audits", "--topic", "absent") == 1
        assert "topic absent: there is no such topic, and nothing was deleted" in capsys.readouterr().err
        assert await topics(mock, "--delete", "--topic", "orders.v1", "--topic", "absent", "--if-exists") == 0
        said = capsys.readouterr()
        assert said.out == "Topic orders.v1 deleted.\n"
        assert said.err == "kafka-rack topics: note: topic absent: there is no such topic\n"
        assert sorted(mock.state.topics) == ["audits", "orders-v1"]
        assert await topics(mock, "--describe", "--topic", "absent", "--if-exists") == 0


async def test_a_broker_older_than_topic_ids_is_told_names(capsys):
    async with MockCluster(topics={"orders": 1}, emulate="2.0") as mock:
        assert await topics(mock, "--delete", "--topic", "orders") == 0
        assert not mock.state.topics


async def test_what_the_cluster_refuses_to_delete_is_told(capsys):
    async with MockCluster(topics={"orders": 1}) as mock:
        mock.faults.add(match={"api": "DeleteTopics"}, effect={"error": "TOPIC_DELETION_DISABLED"})
        assert await topics(mock, "--delete", "--topic", "orders") == 1
    assert "topic orders: TOPIC_DELETION_DISABLED" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--under-replicated-partitions", ["lone-0", "strict-0", "strict-1"]),
        ("--under-min-isr-partitions", ["lone-0", "strict-1"]),
        ("--at-min-isr-partitions", ["plain-0", "strict-0"]),
        ("--unavailable-partitions", ["lone-0"]),
    ],
)
async def test_partitions_are_described_that_lack_replicas_or_a_leader_as_kafkas_tool_does(option, expected, capsys):
    async with MockCluster(brokers=5, diskless_topics={"events": 2}) as mock:
        for name, by_hand, least in [("lone", "3", 1), ("plain", "0", 1), ("strict", "0:1:3,2:3:4", 2)]:
            settings = ("--config", f"min.insync.replicas={least}")
            assert await topics(mock, "--create", "--topic", name, "--replica-assignment", by_hand, *settings) == 0
        await mock.stop_broker(3)
        await mock.stop_broker(4)
        capsys.readouterr()
        assert await topics(mock, "--describe", option) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines[1:]] == expected
        assert await topics(mock, "--describe", option, "--format", "json") == 0
        told = json.loads(capsys.readouterr().out)["topics"]
        assert [f"{name}-{one['partition']}" for name in told for one in told[name]["partitions"]] == expected


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (create(), 2, "--create needs --partitions and --replication-factor, or --replica-assignment"),
        (("--create", *SIZE), 2, "name it by --topic"),
        (create("--topic", "more", *SIZE), 2, "--create makes one topic"),
        (create(*SIZE, "--replica-assignment", "0:1"), 2, "leave them out"),
        (create("--replica-assignment", "0:1", "--seed", "1"), 2, "sent as it is"),
        (create("--replica-assignment", "0:x"), 2, "partition 0: expected ids as 0:1, got '0:x'"),
        (create("--replica-assignment", "0:1,2:2"), 2, "partition 1 has a broker twice in 2:2"),
        (create("--replica-assignment", "0:1,2"), 2, "partition 1 has 1 replicas, but partition 0 has 2"),
        (create("--replica-assignment", "0:9"), 1, "INVALID_REPLICA_ASSIGNMENT"),
        (create(*SIZE, "--seed", "1", "--start-index", "0"), 2, "give one or the other"),
        (create(*SIZE, "--config", "x"), 2, "--config: expected KEY=VALUE, got 'x'"),
        (create("--partitions", "1", "--replication-factor", "4"), 1, "replication factor 4, but 3 brokers"),
        (create("--partitions", "1", "--replication-factor", "0"), 1, "replication factor 0, but it must be"),
        (create("--partitions", "0", "--replication-factor", "1"), 1, "0 partitions, but there must be at least 1"),
        (create(*SIZE, "--placer", "nobody"), 1, ", got 'nobody'"),
        (("--describe", "--partitions", "3"), 2, "--partitions does not go with --describe"),
        (("--list", "--if-exists"), 2, "--if-exists does not go with --list"),
        (("--alter", "--partitions", "3"), 2, "--alter gives one topic more partitions: name it by --topic"),
        (("--alter", "--topic", "a"), 2, "--alter needs --partitions or --replica-assignment"),
        (("--alter", "--topic", "a", "--config", "x=1"), 2, "--config does not go with --alter; kafka-configs.sh"),
        (("--alter", "--topic", "a", "--replication-factor", "2"), 2, "does not go with --alter"),
        (
            ("--alter", "--topic", "a", "--partitions", "3", "--replica-assignment", "0:1"),
            2,
            "names 1 partition, but --partitions 3",
        ),
        (("--delete",), 2, "--delete needs the topics to delete"),
        (("--describe", "--topic", "absent"), 1, "topic absent: UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
async def test_bad_input_is_one_line_that_says_what_is_wrong_and_makes_nothing(arguments, code, text, capsys):
    async with MockCluster() as mock:
        assert await topics(mock, *arguments) == code
        assert not mock.state.topics
    said = capsys.readouterr()
    assert text in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)
