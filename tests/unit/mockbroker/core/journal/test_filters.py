"""Finding and counting calls by what they are."""

from __future__ import annotations

import pytest

from mockbroker.core.journal import FilterError, Journal
from tests.unit.mockbroker.core.client import METADATA, Client
from tests.unit.mockbroker.core.journal.traffic_of import cluster_of, fetch, produce
from tests.unit.mockbroker.handlers.records import TOPIC


@pytest.fixture
def sim():
    """A produce by 'writer', fetches by 'billing-1' in rack a and 'billing-2' in b (at brokers 0, 1), one without."""
    sim = cluster_of(near=True)
    sim.cluster.replication_control.create("payments", 3, 1)
    produce(sim, b"value")
    fetch(sim, "a", client_id="billing-1")
    fetch(sim, "b", client_id="billing-2")
    fetch(sim, "b", broker=1, client_id="billing-2")
    fetch(sim, version=10, broker=2, client_id="old")
    return sim


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"api": "Fetch"}, [2, 3, 4, 5]),
        ({"api": ["Produce", "Metadata"]}, [1]),
        ({"api": 0}, [1]),
        ({"client_id": "billing-*"}, [2, 3, 4]),
        ({"client_id": ["old", "writer"]}, [1, 5]),
        ({"client_rack": "b"}, [3, 4]),
        ({"client_rack": ""}, [1, 5]),
        ({"client_address": "127.0.0.0/8"}, [1, 2, 3, 4, 5]),
        ({"client_address": "10.0.0.0/8"}, []),
        ({"client_address": "127.0.0.1"}, [1, 2, 3, 4, 5]),
        ({"principal": "User:ANONYMOUS"}, [1, 2, 3, 4, 5]),
        ({"principal": "User:alice"}, []),
        ({"topic": "ord*"}, [1, 2, 3, 4, 5]),
        ({"topic": "payments"}, []),
        ({"partition": 0}, [1, 2, 3, 4, 5]),
        ({"topic": TOPIC, "partition": [1, 2]}, []),
        ({"group": "billing"}, []),
        ({"broker": 1}, [4]),
        ({"broker": ["0", "2"]}, [1, 2, 3, 5]),
        ({"rack": "a"}, [1, 2, 3]),
        ({"locality": "local"}, [2, 4]),
        ({"locality": ["cross", "unknown"]}, [1, 3, 5]),
        ({"locality_reason": "redirect"}, [3]),
        ({"avoidable": "no"}, [3]),
        ({"category": "produce"}, [1]),
        ({"error": "NOT_LEADER_OR_FOLLOWER"}, [5]),
        ({"error": "NOT_*"}, [5]),
        ({"fault": "*"}, [1, 2, 3, 4, 5]),
        ({"fault": "outage"}, []),
        ({"since": 3}, [4, 5]),
        ({"limit": 2}, [4, 5]),
        ({"since": 1, "limit": 2}, [2, 3]),
        ({"api": "Fetch", "client_id": "billing-2", "rack": "a"}, [3]),
        ({"topic": None, "api": "Produce"}, [1]),
    ],
)
def test_a_filter_finds_the_calls_that_it_means(sim, filters, found):
    assert [entry.sequence for entry in sim.journal.find(**filters)] == found
    assert sim.journal.count(**filters) == len(found)


def test_a_star_stands_for_anything_and_nothing_else_does(sim):
    fetch(sim, client_id="a.b[c]?")
    assert sim.journal.count(client_id="a.b[c]?") == 1
    assert sim.journal.count(client_id="a?b[c]?") == 0
    assert sim.journal.count(client_id="a*c]?") == 1


@pytest.mark.parametrize(
    ("filters", "sentence"),
    [
        ({"topik": "a"}, "expected filters out of api, client_id, .* got 'topik'; did you mean topic"),
        ({"api": "Fetsh"}, "api: expected a name that Kafka knows of apis, got 'Fetsh'; did you mean Fetch"),
        ({"locality": "lokal"}, "locality: expected one of local, cross, unknown, got 'lokal'; did you mean local"),
        ({"error": "NOT_LEADER"}, "error: expected a name that Kafka knows of errors, got 'NOT_LEADER'"),
        ({"locality_reason": "x"}, "locality_reason: expected one of no_client_rack, .* got 'x'"),
        ({"broker": "one"}, "broker: expected a number or a list of numbers, got 'one'"),
        ({"broker": True}, "broker: expected a number or a list of numbers, got True"),
        ({"topic": 3}, "topic: expected text or a list of texts, got 3"),
        ({"topic": []}, "topic: expected a value or a list of some, got an empty list"),
        ({"client_address": "10.0.0.0/99"}, "client_address: expected an address or a range as 10.0.0.0/8, got '10.0"),
        ({"since": -1}, "since: expected a number from 0, got -1"),
        ({"limit": 0}, "limit: expected a number from 1, got 0"),
        ({"limit": "many"}, "limit: expected a number from 1, got 'many'"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_could_be(filters, sentence):
    with pytest.raises(FilterError, match=sentence):
        Journal().find(**filters)


def test_a_refused_filter_is_a_type_error_and_a_value_error():
    assert issubclass(FilterError, TypeError)
    assert issubclass(FilterError, ValueError)


def test_calls_are_counted_by_the_values_of_a_field(sim):
    assert sim.journal.counts("locality") == {"local": 2, "unknown": 2, "cross": 1}
    assert sim.journal.counts(by="client_id", api="Fetch") == {"billing-2": 2, "billing-1": 1, "old": 1}
    assert sim.journal.counts("client_rack") == {"": 2, "b": 2, "a": 1}
    assert sim.journal.counts("error") == {"": 4, "NOT_LEADER_OR_FOLLOWER": 1}
    assert sim.journal.counts("ending") == {"answered": 5}
    with pytest.raises(FilterError, match=r"by: expected one of api, .*got 'color'"):
        sim.journal.counts("color")


def test_marks_go_on_counting_over_a_reset(sim):
    mark = sim.journal.mark()
    sim.journal.clear()
    assert (len(sim.journal), sim.journal.dropped, sim.journal.mark()) == (0, 0, mark)
    Client(sim, connection=9).ask(METADATA, 12)
    assert [entry.sequence for entry in sim.journal.find(since=mark)] == [mark + 1]
    assert [entry.sequence for entry in sim.journal.since(mark)] == [mark + 1]


def test_a_reset_forgets_where_clients_said_that_they_are(sim):
    sim.journal.clear()
    Client(sim, connection=9).ask(METADATA, 12, client_id="billing-1")
    assert [entry.client_rack for entry in sim.journal] == [None]
