"""Typical mistakes: one line says what was expected, what was met, and what was probably meant."""

from __future__ import annotations

import pytest

from kafka_rack.cli import WRONG_USAGE, main

CAPTURE = "fixtures/captures/aiokafka.jsonl.gz"
PLACE = "place --brokers 3 --partitions 3 --replication-factor 3"
MISTAKES = [
    ("srve", "there is no command 'srve'; did you mean serve?"),
    ("serve --port x", "--port: expected a whole number from 0 to 65535, got 'x'"),
    ("serve --brokers 0 --port 0", "--brokers: expected a whole number from 1 to 100000, got '0'"),
    ("serve --port 0 --set num.partitons=3", "unknown setting num.partitons; did you mean num.partitions?"),
    ("serve --port 0 --set log.cleanup.policy=compct", "expected one of compact, delete, got 'compct'"),
    ("serve --port 0 --set replica.selector.class=rackaware", ", got 'rackaware'"),
    ("serve --port 0 --set replica.placer.class.name=copyst", ", got 'copyst'"),
    ("serve --port 0 --set group.consumer.assignors=unifrm", ", got 'unifrm'"),
    ("serve --port 0 --set auto.create.topics.enable=ja", "expected true or false, got 'ja'"),
    ("serve --port 0 --set num.partitions", "--set: expected KEY=VALUE, got 'num.partitions'"),
    ("place --brokers 6 --partitons 3", "no such option --partitons; did you mean --partitions?"),
    ("place --brokers 6", "--partitions is missing"),
    ("place --brokers six --partitions 3 --replication-factor 3", "--brokers: expected a number, or ids"),
    (f"{PLACE} --placer stripd", "--placer: expected module:Class or one of broker-replica, capacity, copyset"),
    ("assign --assignor stcky x.json", "--assignor: 'stcky' is not one of 'range', 'roundrobin', 'sticky'"),
    ("assign --brokers 3 --topic orders --consumers 3", "--topic: expected NAME:PARTITIONS"),
    ("decode --message MetadataRequest --hex zz", "--hex: expected pairs of hex digits, got 'zz'"),
    ("decode --message Fecth --hex 00", "did you mean Fetch"),
    ("messages produceReqest", "did you mean ProduceRequest?"),
    ("ctl replicas orders 0 1,x", "expected whole numbers up to 2147483647 between commas, got '1,x'"),
    ("inspect --bootstrap-servers h:1", "no such option --bootstrap-servers; did you mean --bootstrap-server?"),
    (f"what-if {CAPTURE} --set client.rak=auto", "did you mean client.rack?"),
    (f"what-if {CAPTURE} --set group.protocol=consumr", "expected classic or consumer, got 'consumr'"),
    (f"what-if {CAPTURE} --placer stripd", "got 'stripd'"),
    ("pipeline decod x", "there is no command 'decod'; did you mean decode?"),
]


@pytest.mark.parametrize(("line", "said"), MISTAKES)
def test_a_mistake_is_one_line_that_says_what_was_meant(capsys, line, said):
    assert main(line.split()) == WRONG_USAGE
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert said in printed.err
