"""What a new user mistypes: one line says what was expected, what was given, and what was probably meant."""

from __future__ import annotations

import pytest

from kafka_rack.cli import main
from kafka_rack.cli.parser import WRONG_USAGE

CAPTURE = "fixtures/captures/aiokafka.jsonl.gz"
PLACE = "place --brokers 3 --partitions 3 --replication-factor 3"
MISTAKES = [
    ("srve", "there is no command 'srve'; did you mean serve?"),
    ("serve --port x", "argument --port: expected a whole number, got 'x'"),
    ("serve --brokers 0 --port 0", "--brokers: expected 1 or more, got 0"),
    ("serve --port 0 --set num.partitons=3", "unknown setting num.partitons, did you mean num.partitions?"),
    (
        "serve --port 0 --set log.cleanup.policy=compct",
        "expected one of compact, delete, got 'compct'; did you mean comp",
    ),
    ("serve --port 0 --set replica.selector.class=rackaware", ", got 'rackaware'; did you mean rack-aware?"),
    ("serve --port 0 --set replica.placer.class.name=copyst", ", got 'copyst'; did you mean copyset?"),
    ("serve --port 0 --set group.consumer.assignors=unifrm", ", got 'unifrm'; did you mean uniform?"),
    ("serve --port 0 --set auto.create.topics.enable=ja", "expected true or false, got 'ja'"),
    ("serve --port 0 --set num.partitions", "--set: expected KEY=VALUE, got 'num.partitions'"),
    ("place --brokers 6 --partitons 3", "--replication-factor, got --partitons; did you mean --partitions?"),
    ("place --brokers six --partitions 3 --replication-factor 3", "--brokers: expected a number, or ids"),
    (
        "place --brokers 3 --partitions x --replication-factor 3",
        "argument --partitions: expected a whole number, got x",
    ),
    (f"{PLACE} --placer stripd", "--placer: expected module:Class or one of broker-replica, capacity, copyset"),
    (f"{PLACE} --placer stripd", "got 'stripd'; did you mean striped?"),
    ("assign --assignor stcky x.json", "got 'stcky'; did you mean sticky?"),
    (
        "assign --brokers 3 --topic orders --consumers 3",
        "--topic: expected NAME:PARTITIONS or NAME:PARTITIONS:REPLICAS",
    ),
    ("assign --brokers 3 --topic o:1 --consumers 3 --rack-of x", "--rack-of: expected PREFIX=RACK, got 'x'"),
    (
        "availability --brokers 6 --partitions 3 --replication-factor 3 --failures 1 --placer rackaware",
        "got 'rackaware'; did you mean rack-aware?",
    ),
    (
        "availability --brokers 6 --racks a,,b --partitions 3 --replication-factor 3 --failures 1",
        "--racks: expected different names, as a,b,c, got 'a,,b'",
    ),
    ("decode --message MetadataRequest --hex zz", "--hex: expected pairs of hex digits, got 'zz'"),
    ("decode --message Fecth --hex 00", "got 'Fecth'; did you mean FetchRequest or FetchResponse?"),
    ("messages produceReqest", "got 'produceReqest'; did you mean ProduceRequest?"),
    ("messages Xyzzy", "got 'Xyzzy'; `kafka-rack messages` lists them all"),
    (
        "decode --message FetchRequest --version 99 --hex 00",
        "--version: expected FetchRequest's versions, 0-18, got 99",
    ),
    ("ctl replicas orders 0 1,x", "expected whole numbers between commas, got '1,x'"),
    ("inspect --bootstrap-servers h:1", "got --bootstrap-servers; did you mean --bootstrap-server?"),
    (f"what-if {CAPTURE} --set client.rak=auto", "did you mean client.rack?"),
    (
        f"what-if {CAPTURE} --set group.protocol=consumr",
        "group.protocol: expected classic or consumer, got 'consumr'; did",
    ),
    (f"what-if {CAPTURE} --set partition.assignment.strategy=stiky", "got 'stiky'; did you mean sticky?"),
    (f"what-if {CAPTURE} --placer stripd", "got 'stripd'; did you mean striped?"),
    ("pipeline decod x", "got 'decod'; did you mean decode?"),
]


def outcome(line):
    """The exit code of a command line."""
    try:
        return main(line.split())
    except SystemExit as ended:  # argparse's way
        return ended.code


@pytest.mark.parametrize(("line", "said"), MISTAKES)
def test_a_mistake_is_one_line_that_says_what_was_meant(capsys, line, said):
    assert outcome(line) == WRONG_USAGE
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert said in printed.err
