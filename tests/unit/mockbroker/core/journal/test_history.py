"""What is sent and read becomes a history for kafka_rack.consistency, batch by batch, if asked."""

from __future__ import annotations

import pytest

from mockbroker import MockCluster
from mockbroker.core.simulation import Simulation
from tests.unit.mockbroker.core.journal.traffic_of import cluster_of, fetch, produce
from tests.unit.mockbroker.handlers.records import TOPIC


def log_of(sim: Simulation, topic: str = TOPIC):
    return sim.cluster.topics[topic].partitions[0].log


def refusal(sim, **filters):
    with pytest.raises(AssertionError) as raised:
        sim.journal.assert_consistent(**filters)
    return str(raised.value)


def read_of_another(sim, monkeypatch, records):
    """A Fetch of rack a's reader whose answer has these records."""
    with monkeypatch.context() as patched:
        patched.setattr(type(log_of(sim)), "read", lambda *_, **__: records)
        fetch(sim, "a")


@pytest.mark.parametrize("is_watched", [False, True])
def test_what_is_written_and_read_is_consistent(is_watched):
    sim = cluster_of(near=True)
    if is_watched:
        sim.journal.watch_history()
    produce(sim, b"one", b"two")
    produce(sim, b"three")
    for broker, offset in ((0, 0), (1, 1), (1, 3)):
        fetch(sim, "b", broker=broker, offset=offset)
    sim.journal.assert_consistent()


def test_a_producer_that_is_told_a_lower_offset_later_is_found():
    sim = cluster_of()
    sim.journal.watch_history()
    produce(sim, b"one")
    produce(sim, b"two")
    log_of(sim).truncate(0)
    sim.advance(ms=10)
    produce(sim, b"three")
    assert "nonmonotonic-send: orders-0: writer (connection" in refusal(sim)


def test_a_batch_that_readers_pass_over_is_lost(monkeypatch):
    sim = cluster_of()
    sim.journal.watch_history()
    produce(sim, b"one")
    produce(sim, b"two")
    read_of_another(sim, monkeypatch, log_of(sim).read(1, 10**6))
    assert "lost-write: orders-0: " in refusal(sim)
    assert "passed over offset 0" in refusal(sim)


def test_other_bytes_at_an_offset_show_only_where_batches_were_watched(monkeypatch):
    for is_watched in (False, True):
        sim = cluster_of()
        if is_watched:
            sim.journal.watch_history()
        produce(sim, b"one")
        other = cluster_of()
        produce(other, b"two")
        read_of_another(sim, monkeypatch, log_of(other).read(0, 10**6))
        if is_watched:
            assert "lost-write: orders-0: a batch of checksum" in refusal(sim)
        else:
            sim.journal.assert_consistent()


def test_a_claim_about_a_topic_is_not_refused_for_another():
    sim = cluster_of()
    sim.journal.watch_history()
    sim.cluster.replication_control.create("payments", 1, 3)
    produce(sim, b"one")
    produce(sim, b"two")
    log_of(sim).truncate(0)
    sim.advance(ms=10)
    produce(sim, b"three")
    produce(sim, b"other", topic="payments")
    sim.journal.assert_consistent(topic="payments")
    assert "nonmonotonic-send" in refusal(sim, topic=TOPIC)


@pytest.mark.parametrize("is_watched", [False, True])
def test_a_topic_that_is_made_anew_begins_anew(is_watched):
    sim = cluster_of()
    if is_watched:
        sim.journal.watch_history()
    produce(sim, b"one")
    produce(sim, b"two")
    topic = sim.cluster.topics[TOPIC]
    sim.cluster.replication_control.delete(topic)
    sim.cluster.replication_control.create(TOPIC, 1, assignment=[list(topic.partitions[0].replicas)])
    sim.advance(ms=10)
    produce(sim, b"three")
    sim.journal.assert_consistent()


def test_clearing_the_journal_begins_its_history_anew():
    sim = cluster_of()
    sim.journal.watch_history()
    produce(sim, b"one")
    assert sim.journal.history.report().sends == 1
    sim.journal.clear()
    assert sim.journal.history.report().sends == 0
    produce(sim, b"two")
    assert sim.journal.history.report().sends == 1


async def test_a_fork_is_watched_as_what_it_was_forked_from():
    sim = cluster_of()
    assert sim.fork().journal.history is None
    sim.journal.watch_history()
    produce(sim, b"one")
    fork = sim.fork()
    fetch(fork, "a")
    assert (fork.journal.history.report().sends, fork.journal.history.report().reads) == (0, 1)
    fork.journal.assert_consistent()
    async with MockCluster() as cluster:
        cluster.journal.watch_history()
        assert cluster.fork().journal.history is not None
