"""The live tools reach a real Kafka by TLS and by logins, and are told what keeps them out."""

from __future__ import annotations

import pytest

from kafka_rack.cli import main
from mockbroker.adapters.real_cluster.cluster import LiveCluster, addresses_of
from mockbroker.adapters.real_cluster.connection import BrokerConnection
from mockbroker.adapters.tls.certificates import CertificateAuthority
from mockbroker.state.security.mechanisms import salted_password
from protocol.apis.scram import AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest
from tests.certificates import LOCAL, PASSWORD, key_store, trust_store
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_brokers
from tests.progress import wait_until

LISTENERS = {"SECURE": "SSL", "MUTUAL": "SSL", "LOGIN": "SASL_PLAINTEXT", "BOTH": "SASL_SSL"}
MODULES = {"PLAIN": "plain.PlainLoginModule", "SCRAM-SHA-256": "scram.ScramLoginModule"}


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """An authority's stores: its own for clients, a broker's, a client's."""
    folder, authority = tmp_path_factory.mktemp("stores"), CertificateAuthority()
    return {
        "trust": trust_store(folder / "trust.p12", authority),
        "broker": key_store(folder / "broker.p12", authority.server(LOCAL)),
        "client": key_store(folder / "client.p12", authority.client("alice")),
        "other": trust_store(folder / "other.p12", CertificateAuthority()),
    }


@pytest.fixture(scope="module")
def kafka(tmp_path_factory, stores):
    """Two brokers with all listeners; alice logs in by PLAIN and by SCRAM-SHA-256."""
    settings = {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(stores["broker"]),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(stores["trust"]),
        "ssl.truststore.password": PASSWORD,
        "listener.name.mutual.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    }
    for name in ("login", "both"):
        settings[f"listener.name.{name}.plain.sasl.jaas.config"] = (
            f'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="{PASSWORD}";'
        )
        settings[f"listener.name.{name}.scram-sha-256.sasl.jaas.config"] = (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        )
    folder = tmp_path_factory.mktemp("kafka")
    with skipped_without_tools(), kafka_brokers(["a", "b"], folder, settings, listeners=LISTENERS) as running:
        salt = b"salt"
        upsertion = AlterUserScramCredentialsRequest.Upsertion(
            name="alice", mechanism=1, iterations=4096, salt=salt, salted_password=salted_password(1, PASSWORD, salt)
        )
        for address in running.addresses:
            with BrokerConnection(addresses_of(address)[0]) as connection:
                if address == running.addresses[0]:
                    connection.ask(AlterUserScramCredentialsRequest(upsertions=[upsertion]), 0)
                wait_until(lambda known=connection: knows_alice(known), "a broker that knows the password", str)
        yield running


def knows_alice(connection):
    found = connection.ask(DescribeUserScramCredentialsRequest(users=None), 0)
    return [one.user for one in found.results] == ["alice"]


@pytest.fixture
def inspect(kafka, tmp_path, capsys):
    """Look at the cluster by one of its listeners, with these properties: exit code, output, errors."""

    def run(listener, properties):
        path = tmp_path / "client.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        servers = kafka.addresses if listener == "PLAINTEXT" else kafka.others[listener]
        code = main(
            ["inspect", "--bootstrap-server", ",".join(servers), "--command-config", str(path), "--timeout", "60s"]
        )
        said = capsys.readouterr()
        assert PASSWORD not in said.out + said.err
        return code, said.out, said.err

    return run


def tls(store, protocol="SSL"):
    return {
        "security.protocol": protocol,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": store,
        "ssl.truststore.password": PASSWORD,
    }


def login(mechanism, password=PASSWORD, protocol="SASL_PLAINTEXT"):
    module = f"org.apache.kafka.common.security.{MODULES[mechanism]}"
    config = f'{module} required username="alice" password="{password}";'
    return {"security.protocol": protocol, "sasl.mechanism": mechanism, "sasl.jaas.config": config}


def own_key(stores):
    return {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": stores["client"],
        "ssl.keystore.password": PASSWORD,
    }


def test_each_listener_lets_in_who_has_what_it_asks_for(inspect, stores, kafka):
    with LiveCluster(kafka.addresses[0]) as cluster:
        assert len(cluster.snapshot().brokers) == 2
    given = [
        ("SECURE", tls(stores["trust"])),
        ("MUTUAL", tls(stores["trust"]) | own_key(stores)),
        *(("LOGIN", login(mechanism)) for mechanism in MODULES),
        *(("BOTH", tls(stores["trust"]) | login(mechanism, protocol="SASL_SSL")) for mechanism in MODULES),
    ]
    for listener, properties in given:
        code, out, err = inspect(listener, properties)
        assert (code, err) == (0, ""), listener
        assert out.count("RackAwareReplicaSelector") >= 2


def test_a_refused_client_reports_what_is_wrong(inspect, stores):
    trusting = tls(stores["trust"])
    given = [
        ("SECURE", tls(stores["other"]), "its certificate is not trusted: "),
        ("MUTUAL", trusting, "ssl.keystore.location has to hold what it trusts"),
        ("MUTUAL", trusting | {"ssl.enabled.protocols": "TLSv1.2"}, "ssl.keystore.location has to hold what it trusts"),
        ("LOGIN", login("PLAIN", "guessed"), "SASL_AUTHENTICATION_FAILED: Authentication failed: Invalid username or"),
        ("LOGIN", login("SCRAM-SHA-256", "guessed"), "SASL_AUTHENTICATION_FAILED: Authentication failed during"),
        ("BOTH", trusting | login("PLAIN", "guessed", "SASL_SSL"), "SASL_AUTHENTICATION_FAILED"),
        ("SECURE", {}, "TLS"),
        ("LOGIN", {}, "is it a listener for plaintext, without TLS and SASL?"),
        ("PLAINTEXT", trusting, "speaks no TLS; give the address of a listener with TLS, or set security.protocol"),
        ("PLAINTEXT", login("PLAIN"), "asks nobody to log in"),
        ("SECURE", trusting | login("PLAIN", protocol="SASL_SSL"), "asks nobody to log in"),
        ("LOGIN", trusting, "speaks no TLS; give the address of a listener with TLS, or set security.protocol"),
    ]
    for listener, properties, words in given:
        code, out, err = inspect(listener, properties)
        assert (code, out) == (1, ""), (listener, err)
        assert words in err, listener
        assert err.count("\n") == 1
