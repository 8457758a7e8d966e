"""``kafka-rack serve`` with users, and with listeners of its own."""

from __future__ import annotations

import pytest

from kafka_rack.cli import main
from protocol.apis.metadata import MetadataRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from protocol.error_codes import ErrorCode
from tests.serve_process import serve_process
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


async def test_a_user_of_the_command_line_gets_in():
    with serve_process("--brokers", "1", "--user", "alice:hunter2") as served:
        async with WireClient(served.ready["bootstrap_servers"]) as client:
            await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            answer = await client.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0hunter2"), 1)
            assert answer.error_code == 0
            assert (await client.ask(MetadataRequest(topics=[]), 9)).brokers
        assert "hunter2" not in repr(served.ready)


async def test_with_access_control_the_first_user_may_do_everything_and_others_what_they_are_allowed_to():
    options = (
        "--brokers",
        "1",
        "--topic",
        "orders:1",
        "--authorize",
        "--user",
        "alice:hunter2",
        "--user",
        "bob:hunter3",
    )
    wanted = MetadataRequest(topics=[MetadataRequest.Topic(name="orders")])
    seen = []
    with serve_process(*options) as served:
        for token in (b"\0alice\0hunter2", b"\0bob\0hunter3"):
            async with WireClient(served.ready["bootstrap_servers"]) as client:
                await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
                assert (await client.ask(SaslAuthenticateRequest(auth_bytes=token), 1)).error_code == 0
                seen.append((await client.ask(wanted, 9)).topics[0].error_code)
    assert seen == [0, ErrorCode.TOPIC_AUTHORIZATION_FAILED]
