"""FindCoordinator, every version."""

from __future__ import annotations

import pytest

from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.error_codes import ErrorCode

GROUP, TRANSACTION, SHARE = 0, 1, 2  # key types


@pytest.mark.parametrize("version", range(4))
def test_one_key_is_answered_with_its_coordinators_address(sim, version):
    answer = sim.ask(FindCoordinatorRequest(key="readers"), version=version)
    broker = sim.cluster.internal_topics.coordinator("readers")
    assert (answer.error_code, answer.node_id) == (ErrorCode.NONE, broker.id)
    assert (answer.host, answer.port) == (broker.host, broker.port)


@pytest.mark.parametrize("version", range(4, 7))
def test_many_keys_are_answered_each_in_the_order_asked(sim, version):
    keys = ["readers", "billing", "audit"]
    answer = sim.ask(FindCoordinatorRequest(coordinator_keys=keys), version=version)
    assert [entry.key for entry in answer.coordinators] == keys
    assert [entry.node_id for entry in answer.coordinators] == [
        sim.cluster.internal_topics.coordinator(key).id for key in keys
    ]
    assert {entry.error_code for entry in answer.coordinators} == {ErrorCode.NONE}


def test_success_is_worded_as_kafka_does(sim):
    assert sim.ask(FindCoordinatorRequest(key="readers"), version=2).error_message == "NONE"
    assert sim.ask(FindCoordinatorRequest(coordinator_keys=["readers"])).coordinators[0].error_message == ""


def test_every_broker_gives_the_same_answer(sim):
    answers = {sim.ask(FindCoordinatorRequest(key="readers"), version=1, broker=asked).node_id for asked in range(3)}
    assert len(answers) == 1


@pytest.mark.parametrize("version", [3, 6])
def test_a_transactional_id_has_a_coordinator_which_every_broker_names(sim, version):
    named = {"coordinator_keys": ["payments"]} if version >= 4 else {"key": "payments"}
    request = FindCoordinatorRequest(key_type=TRANSACTION, **named)
    answers = [sim.ask(request, version=version, broker=asked) for asked in range(3)]
    entries = [answer.coordinators[0] if version >= 4 else answer for answer in answers]
    assert {(one.error_code, one.node_id) for one in entries} == {
        (0, sim.cluster.internal_topics.coordinator("payments").id)
    }


@pytest.mark.parametrize(("version", "key_type"), [(6, SHARE), (4, SHARE), (4, 3), (4, -1)])
def test_share_partitions_and_unknown_key_types_are_refused_key_by_key(sim, version, key_type):
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["a", "b"])
    entries = sim.ask(request, version=version).coordinators
    assert [entry.error_code for entry in entries] == [ErrorCode.INVALID_REQUEST] * 2
    assert {(entry.node_id, entry.host, entry.port) for entry in entries} == {(-1, "", -1)}


def test_an_unknown_key_type_is_refused_in_old_versions_too(sim):
    answer = sim.ask(FindCoordinatorRequest(key="a", key_type=7), version=3)
    assert (answer.error_code, answer.node_id) == (ErrorCode.INVALID_REQUEST, -1)


def test_a_stopped_coordinator_is_replaced_by_one_that_is_up(sim):
    before = sim.ask(FindCoordinatorRequest(key="readers", key_type=GROUP), version=3).node_id
    sim.cluster.cluster_control.stop(before, sim.now_ms)
    asked = (before + 1) % 3
    after = sim.ask(FindCoordinatorRequest(key="readers"), version=3, broker=asked).node_id
    assert after != before
    assert sim.cluster.brokers[after].online
