"""A client's session: who it is, and which rack it is in by what it has said so far."""

from __future__ import annotations

import pytest

from kafka_rack.locality.rack_rules import RackRules
from mockbroker.session import RackSource, Session
from mockbroker.state.brokers.broker import Broker

BROKER = Broker(0, "a")
RACKS = frozenset({"a", "b", "c"})


@pytest.mark.parametrize(
    ("client_id", "listener_rack", "rack", "source"),
    [
        (None, None, None, None),
        ("app", None, None, None),
        ("app diskless_az=b", None, "b", RackSource.CLIENT_ID),
        ("app", "c", "c", RackSource.LISTENER),
        ("app diskless_az=b", "c", "b", RackSource.CLIENT_ID),
    ],
)
def test_a_rack_comes_from_the_client_id_before_the_listener(client_id, listener_rack, rack, source):
    session = Session(BROKER, client_id=client_id, listener_rack=listener_rack, racks=RACKS)
    assert (session.rack, session.rack_source) == (rack, source)


@pytest.mark.parametrize(
    ("client_id", "rack", "source"),
    [
        ("app,diskless_az=b", "b", RackSource.CLIENT_ID),
        ("app|diskless_az=b|x=y", "b", RackSource.CLIENT_ID),
        ("app,diskless_az=b-StreamThread-1-consumer", "b", RackSource.CLIENT_ID),
        ("app,diskless_az=eu-1", "c", RackSource.LISTENER),
        ("app,diskless_az=z", "c", RackSource.LISTENER),
        ("app,ws_az=b", "b", RackSource.CLIENT_ID),
        ("app,ws_az=b-1", "c", RackSource.LISTENER),
        ("warpstream_az=a,warpstream_session_id=1", "a", RackSource.CLIENT_ID),
        ("automq_type=producer&automq_az=eu%2D1a&billing", "eu-1a", RackSource.CLIENT_ID),
        ("diskless_az=z,ws_az=a", "a", RackSource.CLIENT_ID),
    ],
)
def test_a_client_id_names_a_rack_that_there_is_or_none(client_id, rack, source):
    racks = frozenset({"a", "b", "eu-1a"})
    session = Session(BROKER, client_id=client_id, listener_rack="c", racks=racks)
    assert (session.rack, session.rack_source) == (rack, source)


def test_the_rack_of_a_request_stands_above_all_until_another_client_comes():
    session = Session(BROKER, client_id="app diskless_az=b", racks=RACKS)
    session.learn_rack("a")
    assert (session.rack, session.rack_source) == ("a", RackSource.REQUEST)
    session.identify("other")
    assert (session.client_id, session.rack, session.rack_source) == ("other", None, None)


FILED = RackRules.read("a@10.0.1.0/24\nc@2001:db8::/32\nb@client:etl-*", "racks")


@pytest.mark.parametrize(
    ("client_id", "address", "listener_rack", "rack", "source"),
    [
        ("app", "10.0.1.7", None, "a", RackSource.RACKS_FILE),
        (None, "::ffff:10.0.1.7", None, "a", RackSource.RACKS_FILE),
        ("app", "2001:db8::7", None, "c", RackSource.RACKS_FILE),
        ("etl-7", "10.0.1.7", None, "b", RackSource.RACKS_FILE),
        ("app", "10.0.2.7", None, None, None),
        ("app", "", None, None, None),
        ("app", "10.0.1.7", "c", "c", RackSource.LISTENER),
        ("app,diskless_az=b", "10.0.1.7", "c", "b", RackSource.CLIENT_ID),
    ],
)
def test_the_racks_file_is_asked_where_neither_client_id_nor_listener_says_it(
    client_id, address, listener_rack, rack, source
):
    where = {"listener_rack": listener_rack, "racks": RACKS, "client_racks": FILED}
    session = Session(BROKER, address, client_id=client_id, **where)
    assert (session.rack, session.rack_source) == (rack, source)


def test_what_a_request_names_stands_above_the_racks_file():
    session = Session(BROKER, "10.0.1.7", client_racks=FILED)
    session.learn_rack("b")
    assert (session.rack, session.rack_source) == ("b", RackSource.REQUEST)
    session.identify("etl-1")
    assert (session.rack, session.rack_source) == ("b", RackSource.RACKS_FILE)
