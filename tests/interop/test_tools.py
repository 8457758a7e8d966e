"""The tools on a real Kafka of four brokers in three racks, with Kafka's own tools as the judge of what they did."""

from __future__ import annotations

import json

import pytest

from kafka_rack.cli import main
from kafka_rack.placement import UsableBroker, place
from mockbroker.adapters.real_cluster.cluster import LiveCluster
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


def created(kafka, topic, rows):
    """Create a topic with these replicas."""
    with LiveCluster(kafka) as cluster:
        cluster.create_topic(topic, rows, {})


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
    code, _, _ = run("topics", "create", "placed", *size, "--start-index", 1, "--next-replica-shift", 2)
    brokers = [UsableBroker(broker, rack) for broker, rack in enumerate(RACKS)]
    assert code == 0
    assert described(kafka, "placed") == place("rack-aware", brokers, 0, 8, 3, start_index=1, next_replica_shift=2)


def test_a_topic_grows_over_racks_and_kafka_says_the_same(run, kafka):
    brokers = [UsableBroker(broker, rack) for broker, rack in enumerate(RACKS)]
    created(kafka, "grown", [[2, 0], [3, 1]])
    assert run("topics", "alter", "grown", "--partitions", 7, "--validate-only")[0] == 0
    assert described(kafka, "grown") == [[2, 0], [3, 1]]
    code, _, said = run("topics", "alter", "grown", "--partitions", 7)
    assert (code, said) == (0, "")
    added = place("rack-aware", brokers, 2, 5, 2, start_index=2)
    assert described(kafka, "grown") == [[2, 0], [3, 1], *added]
    assert all(len({RACKS[broker] for broker in row}) == 2 for row in added)
    code, _, said = run("topics", "alter", "grown", "--partitions", 7)
    assert (code, "INVALID_PARTITIONS" in said) == (1, True)


def test_the_proposal_has_kafkas_form_and_its_plan_of_now_is_kafkas_byte_for_byte(run, kafka, tmp_path):
    created(kafka, "moved", [[0, 1], [2, 3], [1, 0]])
    topics = tmp_path / "topics.json"
    topics.write_text('{"topics": [{"topic": "moved"}], "version": 1}')
    options = ("--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "0,1,2,3")
    theirs = kafka_tool("reassign.ReassignPartitionsCommand", "--bootstrap-server", kafka, *options).splitlines()
    _, out, _ = run("reassign", "generate", "moved", "--to-brokers", "0,1,2,3")
    ours = out.splitlines()
    assert ours[:4] == theirs[:4]
    assert len(ours) == len(theirs) == 5
    keys = [[(one["topic"], one["partition"]) for one in json.loads(text[4])["partitions"]] for text in (ours, theirs)]
    assert keys[0] == keys[1]


def test_a_repair_is_carried_out_by_kafka_and_then_nothing_is_left_to_restore(run, kafka, tmp_path):
    created(kafka, "sick", [[0, 1, 2], [1, 0, 3], [2, 3, 1]])
    code, out, _ = run("audit", "sick", "--ignore", "uneven-racks")
    assert (code, "shared-rack" in out) == (3, True)
    plan = tmp_path / "plan.json"
    run("reassign", "repair", "sick", "--out", plan.parent)
    with_plan = ("--bootstrap-server", kafka, "--reassignment-json-file", str(plan))
    kafka_tool("reassign.ReassignPartitionsCommand", *with_plan, "--execute")

    def verified():
        return kafka_tool("reassign.ReassignPartitionsCommand", *with_plan, "--verify")

    wait_until(lambda: "Reassignment of partition sick-0 is completed." in verified(), "the end of the moves", verified)
    assert described(kafka, "sick") == [[0, 3, 2], [1, 2, 3], [2, 3, 1]]
    assert run("audit", "sick", "--ignore", "uneven-racks")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("bad name", "--replication-factor", "1"), "INVALID_TOPIC_EXCEPTION"),
        (("x", "--replication-factor", "2", "--set", "nonsense=1"), "INVALID_CONFIG"),
    ],
)
def test_what_kafka_refuses_is_one_line_in_its_own_words(run, arguments, text):
    code, out, err = run("topics", "create", *arguments, "--partitions", "1")
    assert (code, out) == (1, "")
    assert text in err.splitlines()[-1]
