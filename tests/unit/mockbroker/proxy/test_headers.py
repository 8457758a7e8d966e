"""Another client id in a request's header: what stands around it is as it was, and the body is not copied."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.proxy.headers import with_client_id
from protocol.apis.controller import ControlledShutdownRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.headers import RequestHeader
from protocol.codec import codec
from protocol.framing import frame
from protocol.fuzz import messages
from protocol.headers import read_request, read_request_header, request_frame, request_header_version

CLIENT_IDS = st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=30))


@given(st.data(), st.integers(0, 2), CLIENT_IDS, st.binary(max_size=40))
def test_a_header_says_the_same_with_another_client_id(data, header_version, client_id, body):
    header = data.draw(messages(RequestHeader, header_version))
    written = codec(RequestHeader, header_version).encode(header)
    pieces = with_client_id(written + body, len(written), client_id, header_version)
    if header_version:
        header.client_id = client_id
    assert b"".join(pieces) == frame(codec(RequestHeader, header_version).encode(header), body)


@pytest.mark.parametrize("version", range(19))
def test_each_version_of_a_fetch_is_read_with_its_new_client_id(version):
    sent = request_frame(FetchRequest(max_wait_ms=7), version, correlation_id=41, client_id="app")[4:]
    pieces = with_client_id(sent, read_request_header(sent)[1], "app,ws_az=b", request_header_version(1, version))
    whole = b"".join(pieces)
    assert int.from_bytes(whole[:4]) == len(whole) - 4
    header, request = read_request(whole[4:])
    assert (header.correlation_id, header.client_id, request.max_wait_ms) == (41, "app,ws_az=b", 7)


def test_the_body_is_a_view_of_the_frame():
    sent = request_frame(FetchRequest(), 12, correlation_id=1, client_id="app")[4:]
    *_, body = with_client_id(sent, read_request_header(sent)[1], "b", 2)
    assert isinstance(body, memoryview)
    assert body.obj is sent


def test_a_header_that_cannot_say_a_client_id_stays():
    sent = request_frame(ControlledShutdownRequest(), 0, correlation_id=1)
    assert b"".join(with_client_id(sent[4:], read_request_header(sent[4:])[1], "b", 0)) == sent
