"""TLS that ends at the proxy, before clusters with and without it."""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from kafka_rack.cli import main
from mockbroker import MockCluster
from mockbroker.adapters.client_properties.settings import client_settings_of
from mockbroker.adapters.tls.certificates import CertificateAuthority
from mockbroker.proxy.adapters.server import KafkaProxy
from mockbroker.proxy.adapters.upstream import UpstreamSettings
from protocol.apis.metadata import MetadataRequest
from tests.certificates import LOCAL, client_context, inline
from tests.serve_process import serve_here
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request, values
from tests.unit.mockbroker.wire_client import WireClient

ALL = MetadataRequest(topics=None)
MIB = 1 << 20
AUTHORITY = CertificateAuthority()
UPSTREAM = {
    "listeners": "SSL://127.0.0.1:0",
    "ssl.client.auth": "required",
    **inline(AUTHORITY.server(LOCAL), AUTHORITY),
}


def proxy_before(real: MockCluster, properties: dict[str, str] | None = None, **options: Any) -> KafkaProxy:
    found = client_settings_of(properties or {})
    addresses = [(broker.host, broker.port) for broker in real.state.brokers.values()]
    return KafkaProxy(UpstreamSettings(found.login, found.tls, servers=addresses), **options)


def properties_of(name: str) -> dict[str, str]:
    """Those of a client with a certificate, for the cluster with TLS."""
    identity = AUTHORITY.client(name)
    return {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": AUTHORITY.pem,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": identity.key,
        "ssl.keystore.certificate.chain": identity.certificate,
    }


def first(proxy: KafkaProxy) -> str:
    return proxy.bootstrap_servers.split(",")[0]


@pytest.mark.parametrize("is_upstream_tls", [False, True])
@pytest.mark.parametrize("is_client_tls", [False, True])
async def test_large_records_pass_whether_either_side_speaks_tls(is_client_tls: bool, is_upstream_tls: bool):
    properties = properties_of("proxy") if is_upstream_tls else {}
    large = bytes(range(256)) * (2 * MIB // 256)
    settings = {"message.max.bytes": 8 * MIB, **(UPSTREAM if is_upstream_tls else {})}
    async with (
        MockCluster(2, ("a", "b"), topics={TOPIC: (1, 1)}, settings=settings) as real,
        proxy_before(real, properties, tls=is_client_tls) as proxy,
    ):
        tls = proxy.tls.client_context() if proxy.tls is not None else None
        async with WireClient(first(proxy), tls=tls) as client:
            described = await client.ask(ALL, 12)
            assert ",".join(f"{one.host}:{one.port}" for one in described.brokers) == proxy.bootstrap_servers
            answer = await client.ask(produce_request(batch(large)), 12)
            assert answer.responses[0].partition_responses[0].error_code == 0
            for _ in range(4):
                client.send(fetch_request(partition_max_bytes=4 * MIB), 12)
            for _ in range(4):
                fetched = await client.answer(1, 12)
                assert values(fetched.responses[0].partitions[0].records) == [large]
        if is_upstream_tls:
            assert {entry.principal for entry in real.journal} == {"User:CN=proxy"}


async def test_a_certificate_that_a_client_shows_here_is_in_the_journal_here():
    async with MockCluster(1, ("a",)) as real, proxy_before(real, tls=True) as proxy:
        assert proxy.tls is not None
        async with WireClient(first(proxy), tls=proxy.tls.client_context("billing")) as client:
            await client.ask(ALL, 12)
        assert [entry.principal for entry in proxy.journal] == ["User:CN=billing"]
        assert {entry.principal for entry in real.journal} == {"User:ANONYMOUS"}


async def test_keys_of_ones_own_and_an_authority_that_clients_have_to_be_known_to(tmp_path):
    settings = {**inline(AUTHORITY.server(LOCAL), AUTHORITY), "ssl.client.auth": "required"}
    async with (
        MockCluster(2, ("a", "b")) as real,
        proxy_before(real, settings=settings, listener_per_rack=True) as proxy,
    ):
        assert proxy.tls is None
        for servers in (proxy.bootstrap_servers, proxy.bootstrap_servers_for("b")):
            known = client_context(AUTHORITY, AUTHORITY.client("billing"), tmp_path)
            async with WireClient(servers.split(",")[1], tls=known) as client:
                assert ",".join(f"{one.host}:{one.port}" for one in (await client.ask(ALL, 12)).brokers) == servers
        async with WireClient(first(proxy), tls=client_context(AUTHORITY)) as client:
            with pytest.raises((ssl.SSLError, ConnectionError, EOFError)):
                await client.ask(ALL, 12)


async def test_the_log_says_what_is_wrong_with_a_certificate_that_the_real_broker_shows_clients(caplog):
    stranger = client_settings_of({**properties_of("proxy"), "ssl.truststore.certificates": CertificateAuthority().pem})
    async with (
        MockCluster(1, ("a",), settings=UPSTREAM) as real,
        proxy_before(real, properties_of("proxy")) as proxy,
    ):
        proxy.upstream = UpstreamSettings(tls=stranger.tls)
        async with WireClient(first(proxy)) as client:
            assert await client.is_hung_up()
    assert "broker 0 cannot be reached" in caplog.text
    assert "its certificate is not trusted: self-signed certificate in certificate chain" in caplog.text


def test_the_command_leaves_what_clients_need_for_as_long_as_it_runs(tmp_path):
    with MockCluster(1, ("a",), users={"alice": "hunter2"}) as real:
        config = tmp_path / "proxy.properties"
        config.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            'sasl.jaas.config=x.PlainLoginModule required username="alice" password="hunter2";\n'
        )
        folder = tmp_path / "security"
        options = ("--command-config", str(config), "--tls", "--security-dir", str(folder))

        def look(ready):
            assert ready["security_dir"] == str(folder)
            assert {"ca.pem", "java.properties"} <= {path.name for path in folder.iterdir()}
            said = (folder / "java.properties").read_text()
            assert "security.protocol=SASL_SSL" in said
            assert "keystore" not in said
            assert "hunter2" not in said

        assert serve_here(look, "--bootstrap-server", real.bootstrap_servers, *options, name="proxy") == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--security-dir", "here"], "--security-dir needs --tls"),
        (["--set", "listeners=SSL://:1"], "--set: expected ssl.NAME=VALUE, for TLS with clients, got 'listeners'"),
        (["--tls", "--set", "ssl.keystore.key=hunter"], "tls makes keys of its own: expected no ssl.keystore.key"),
        (["--set", "ssl.client.auth=none"], "listener SSL: expected a key store in ssl.keystore.location"),
        (["--set", "ssl.keystore.location=/no/such"], "key store password is not specified"),
    ],
)
def test_options_that_contradict_each_other_are_refused(capsys, given, words):
    assert main(["proxy", "--bootstrap-server", "127.0.0.1:1", *given]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "hunter" not in said
