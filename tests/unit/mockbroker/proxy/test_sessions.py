from __future__ import annotations

import pytest

from mockbroker.core.journal import Journal
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request
from tests.unit.mockbroker.proxy.proxied_simulation import ProxiedSimulation


@pytest.fixture
def sim() -> ProxiedSimulation:
    sim = ProxiedSimulation()
    for name in (TOPIC, "events"):
        sim.cluster.replication_control.create(name, 1, assignment=[[0, 1, 2]])
    return sim


def opened(sim: ProxiedSimulation, topic: str = TOPIC) -> int:
    session_id = sim.ask(fetch_request(topic=topic, session_epoch=0), version=12).session_id
    assert isinstance(session_id, int)
    return session_id


def going_on(session_id: int, epoch: int = 1, **fields):
    request = fetch_request(session_id=session_id, session_epoch=epoch, **fields)
    request.topics = []
    return request


def test_the_journal_has_the_topics_of_a_session_though_a_fetch_names_none(sim):
    journal = Journal()
    sim.proxy.path.observers.append(journal)
    session_id = opened(sim)
    sim.ask(going_on(session_id), version=12)
    sim.ask(produce_request(batch(b"a")), version=12)
    sim.ask(going_on(session_id, 2), version=12)
    fetches = journal.find(api="Fetch")
    assert [entry.topics for entry in fetches] == [{TOPIC: (0,)}] * 3
    assert [entry.topics for entry in sim.journal.find(api="Fetch")] == [{TOPIC: (0,)}] * 3


def test_a_session_that_is_closed_or_refused_is_forgotten(sim):
    first, second = opened(sim), opened(sim)
    sessions = sim.proxy.cluster.fetch_sessions[0]
    assert set(sessions.by_id) == {first, second}
    sim.ask(fetch_request(session_id=first, session_epoch=-1), version=12)
    assert set(sessions.by_id) == {second}
    sim.ask(going_on(second, 7), version=12)
    assert (sessions.by_id, sessions.partitions) == ({}, 0)


def test_the_longest_unused_session_goes_where_there_is_no_room(sim):
    first = opened(sim)
    sessions = sim.proxy.cluster.fetch_sessions[0]
    sessions.max_sessions = 2
    second = opened(sim, "events")
    sim.ask(going_on(first), version=12)
    third = opened(sim)
    assert list(sessions.by_id) == [first, third]
    handle = sim.faults.add(match={"topic": "events"}, effect={"error": "NOT_LEADER_OR_FOLLOWER"})
    answer = sim.ask(going_on(second), version=12)
    assert (answer.error_code, handle.matched) == (0, 0), "the real broker has it still"


def test_an_error_for_a_partition_that_has_records_takes_their_place_in_a_session(sim):
    session_id = opened(sim)
    sim.ask(produce_request(batch(b"a")), version=12)
    with sim.faults.add(match={"topic": TOPIC}, effect={"error": "NOT_LEADER_OR_FOLLOWER"}):
        (topic,) = sim.ask(going_on(session_id), version=12).responses
        assert [(one.error_code, one.records) for one in topic.partitions] == [(6, b"")]
    (topic,) = sim.ask(going_on(session_id, 2), version=12).responses
    assert topic.partitions[0].records
