"""Logins over real sockets: who gets in, by which listener, and what is written down of it."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path

import pytest

from mockbroker.adapters.server import MockCluster
from protocol.apis.metadata import MetadataRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from protocol.apis.scram import AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest
from tests.scram_client import final_token, first_token
from tests.unit.mockbroker.wire_client import WireClient

METADATA = MetadataRequest(topics=[])
SECRET = "tell-nobody"
ALICE = f"\0alice\0{SECRET}".encode()


async def log_in(client: WireClient, token: bytes = ALICE) -> int:
    await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    return int((await client.ask(SaslAuthenticateRequest(auth_bytes=token), 1)).error_code)


def address(cluster: MockCluster, name: str = "", broker: int = 0) -> str:
    listener = cluster.state.brokers[broker].listener(name)
    return f"{listener.host}:{listener.port}"


async def test_users_get_in_and_nobody_else():
    async with MockCluster(1, users={"alice": SECRET}) as cluster:
        async with WireClient(address(cluster)) as client:
            assert await log_in(client) == 0
            assert (await client.ask(METADATA, 9)).brokers
        async with WireClient(address(cluster)) as client:
            assert await log_in(client, b"\0alice\0guessed") == 58
            assert await client.is_hung_up()
        async with WireClient(address(cluster)) as client:
            client.send(METADATA, 9)
            assert await client.is_hung_up()


async def test_the_journal_tells_who_logged_in():
    async with MockCluster(1, users={"alice": SECRET}) as cluster:
        async with WireClient(address(cluster)) as client:
            await log_in(client)
            await client.ask(METADATA, 9)
        journal = cluster.journal
        assert [(call.api, call.principal) for call in journal] == [
            ("SaslHandshake", "User:ANONYMOUS"),
            ("SaslAuthenticate", "User:alice"),
            ("Metadata", "User:alice"),
        ]
        assert [call.api for call in journal.find(principal="*:alice", api="Metadata")] == ["Metadata"]
        assert journal.counts("principal") == {"User:ANONYMOUS": 1, "User:alice": 2}
        with pytest.raises(
            AssertionError, match=r"(?s)Metadata with principal 'User:alice' .*as User:alice from 127\.0\.0\.1"
        ):
            journal.assert_served_by(broker=7, principal="User:alice", api="Metadata")


async def test_each_listener_has_its_own_security_protocol():
    settings = {
        "listeners": "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.outside.plain.sasl.jaas.config": f'a.Plain required user_alice="{SECRET}";',
    }
    async with MockCluster(2, settings=settings) as cluster:
        assert cluster.settings_without_effect == ()
        async with WireClient(address(cluster, "INSIDE", 1)) as client:
            assert (await client.ask(METADATA, 9)).brokers
        async with WireClient(address(cluster, "OUTSIDE", 1)) as client:
            assert await log_in(client) == 0
            told = {one.port for one in (await client.ask(METADATA, 9)).brokers}
        assert told == {cluster.state.brokers[number].listener("OUTSIDE").port for number in (0, 1)}


async def test_a_racks_listener_asks_as_the_first_one_does():
    async with MockCluster(2, ("a", "b"), listener_per_rack=True, users={"alice": SECRET}) as cluster:
        async with WireClient(address(cluster, "RACK_b")) as client:
            assert await log_in(client) == 0
            assert (await client.ask(METADATA, 9)).brokers
        async with WireClient(address(cluster, "RACK_b")) as client:
            client.send(METADATA, 9)
            assert await client.is_hung_up()


async def test_listeners_that_settings_name_by_racks_ask_each_for_its_own_and_say_where_clients_are():
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0,RACK_a://127.0.0.1:0,RACK_b://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,RACK_a:PLAINTEXT,RACK_b:SASL_PLAINTEXT",
    }
    async with MockCluster(2, ("a", "b"), settings=settings, users={"alice": SECRET}) as cluster:
        for listener in ("PLAINTEXT", "RACK_a", "RACK_b"):
            async with WireClient(address(cluster, listener)) as client:
                if listener == "RACK_b":
                    assert await log_in(client) == 0
                assert {one.port for one in (await client.ask(METADATA, 9)).brokers} == {
                    cluster.state.brokers[number].listener(listener).port for number in (0, 1)
                }
        calls = [one for one in cluster.journal if one.api == "Metadata"]
        assert [(one.client_rack, one.principal) for one in calls] == [
            (None, "User:ANONYMOUS"),
            ("a", "User:ANONYMOUS"),
            ("b", "User:alice"),
        ]


async def test_a_fork_lets_the_same_users_in():
    async with MockCluster(1, users={"alice": SECRET}) as cluster, cluster.fork() as fork:
        async with WireClient(address(fork)) as client:
            assert await log_in(client) == 0
        await fork.reset()
        async with WireClient(address(fork)) as client:
            await client.ask(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
            first = await client.ask(SaslAuthenticateRequest(auth_bytes=first_token("alice")), 1)
            token = final_token("alice", SECRET, first.auth_bytes)
            assert (await client.ask(SaslAuthenticateRequest(auth_bytes=token), 1)).error_code == 0


@pytest.mark.parametrize("settings", [{"listeners": "OUT://127.0.0.1:0"}, {"listener.security.protocol.map": "A:B"}])
def test_listeners_that_cannot_be_are_refused(settings):
    with pytest.raises(ValueError, match=r"listener\.security\.protocol\.map: expected"):
        MockCluster(1, settings=settings)


@pytest.mark.zookeeper
def test_zookeeper_mode_has_no_logins():
    with pytest.raises(ValueError, match="in ZooKeeper mode, got SASL_PLAINTEXT"):
        MockCluster(1, users={"alice": SECRET}, settings={"inter.broker.protocol.version": "2.4"})


async def test_secrets_are_written_down_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(0)
    file = tmp_path / "trace.jsonl"
    salted = b"salted password of alice"
    heard: list[bytes] = []
    async with MockCluster(1, users={"alice": SECRET}, capture=file) as cluster:
        async with WireClient(address(cluster)) as client:
            assert await log_in(client) == 0
            upsertion = AlterUserScramCredentialsRequest.Upsertion(
                name="carol", mechanism=1, iterations=4096, salt=b"salt", salted_password=salted
            )
            await client.ask(AlterUserScramCredentialsRequest(upsertions=[upsertion]), 0)
            described = await client.ask(DescribeUserScramCredentialsRequest(users=None), 0)
            assert len(described.results) == 2
        async with WireClient(address(cluster)) as client:
            await log_in(client, ALICE + b"!")
        async with WireClient(address(cluster)) as client:
            await client.ask(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
            first = await client.ask(SaslAuthenticateRequest(auth_bytes=first_token("alice")), 1)
            token = final_token("alice", SECRET, first.auth_bytes)
            last = await client.ask(SaslAuthenticateRequest(auth_bytes=token), 1)
            heard += [token, first.auth_bytes, last.auth_bytes]
        async with WireClient(address(cluster)) as client:
            await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 0)
            client.writer.write(len(ALICE).to_bytes(4, "big") + ALICE)
            assert await client._read(4) == bytes(4)
            assert (await client.ask(METADATA, 9)).brokers
        entries = " ".join(map(repr, cluster.journal))
        assert {"SaslHandshake", "SaslAuthenticate"} <= {entry.api for entry in cluster.journal}
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    frames = [b64decode(line["data"]) for line in lines if "dir" in line]
    secrets = [SECRET.encode(), salted, *heard]
    assert sum(frame[:2] == b"\0\x24" for frame in frames) == 4
    assert [secret for secret in secrets if any(secret in frame for frame in frames)] == []
    assert SECRET not in entries + caplog.text
