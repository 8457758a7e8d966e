"""``kafka-rack serve --tls``."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from kafka_rack.cli import main
from protocol.apis.metadata import MetadataRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from tests.serve_process import serve_here
from tests.unit.mockbroker.wire_client import WireClient

METADATA = MetadataRequest(topics=[MetadataRequest.Topic(name="orders")])


def test_tls_in_one_word_leaves_what_clients_need_for_as_long_as_it_runs():
    seen = []

    async def look(ready):
        folder = Path(ready["security_dir"])
        tls = ssl.create_default_context(cafile=folder / "ca.pem")
        for keys in ((), (folder / "client.pem", folder / "client-key.pem")):
            if keys:
                tls.load_cert_chain(*keys)
            async with WireClient(ready["bootstrap_servers"], tls=tls) as client:
                (topic,) = (await client.ask(METADATA, 9)).topics
                seen.append(topic.error_code)
                client.writer.transport.abort()  # this loop ends before a TLS connection has been closed politely
        seen.append(folder)

    options = ("--brokers", "1", "--topic", "orders:1", "--tls", "--authorize")
    assert serve_here(lambda ready: asyncio.run(look(ready)), *options) == 0
    *codes, folder = seen
    assert codes == [29, 0]
    assert not folder.exists()


def test_logins_go_over_tls_and_a_folder_that_was_named_stays(tmp_path):
    async def look(ready):
        assert ready["security_dir"] == str(tmp_path)
        tls = ssl.create_default_context(cafile=tmp_path / "ca.pem")
        async with WireClient(ready["bootstrap_servers"], tls=tls) as client:
            await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            answer = await client.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0hunter2"), 1)
            assert answer.error_code == 0
            client.writer.transport.abort()

    options = ("--brokers", "1", "--tls", "--security-dir", str(tmp_path), "--user", "alice:hunter2")
    assert serve_here(lambda ready: asyncio.run(look(ready)), *options) == 0
    assert "security.protocol=SASL_SSL" in (tmp_path / "java.properties").read_text()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--security-dir", "here"], "--security-dir needs --tls"),
        (["--tls", "--set", "ssl.keystore.key=hunter"], "tls makes keys of its own: expected no ssl.keystore.key"),
        (["--set", "listeners=SSL://127.0.0.1:0"], "listener SSL: expected a key store in ssl.keystore.location"),
    ],
)
def test_options_that_contradict_each_other_are_refused(capsys, given, words):
    assert main(["serve", *given]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "hunter" not in said
