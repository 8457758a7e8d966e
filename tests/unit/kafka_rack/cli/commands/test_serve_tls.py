"""``kafka-rack serve --tls``."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import pytest

from kafka_rack.cli import main
from protocol.apis.metadata import MetadataRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from tests.serve_process import serve_process
from tests.unit.mockbroker.wire_client import WireClient

METADATA = MetadataRequest(topics=[MetadataRequest.Topic(name="orders")])


async def test_tls_in_one_word_leaves_what_clients_need_for_as_long_as_it_runs():
    with serve_process("--brokers", "1", "--topic", "orders:1", "--tls", "--authorize") as served:
        folder = Path(served.ready["security_dir"])
        tls = ssl.create_default_context(cafile=folder / "ca.pem")
        seen = []
        for keys in ((), (folder / "client.pem", folder / "client-key.pem")):
            if keys:
                tls.load_cert_chain(*keys)
            async with WireClient(served.ready["bootstrap_servers"], tls=tls) as client:
                (topic,) = (await client.ask(METADATA, 9)).topics
                seen.append(topic.error_code)
        served.process.terminate()
        served.process.communicate()
    assert seen == [29, 0]
    assert not os.access(folder, os.F_OK)


async def test_logins_go_over_tls_and_a_folder_that_was_named_stays(tmp_path):
    options = ("--brokers", "1", "--tls", "--security-dir", str(tmp_path), "--user", "alice:hunter2")
    with serve_process(*options) as served:
        assert served.ready["security_dir"] == str(tmp_path)
        tls = ssl.create_default_context(cafile=tmp_path / "ca.pem")
        async with WireClient(served.ready["bootstrap_servers"], tls=tls) as client:
            await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            answer = await client.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0hunter2"), 1)
            assert answer.error_code == 0
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
