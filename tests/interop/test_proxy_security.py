"""Logins and TLS through the proxy, before a real Kafka 4.4: every answer is the one that Kafka gives itself."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer

from mockbroker.adapters.client_properties.settings import client_settings_of
from mockbroker.adapters.tls.certificates import CertificateAuthority
from mockbroker.proxy.adapters.server import KafkaProxy
from mockbroker.proxy.adapters.upstream import UpstreamSettings
from protocol.apis.topics import CreateTopicsRequest
from tests.certificates import PASSWORD, broker_stores, key_store
from tests.interop import login_programs
from tests.interop import test_sasl_beside_kafka as sasl
from tests.interop.fetched import java_program, skipped_without_tools
from tests.interop.java_brokers import LIGHT, SOURCES, broker_jars, kafka_brokers
from tests.interop.sasl_line import Line
from tests.progress import run

LISTENERS = {**sasl.LISTENERS, "TLS": "SSL", "SAFE": "SASL_SSL"}
LARGE = ("too large a token", "too large a first frame")
"""What Kafka refuses for its length before it has come; the proxy passes on whole requests."""
ANSWERED_HERE = ("versions of an unknown version in place of a token",)
"""The proxy answers an unknown version of ApiVersions itself, without knowing whether a token is due."""
LOGIN = {
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'x.PlainLoginModule required username="alice" password="secret";',
}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def settings_in(folder: Path, authority: CertificateAuthority) -> dict[str, str]:
    of_safe = {
        f"listener.name.safe.{mechanism}.sasl.jaas.config": sasl.PLAIN if mechanism == "plain" else sasl.SCRAM
        for mechanism in ("plain", "scram-sha-256", "scram-sha-512")
    }
    return {**sasl.SETTINGS, **broker_stores(folder, authority), **of_safe}


def upstream_at(address: str, properties: Mapping[str, str]) -> UpstreamSettings:
    found = client_settings_of(properties)
    host, port = address.split(":")
    return UpstreamSettings(found.login, found.tls, servers=[(host, int(port))])


def prepare(address: str) -> None:
    """Have alice log in by each mechanism, and give her a topic."""
    credential = sasl.CREDENTIALS.Upsertion
    for name, mechanism, password in (("alice", 1, "secret"), ("alice", 2, "secret"), ("bob", 2, "builder")):
        hashed = sasl.salted_password(mechanism, password, sasl.SALT)
        request = type(sasl.CREDENTIALS)(
            upsertions=[credential(name, mechanism, iterations=4096, salt=sasl.SALT, salted_password=hashed)]
        )
        with closing(Line(address)) as line:
            while any(one.error_code for one in line.ask(request, 0).results):
                pass
    topics = [CreateTopicsRequest.Topic(name="orders", num_partitions=1, replication_factor=1)]
    with closing(Line(address)) as line:
        line.ask(CreateTopicsRequest(topics=topics), 5)


def told(addresses: Mapping[str, str]) -> dict[str, list[Any]]:
    found = {}
    for listener, stories in (("FOREVER", sasl.STORIES), ("AGAIN", sasl.AGAIN)):
        for name, story in stories.items():
            if name not in (*LARGE, *ANSWERED_HERE):
                with closing(Line(addresses[listener])) as line:
                    story(line)
                found[f"{listener}: {name}"] = line.heard
    return found


def test_a_real_kafka_answers_logins_through_the_proxy_as_it_answers_them(tmp_path):
    authority = CertificateAuthority()
    settings = settings_in(tmp_path, authority)
    with skipped_without_tools():
        java = java_program(SOURCES / "Logins.java", broker_jars())
    with kafka_brokers(["a"], tmp_path, settings, listeners=LISTENERS) as kafka:
        prepare(kafka.addresses[0])
        direct = {name: found[0] for name, found in kafka.others.items()}
        plain = {"security.protocol": "SASL_PLAINTEXT", **LOGIN}
        with (
            KafkaProxy(upstream_at(direct["FOREVER"], plain)) as forever,
            KafkaProxy(upstream_at(direct["AGAIN"], plain)) as again,
        ):
            proxied = {"FOREVER": forever.bootstrap_servers, "AGAIN": again.bootstrap_servers}
            theirs, ours = told(direct), told(proxied)
            assert {name: (theirs[name], ours[name]) for name in theirs if theirs[name] != ours[name]} == {}
            for servers, proxy in ((proxied["FOREVER"], forever), (proxied["AGAIN"], again)):
                proxy.journal.clear()
                for mechanism in MECHANISMS:
                    for password, said in (("secret", "orders"), ("guessed", "_AUTHENTICATION")):
                        login = {"sasl.mechanism": mechanism, "sasl.username": "alice", "sasl.password": password}
                        assert login_programs.librdkafka(servers, login) == said
                assert {entry.principal for entry in proxy.journal if entry.api == "Produce"} == {"User:alice"}
            for password, said in (("secret", "[orders]"), ("guessed", "SaslAuthenticationException")):
                heard = run(["java", *LIGHT, *java, proxied["FOREVER"], password]).stdout.splitlines()
                assert heard == [f"{mechanism}: {said}" for mechanism in MECHANISMS]


async def test_either_side_of_the_proxy_has_its_own_tls_before_a_real_kafka(tmp_path):
    authority = CertificateAuthority()
    settings = settings_in(tmp_path, authority)
    with skipped_without_tools(), kafka_brokers(["a"], tmp_path, settings, listeners=LISTENERS) as kafka:
        prepare(kafka.addresses[0])
        trusting = {
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": settings["ssl.truststore.location"],
            "ssl.truststore.password": PASSWORD,
        }
        with_key = {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(key_store(tmp_path / "proxy.p12", authority.client("proxy"))),
            "ssl.keystore.password": PASSWORD,
            "ssl.key.password": PASSWORD,
        }
        tls = {"security.protocol": "SSL", **trusting, **with_key}
        async with (
            KafkaProxy(upstream_at(kafka.others["TLS"][0], tls)) as proxy,
            AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer,
        ):
            assert (await producer.send_and_wait("orders", bytes(500_000))).topic == "orders"
        safe = {"security.protocol": "SASL_SSL", **LOGIN, **trusting}
        async with KafkaProxy(upstream_at(kafka.others["SAFE"][0], safe), tls=True) as proxy:
            assert proxy.tls is not None
            async with AIOKafkaProducer(
                bootstrap_servers=proxy.bootstrap_servers,
                security_protocol="SASL_SSL",
                ssl_context=proxy.tls.client_context(),
                sasl_mechanism="SCRAM-SHA-512",
                sasl_plain_username="bob",
                sasl_plain_password="builder",
            ) as producer:
                assert (await producer.send_and_wait("orders", bytes(500_000))).topic == "orders"
            assert {entry.principal for entry in proxy.journal if entry.api == "Produce"} == {"User:bob"}
