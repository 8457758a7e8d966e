"""How many connections a broker takes, in all and from one address."""

from __future__ import annotations

import pytest

from mockbroker.core.connection_quotas import ConnectionQuotas
from mockbroker.core.simulation import Simulation
from mockbroker.state.brokers.broker import Listener
from protocol.apis.configs import IncrementalAlterConfigsRequest

BROKER, SET = 4, 0
HERE = "PLAINTEXT"


def quotas_of(**settings) -> ConnectionQuotas:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return ConnectionQuotas(Simulation("a", settings=named).cluster, 0)


def of_two_listeners(**settings) -> ConnectionQuotas:
    """By PLAINTEXT brokers speak to each other, OUTSIDE is for others; settings have _ for each dot."""
    return ConnectionQuotas(simulation_of_two_listeners(**settings).cluster, 0)


def simulation_of_two_listeners(**settings) -> Simulation:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    sim = Simulation("a", settings=named)
    sim.cluster.brokers[0].listeners.append(Listener("OUTSIDE", port=9192))
    return sim


def answer_to(sim: Simulation, broker: str, name: str, value: str) -> int:
    """The error code of a config that is set at run time."""
    resource = IncrementalAlterConfigsRequest.Resource(resource_type=BROKER, resource_name=broker)
    resource.configs.append(resource.Config(name=name, config_operation=SET, value=value))
    answer = sim.ask(IncrementalAlterConfigsRequest(resources=[resource]), broker=0, version=1)
    return answer.responses[0].error_code


def test_a_connection_over_the_limit_of_all_waits_until_another_one_has_ended(caplog):
    quotas = quotas_of(max_connections=2)
    for address in ("10.0.0.1", "10.0.0.2"):
        assert quotas.has_room(HERE)
        assert quotas.admit(HERE, address)
    assert not quotas.has_room(HERE)
    quotas.log_wait(HERE, "10.0.0.3")
    assert [record.getMessage() for record in caplog.records] == [
        "broker 0 has connections wait, the first is of 10.0.0.3: max.connections is 2"
    ]
    quotas.left(HERE, "10.0.0.1")
    assert quotas.has_room(HERE)


def test_of_many_refused_in_a_row_one_is_logged(caplog):
    quotas = quotas_of(max_connections_per_ip=1)
    assert [quotas.admit(HERE, "10.0.0.3") for _ in range(3)] == [True, False, False]
    assert [record.getMessage() for record in caplog.records] == [
        "broker 0 refuses connections of 10.0.0.3: max.connections.per.ip is 1"
    ]


def test_no_more_connections_than_from_one_address_some_of_which_have_limits_of_their_own():
    quotas = quotas_of(max_connections_per_ip=1, max_connections_per_ip_overrides="10.0.0.2:2,10.0.0.3:0")
    taken = [
        (address, quotas.admit(HERE, address)) for address in ("10.0.0.1", "10.0.0.2", "10.0.0.3") for _ in range(3)
    ]
    assert [address for address, is_taken in taken if is_taken] == ["10.0.0.1", "10.0.0.2", "10.0.0.2"]
    quotas.left(HERE, "10.0.0.2")
    assert (quotas.admit(HERE, "10.0.0.1"), quotas.admit(HERE, "10.0.0.2"), quotas._by_listener.total()) == (
        False,
        True,
        3,
    )


def test_a_limit_that_is_set_at_run_time_counts_from_the_next_connection():
    sim = Simulation("a")
    quotas = ConnectionQuotas(sim.cluster, 0)
    assert quotas.admit(HERE, "10.0.0.1")
    assert answer_to(sim, "", "max.connections.per.ip", "1") == 0
    assert not quotas.admit(HERE, "10.0.0.1")
    assert quotas.admit(HERE, "10.0.0.2")


def test_a_listener_has_no_room_over_its_own_limit_and_the_others_have(caplog):
    quotas = of_two_listeners(listener_name_outside_max_connections="1")
    assert quotas.admit("OUTSIDE", "10.0.0.1")
    assert (quotas.has_room("OUTSIDE"), quotas.has_room(HERE)) == (False, True)
    quotas.log_wait("OUTSIDE", "10.0.0.2")
    assert caplog.messages == [
        "broker 0 has connections wait, the first is of 10.0.0.2: listener.name.outside.max.connections is 1"
    ]
    quotas.left("OUTSIDE", "10.0.0.1")
    assert quotas.has_room("OUTSIDE")


def test_brokers_reach_each_other_over_the_limit_of_all_and_then_there_are_too_many():
    quotas = of_two_listeners(max_connections=1, listener_name_plaintext_max_connections=2)
    assert quotas.admit("OUTSIDE", "10.0.0.1")
    assert (quotas.has_room("OUTSIDE"), quotas.has_room(HERE), quotas.excess) == (False, True, 0)
    assert quotas.admit(HERE, "10.0.0.2")
    assert (quotas.has_room(HERE), quotas.excess) == (True, 1)
    assert quotas.admit(HERE, "10.0.0.2")
    assert (quotas.has_room(HERE), quotas.excess) == (False, 2)


def test_the_listener_between_brokers_is_the_one_that_settings_name():
    assert of_two_listeners().is_protected(HERE)
    named = of_two_listeners(inter_broker_listener_name="OUTSIDE")
    assert (named.is_protected("OUTSIDE"), named.is_protected(HERE)) == (True, False)
    assert of_two_listeners(security_inter_broker_protocol="SSL").is_protected(HERE) is False
    assert not quotas_of().is_protected(HERE), "there is no other listener"


def test_limits_of_a_listener_that_are_set_at_run_time_count_for_it():
    sim = simulation_of_two_listeners()
    quotas = ConnectionQuotas(sim.cluster, 0)
    assert quotas.admit("OUTSIDE", "10.0.0.1")
    assert answer_to(sim, "", "listener.name.outside.max.connections", "1") == 0
    assert not quotas.has_room("OUTSIDE")
    assert answer_to(sim, "0", "listener.name.outside.max.connections", "2") == 0
    assert quotas.has_room("OUTSIDE")
    assert answer_to(sim, "", "max.connections", "1") == 0
    assert (quotas.has_room("OUTSIDE"), quotas.has_room(HERE)) == (False, True)


def test_a_listener_may_not_be_closed_by_its_limits_and_one_that_is_not_there_may():
    """As a Kafka 4.4 answers; 42 is INVALID_REQUEST."""
    sim = simulation_of_two_listeners()
    for limit in ("max.connections", "max.connection.creation.rate"):
        for broker in ("0", ""):
            for name in (limit, f"listener.name.plaintext.{limit}", f"listener.name.outside.{limit}"):
                assert [answer_to(sim, broker, name, value) for value in ("5", "0", "-1", "a")] == [0, 42, 42, 42]
            for name in (f"listener.name.elsewhere.{limit}", f"listener.name.OUTSIDE.{limit}"):
                assert [answer_to(sim, broker, name, value) for value in ("5", "0", "-1", "a")] == [0, 0, 42, 42]


def test_a_limit_of_a_listener_is_a_number():
    with pytest.raises(ValueError, match=r"listener\.name.outside.max.connections: expected a whole number, got 'few'"):
        of_two_listeners(listener_name_outside_max_connections="few")


@pytest.mark.parametrize(
    ("named", "address"),
    [("localhost", "127.0.0.1"), ("0:0:0:0:0:0:0:1", "::1"), ("::1", "::1"), ("10.0.0.1", "::ffff:10.0.0.1")],
)
def test_an_address_is_found_however_it_is_written(named, address):
    sim = Simulation("a", settings={"max.connections.per.ip.overrides": f"{named}:1"})
    quotas = ConnectionQuotas(sim.cluster, 0)
    assert [quotas.admit(HERE, address) for _ in range(2)] == [True, False]
