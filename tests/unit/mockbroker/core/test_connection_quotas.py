"""How many connections a broker takes, in all and from one address."""

from __future__ import annotations

from mockbroker.core.connection_quotas import ConnectionQuotas
from mockbroker.core.simulation import Simulation
from protocol.apis.configs import IncrementalAlterConfigsRequest

BROKER, SET = 4, 0


def quotas_of(**settings) -> ConnectionQuotas:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return ConnectionQuotas(Simulation("a", settings=named).cluster, 0)


def test_a_connection_over_the_limit_of_all_waits_until_another_one_has_ended(caplog):
    quotas = quotas_of(max_connections=2)
    for address in ("10.0.0.1", "10.0.0.2"):
        assert quotas.has_room
        assert quotas.admit(address)
    assert not quotas.has_room
    quotas.tell_of_wait("10.0.0.3")
    assert [record.getMessage() for record in caplog.records] == [
        "broker 0 has connections wait, the first is of 10.0.0.3: max.connections is 2"
    ]
    quotas.left("10.0.0.1")
    assert quotas.has_room


def test_connections_over_the_rate_wait_so_long_that_it_is_kept_on_average():
    quotas = quotas_of(max_connection_creation_rate=2)
    now_ms = waited_ms = 0
    for _ in range(100):
        wait_ms = quotas.wait_ms(now_ms)
        assert wait_ms <= 1000
        now_ms += wait_ms
        waited_ms += wait_ms
    assert 35_000 <= waited_ms <= 100_000, "two a second, and ten seconds' worth at once"
    assert quotas_of(max_connection_creation_rate=0).wait_ms(0) == 1000


def test_of_many_refused_in_a_row_one_is_logged(caplog):
    quotas = quotas_of(max_connections_per_ip=1)
    assert [quotas.admit("10.0.0.3") for _ in range(3)] == [True, False, False]
    assert [record.getMessage() for record in caplog.records] == [
        "broker 0 refuses connections of 10.0.0.3: max.connections.per.ip is 1"
    ]


def test_no_more_connections_than_from_one_address_some_of_which_have_limits_of_their_own():
    quotas = quotas_of(max_connections_per_ip=1, max_connections_per_ip_overrides="10.0.0.2:2,10.0.0.3:0")
    taken = [(address, quotas.admit(address)) for address in ("10.0.0.1", "10.0.0.2", "10.0.0.3") for _ in range(3)]
    assert [address for address, is_taken in taken if is_taken] == ["10.0.0.1", "10.0.0.2", "10.0.0.2"]
    quotas.left("10.0.0.2")
    assert (quotas.admit("10.0.0.1"), quotas.admit("10.0.0.2"), quotas.total) == (False, True, 3)


def test_a_limit_that_is_set_at_run_time_counts_from_the_next_connection():
    sim = Simulation("a")
    quotas = ConnectionQuotas(sim.cluster, 0)
    assert quotas.admit("10.0.0.1")
    resource = IncrementalAlterConfigsRequest.Resource(resource_type=BROKER, resource_name="")
    resource.configs.append(resource.Config(name="max.connections.per.ip", config_operation=SET, value="1"))
    answer = sim.ask(IncrementalAlterConfigsRequest(resources=[resource]), broker=0, version=1)
    assert answer.responses[0].error_code == 0
    assert not quotas.admit("10.0.0.1")
    assert quotas.admit("10.0.0.2")
