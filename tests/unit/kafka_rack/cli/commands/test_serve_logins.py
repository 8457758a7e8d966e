"""``kafka-rack serve`` with users, and with listeners of its own."""

from __future__ import annotations

import asyncio

import pytest

from kafka_rack.cli import main
from protocol.apis.metadata import MetadataRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from protocol.error_codes import ErrorCode
from tests.serve_process import serve_here
from tests.unit.mockbroker.wire_client import WireClient


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--user", "hunter2"], "--user: expected NAME:PASSWORD"),
        (["--user", ":hunter2"], "--user: expected NAME:PASSWORD"),
        (["--user", "alice:"], "--user: expected NAME:PASSWORD"),
        (["--user", "alice:hunter2", "--user", "alice:hunter3"], "--user: alice is given with two passwords"),
        (["--port", "0", "--set", "listeners=PLAINTEXT://:0"], "--port and --set listeners exclude each other"),
        (["--set", "listeners=TLS://:0"], "listener.security.protocol.map: expected TLS:PROTOCOL"),
        (["--set", "listeners=SASL_PLAINTEXT://:0"], "sasl.enabled.mechanisms: expected some of PLAIN"),
    ],
)
def test_users_and_listeners_that_cannot_be_are_refused_without_their_passwords(capsys, given, words):
    assert main(["serve", *given]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "hunter" not in said


async def log_in(client: WireClient, token: bytes) -> int:
    await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    return (await client.ask(SaslAuthenticateRequest(auth_bytes=token), 1)).error_code


def test_with_access_control_the_first_user_may_do_everything_and_others_what_they_are_allowed_to():
    wanted = MetadataRequest(topics=[MetadataRequest.Topic(name="orders")])
    seen = []

    async def look(ready):
        assert "hunter" not in repr(ready)
        for token in (b"\0alice\0hunter2", b"\0bob\0hunter3"):
            async with WireClient(ready["bootstrap_servers"]) as client:
                assert await log_in(client, token) == 0
                seen.append((await client.ask(wanted, 9)).topics[0].error_code)

    users = ("--user", "alice:hunter2", "--user", "bob:hunter3")
    options = ("--brokers", "1", "--topic", "orders:1", "--authorize")
    assert serve_here(lambda ready: asyncio.run(look(ready)), *options, *users) == 0
    assert seen == [0, ErrorCode.TOPIC_AUTHORIZATION_FAILED]
