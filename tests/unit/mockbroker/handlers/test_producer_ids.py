from __future__ import annotations

from typing import Any

import pytest

from mockbroker.core.simulation import ConnectionClosedError, Simulation
from mockbroker.state.topics.coordinator_keys import TRANSACTIONS_TOPIC
from protocol.apis.producer_ids import InitProducerIdRequest, InitProducerIdResponse
from protocol.error_codes import ErrorCode

UNSTABLE = {"unstable.api.versions.enable": True}


def init(sim: Simulation, transactional_id: str | None = None, *, version: int = 5, **fields: Any) -> Any:
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=1000)
    for name, value in fields.items():
        setattr(request, name, value)
    broker = (
        0 if not transactional_id else sim.cluster.internal_topics.coordinator(transactional_id, TRANSACTIONS_TOPIC).id
    )
    return sim.ask(request, version=version, broker=broker)


def code(response: InitProducerIdResponse) -> int:
    assert (response.producer_id, response.producer_epoch) == (-1, -1)
    return response.error_code


def test_a_producer_without_a_transactional_id_gets_an_id_and_epoch_0(sim):
    answer = init(sim)
    assert (answer.error_code, answer.producer_id >= 0, answer.producer_epoch) == (ErrorCode.NONE, True, 0)


def test_a_producer_id_without_an_epoch_is_no_request(sim):
    assert code(init(sim, producer_id=3)) == ErrorCode.INVALID_REQUEST
    assert code(init(sim, producer_epoch=3)) == ErrorCode.INVALID_REQUEST


def test_an_empty_transactional_id_and_a_timeout_that_is_too_long_are_refused(sim):
    assert code(init(sim, "")) == ErrorCode.INVALID_REQUEST
    assert code(init(sim, "t", transaction_timeout_ms=10**9)) == ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_a_broker_that_does_not_coordinate_a_transactional_id_says_so(sim):
    other = (sim.cluster.internal_topics.coordinator("t", TRANSACTIONS_TOPIC).id + 1) % 3
    request = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=1000)
    assert code(sim.ask(request, broker=other)) == ErrorCode.NOT_COORDINATOR


def test_a_retry_that_names_the_previous_epoch_gets_the_present_one(sim):
    first = init(sim, "t")
    pair = {"producer_id": first.producer_id, "producer_epoch": first.producer_epoch}
    assert [init(sim, "t", **pair).producer_epoch for _ in range(2)] == [1, 1]


@pytest.mark.parametrize(("version", "error"), [(4, ErrorCode.PRODUCER_FENCED), (3, ErrorCode.INVALID_PRODUCER_EPOCH)])
def test_a_foreign_producer_id_is_fenced_and_old_versions_hear_of_an_old_epoch(sim, version, error):
    first = init(sim, "t")
    assert code(init(sim, "t", version=version, producer_id=first.producer_id + 1, producer_epoch=0)) == error


def test_a_commit_in_two_phases_has_to_be_allowed_and_takes_no_timeout():
    sim = Simulation(settings=UNSTABLE)
    assert code(init(sim, "t", version=6, enable2_pc=True)) == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    sim = Simulation(settings=UNSTABLE | {"transaction.two.phase.commit.enable": True})
    assert init(sim, "t", version=6, enable2_pc=True, transaction_timeout_ms=0).error_code == ErrorCode.NONE
    assert sim.cluster.transactions.get("t").transaction_timeout_ms == 2**31 - 1


def test_a_version_that_is_still_to_change_is_served_where_that_is_set_alone(sim):
    with pytest.raises(ConnectionClosedError, match="version 0-5, got 6"):
        init(sim, "t", version=6)
    assert init(Simulation(settings=UNSTABLE), "t", version=6).error_code == ErrorCode.NONE


def test_no_release_keeps_prepared_transactions_yet():
    sim = Simulation(settings=UNSTABLE)
    assert code(init(sim, "t", version=6, keep_prepared_txn=True)) == ErrorCode.UNSUPPORTED_VERSION
