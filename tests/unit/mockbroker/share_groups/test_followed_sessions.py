from __future__ import annotations

import pytest

from mockbroker.core.journal import Journal
from mockbroker.proxy.connection import ProxyConnection
from mockbroker.share_groups.share_states import share_of
from protocol.apis.share_fetch import ShareAcknowledgeRequest, ShareFetchRequest
from protocol.headers import request_frame, response_frame
from protocol.registry import message_class
from tests.unit.mockbroker.proxy.proxied_simulation import ProxiedSimulation, proxy_engine
from tests.unit.mockbroker.share_groups.share import (
    ACCEPT,
    GROUP,
    TOPIC,
    acknowledge,
    acquired,
    begun,
    filled,
    outcome,
    share_fetch,
)

pytestmark = pytest.mark.proxy

NOT_LEADER = 6


@pytest.fixture
def sim() -> ProxiedSimulation:
    return ProxiedSimulation()


@pytest.fixture
def topic_id(sim: ProxiedSimulation) -> bytes:
    """A topic of one partition, led by broker 0, for the members of a share group."""
    return begun(sim)


def test_the_journal_has_group_and_topics_of_a_session_though_a_fetch_names_none(sim, topic_id):
    journal = Journal()
    sim.proxy.path.observers.append(journal)
    share_fetch(sim, topic_id)
    share_fetch(sim, topic_id, 1, indexes=())
    filled(sim, 2)
    share_fetch(sim, topic_id, 2, indexes=())
    fetches = journal.find(api="ShareFetch")
    assert [(entry.topics, entry.groups) for entry in fetches] == [({TOPIC: (0,)}, (GROUP,))] * 3
    beside = sim.journal.find(api="ShareFetch")
    assert [(entry.topics, entry.groups) for entry in beside] == [({TOPIC: (0,)}, (GROUP,))] * 3
    assert journal.find(api="ShareFetch", topic=TOPIC, client_id="test")


def test_a_fault_by_topic_meets_a_fetch_that_names_none_and_takes_the_place_of_its_records(sim, topic_id):
    share_fetch(sim, topic_id)
    filled(sim, 1)
    with sim.faults.add(match={"api": "ShareFetch", "topic": TOPIC}, effect={"error": "NOT_LEADER_OR_FOLLOWER"}) as one:
        (topic,) = share_fetch(sim, topic_id, 1, indexes=()).responses
        assert (topic.topic_id, [entry.error_code for entry in topic.partitions]) == (topic_id, [NOT_LEADER])
        assert one.matched == 1


def test_acknowledgements_go_on_and_keep_the_session(sim, topic_id):
    filled(sim, 1)
    share_fetch(sim, topic_id)
    if not acquired(share_fetch(sim, topic_id, 1, indexes=())):
        share_fetch(sim, topic_id, 2, indexes=())
    followed = share_of(sim.proxy.cluster).sessions_of(0)
    epoch = share_of(sim.cluster).sessions_of(0).get((GROUP, "one")).epoch
    assert outcome(acknowledge(sim, topic_id, epoch, (0, 0, [ACCEPT]))) == 0
    assert len(followed) == 1


def test_a_session_that_is_closed_or_refused_is_forgotten(sim, topic_id):
    share_fetch(sim, topic_id)
    share_fetch(sim, topic_id, member="two")
    followed = share_of(sim.proxy.cluster).sessions_of(0)
    assert len(followed) == 2
    sim.ask(ShareAcknowledgeRequest(group_id=GROUP, member_id="one", share_session_epoch=-1))
    assert len(followed) == 1
    assert share_fetch(sim, topic_id, 7, member="two", indexes=()).error_code
    assert len(followed) == 0


def test_what_a_session_forgets_is_no_longer_met(sim):
    topic_id = begun(sim, 2)
    share_fetch(sim, topic_id, indexes=(0, 1))
    journal = Journal()
    sim.proxy.path.observers.append(journal)
    gone = ShareFetchRequest.ForgottenTopic(topic_id=topic_id, partitions=[1])
    share_fetch(sim, topic_id, 1, indexes=(), forgotten_topics_data=[gone])
    assert [entry.topics for entry in journal] == [{TOPIC: (0,)}]


def test_sessions_end_with_their_connection(sim, topic_id):
    connections = []

    def arrived(call) -> None:
        connections.append(call.session.link)

    sim.proxy.path.arrivals.append(arrived)
    share_fetch(sim, topic_id)
    followed = share_of(sim.proxy.cluster).sessions_of(0)
    (connection,) = connections
    assert isinstance(connection, ProxyConnection)
    connection.stopped()
    assert len(followed) == 0


def test_the_longest_unused_session_goes_where_there_is_no_room(sim, topic_id):
    share_fetch(sim, topic_id)
    kept = share_of(sim.proxy.cluster).sessions_of(0)
    kept.max_sessions = 2
    share_fetch(sim, topic_id, member="two")
    share_fetch(sim, topic_id, 1, indexes=())
    share_fetch(sim, topic_id, member="three")
    assert [kept.get((GROUP, one)) is not None for one in ("one", "two", "three")] == [True, False, True]


def test_a_member_that_asks_another_broker_than_the_leader_is_led_to_the_proxys_listener_of_it(sim):
    topic_id = begun(sim, 2)
    answer = share_fetch(sim, topic_id, indexes=(0, 1))
    (failed,) = [one for topic in answer.responses for one in topic.partitions if one.error_code]
    assert (failed.error_code, failed.current_leader.leader_id) == (NOT_LEADER, 1)
    assert [(one.node_id, one.host, one.port, one.rack) for one in answer.node_endpoints] == [(1, "proxy", 9093, "b")]


@pytest.mark.parametrize("request_class", [ShareFetchRequest, ShareAcknowledgeRequest])
@pytest.mark.parametrize("version", [1, 2])
def test_leaders_that_an_error_names_are_the_proxys_in_both_apis_of_members(request_class, version):
    engine = proxy_engine(racks={1: "own"})
    engine.path.mirror.learn_brokers([(0, "real-0", 9092, "a"), (1, "real-1", 9092, "b")])
    connection = ProxyConnection(engine.path, engine.session(engine.cluster.brokers[0]))
    request = request_class(group_id=GROUP, member_id="one", share_session_epoch=1)
    connection.receive(request_frame(request, version, correlation_id=5, client_id="test"), 0)
    response_class = message_class(request_class.api_key, "response")
    partition = response_class.Topic.Partition(partition_index=0, error_code=NOT_LEADER)
    partition.current_leader.leader_id = 1
    told = response_class(
        responses=[response_class.Topic(topic_id=bytes(16), partitions=[partition])],
        node_endpoints=[response_class.NodeEndpoint(node_id=1, host="real-1", port=9092, rack="b")],
    )
    connection.receive_upstream(response_frame(told, version, correlation_id=5), 0)
    output = b"".join(connection.take_output())
    told.node_endpoints = [response_class.NodeEndpoint(node_id=1, host="proxy", port=9093, rack="own")]
    assert output == response_frame(told, version, correlation_id=5)
