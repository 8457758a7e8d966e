"""The same requests under the same faults, on a cluster of ours and through the proxy: equal answers, equal entries."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.core.journal import Journal
from mockbroker.core.simulation import ConnectionClosedError, Simulation
from protocol.apis.fetch import FetchRequest
from protocol.apis.produce import ProduceRequest
from tests.unit.mockbroker.handlers.records import batch, produce_request
from tests.unit.mockbroker.proxy.played_connection import PlayedConnection
from tests.unit.mockbroker.proxy.proxied_simulation import ProxiedSimulation

TOPICS = ("orders", "prices")
SIZE = len(batch(b"a"))


class Watched:
    """A simulated cluster with two topics of one partition each, led by broker 0, and a journal of its clients."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        for name in TOPICS:
            sim.cluster.replication_control.create(name, 1, assignment=[[0, 1, 2]])
        if isinstance(sim, ProxiedSimulation):
            self.journal = Journal()
            sim.proxy.path.observers.append(self.journal)
        else:
            self.journal = sim.journal

    def written(self) -> list[int]:
        """The end of each topic's log."""
        return [self.sim.cluster.topics[name].partitions[0].log.end_offset for name in TOPICS]

    def only_entry(self, api: str) -> Any:
        (entry,) = self.journal.find(api=api)
        return entry


@pytest.fixture(params=[Simulation, ProxiedSimulation], ids=["mock", "proxy"])
def watched(request) -> Watched:
    return Watched(request.param())


def produce_to_both(watched: Watched, version: int, acks: int) -> ProduceRequest:
    request = ProduceRequest(acks=acks, timeout_ms=1000)
    for name in TOPICS:
        names = {"topic_id": watched.sim.cluster.topics[name].id} if version >= 13 else {"topic": name}
        request.topic_data += produce_request(batch(b"a"), acks=acks, **names).topic_data
    if version >= 13:
        for topic in request.topic_data:
            topic.name = ""
    return request


def test_with_acks_0_what_no_fault_means_is_written_before_the_connection_closes(watched):
    watched.sim.faults.add(match={"topic": "orders"}, effect={"error": "NOT_LEADER_OR_FOLLOWER"})
    with pytest.raises(ConnectionClosedError, match="acks=0"):
        watched.sim.ask(produce_to_both(watched, 9, 0), version=9)
    assert watched.written() == [0, 1]
    entry = watched.only_entry("Produce")
    assert (entry.ending, entry.errors, entry.traffic) == ("closed", ("NOT_LEADER_OR_FOLLOWER",), {"prices": SIZE})
    assert entry.category == "produce"


@pytest.mark.parametrize("version", [9, 13])
def test_a_write_that_is_answered_with_an_error_counts_as_written(watched, version):
    watched.sim.faults.add(match={"topic": "orders"}, effect={"error": "REQUEST_TIMED_OUT"})
    answer = watched.sim.ask(produce_to_both(watched, version, 1), version=version)
    assert sorted(one.error_code for topic in answer.responses for one in topic.partition_responses) == [0, 7]
    assert watched.written() == [1, 1]
    entry = watched.only_entry("Produce")
    assert (entry.errors, entry.traffic) == (("REQUEST_TIMED_OUT",), {"orders": SIZE, "prices": SIZE})


@pytest.mark.parametrize("version", [9, 13])
def test_a_refused_write_is_about_its_topics_by_whatever_they_were_named(watched, version):
    watched.sim.faults.add(match={"topic": "orders"}, effect={"error": "NOT_LEADER_OR_FOLLOWER"})
    watched.sim.ask(produce_to_both(watched, version, 1), version=version)
    entry = watched.only_entry("Produce")
    assert (watched.written(), entry.traffic) == ([0, 1], {"prices": SIZE})
    assert dict(entry.topics) == {"orders": (0,), "prices": (0,)}


def test_an_error_for_a_partition_leaves_the_room_of_its_records_to_the_others(watched):
    watched.sim.ask(produce_to_both(watched, 9, 1), version=9)
    watched.sim.faults.add(match={"api": "Fetch", "topic": "orders"}, effect={"error": "NOT_LEADER_OR_FOLLOWER"})
    request = FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=SIZE, session_epoch=-1)
    for name in TOPICS:
        partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        request.topics.append(FetchRequest.Topic(topic=name, partitions=[partition]))
    answer = watched.sim.ask(request, version=11)
    given = {
        topic.topic: (one.error_code, len(one.records or b"")) for topic in answer.responses for one in topic.partitions
    }
    assert given == {"orders": (6, 0), "prices": (0, SIZE)}


@pytest.fixture
def proxied() -> PlayedConnection:
    return PlayedConnection()


def test_a_call_that_was_delayed_is_answered_later(proxied):
    proxied.faults.add(match={"group": "slow"}, effect={"delay_ms": 20})
    proxied.ask("slow")
    proxied.advance(20)
    proxied.answer((1, 0))
    proxied.ask("quick")
    proxied.answer((2, 0))
    assert [entry.ending for entry in proxied.journal] == ["answered later", "answered"]


@pytest.mark.parametrize("is_gone", [True, False], ids=["gone", "sends no more"])
def test_a_silenced_call_ends_as_soon_as_its_client_has_gone(proxied, is_gone):
    proxied.faults.add(match={"group": "lost"}, effect={"silence": True})
    proxied.ask("lost")
    proxied.connection.client_left(proxied.now_ms, is_gone=is_gone)
    assert proxied.connection.closed == "the client has gone"
    proxied.connection.stopped()
    assert [(entry.ending, entry.faults) for entry in proxied.journal] == [("dropped", ("fault-1",))]
    assert proxied.engine.parked_calls == 0


def test_what_a_client_sent_before_a_silenced_call_goes_on_though_it_has_gone(proxied):
    proxied.faults.add(match={"group": "lost"}, effect={"silence": True})
    proxied.ask("billing")
    proxied.ask("lost")
    proxied.connection.client_left(proxied.now_ms, is_gone=True)
    assert proxied.sent_on() == [1]


def test_a_client_that_sends_no_more_has_the_answers_before_a_silenced_call(proxied):
    proxied.faults.add(match={"group": "lost"}, effect={"silence": True})
    proxied.ask("billing")
    proxied.ask("lost")
    proxied.connection.client_left(proxied.now_ms, is_gone=False)
    assert (proxied.connection.closed, proxied.sent_on()) == (None, [1])
    proxied.answer((1, 0))
    assert proxied.answers() == [(1, 0)]
    assert proxied.connection.closed == "the client has gone"


def test_a_link_that_is_cut_ends_the_call_that_waits_at_the_real_broker_and_says_so(proxied):
    proxied.engine.path.mirror.learn_brokers([(0, "real", 9092, "a")])
    proxied.ask("waiting")
    proxied.connection.session.learn_rack("b")
    assert (proxied.sent_on(), proxied.engine.parked_calls) == ([1], 1)
    cut = proxied.faults.add(link={"between": ["a", "b"]}, effect={"cut": True})
    reason = "fault fault-1: the link between a and b is cut"
    assert [(one.ending, one.reason, one.faults) for one in proxied.journal] == [("closed", reason, ("fault-1",))]
    assert (proxied.connection.closed, cut.fired, proxied.engine.parked_calls) == (reason, 1, 0)
