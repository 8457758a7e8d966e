"""certify on real clients: its verdicts are held against the raw frames of the same run, and wrong workers fail."""

from __future__ import annotations

import sys

import pytest

from tests.interop.capture_evidence import Evidence, evidence_in
from tests.interop.certified_clients import certified_clients
from tests.interop.certify_run import RACKS, CertifyRun, built, certify

CLIENTS = certified_clients()
RACK_IN_SUBSCRIPTION = ("java", "java-3.9", "confluent-kafka", "franz-go")
FOLLOWS = tuple(name for name in CLIENTS if name != "kafka-go")
FORGETS_ITS_REPLICA = ("kafka-python",)
ASKS_IN_VAIN = ("java-2.4", "aiokafka", "kafka-python")
"""The leader asks them in vain to a replica that their metadata calls offline or does not have: metadata of an outage,
which they keep until it is old. How many partitions that hits depends on when it was fetched."""
RETURNS_ON_OUT_OF_RANGE = ("java", "java-3.9", "java-2.4", "confluent-kafka", "sarama")
USES_HINTS = ("java", "java-3.9", "confluent-kafka")
GOES_ON = ("java", "java-3.9", "confluent-kafka", "sarama", "kafka-go")


def frames_agree(ran: CertifyRun, shown: Evidence) -> None:
    """What certify counted is what the capture has."""
    told = {rack: {} for rack in RACKS}
    for client in ran.printed["clients"]:
        for rack, calls in client["fetch_racks"].items():
            told[client["rack"]][rack] = told[client["rack"]].get(rack, 0) + calls
    assert told == {rack: dict(shown.fetch_racks[rack]) for rack in RACKS}
    assert {one for client in ran.printed["clients"] for one in client["fetch_versions"]} == shown.fetch_versions
    counted = dict.fromkeys(("local", "cross", "unknown"), 0)
    for row in ran.printed["bytes"]:
        counted[row["locality"]] += row["bytes"]
    assert counted == {"local": shown.frame_bytes[True], "cross": shown.frame_bytes[False], "unknown": 0}


def share_followed(shown: Evidence) -> float:
    """Of the answers that named a replica, those whose reader was answered by that one next."""
    return sum(shown.sent_on) / len(shown.sent_on)


@pytest.mark.parametrize("name", CLIENTS)
def test_a_consumers_verdicts_are_what_its_capture_shows(name, tmp_path):
    client = CLIENTS[name]
    ran = certify(built(client.command, "consume", "{rack}"), tmp_path)
    assert ran.exit_code == 0, ran.complaints
    shown = evidence_in(ran.capture)
    frames_agree(ran, shown)
    verdicts = ran.verdicts
    names_racks = all(set(shown.fetch_racks[rack]) == {rack} for rack in RACKS)
    assert verdicts["fetch_rack"] == ("pass" if names_racks else "fail")
    assert names_racks == (name in FOLLOWS), ran.evidence("fetch_rack")
    assert bool(shown.redirects) == (name in FOLLOWS)
    if not shown.redirects:
        assert verdicts["preferred_replica"] == "not seen"
    elif name in ASKS_IN_VAIN and "in vain" in ran.evidence("preferred_replica"):
        assert 0 < share_followed(shown) < 1
    else:
        assert verdicts["preferred_replica"] == "pass", ran.evidence("preferred_replica")
        assert share_followed(shown) >= 0.5 or ran.verdicts["goes_on"] == "fail"  # then it was sent on in vain
    said = [shown.subscription_racks[rack] for rack in RACKS]
    assert verdicts["assignor_rack"] == ("pass" if said == [{rack} for rack in RACKS] else "fail")
    assert (verdicts["assignor_rack"] == "pass") == (name in RACK_IN_SUBSCRIPTION)
    if verdicts["stays"] != "not seen":
        assert verdicts["stays"] == ("fail" if name in FORGETS_ITS_REPLICA else "pass")
    if verdicts["out_of_range"] != "not seen":
        assert (verdicts["out_of_range"] == "pass") == (name in RETURNS_ON_OUT_OF_RANGE or name == "kafka-python")
    if verdicts["leader_hints"] != "not seen":
        assert (verdicts["leader_hints"] == "pass") == (name in USES_HINTS)
    assert verdicts["no_loss"] == "pass"
    if name in GOES_ON:
        assert verdicts["goes_on"] == "pass", ran.evidence("goes_on")


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_a_worker_is_certified_on_brokers_that_ask_who_it_is(protocol, tmp_path):
    config = tmp_path / "client.properties"
    config.write_text(
        f"security.protocol={protocol}\nsasl.mechanism=SCRAM-SHA-512\n"
        'sasl.jaas.config=x.ScramLoginModule required username="alice" password="tell-nobody";\n'
    )
    ran = certify(confluent("{rack}"), tmp_path, "--command-config", str(config), "--fail-below", "C")
    assert ran.exit_code == 0, ran.complaints
    assert ran.verdicts["fetch_rack"] == ran.verdicts["preferred_replica"] == ran.verdicts["no_loss"] == "pass"
    assert "tell-nobody" not in ran.complaints


# wrong workers


def confluent(rack: str) -> list[str]:
    return CLIENTS["confluent-kafka"].command("consume", rack)


def test_a_worker_without_a_rack_gets_a_failing_grade(tmp_path):
    ran = certify(confluent(""), tmp_path, "--fail-below", "C")
    assert ran.exit_code == 3, ran.complaints
    assert "expected grade C or better, got" in ran.complaints
    assert ran.printed["grade"] in {"D", "E", "F"}
    assert ran.verdicts["fetch_rack"] == ran.verdicts["assignor_rack"] == ran.verdicts["near_reads"] == "fail"
    assert ran.verdicts["preferred_replica"] == ran.verdicts["rack_name"] == "not seen"
    assert "none of" in ran.evidence("fetch_rack")
    shown = evidence_in(ran.capture)
    assert {rack for racks in shown.fetch_racks.values() for rack in racks} == {""}
    assert not shown.redirects


def test_a_worker_whose_zone_is_written_otherwise_than_the_brokers_fails_with_the_likeness(tmp_path):
    racks = "us-east-1a,us-east-1b,us-east-1c"
    ran = certify(confluent("use1-az1"), tmp_path, "--racks", racks, "--fail-below", "C")
    assert ran.exit_code == 3, ran.complaints
    assert ran.verdicts["fetch_rack"] == ran.verdicts["rack_name"] == "fail"
    assert "use1-az1 is almost us-east-1a: a zone name and a zone id" in ran.evidence("rack_name")
    assert "name use1-az1 in rack us-east-1a" in ran.evidence("fetch_rack")


def test_a_worker_that_ignores_redirects_fails_and_is_seen_to_starve(tmp_path):
    program = [sys.executable, "-m", "tests.interop.clients.worker_ignoring_redirects"]
    command = [*program, "--brokers", "{bootstrap}", "--topic", "{topic}", "--rack", "{rack}"]
    ran = certify(command, tmp_path, "--fail-below", "C")
    assert ran.exit_code == 3, ran.complaints
    assert ran.verdicts["fetch_rack"] == "pass"
    assert ran.verdicts["preferred_replica"] == ran.verdicts["goes_on"] == "fail"
    assert "0 of" in ran.evidence("preferred_replica")
    shown = evidence_in(ran.capture)
    assert shown.redirects > 100
    assert share_followed(shown) < 0.05  # a leader moved to where it was sent
    assert ran.printed["grade"] in {"D", "E", "F"}


SHORT_LIVED = """
import os, time
from confluent_kafka import Consumer

rack, servers = os.environ["KAFKA_CLIENT_RACK"], os.environ["KAFKA_BOOTSTRAP_SERVERS"]
settings = {"client.rack": rack, "bootstrap.servers": servers, "group.id": os.environ["KAFKA_GROUP_ID"]}
consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
consumer.subscribe([os.environ["KAFKA_TOPIC"]])
read = 0
while read < 40:
    read += consumer.poll(1.0) is not None
consumer.close()
"""


def test_a_worker_that_ends_by_itself_is_judged_by_what_was_seen_until_then(tmp_path):
    ran = certify([sys.executable, "-c", SHORT_LIVED], tmp_path, "--topic", "payments", "--fail-below", "A")
    assert ran.exit_code == 0, ran.complaints
    assert ran.verdicts["fetch_rack"] == ran.verdicts["no_loss"] == "pass"
    assert ran.verdicts["goes_on"] == "not seen"
    assert ran.printed["cut_short"] is not None
