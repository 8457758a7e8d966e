"""Real clients read all of a real broker's directory that is served read-only, and are told when they write."""

from __future__ import annotations

import asyncio

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.java_client import run_java_client
from tests.progress import SignsOfWork
from tests.serve_process import serve_process
from tests.storage import history
from tests.storage.data_directories import KINDS, unpack

ORDERS = {(one, place): value for one in range(3) for place, (_, value, _) in enumerate(history.orders(one, 0))}
COMMITTED = {b"payment %d of transaction %d" % (one, number) for number in (0, 2, 4) for one in range(6)}


@pytest.fixture(params=KINDS)
def served(request, tmp_path):
    """The kind, and the address of `kafka-rack serve` on the directory."""
    place = unpack(request.param, tmp_path)
    with serve_process("--data-dir", str(place), "--read-only", "--quiet") as process:
        yield request.param, process.ready["bootstrap_servers"]


def read(address, topic, count, **settings):
    """So many messages of a topic, by a group of its own."""
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "new", "auto.offset.reset": "earliest", "log_level": 0, **settings}
    )
    consumer.subscribe([topic])
    found = []
    signs = SignsOfWork(f"{count} messages of {topic}", lambda: len(found))
    while len(found) < count:
        signs.check()
        found += [one for one in consumer.consume(count - len(found), 0.5) if one.error() is None]
    consumer.close()
    return found


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_librdkafka_reads_what_was_written(served, protocol):
    _, address = served
    found = read(address, "orders", len(ORDERS), **{"group.protocol": protocol})
    assert {(one.partition(), one.offset()): one.value() for one in found} == ORDERS
    assert [one.headers() for one in found] == [[("source", b"history")]] * len(ORDERS)


def test_librdkafka_sees_committed_transactions_alone(served):
    kind, address = served
    expected = COMMITTED | ({b"outside of transactions"} if kind == "stopped" else set())  # the other is behind one
    found = read(address, "payments", len(expected), **{"isolation.level": "read_committed"})
    assert {one.value() for one in found} == expected


def test_java_reads_what_was_written(served):
    _, address = served
    settings = {"bootstrap_servers": address, "group_id": "java", "auto_offset_reset": "earliest"}
    found = asyncio.run(run_java_client("4.4.0", "consume", "orders", len(ORDERS), **settings))
    assert {(one.partition, one.offset): one.value.encode() for one in found} == ORDERS


def test_a_group_goes_on_where_it_had_committed(served):
    _, address = served
    found = read(address, "orders", len(ORDERS) - 10 - 11 - 12, **{"group.id": "classic-readers"})
    assert {(one.partition(), one.offset()) for one in found} == {
        (partition, offset) for partition, offset in ORDERS if offset >= 10 + partition
    }


def test_producers_and_admins_are_told_at_once_and_for_good(served):
    _, address = served
    refused = []
    plain = Producer({"bootstrap.servers": address, "log_level": 0})
    plain.produce("orders", b"more", on_delivery=lambda error, _: refused.append(error.code()))
    assert plain.flush(60) == 0
    assert refused == [KafkaError.POLICY_VIOLATION]

    transactional = Producer({"bootstrap.servers": address, "transactional.id": "cashier", "log_level": 0})
    with pytest.raises(KafkaException) as caught:
        transactional.init_transactions(60)
    assert caught.value.args[0].code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED

    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    (made,) = admin.create_topics([NewTopic("more", 1, 1)]).values()
    with pytest.raises(KafkaException, match="served read-only") as caught:
        made.result(60)
    assert caught.value.args[0].code() == KafkaError.POLICY_VIOLATION


def test_java_is_told_at_once_that_it_may_not_write(served):
    _, address = served
    with pytest.raises(AssertionError, match="ClusterAuthorizationException"):
        asyncio.run(run_java_client("4.4.0", "produce", "orders", 1, bootstrap_servers=address))
