"""Logins that pass through the proxy: who it says that a client is, and that it writes no secret down."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mockbroker import MockCluster
from mockbroker.proxy.adapters.server import KafkaProxy
from mockbroker.proxy.adapters.upstream import UpstreamSettings
from protocol.apis.metadata import MetadataRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from protocol.error_codes import ErrorCode
from tests.scram_client import final_token, first_token
from tests.tokens import bearer, unsecured
from tests.unit.mockbroker.wire_client import WireClient

ALL = MetadataRequest(topics=None)
SECRET, GUESS = "alices-own-word", "a-guess-at-it"
SCRAM = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MECHANISMS = ("PLAIN", *SCRAM, "OAUTHBEARER")
TOKEN = unsecured(sub="alice")
SETTINGS = {
    "listeners": "LOGINS://127.0.0.1:0",
    "listener.security.protocol.map": "LOGINS:SASL_PLAINTEXT",
    "listener.name.logins.oauthbearer.sasl.jaas.config": "x.OAuthBearerLoginModule required;",
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
}


class PlainLogin:
    """The proxy's own."""

    mechanism = "PLAIN"

    def exchange(self):
        yield f"\0alice\0{SECRET}".encode()


@asynccontextmanager
async def proxied(capture: Path | None = None, **settings: Any) -> AsyncIterator[KafkaProxy]:
    async with MockCluster(1, ("a",), users={"alice": SECRET}, settings={**SETTINGS, **settings}) as real:
        (broker,) = real.state.brokers.values()
        upstream = UpstreamSettings(PlainLogin(), servers=[(broker.host, broker.port)])
        async with KafkaProxy(upstream, capture=capture) as proxy:
            yield proxy


class LoginClient:
    """A client that logs in, by either form of tokens."""

    def __init__(self, client: WireClient, version: int) -> None:
        self.client, self.version = client, version
        self.said: list[bytes] = []

    async def token(self, token: bytes) -> bytes | None:
        """Send a token; gives the broker's, None where it takes none."""
        self.said.append(token)
        if self.version:
            answer = await self.client.ask(SaslAuthenticateRequest(auth_bytes=token), 2)
            return None if answer.error_code else bytes(answer.auth_bytes)
        self.client.writer.write(len(token).to_bytes(4) + token)
        try:
            size = await self.client.reader.readexactly(4)
            return await self.client.reader.readexactly(int.from_bytes(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def log_in(self, mechanism: str, password: str = SECRET, user: str = "alice") -> bool:
        answer = await self.client.ask(SaslHandshakeRequest(mechanism=mechanism), self.version)
        assert answer.error_code == 0
        if mechanism == "PLAIN":
            return await self.token(f"\0{user}\0{password}".encode()) is not None
        if mechanism == "OAUTHBEARER":
            good = await self.token(bearer(TOKEN if password == SECRET else unsecured(exp=1)))
            return good == b""
        first = await self.token(first_token(user))
        assert first is not None
        return await self.token(final_token(user, password, first, SCRAM[mechanism])) is not None


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.access_control
async def test_the_journal_says_who_logged_in_and_captures_hold_nothing_of_how(tmp_path, mechanism, version):
    capture = tmp_path / "capture.jsonl"
    async with proxied(capture) as proxy, WireClient(proxy.bootstrap_servers) as client:
        login = LoginClient(client, version)
        assert await login.log_in(mechanism)
        await client.ask(ALL, 12)
        principals = {entry.api: entry.principal for entry in proxy.journal}
        assert principals == {
            "SaslHandshake": "User:ANONYMOUS",
            "Metadata": "User:alice",
            **({"SaslAuthenticate": "User:alice"} if version else {}),
        }
    written = capture.read_bytes()
    assert written.count(b"\n") > 3
    for token in [*login.said, SECRET.encode(), TOKEN.encode()]:
        for form in (token, base64.b64encode(token), token.hex().encode()):
            assert form not in written


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.access_control
async def test_whom_the_real_broker_keeps_out_is_nobody_here(mechanism, version):
    async with proxied() as proxy, WireClient(proxy.bootstrap_servers) as client:
        assert not await LoginClient(client, version).log_in(mechanism, GUESS)
        assert {entry.principal for entry in proxy.journal} == {"User:ANONYMOUS"}


@pytest.mark.access_control
async def test_a_wrong_password_gets_the_real_brokers_own_error():
    async with proxied() as proxy, WireClient(proxy.bootstrap_servers) as client:
        await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        answer = await client.ask(SaslAuthenticateRequest(auth_bytes=f"\0alice\0{GUESS}".encode()), 2)
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert answer.error_message == "Authentication failed: Invalid username or password"
        assert await client.is_hung_up()


@pytest.mark.access_control
async def test_a_session_that_ends_is_prolonged_over_the_same_connection():
    limit = {"connections.max.reauth.ms": "3600000"}
    async with proxied(**limit) as proxy, WireClient(proxy.bootstrap_servers) as client:
        for _ in range(2):
            handshake = await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            answer = await client.ask(SaslAuthenticateRequest(auth_bytes=f"\0alice\0{SECRET}".encode()), 2)
            assert (handshake.error_code, answer.error_code) == (0, 0)
            assert 0 < answer.session_lifetime_ms <= 3_600_000
            await client.ask(ALL, 12)
        assert {entry.principal for entry in proxy.journal if entry.api == "Metadata"} == {"User:alice"}


@pytest.mark.parametrize("user", ["alice", "Alice", "B"])
@pytest.mark.access_control
async def test_a_password_behind_a_handshake_that_failed_is_not_written_down(tmp_path, user):
    capture = tmp_path / "capture.jsonl"
    async with proxied(capture) as proxy, WireClient(proxy.bootstrap_servers) as client:
        token = f"\0{user}\0{SECRET}".encode()
        client.send(SaslHandshakeRequest(mechanism="NONE"), 0)
        client.writer.write(len(token).to_bytes(4) + token)
        answer = await client.answer(17, 0)
        assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert await client.is_hung_up()
    written = capture.read_bytes()
    assert base64.b64encode(token)[:-4] not in written
    assert token.hex().encode() not in written
    assert SECRET.encode() not in written
