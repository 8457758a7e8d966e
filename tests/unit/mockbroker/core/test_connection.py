from __future__ import annotations

import logging
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import protocol
from mockbroker.core.connection import MAX_OUTPUT_BYTES, MAX_UNREAD_BYTES
from mockbroker.core.simulation import Simulation
from protocol import FrameReader
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.core.client import METADATA, Client
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request, values

API_VERSIONS = ApiVersionsRequest(client_software_name="test", client_software_version="1")


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
    frame = bytearray(client.frame(API_VERSIONS, 5))
    frame[6:8] = (6).to_bytes(2, "big")
    client.write(bytes(frame))
    (answer,) = client.frames()
    _, response = protocol.read_response(answer, 18, 0)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(one.api_key, one.min_version, one.max_version) for one in response.api_keys] == [(18, 0, 5)]
    assert client.ask(API_VERSIONS, 5).error_code == ErrorCode.NONE


def test_api_versions_answers_have_header_0_and_others_that_of_their_version(client):
    client.write(client.frame(API_VERSIONS, 5) + client.frame(METADATA, 12))
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
    assert f"got {size}" in caplog.messages[0]


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
    sim.cluster.replication_control.create(TOPIC, 1, 3)
    header = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(4) + b"\xff\xff"
    frame = header + body
    Client(sim).write(len(frame).to_bytes(4, "big") + frame)
    assert Client(sim).ask(METADATA, 12).brokers


def test_a_handler_that_fails_is_an_unknown_server_error_to_its_own_client(sim, client, caplog, monkeypatch):
    def broken(call: Any, request: Any) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("mockbroker.core.path.served_api", lambda api_key: SimpleNamespace(handler=broken))
    assert client.ask(METADATA, 13).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    monkeypatch.undo()
    assert [record.exc_info is not None for record in caplog.records] == [True]
    assert client.ask(METADATA, 13).error_code == ErrorCode.NONE, "the failure is not cached"


def test_reading_stops_while_many_bytes_wait_behind_a_call(sim, client):
    client.write(client.frame(fetch_request(max_wait_ms=500), 12))
    assert not client.connection.is_full
    client.write(bytes(MAX_UNREAD_BYTES + 1))
    assert client.connection.is_full


def test_a_client_that_does_not_read_its_answers_has_its_next_calls_wait(sim, client):
    sim.cluster.replication_control.create("wide", 2000, 3)
    requests = [client.frame(METADATA, 12) for _ in range(100)]
    client.write(b"".join(requests))
    assert client.connection.is_held
    answered = client.frames()
    assert sum(map(len, answered)) < MAX_OUTPUT_BYTES + 2 * len(answered[0])
    assert client.frames() == []
    while client.connection.is_held:
        client.connection.resume(sim.now_ms)
        answered += client.frames()
    assert [int.from_bytes(frame[:4], "big") for frame in answered] == list(range(1, 101))


def test_a_connection_that_has_ended_keeps_nothing_of_its_socket(sim):
    class Socket:
        def flush(self) -> None:
            pass

    end = Socket()
    gone = weakref.ref(end)
    client = Client(sim, on_output=end.flush)
    client.connection.stopped()
    del end
    assert gone() is None, "only the garbage collector would free it"


def test_the_beginning_of_a_request_behind_others_is_owed_like_any_other(sim, client):
    client.write(b"".join(client.frame(METADATA, 12) for _ in range(10)) + bytes(3))
    assert (client.connection.is_held, client.connection.owes_since_ms) == (False, sim.now_ms)


def test_reading_stops_while_many_bytes_wait_behind_answers_that_nobody_takes(sim, client):
    sim.cluster.replication_control.create("wide", 20_000, 3)
    client.write(client.frame(METADATA, 12))
    assert not client.connection.is_full
    client.write(client.frame(METADATA, 12) + bytes(MAX_UNREAD_BYTES))
    assert client.connection.is_full


def test_a_frame_that_is_wrong_at_its_end_is_not_read_a_second_time(sim, client, monkeypatch):
    monkeypatch.setattr("protocol.reference.decode", lambda *_, **__: pytest.fail("the slow reader was asked"))
    frame = client.frame(produce_request(batch(b"x" * 1000)), 12)
    client.write((len(frame) - 5).to_bytes(4, "big") + frame[4:-1])
    assert "ProduceRequest v12" in client.connection.closed


def test_a_connection_that_says_nothing_for_too_long_ends_and_so_does_what_it_waits_for(sim, client):
    other = Client(sim, connection=2)
    client.write(client.frame(fetch_request(max_wait_ms=2_000_000), 12))
    sim.advance(ms=600_000)
    other.ask(METADATA, 12)
    for one in (client, other):
        one.connection.end_if_late(sim.now_ms)
    assert (client.connection.closed, other.connection.closed) == (None, None)
    sim.advance(ms=1)
    for one in (client, other):
        one.connection.end_if_late(sim.now_ms)
    assert "connections.max.idle.ms" in client.connection.closed
    assert (sim.engine.parked_calls, other.connection.closed) == (0, None)


def test_a_connection_that_is_ended_over_a_limit_says_so_in_one_line_and_waits_for_nothing(sim, client, caplog):
    client.write(client.frame(fetch_request(max_wait_ms=2_000_000), 12))
    client.connection.refuse("too much is held")
    assert client.connection.closed == "too much is held"
    assert [record.getMessage() for record in caplog.records] == [
        "broker 0 closes the connection of 127.0.0.1: too much is held"
    ]
    assert sim.engine.parked_calls == 0


@pytest.mark.parametrize("sent", [b"", b"\0", b"\0\0\0\x20\0\3"])
def test_a_client_that_owes_its_first_byte_or_the_rest_of_a_request_for_too_long_is_cut_off(sim, client, caplog, sent):
    client.connection.owes_since_ms = 0
    sim.advance(ms=10)
    if sent:
        client.write(sent)
    limit = "request.read.timeout.ms" if sent else "connection.first.byte.timeout.ms"
    limit_ms = sim.cluster.settings[limit]
    late_ms = limit_ms + (10 if sent else 0)
    client.connection.end_if_late(late_ms)
    assert client.connection.closed is None
    client.connection.end_if_late(late_ms + 1)
    assert f"{limit} is {limit_ms}" in client.connection.closed
    assert limit in caplog.text


def test_a_client_whose_requests_are_whole_owes_nothing(sim, client):
    sim.cluster.settings["connections.max.idle.ms"] = -1
    client.connection.owes_since_ms = 0
    frame = client.frame(METADATA, 13)
    client.write(frame)
    client.connection.end_if_late(10**9)
    client.write(client.frame(fetch_request(max_wait_ms=500), 12) + frame[:5])
    client.connection.end_if_late(10**9)
    assert client.connection.closed is None, "what comes behind a call that waits is not looked at"
    sim.advance(ms=600)
    client.connection.end_if_late(10**9)
    assert "was not whole" in client.connection.closed
