"""The tools on a real Kafka of four brokers in three racks, with Kafka's own tools as the judge of what they did."""

from __future__ import annotations

import json

import pytest

from kafka_rack.cli import main
from kafka_rack.cli.live.cluster import TOPIC_RESOURCE, LiveCluster
from kafka_rack.cli.live.wire_client import BrokerConnection
from kafka_rack.placement import UsableBroker, place
from mockbroker import MockCluster
from protocol.apis.produce import ProduceRequest
from protocol.records import Record, build_batch
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_cluster, kafka_tool
from tests.progress import wait_until

RACKS = ("a", "a", "b", "c")


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    """The address of broker 0."""
    with skipped_without_tools(), kafka_cluster(RACKS, tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture
def run(kafka, capsys):
    """Run a kafka-rack command on the cluster: exit code, what it printed, what it said beside it."""

    def command(*arguments):
        code = main([*map(str, arguments), "--bootstrap-server", kafka])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


def described(kafka, topic):
    """Replicas of each partition, as Kafka's own tool tells them."""
    lines = kafka_tool("TopicCommand", "--bootstrap-server", kafka, "--describe", "--topic", topic).splitlines()
    fields = [dict(part.split(": ", 1) for part in line.strip().split("\t") if ": " in part) for line in lines[1:]]
    return [[int(broker) for broker in one["Replicas"].split(",")] for one in fields]


def test_racks_listeners_and_versions_are_read_off_the_wire(run, kafka):
    code, out, _ = run("inspect", "--format", "json")
    said = json.loads(out)
    assert code == 0
    assert [one["rack"] for one in said["brokers"]] == list(RACKS)
    assert said["brokers"][0]["listeners"] == f"PLAINTEXT://{kafka}"
    assert {one["replica.selector.class"] for one in said["brokers"]} == {
        "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    }
    served = {(one["api"], one["from"]): one["served_by"] for one in said["features"]}
    assert served["Fetch", 11] == served["ConsumerGroupHeartbeat", 0] == [0, 1, 2, 3]
    assert served["Metadata", 14] == []


def test_a_created_topic_lies_where_it_was_placed_over_racks(run, kafka):
    size = ("--partitions", 8, "--replication-factor", 3)
    code, _, _ = run("topics", "--create", "--topic", "placed", *size, "--start-index", 1, "--next-replica-shift", 2)
    brokers = [UsableBroker(broker, rack) for broker, rack in enumerate(RACKS)]
    assert code == 0
    assert described(kafka, "placed") == place("rack-aware", brokers, 0, 8, 3, start_index=1, next_replica_shift=2)


def test_a_topic_grows_over_racks_and_kafka_says_the_same(run, kafka):
    brokers = [UsableBroker(broker, rack) for broker, rack in enumerate(RACKS)]
    run("topics", "--create", "--topic", "grown", "--replica-assignment", "2:0,3:1")
    assert run("topics", "--alter", "--topic", "grown", "--partitions", 7, "--validate-only")[0] == 0
    assert described(kafka, "grown") == [[2, 0], [3, 1]]
    code, _, said = run("topics", "--alter", "--topic", "grown", "--partitions", 7)
    assert (code, said) == (0, "")
    added = place("rack-aware", brokers, 2, 5, 2, start_index=2)
    assert described(kafka, "grown") == [[2, 0], [3, 1], *added]
    assert all(len({RACKS[broker] for broker in row}) == 2 for row in added)
    code, _, said = run("topics", "--alter", "--topic", "grown", "--partitions", 7)
    assert (code, "INVALID_PARTITIONS" in said) == (1, True)


def test_topics_are_listed_and_deleted_as_kafkas_tool_does(run, kafka):
    for name in ("gone.a", "gone-a"):
        run("topics", "--create", "--topic", name, "--replica-assignment", "0:1")
    theirs = kafka_tool("TopicCommand", "--bootstrap-server", kafka, "--list").splitlines()
    assert run("topics", "--list")[1].splitlines() == theirs
    assert run("topics", "--delete", "--topic", "gone.a")[:2] == (0, "Topic gone.a deleted.\n")
    left = kafka_tool("TopicCommand", "--bootstrap-server", kafka, "--list").splitlines()
    assert left == [name for name in theirs if name != "gone.a"]
    assert run("topics", "--delete", "--topic", "gone.a")[0] == 1
    assert run("topics", "--delete", "--topic", "gone.a", "--if-exists")[0] == 0


def test_the_proposal_has_kafkas_form_and_its_plan_of_now_is_kafkas_byte_for_byte(run, kafka, tmp_path):
    run("topics", "--create", "--topic", "moved", "--replica-assignment", "0:1,2:3,1:0")
    topics = tmp_path / "topics.json"
    topics.write_text('{"topics": [{"topic": "moved"}], "version": 1}')
    options = ("--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "0,1,2,3")
    theirs = kafka_tool("reassign.ReassignPartitionsCommand", "--bootstrap-server", kafka, *options).splitlines()
    _, out, _ = run("reassign", *options)
    ours = out.splitlines()
    assert ours[:4] == theirs[:4]
    assert len(ours) == len(theirs) == 5
    keys = [[(one["topic"], one["partition"]) for one in json.loads(text[4])["partitions"]] for text in (ours, theirs)]
    assert keys[0] == keys[1]


def test_a_repair_is_carried_out_by_kafka_and_then_nothing_is_left_to_mend(run, kafka, tmp_path):
    run("topics", "--create", "--topic", "sick", "--replica-assignment", "0:1:2,1:0:3,2:3:1")
    code, out, _ = run("audit", "--topic", "sick", "--ignore", "uneven-racks")
    assert (code, "shared-rack" in out) == (3, True)
    plan = tmp_path / "plan.json"
    run("reassign", "--repair", "--topic", "sick", "--output", plan)
    code, _, _ = run("reassign", "--execute", "--reassignment-json-file", plan)
    assert code == 0
    wait_for_moves(run)
    verified = kafka_tool(
        "reassign.ReassignPartitionsCommand",
        *("--bootstrap-server", kafka, "--verify", "--reassignment-json-file", str(plan)),
    )
    assert "Reassignment of partition sick-0 is completed." in verified
    assert described(kafka, "sick") == [[0, 3, 2], [1, 2, 3], [2, 3, 1]]
    assert run("audit", "--topic", "sick", "--ignore", "uneven-racks")[0] == 0


def wait_for_moves(run):
    def moves():
        return json.loads(run("reassign", "--list", "--format", "json")[1])

    wait_until(lambda: not moves(), "the end of the moves", moves)


@pytest.mark.parametrize("where", ["kafka", "here"])
def test_a_throttled_move_is_begun_watched_and_called_off_as_by_kafkas_tool(where, kafka, tmp_path, capsys):
    if where == "kafka":
        ours, its = moved_by_both_tools(kafka, tmp_path, capsys)
    else:
        with MockCluster(4, RACKS) as cluster:
            ours, its = moved_by_both_tools(cluster.bootstrap_servers.split(",")[0], tmp_path, capsys)
    assert ours == [without_log_directories(one) if isinstance(one, str) else one for one in its]
    assert ours[0] == (["0:0,0:1,1:1,1:2", "0:3"], [["1", "1"]] * 4)
    assert "Reassignment of partition TOPIC-0 is still in progress." in ours[1]
    assert ours[5] == [[0, 1], [2, 1]]
    assert ours[7] == (["", ""], [[None, None]] * 4)


def moved_by_both_tools(server, tmp_path, capsys):
    """What each tool says, and leaves behind, of the same moves of a topic of its own."""

    def ours(*arguments):
        main(["reassign", *arguments, "--bootstrap-server", server])
        return capsys.readouterr().out

    def theirs(*arguments):
        return kafka_tool("reassign.ReassignPartitionsCommand", "--bootstrap-server", server, *arguments)

    for topic, reassign in (("byus", ours), ("byit", theirs)):
        replicas = ("--topic", topic, "--replica-assignment", "0:1,1:2")
        main(["topics", "--create", *replicas, "--bootstrap-server", server])
        fill(server, topic)
        plan = tmp_path / f"{topic}.json"
        moves = [(0, [0, 3]), (1, [2, 1])]
        partitions = [{"topic": topic, "partition": number, "replicas": replicas} for number, replicas in moves]
        plan.write_text(json.dumps({"version": 1, "partitions": partitions}))
        given = ("--reassignment-json-file", str(plan))
        reassign("--execute", "--throttle", "1", *given)
        said = [throttles(server, topic), reassign("--verify", *given), throttles(server, topic)]
        said += [reassign("--cancel", "--preserve-throttles", *given), throttles(server, topic)]
        said += [described(server, topic), reassign("--verify", *given), throttles(server, topic)]
        yield [one.replace(topic, "TOPIC") if isinstance(one, str) else one for one in said]


def without_log_directories(said):
    """What Kafka's tool says, but for moves between directories, which ours has not."""
    return said.replace("None of the specified partition moves are active.", "")


def fill(kafka, topic):
    """Twenty megabytes in partition 0: a follower of Kafka fetches one in eleven seconds, however slow it is to be."""
    host, port = kafka.split(":")
    records = build_batch([Record(value=bytes(900_000), timestamp=1)])
    part = ProduceRequest.Topic.Partition(index=0, records=records)
    request = ProduceRequest(
        acks=-1, timeout_ms=60_000, topic_data=[ProduceRequest.Topic(name=topic, partition_data=[part])]
    )

    def taken():
        with BrokerConnection((host, int(port)), 60) as connection:
            return connection.ask(request, 9).responses[0].partition_responses[0].error_code

    wait_until(lambda: taken() == 0, "a leader for the new topic", taken)
    assert [taken() for _ in range(20)] == [0] * 20


def throttles(kafka, topic):
    """The throttled replicas of a topic, and the rates of each broker."""
    sides = ("leader", "follower")
    with LiveCluster(kafka) as cluster:
        names = [f"{side}.replication.throttled.replicas" for side in sides]
        of_topic = cluster._configs(cluster.first, TOPIC_RESOURCE, [topic], names)[topic]
        rates = [f"{side}.replication.throttled.rate" for side in sides]
        brokers = cluster.snapshot(with_settings=False).brokers.values()
        own = [cluster.broker_settings(broker, rates) for broker in brokers]
    return [of_topic[name] for name in names], [[one.get(name) for name in rates] for one in own]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--topic", "bad name", "--replica-assignment", "0:1"), "INVALID_TOPIC_EXCEPTION"),
        (("--topic", "x", "--replica-assignment", "0:9"), "INVALID_REPLICA_ASSIGNMENT"),
        (("--topic", "x", "--replica-assignment", "0:2", "--config", "nonsense=1"), "INVALID_CONFIG"),
    ],
)
def test_what_kafka_refuses_is_one_line_in_its_own_words(run, arguments, text):
    code, out, err = run("topics", "--create", *arguments)
    assert (code, out) == (1, "")
    assert text in err.splitlines()[-1]
