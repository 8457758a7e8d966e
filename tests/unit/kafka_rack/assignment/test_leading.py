"""A leader asks its client's coordinator for a rebalance once, and only while it leads."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kafka_rack.assignment.clients.leading import Leading


class Coordinator:
    def __init__(self):
        self.rejoins = 0

    def metadata_came(self, cluster):
        """As the client's coordinator listens."""

    def request_rejoin(self):
        self.rejoins += 1


class WeaklyHeld:
    """As kafka-python holds its listeners."""

    def __init__(self, method):
        self.target = lambda: method.__self__


@pytest.fixture(params=["bound method", "weakly held"])
def client(request):
    """A client's metadata, listened to by a coordinator, by something else, and by nobody of ours yet."""
    coordinator = Coordinator()
    method = coordinator.metadata_came
    listeners = {WeaklyHeld(method) if request.param == "weakly held" else method, print}
    return SimpleNamespace(_listeners=listeners, add_listener=listeners.add, coordinator=coordinator, layout=[[0], [1]])


def view(client, topics):
    return {"nodes": [[0, "a"], [1, "b"], [2, "c"]], "topics": {"t": client.layout}}


def leading(client, rack="a"):
    leader = Leading(rack, view)
    leader.assigned(client, ["t"])
    leader.joined()
    return leader


def test_new_racks_ask_for_one_rebalance_until_the_next_assignment(client):
    leader = leading(client)
    leader.metadata_came(client)
    assert client.coordinator.rejoins == 0
    client.layout = [[0], [2]]
    leader.metadata_came(client)
    leader.metadata_came(client)
    assert client.coordinator.rejoins == 1
    leader.assigned(client, ["t"])
    leader.joined()
    leader.metadata_came(client)
    assert client.coordinator.rejoins == 1
    client.layout = [[1], [2]]
    leader.metadata_came(client)
    assert client.coordinator.rejoins == 2


def test_a_leader_listens_once(client):
    leader = leading(client)
    leader.assigned(client, ["t"])
    assert len([listener for listener in client._listeners if listener == leader.metadata_came]) == 1


def test_a_member_that_does_not_lead_any_more_asks_for_nothing(client):
    leader = leading(client)
    leader.joined()
    client.layout = [[0], [2]]
    leader.metadata_came(client)
    assert client.coordinator.rejoins == 0


def test_a_leader_without_a_rack_asks_for_nothing(client):
    leader = leading(client, rack=None)
    client.layout = [[0], [2]]
    leader.metadata_came(client)
    assert client.coordinator.rejoins == 0
