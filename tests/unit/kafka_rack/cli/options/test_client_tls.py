"""The live tools reach brokers by TLS, and say of each failure what it is."""

from __future__ import annotations

import socket
import threading

import pytest

from kafka_rack.cli import main
from mockbroker import MockCluster
from mockbroker.adapters.tls.certificates import CertificateAuthority
from tests.certificates import LOCAL, PASSWORD, inline, key_store, trust_store

SSL, SASL_SSL = {"listeners": "SSL://127.0.0.1:0"}, {"listeners": "SASL_SSL://127.0.0.1:0"}
LOGIN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": 'x.ScramLoginModule required username="alice" password="tell-nobody";',
}


@pytest.fixture(scope="module")
def authority():
    return CertificateAuthority()


@pytest.fixture(scope="module")
def secured(authority):
    settings = {**SSL, **inline(authority.server(LOCAL), authority)}
    with MockCluster(2, ("a", "b"), topics={"orders": (1, 2)}, settings=settings) as cluster:
        yield cluster


@pytest.fixture
def trusting(authority, tmp_path):
    """The properties of a client that trusts the authority."""
    path = tmp_path / "ca.pem"
    path.write_text(authority.pem)
    return {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": str(path)}


@pytest.fixture
def inspect(tmp_path, capsys):
    """Look at a cluster with these properties: exit code, and what was said on either stream."""

    def run(servers, properties, *more):
        path = tmp_path / "client.properties"
        path.write_text("".join(f"{name}={escaped(value)}\n" for name, value in properties.items()))
        code = main(["inspect", "--bootstrap-server", servers, "--command-config", str(path), *more])
        said = capsys.readouterr()
        assert PASSWORD not in said.out + said.err
        return code, said.out, said.err

    return run


def escaped(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def test_a_cluster_is_reached_by_tls_on_all_its_brokers(secured, trusting, inspect):
    code, out, err = inspect(secured.bootstrap_servers, trusting)
    assert (code, err) == (0, "")
    assert "orders" in out


def test_stores_may_be_pkcs12_or_stand_in_the_settings(secured, authority, trusting, inspect, tmp_path):
    store = trust_store(tmp_path / "trust.p12", authority)
    for kind in ("PKCS12", "JKS"):  # of a JKS store Java since 9 means what is in the file
        given = {
            "ssl.truststore.type": kind,
            "ssl.truststore.location": str(store),
            "ssl.truststore.password": PASSWORD,
        }
        assert inspect(secured.bootstrap_servers, {"security.protocol": "SSL", **given})[0] == 0
    given = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authority.pem}
    assert inspect(secured.bootstrap_servers, {"security.protocol": "SSL", **given})[0] == 0


def test_who_is_signed_by_another_authority_is_not_trusted(secured, trusting, inspect, tmp_path):
    (tmp_path / "ca.pem").write_text(CertificateAuthority().pem)
    code, _, err = inspect(secured.bootstrap_servers, trusting)
    assert code == 1
    assert "its certificate is not trusted: " in err
    assert err.rstrip().endswith("does ssl.truststore.location hold the authority's?")
    without = {"security.protocol": "SSL"}  # what the system trusts
    assert "its certificate is not trusted: " in inspect(secured.bootstrap_servers, without)[2]


def test_a_certificate_for_another_name_is_refused_unless_names_are_not_compared(authority, trusting, inspect):
    with MockCluster(1, settings={**SSL, **inline(authority.server(["kafka.example.com"]))}) as cluster:
        code, _, err = inspect(cluster.bootstrap_servers, trusting)
        assert code == 1
        assert "its certificate is for another name: " in err
        assert "ssl.endpoint.identification.algorithm, left empty, compares no names" in err
        assert inspect(cluster.bootstrap_servers, {**trusting, "ssl.endpoint.identification.algorithm": ""})[0] == 0


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_broker_that_asks_for_a_certificate_lets_in_who_has_one(authority, trusting, inspect, tmp_path, version):
    settings = {**SSL, **inline(authority.server(LOCAL), authority), "ssl.client.auth": "required"}
    trusting = {**trusting, "ssl.enabled.protocols": version}
    with MockCluster(1, settings=settings) as cluster:
        code, _, err = inspect(cluster.bootstrap_servers, trusting)
        assert code == 1
        assert "the broker refuses us (" in err
        assert "ssl.keystore.location has to hold what it trusts" in err
        store = key_store(tmp_path / "client.p12", authority.client("alice"))
        own = {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": str(store), "ssl.keystore.password": PASSWORD}
        assert inspect(cluster.bootstrap_servers, {**trusting, **own})[0] == 0
        assert cluster.journal.count(principal="User:CN=alice*", api="Metadata") > 0
        stranger = inline(CertificateAuthority().client("mallory"))
        assert "the broker refuses us (" in inspect(cluster.bootstrap_servers, {**trusting, **stranger})[2]


def test_a_login_goes_by_tls_too(authority, trusting, inspect):
    settings = {**SASL_SSL, **inline(authority.server(LOCAL))}
    with MockCluster(1, settings=settings, users={"alice": "tell-nobody"}) as cluster:
        assert inspect(cluster.bootstrap_servers, {**trusting, **LOGIN})[0] == 0
        wrong = {**trusting, **LOGIN, "sasl.jaas.config": LOGIN["sasl.jaas.config"].replace("tell", "ask")}
        assert (
            "no login as alice by SCRAM-SHA-512: SASL_AUTHENTICATION_FAILED"
            in inspect(cluster.bootstrap_servers, wrong)[2]
        )


def test_a_listener_without_tls_and_one_with_it_are_told_apart(secured, trusting, inspect):
    with MockCluster(1) as plain:
        code, _, err = inspect(plain.bootstrap_servers, trusting)
    assert code == 1
    assert "speaks no TLS; give the address of a listener with TLS, or set security.protocol to PLAINTEXT" in err
    code, _, err = inspect(secured.bootstrap_servers, {})
    assert code == 1
    assert "speaks TLS; give the address of a listener for plaintext, or set security.protocol" in err


def test_versions_that_do_not_meet_are_named(authority, trusting, inspect):
    settings = {**SSL, **inline(authority.server(LOCAL)), "ssl.enabled.protocols": "TLSv1.3"}
    with MockCluster(1, settings=settings) as cluster:
        code, _, err = inspect(cluster.bootstrap_servers, {**trusting, "ssl.enabled.protocols": "TLSv1.2"})
    assert code == 1
    assert "no version of TLS that both sides speak (" in err


def test_a_handshake_without_an_answer_is_given_up_after_the_timeout(trusting, inspect):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        code, _, err = inspect(f"127.0.0.1:{silent.getsockname()[1]}", trusting, "--timeout", "50ms")
    assert code == 1
    assert "no answer to the TLS handshake within 0.05 s; is it a listener of the security protocol SSL?" in err


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "closed the connection at the TLS handshake; is it a listener of the security protocol SSL?"),
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "it does not speak TLS; is it a listener of PLAINTEXT or SASL_PLAINTEXT?",
        ),
    ],
)
def test_whoever_speaks_no_tls_is_recognised(trusting, inspect, answer, words):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            client, _ = listener.accept()
            with client:
                client.recv(1 << 16)
                client.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        code, _, err = inspect(f"127.0.0.1:{listener.getsockname()[1]}", trusting, "--timeout", "500ms")
        thread.join()
    assert code == 1
    assert words in err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"ssl.truststore.location": "/nowhere/ca.pem"},
            "Failed to load SSL truststore /nowhere/ca.pem of type PEM: No such file or directory",
        ),
        ({"ssl.truststore.type": "JKS"}, "it is not PKCS#12"),
        ({"ssl.truststore.password": PASSWORD}, "SSL trust store password cannot be specified for PEM format."),
        ({"ssl.keystore.password": PASSWORD}, "SSL key store is not specified, but key store password is specified."),
        (
            {"ssl.endpoint.identification.algorithm": "ldaps"},
            "expected https, or nothing to compare no names, got ldaps",
        ),
        ({"ssl.enabled.protocols": "SSLv3"}, "ssl.enabled.protocols: expected some of TLSv1.2, TLSv1.3, got SSLv3"),
        ({"ssl.trustore.location": "x"}, "did you mean ssl.truststore.location?"),
    ],
)
def test_stores_that_cannot_be_used_are_wrong_usage(trusting, inspect, change, words):
    code, _, err = inspect("127.0.0.1:1", {**trusting, **change})
    assert code == 2
    assert words in err


def test_a_store_with_another_password_is_refused_without_it(authority, trusting, inspect, tmp_path):
    store = key_store(tmp_path / "client.p12", authority.client("alice"), "another")
    own = {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": str(store), "ssl.keystore.password": PASSWORD}
    code, _, err = inspect("127.0.0.1:1", {**trusting, **own})
    assert code == 2
    assert "keystore password was incorrect" in err
