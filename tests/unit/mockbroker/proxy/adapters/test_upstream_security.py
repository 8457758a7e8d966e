"""The proxy's own way to a cluster with TLS and logins, and what it says where there is none."""

from __future__ import annotations

import pytest

from kafka_rack.cli import main
from kafka_rack.cli.options.command_config import client_settings_in
from kafka_rack.cli.serving.upstream import CurrentLogin
from mockbroker import MockCluster
from mockbroker.adapters.client_properties.settings import client_settings_of
from mockbroker.adapters.real_cluster.connection import RealClusterError
from mockbroker.adapters.tls.certificates import CertificateAuthority
from mockbroker.proxy.adapters.server import KafkaProxy
from mockbroker.proxy.adapters.upstream import UpstreamSettings
from tests.certificates import LOCAL, inline
from tests.ports import free_ports

FOR_EVER_S = 3600.0
PASSWORD = "tell-nobody"
USERS = {"alice": PASSWORD}
AUTHORITY, STRANGER = CertificateAuthority(), CertificateAuthority()
JAAS = 'x.ScramLoginModule required username="alice" password="{}";'


def trusting(authority: CertificateAuthority, **more: str) -> dict[str, str]:
    return {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority.pem,
        **more,
    }


def login(
    password: str = PASSWORD, protocol: str = "SASL_PLAINTEXT", mechanism: str = "SCRAM-SHA-512"
) -> dict[str, str]:
    return {"security.protocol": protocol, "sasl.mechanism": mechanism, "sasl.jaas.config": JAAS.format(password)}


def secured(**settings: str) -> dict[str, str]:
    return {"listeners": "SSL://127.0.0.1:0", **inline(AUTHORITY.server(LOCAL), AUTHORITY), **settings}


def proxy_for(servers: str, properties: dict[str, str], wait_s: float = FOR_EVER_S) -> KafkaProxy:
    found = client_settings_of(properties)
    addresses = [(host, int(port)) for host, port in (one.rsplit(":", 1) for one in servers.split(","))]
    return KafkaProxy(UpstreamSettings(found.login, found.tls, servers=addresses), wait_s=wait_s)


WRONG = {
    "no login where one is asked for": (
        {"users": USERS},
        {},
        "closed the connection at Metadata; is it a listener for plaintext, without TLS and SASL? --command-config",
    ),
    "a wrong password": (
        {"users": USERS},
        login("wrong"),
        "no login as alice by SCRAM-SHA-512: SASL_AUTHENTICATION_FAILED: Authentication failed",
    ),
    "a mechanism that there is not": (
        {"users": USERS, "settings": {"sasl.enabled.mechanisms": "SCRAM-SHA-256"}},
        login(),
        "SaslHandshake failed: UNSUPPORTED_SASL_MECHANISM; it has SCRAM-SHA-256",
    ),
    "a login where nobody asks": (
        {},
        login(),
        "asks nobody to log in: expected security.protocol=PLAINTEXT, got SASL_PLAINTEXT",
    ),
    "plaintext to TLS": ({"settings": secured()}, {}, "speaks TLS; give the address of a listener for plaintext"),
    "TLS to plaintext": (
        {},
        trusting(AUTHORITY),
        "speaks no TLS; give the address of a listener with TLS, or set security.protocol to PLAINTEXT, not SSL",
    ),
    "TLS and a login to a login without TLS": (
        {"users": USERS},
        {**trusting(AUTHORITY), **login(protocol="SASL_SSL")},
        "speaks no TLS; give the address of a listener with TLS, or set security.protocol to SASL_PLAINTEXT, not SASL",
    ),
    "another authority": (
        {"settings": secured()},
        trusting(STRANGER),
        "its certificate is not trusted: self-signed certificate in certificate chain",
    ),
    "another name": (
        {"settings": {**secured(), **inline(AUTHORITY.server(["elsewhere.example"]))}},
        trusting(AUTHORITY),
        "its certificate is for another name",
    ),
    "no certificate of its own": (
        {"settings": secured(**{"ssl.client.auth": "required"})},
        trusting(AUTHORITY),
        "the broker refuses us",
    ),
}


@pytest.mark.parametrize("case", WRONG)
async def test_what_waiting_does_not_rewrite_is_said_at_once(case: str):
    cluster, properties, said = WRONG[case]
    async with MockCluster(1, ("a",), **cluster) as real:
        with pytest.raises(RealClusterError) as caught:
            await proxy_for(real.bootstrap_servers, properties).start()
    assert str(caught.value).startswith(real.state.brokers[0].host)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert PASSWORD not in str(caught.value)


async def test_of_several_addresses_one_that_will_never_do_ends_the_waiting():
    (port,) = free_ports(1)
    async with MockCluster(1, ("a",), users=USERS) as real:
        with pytest.raises(RealClusterError, match=r"Connection refused; .*SASL_AUTHENTICATION_FAILED"):
            await proxy_for(f"127.0.0.1:{port},{real.bootstrap_servers}", login("wrong")).start()


async def test_a_cluster_that_goes_down_once_at_metadata_is_waited_for():
    async with MockCluster(1, ("a",)) as real:
        handle = real.faults.add(match={"api": "Metadata"}, effect={"disconnect": True}, when={"times": 1})
        proxy = proxy_for(real.bootstrap_servers, {})
        async with proxy:
            assert handle.fired == 1
            assert [*proxy.state.brokers] == [0]


async def test_a_broker_that_does_not_know_the_password_itself_is_not_believed():
    found = client_settings_of(login()).login
    assert found is not None
    async with MockCluster(1, ("a",), users=USERS) as real:

        class Doubting:
            mechanism = found.mechanism

            def exchange(self):
                tokens = found.exchange()
                first = yield next(tokens)
                yield tokens.send(first)
                tokens.send(b"v=nobody")

        settings = UpstreamSettings(Doubting(), servers=[(real.state.brokers[0].host, real.state.brokers[0].port)])
        with pytest.raises(RealClusterError, match="the broker does not prove that it knows the password"):
            await KafkaProxy(settings, wait_s=FOR_EVER_S).start()


def test_a_login_is_what_the_file_says_when_it_is_used(tmp_path):
    path = tmp_path / "client.properties"

    def put(user: str) -> None:
        path.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            f'sasl.jaas.config=x.PlainLoginModule required username="{user}" password="p";\n'
        )

    put("alice")
    first = client_settings_in(str(path)).login
    assert first is not None
    current = CurrentLogin(str(path), first)
    assert next(current.exchange()) == b"\0alice\0p"
    put("bob")
    assert next(current.exchange()) == b"\0bob\0p"
    path.write_text("security.protocol=NONE\n")
    assert next(current.exchange()) == b"\0bob\0p"


def test_the_command_says_in_a_line_why_it_ends(capsys):
    (port,) = free_ports(1)
    assert main(["proxy", "--bootstrap-server", f"127.0.0.1:{port}", "--wait", "1ms"]) == 1
    said = capsys.readouterr().err
    assert said == f"kafka-rack proxy: 127.0.0.1:{port}: cannot be reached: Connection refused\n"


async def test_a_proxy_is_made_with_kafkas_client_properties():
    settings = {"listener.security.protocol.map": "SASL_SSL:SASL_SSL", "listeners": "SASL_SSL://127.0.0.1:0"}
    async with MockCluster(brokers=1, users=USERS, settings={**secured(), **settings}) as real:
        properties = {**trusting(AUTHORITY), **login(protocol="SASL_SSL"), "request.timeout.ms": "7000"}
        async with KafkaProxy(real.bootstrap_servers, client_properties=properties) as proxy:
            assert (proxy.state.id, proxy.upstream.timeout_s) == (real.state.id, 7.0)
            assert proxy.upstream.client_id == "kafka-rack-proxy"


def test_client_properties_that_are_wrong_are_refused_at_once():
    with pytest.raises(ValueError, match=r"security\.protocl is no setting .* did you mean security\.protocol"):
        KafkaProxy("127.0.0.1:1", client_properties={"security.protocl": "SSL"})
    with pytest.raises(ValueError, match="beside host:port, got them beside UpstreamSettings"):
        KafkaProxy(UpstreamSettings(servers=[("127.0.0.1", 1)]), client_properties={})


def test_settings_that_no_client_knows_are_told_of(caplog):
    found = UpstreamSettings.of("127.0.0.1:1", {"client.id": "watcher", "my.own.thing": "1"})
    assert found.client_id == "watcher"
    assert "my.own.thing is no setting of Kafka's clients, and left alone" in caplog.text
