from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import protocol
from mockbroker.core.connection import MAX_WAITING_BYTES, Connection
from mockbroker.core.journal import Journal
from mockbroker.core.simulation import Simulation
from protocol import FrameReader
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request, values

METADATA = MetadataRequest(topics=None)


class Client:
    """One client of one broker: writes frames, reads answers."""

    def __init__(self, sim: Simulation, *, broker: int = 0, **fields: Any) -> None:
        self.sim = sim
        self.connection = Connection(sim.engine, sim.cluster.brokers[broker], "127.0.0.1", **fields)
        self.reader = FrameReader()
        self.correlation_id = 0

    def frame(self, request: Any, version: int, client_id: str | None = "test") -> bytes:
        self.correlation_id += 1
        return protocol.request_frame(request, version, correlation_id=self.correlation_id, client_id=client_id)

    def write(self, data: bytes) -> None:
        self.connection.receive(data, self.sim.now_ms)

    def frames(self) -> list[bytes]:
        return self.reader.feed(b"".join(self.connection.take_output()))

    def ask(self, request: Any, version: int, **fields: Any) -> Any:
        self.write(self.frame(request, version, **fields))
        (frame,) = self.frames()
        header, response = protocol.read_response(frame, type(request).api_key, version)
        assert header.correlation_id == self.correlation_id
        return response


@pytest.fixture
def sim(sim: Simulation) -> Simulation:
    sim.cluster.create_topic(TOPIC, 1, 3)
    sim.cluster.create_topic("events", 1, configs={"diskless.enable": "true"})
    return sim


@pytest.fixture
def client(sim: Simulation) -> Client:
    return Client(sim)


def test_requests_are_answered_however_they_are_cut(sim):
    whole = b"".join(Client(sim).frame(METADATA, version) for version in (1, 9, 12))

    def answers(cut: int) -> bytes:
        client = Client(sim)
        for start in range(0, len(whole), cut):
            client.write(whole[start : start + cut])
        return b"".join(client.connection.take_output())

    once = answers(len(whole))
    assert len(FrameReader().feed(once)) == 3
    assert answers(1) == once
    assert answers(7) == once


@pytest.mark.parametrize("cut", [1000, 65_536, 100_000, 10**6])
def test_large_requests_are_answered_however_they_are_cut(sim, cut):
    client = Client(sim)
    small, large = batch(b"a"), batch(b"x" * 200_000)
    requests = [(METADATA, 3), (produce_request(large), 0), (produce_request(small), 0), (produce_request(large), 0)]
    whole = b"".join(client.frame(request, 12) for request, _ in requests)
    for start in range(0, len(whole), cut):
        client.write(whole[start : start + cut])
    frames = client.frames()
    assert [int.from_bytes(frame[:4], "big") for frame in frames] == [1, 2, 3, 4]
    fetched = client.ask(fetch_request(), 12).responses[0].partitions[0].records
    assert [len(value) for value in values(fetched)] == [200_000, 1, 200_000]


def test_a_large_frame_behind_a_call_that_waits_is_run_after_it(sim, client):
    client.write(client.frame(fetch_request(max_wait_ms=500), 12))
    large = client.frame(produce_request(batch(b"x" * 200_000)), 12)
    client.write(large[:1000])
    sim.advance(ms=500)
    assert len(client.frames()) == 1
    client.write(large[1000:150_000])
    client.write(large[150_000:] + client.frame(METADATA, 12))
    assert [int.from_bytes(frame[:4], "big") for frame in client.frames()] == [2, 3]


def test_one_request_at_a_time_is_answered_in_order(sim, client):
    client.write(client.frame(fetch_request(max_wait_ms=500), 12) + client.frame(METADATA, 12))
    assert client.frames() == []
    other = Client(sim)
    assert other.ask(METADATA, 12).topics
    sim.advance(ms=500)
    first, second = client.frames()
    assert (int.from_bytes(first[:4], "big"), int.from_bytes(second[:4], "big")) == (1, 2)


def test_an_answer_that_comes_later_is_announced(sim):
    announced: list[int] = []
    client = Client(sim, on_output=lambda: announced.append(sim.now_ms))
    client.write(client.frame(fetch_request(max_wait_ms=500), 12))
    assert announced == []
    sim.advance(ms=100)
    sim.send(produce_request(batch(b"a")), version=12)
    assert announced == [100]
    (frame,) = client.frames()
    _, response = protocol.read_response(frame, 1, 12)
    assert values(response.responses[0].partitions[0].records) == [b"a"]


def test_a_client_that_goes_leaves_no_waiting_call(sim, client):
    client.write(client.frame(fetch_request(max_wait_ms=500), 12))
    assert sim.engine.parked_calls == 1
    client.connection.stopped()
    assert sim.engine.parked_calls == 0
    client.write(client.frame(METADATA, 12))
    assert client.frames() == []


def test_acks_0_is_followed_by_the_next_answer(client):
    client.write(client.frame(produce_request(batch(b"a"), acks=0), 12) + client.frame(METADATA, 12))
    (frame,) = client.frames()
    assert int.from_bytes(frame[:4], "big") == 2


def test_acks_0_with_an_error_ends_the_connection(client):
    client.write(client.frame(produce_request(batch(b"a"), topic="none", acks=0), 12))
    assert "UNKNOWN_TOPIC_OR_PARTITION" in client.connection.closed


def test_a_newer_version_of_api_versions_is_told_the_range_in_version_0_form(client):
    frame = bytearray(client.frame(ApiVersionsRequest(), 4))
    frame[6:8] = (5).to_bytes(2, "big")
    client.write(bytes(frame))
    (answer,) = client.frames()
    _, response = protocol.read_response(answer, 18, 0)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(one.api_key, one.min_version, one.max_version) for one in response.api_keys] == [(18, 0, 4)]
    assert client.ask(ApiVersionsRequest(), 4).error_code == ErrorCode.NONE


def test_api_versions_answers_have_header_0_and_others_that_of_their_version(client):
    client.write(client.frame(ApiVersionsRequest(), 4) + client.frame(METADATA, 12))
    first, second = client.frames()
    assert first[4:6] == b"\0\0", "the error code stands right behind the correlation id"
    assert second[4] == 0, "here the header's tags come first"


def test_bytes_left_over_in_a_request_are_ignored(client):
    frame = client.frame(MetadataRequest(topics=None), 13)
    longer = (len(frame) - 4 + 3).to_bytes(4, "big") + frame[4:] + b"\0\0\0"
    client.write(longer)
    assert len(client.frames()) == 1
    assert client.connection.closed is None


BAD_FRAMES = {
    "an API key that nobody knows": (999, 0, b""),
    "an API that is not served": (4, 0, b"\xff\xff"),
    "a version that is not served": (3, 99, b"\xff\xff"),
    "a negative version": (3, -1, b"\xff\xff"),
    "a negative version of ApiVersions after which nothing can be known": (3, -5, b""),
    "a header that ends too early": (3, 1, b"\x00\x09ab"),
    "a body that ends too early": (3, 1, b"\xff\xff\x00\x00\x00\x09"),
    "a body with a huge length": (3, 1, b"\xff\xff\x7f\xff\xff\xff"),
}


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_bad_input_ends_its_own_connection_with_one_logged_line(sim, client, caplog, name):
    api_key, version, rest = BAD_FRAMES[name]
    body = api_key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True) + bytes(4) + rest
    other = Client(sim)
    with caplog.at_level(logging.WARNING, logger="mockbroker"):
        client.write(len(body).to_bytes(4, "big") + body + client.frame(METADATA, 12))
    assert client.connection.closed is not None
    assert client.frames() == []
    (line,) = caplog.messages
    assert "\n" not in line
    assert other.ask(METADATA, 12).topics


@pytest.mark.parametrize("size", [-1, 0, 7, 1001, 2**31 - 1])
def test_a_frame_of_an_impossible_size_ends_the_connection_before_it_is_read(caplog, size):
    sim = Simulation(settings={"socket.request.max.bytes": "1000"})
    client = Client(sim)
    client.write(size.to_bytes(4, "big", signed=True))
    assert client.connection.closed is not None
    assert len(caplog.messages) == 1
    assert f"frame of {size} bytes" in caplog.messages[0]


@given(st.binary(max_size=200), st.integers(0, 200))
def test_no_bytes_at_all_break_a_connection_otherwise_than_by_closing_it(data, cut):
    sim = Simulation()
    client = Client(sim)
    client.write(data[:cut])
    client.write(data[cut:])
    framed = len(data).to_bytes(4, "big") + data
    Client(sim).write(framed)
    assert Client(sim).ask(METADATA, 12).brokers


@given(st.sampled_from([0, 1, 2, 3, 8, 11, 18, 19, 75]), st.integers(0, 18), st.binary(max_size=120))
def test_no_body_of_any_api_breaks_the_cluster(api_key, version, body):
    sim = Simulation()
    sim.cluster.create_topic(TOPIC, 1, 3)
    header = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4) + b"\xff\xff"
    frame = header + body
    Client(sim).write(len(frame).to_bytes(4, "big") + frame)
    assert Client(sim).ask(METADATA, 12).brokers


def test_a_handler_that_fails_ends_its_own_connection(sim, client, caplog, monkeypatch):
    def broken(call: Any, request: Any) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("mockbroker.core.engine.handler_of", lambda api_key: broken)
    client.write(client.frame(fetch_request(), 12))
    monkeypatch.undo()
    assert client.connection.closed == "ZeroDivisionError: a bug"
    assert Client(sim).ask(METADATA, 12).topics


def test_reading_stops_while_many_bytes_wait_behind_a_call(sim, client):
    client.write(client.frame(fetch_request(max_wait_ms=500), 12))
    assert not client.connection.is_full
    client.write(bytes(MAX_WAITING_BYTES + 1))
    assert client.connection.is_full


# kept answers


def test_a_kept_answer_is_the_one_that_would_be_made(sim):
    def ask_twice(**fields: Any) -> tuple[Any, Any]:
        client = Client(sim)
        return client.ask(METADATA, 12, **fields), client.ask(METADATA, 12, **fields)

    first, second = ask_twice(client_id="diskless_az=b")
    assert first == second, "one broker in that rack, so the turn changes nothing"
    assert len(sim.engine.response_cache._by_request) == 1


def test_kept_answers_end_with_any_change_of_the_cluster(sim, client):
    client.ask(METADATA, 12)
    sim.cluster.stop_broker(2, 0)
    assert [broker.node_id for broker in client.ask(METADATA, 12).brokers] == [0, 1]
    sim.cluster.create_topic("new")
    assert "new" in [topic.name for topic in client.ask(METADATA, 12).topics]
    sim.cluster.add_partitions("new", 5)
    assert [len(topic.partitions) for topic in client.ask(METADATA, 12).topics if topic.name == "new"] == [5]


def test_kept_answers_take_turns_evenly():
    sim = Simulation(racks="a,a,a,a,b")
    sim.cluster.create_topic("events", 1, configs={"diskless.enable": "true"})
    client = Client(sim)
    leaders = [
        client.ask(METADATA, 12, client_id="diskless_az=a").topics[0].partitions[0].leader_id for _ in range(3000)
    ]
    assert [leaders.count(broker) for broker in range(5)] == [750, 750, 750, 750, 0]
    assert leaders[:8] == [0, 1, 2, 3, 0, 1, 2, 3]


def test_kept_answers_tell_client_ids_and_listeners_apart(sim):
    def leader(**fields: Any) -> int:
        listener = {key: fields.pop(key) for key in ("listener", "listener_rack") if key in fields}
        return Client(sim, **listener).ask(METADATA, 12, **fields).topics[0].partitions[0].leader_id

    for _ in range(3):
        assert leader(client_id="diskless_az=a") == 0
        assert leader(client_id="diskless_az=c") == 2
        assert leader(client_id="plain", listener="RACK_b", listener_rack="b") == 1


# the journal


def test_every_answered_call_is_in_the_journal(sim):
    journal = Journal()
    client = Client(sim, journal=journal, number=7, broker=0)
    sent = batch(b"a")
    sim.advance(ms=30)
    for _ in range(2):
        client.ask(METADATA, 12, client_id="app,diskless_az=b")
    client.ask(produce_request(sent), 12)
    produced = list(journal)[-1]
    kept = [(one.api_key, one.version, one.client_id, one.client_rack, one.request_bytes) for one in journal]
    assert kept[0] == kept[1]
    assert kept[0][:4] == (3, 12, "app,diskless_az=b", "b")
    assert (produced.at_ms, produced.broker_id, produced.rack, produced.connection) == (30, 0, "a", 7)
    assert (produced.api_key, produced.traffic) == (0, {TOPIC: len(sent)})
    assert produced.request_bytes > len(sent)
    assert produced.response_bytes > 0


@pytest.mark.parametrize(
    ("rack_id", "client_id", "listener_rack", "found"),
    [("a", "diskless_az=b", "c", "a"), ("", "diskless_az=b", "c", "b"), ("", "app", "c", "c"), ("", "app", None, None)],
)
def test_the_journal_knows_a_consumers_rack_by_its_fetch_its_client_id_or_its_listener(
    sim, rack_id, client_id, listener_rack, found
):
    journal = Journal()
    client = Client(sim, journal=journal, listener_rack=listener_rack)
    client.ask(fetch_request(rack_id=rack_id), 12, client_id=client_id)
    assert [one.client_rack for one in journal] == [found]


def test_the_journal_knows_a_producers_rack_by_its_client_id(sim):
    journal = Journal()
    client = Client(sim, journal=journal)
    client.ask(produce_request(batch(b"a")), 12, client_id="app,diskless_az=b")
    client.ask(produce_request(batch(b"b")), 12, client_id="app")
    assert [one.client_rack for one in journal] == ["b", None]


def test_the_journal_keeps_the_last_calls_and_finds_what_came_after_a_mark():
    journal = Journal(most=3)
    sim = Simulation()
    client = Client(sim, journal=journal)
    client.ask(METADATA, 12)
    mark = journal.mark()
    for version in (1, 2, 3):
        client.ask(METADATA, version)
    assert [one.version for one in journal.since(mark)] == [1, 2, 3]
    assert (len(journal), journal.dropped) == (3, 1)
