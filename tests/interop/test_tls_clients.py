"""Real clients come in by TLS with the right certificates, and are kept out, with the right error, without them."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError
from kafka import KafkaProducer

from mockbroker.adapters.server import MockCluster
from mockbroker.adapters.tls.certificates import CertificateAuthority
from mockbroker.adapters.tls.files import java_text
from tests.interop import login_programs
from tests.interop.fetched import java_program, skipped_without_tools
from tests.interop.java_brokers import LIGHT, broker_jars
from tests.progress import run

REQUIRED = {"ssl.client.auth": "required"}
KEPT_OUT = ("_SSL", "_TRANSPORT")  # librdkafka tells the end of the connection before the reason, now and then
OWN_KEY = ("ssl.certificate.pem", "ssl.key.pem")


def test_librdkafka_needs_the_right_authority_and_a_certificate():
    with MockCluster(1, topics={"orders": 1}, tls=True, settings=REQUIRED) as cluster:
        settings = cluster.client_settings("confluent", user="alice")
        assert login_programs.librdkafka(cluster.bootstrap_servers, settings) == "orders"
        assert (
            login_programs.librdkafka(cluster.bootstrap_servers, {**settings, "ssl.ca.pem": CertificateAuthority().pem})
            in KEPT_OUT
        )
        without = {name: settings[name] for name in settings if name not in OWN_KEY}
        assert login_programs.librdkafka(cluster.bootstrap_servers, without) in KEPT_OUT
        assert cluster.journal.count(api="Produce", principal="User:CN=alice") == 1


def test_librdkafka_logs_in_over_tls():
    with MockCluster(1, topics={"orders": 1}, tls=True, users={"alice": "secret"}) as cluster:
        settings = cluster.client_settings("confluent")
        assert settings["security.protocol"] == "SASL_SSL"
        assert login_programs.librdkafka(cluster.bootstrap_servers, settings) == "orders"
        assert (
            login_programs.librdkafka(cluster.bootstrap_servers, {**settings, "sasl.password": "guessed"})
            == "_AUTHENTICATION"
        )
        assert (
            login_programs.librdkafka(cluster.bootstrap_servers, {**settings, "security.protocol": "SASL_PLAINTEXT"})
            != "orders"
        )


async def test_aiokafka_needs_the_right_authority():
    async with MockCluster(1, topics={"orders": 1}, tls=True, settings=REQUIRED) as cluster:
        settings = cluster.client_settings("aiokafka")
        async with AIOKafkaProducer(**settings) as producer:
            assert (await producer.send_and_wait("orders", b"x")).topic == "orders"
        wrong = MockCluster(1, tls=True).tls
        assert wrong is not None
        kept_out = AIOKafkaProducer(**{**settings, "ssl_context": wrong.client_context("client")})
        with pytest.raises(KafkaConnectionError):
            await kept_out.start()
        await kept_out.stop()


def test_kafka_python_comes_in_by_tls():
    with MockCluster(1, topics={"orders": 1}, tls=True, settings=REQUIRED) as cluster:
        producer = KafkaProducer(**cluster.client_settings("kafka-python"))
        assert producer.send("orders", b"x").get(timeout=60).topic == "orders"
        producer.close()


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_java_comes_in_by_each_kind_of_store_and_not_without(tmp_path, version):
    with skipped_without_tools():
        program = java_program(Path(__file__).parent / "java" / "TlsClients.java", broker_jars())
    folder = tmp_path / "security"
    with MockCluster(1, topics={"orders": 1}, tls=True, settings=REQUIRED, security_dir=folder) as cluster:
        (tmp_path / "both.pem").write_text(
            (folder / "client.pem").read_text() + (folder / "client-key.pem").read_text()
        )
        written = dict(line.split("=", 1) for line in (folder / "java.properties").read_text().splitlines())
        plain = {name: text for name, text in written.items() if "store" not in name and "key" not in name}
        pem = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(folder / "ca.pem")}
        own = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(tmp_path / "both.pem")}
        stranger = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": java_text(CertificateAuthority().pem)}
        inline = {name: java_text(text) for name, text in cluster.client_settings("java").items()}
        given = [written, plain | pem | own, inline, plain | own | stranger, plain | pem]
        files = []
        for number, properties in enumerate(given):
            file = tmp_path / f"{number}.properties"
            lines = {**properties, "ssl.enabled.protocols": version}
            file.write_text("".join(f"{name}={text}\n" for name, text in lines.items()))
            files.append(str(file))
        said = run(["java", *LIGHT, *program, *files]).stdout.splitlines()
        assert said == ["[orders]"] * 3 + ["SslAuthenticationException"] * 2
        assert cluster.journal.count(api="Metadata", principal="User:CN=client") >= 3


def test_java_logs_in_over_tls_by_the_file_that_serve_leaves(tmp_path):
    with skipped_without_tools():
        program = java_program(Path(__file__).parent / "java" / "TlsClients.java", broker_jars())
    users = {"alice": 'se"cr\\et=ü'}
    with MockCluster(1, topics={"orders": 1}, tls=True, users=users, security_dir=tmp_path) as cluster:
        done = run(["java", *LIGHT, *program, str(tmp_path / "java.properties")])
        assert done.stdout.splitlines() == ["[orders]"]
        assert cluster.journal.count(principal="User:alice") > 0


def test_franz_go_needs_the_right_authority_and_a_certificate(tmp_path):
    with skipped_without_tools():
        command = login_programs.program("franz_go_tls")
    other = tmp_path / "other.pem"
    other.write_text(CertificateAuthority().pem)
    with MockCluster(1, topics={"orders": 1}, tls=True, settings=REQUIRED, security_dir=tmp_path) as cluster:
        own = (str(tmp_path / "client.pem"), str(tmp_path / "client-key.pem"))
        trusted = str(tmp_path / "ca.pem")
        given = [(trusted, *own), (str(other), *own), (trusted, "-", "-")]
        heard = login_programs.results(command, cluster.bootstrap_servers, "orders", given)
    assert heard == ["sent", "unknown authority", "certificate required"]
