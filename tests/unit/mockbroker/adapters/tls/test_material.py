"""Clusters with test certificates: in one word for tests, and with files for clients elsewhere."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509

from mockbroker.adapters.server import MockCluster
from mockbroker.adapters.tls.files import java_text
from mockbroker.state.brokers.broker import Broker, Listener
from protocol.apis.metadata import MetadataRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from tests.unit.mockbroker.wire_client import WireClient

METADATA = MetadataRequest(topics=[])


def properties_in(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


async def principal_of(cluster: MockCluster, tls: ssl.SSLContext | None) -> str:
    async with WireClient(cluster.bootstrap_servers.split(",")[0], tls=tls) as client:
        assert (await client.ask(METADATA, 9)).brokers
        *_, there = cluster._nodes[0].clients
        return there.connection.session.principal


async def test_a_cluster_with_tls_knows_clients_by_the_certificates_that_it_gives_them():
    async with MockCluster(1, tls=True) as cluster:
        assert cluster.tls is not None
        assert await principal_of(cluster, cluster.tls.client_context()) == "User:ANONYMOUS"
        assert await principal_of(cluster, cluster.tls.client_context("bob")) == "User:CN=bob"
        assert cluster.tls.client("bob") is cluster.tls.client("bob")
        async with cluster.fork() as fork:
            assert fork.tls is cluster.tls
            assert await principal_of(fork, cluster.tls.client_context("bob")) == "User:CN=bob"


async def test_users_log_in_over_tls():
    async with MockCluster(1, tls=True, users={"alice": "secret"}) as cluster:
        assert cluster.tls is not None
        assert cluster.client_settings("java")["security.protocol"] == "SASL_SSL"
        async with WireClient(cluster.bootstrap_servers, tls=cluster.tls.client_context()) as client:
            await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            answer = await client.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), 1)
            assert answer.error_code == 0


@pytest.mark.access_control
async def test_with_access_control_the_certificate_of_the_client_may_do_everything():
    wanted = MetadataRequest(topics=[MetadataRequest.Topic(name="orders")])
    seen = []
    async with MockCluster(1, topics={"orders": 1}, tls=True, authorize=True) as cluster:
        assert cluster.tls is not None
        for name in ("client", "bob", None):
            async with WireClient(cluster.bootstrap_servers, tls=cluster.tls.client_context(name)) as client:
                (topic,) = (await client.ask(wanted, 9)).topics
                seen.append(topic.error_code)
    assert seen == [0, 29, 29]


async def test_each_client_has_its_own_names_for_certificates():
    async with MockCluster(1, tls=True) as cluster:
        assert cluster.tls is not None
        bob = cluster.tls.client("bob")
        java = cluster.client_settings("java", user="bob")
        assert java["ssl.truststore.certificates"] == cluster.tls.ca_pem
        assert (java["ssl.keystore.certificate.chain"], java["ssl.keystore.key"]) == (bob.certificate, bob.key)
        confluent = cluster.client_settings("confluent", user="bob")
        assert confluent["ssl.ca.pem"] == cluster.tls.ca_pem
        assert (confluent["ssl.certificate.pem"], confluent["ssl.key.pem"]) == (bob.certificate, bob.key)
        tls = cluster.client_settings("aiokafka", user="bob")["ssl_context"]
        assert await principal_of(cluster, tls) == "User:CN=bob"


async def test_the_certificate_has_every_address_and_name_of_brokers(tmp_path):
    brokers = [
        Broker(0, "a", [Listener("SSL", "kafka.example", 0, bind_host="127.0.0.1", protocol="SSL")]),
        Broker(1, "b", [Listener("SSL", "10.1.2.3", 0, bind_host="0.0.0.0", protocol="SSL")]),
    ]
    cluster = MockCluster(brokers, tls=True)
    assert cluster.tls is not None
    certificate = x509.load_pem_x509_certificate(cluster.tls.server.certificate.encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(one.value) for one in names] == ["kafka.example", "127.0.0.1", "10.1.2.3", "localhost", "::1"]


async def test_files_for_clients_are_their_owners_alone_and_an_authority_is_kept(tmp_path):
    folder = tmp_path / "new" / "security"
    async with MockCluster(2, tls=True, security_dir=folder) as cluster:
        assert cluster.tls is not None
        java, librdkafka = (properties_in(folder / f"{name}.properties") for name in ("java", "librdkafka"))
        assert java["ssl.keystore.type"] == java["ssl.truststore.type"] == "PEM"
        own_tls = ssl.create_default_context(cafile=java["ssl.truststore.location"])
        own_tls.load_cert_chain(java["ssl.keystore.location"])
        assert await principal_of(cluster, own_tls) == "User:CN=client"
        tls = ssl.create_default_context(cafile=librdkafka["ssl.ca.location"])
        tls.load_cert_chain(librdkafka["ssl.certificate.location"], librdkafka["ssl.key.location"])
        assert await principal_of(cluster, tls) == "User:CN=client"
        assert java["bootstrap.servers"] == librdkafka["bootstrap.servers"] == cluster.bootstrap_servers
        first = cluster.tls.ca_pem
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    names = "ca.pem ca-key.pem client.pem client-key.pem client-keystore.pem java.properties librdkafka.properties"
    modes = {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()}
    assert modes == dict.fromkeys(names.split(), "0o600")
    again = MockCluster(1, tls=True, security_dir=folder)
    assert again.tls is not None
    assert again.tls.ca_pem == first


async def test_logins_are_in_the_files_too(tmp_path):
    settings = {"listeners": "PLAINTEXT://127.0.0.1:0,OUT://127.0.0.1:0"}
    settings["listener.security.protocol.map"] = "OUT:SASL_SSL,PLAINTEXT:PLAINTEXT"
    users = {"alice": 'back\\slash"'}
    async with MockCluster(1, tls=True, users=users, settings=settings, security_dir=tmp_path) as cluster:
        out = cluster.state.brokers[0].listener("OUT")
        java, librdkafka = (properties_in(tmp_path / f"{name}.properties") for name in ("java", "librdkafka"))
    assert java["bootstrap.servers"] == librdkafka["bootstrap.servers"] == f"127.0.0.1:{out.port}"
    assert java["sasl.jaas.config"].endswith(r'username="alice" password="back\\\\slash\\"";')
    assert librdkafka["sasl.password"] == users["alice"]
    assert "ssl.keystore.location" not in java


def test_java_reads_its_file_in_latin_1():
    assert java_text("a\\ü東\U0001f511\n") == r"a\\\u00fc\u6771\ud83d\udd11\n"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ssl.keystore.location": "x"}, "tls makes keys of its own: expected no ssl.keystore.location"),
        ({"listener.name.ssl.ssl.truststore.type": "PEM"}, "expected no listener.name.ssl.ssl.truststore.type"),
        ({"listeners": "PLAINTEXT://127.0.0.1:0"}, "tls: expected a listener with the security protocol SSL"),
    ],
)
def test_what_contradicts_test_certificates_is_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        MockCluster(1, tls=True, settings=settings)


def test_an_authority_without_its_key_is_refused(tmp_path):
    (tmp_path / "ca.pem").write_text(MockCluster(1, tls=True).tls.ca_pem)
    (tmp_path / "ca-key.pem").write_text(MockCluster(1, tls=True).tls.authority.identity.key)
    with pytest.raises(ValueError, match=r"expected ca\.pem with its ca-key\.pem"):
        MockCluster(1, tls=True, security_dir=tmp_path)
