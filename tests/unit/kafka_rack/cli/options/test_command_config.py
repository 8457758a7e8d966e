"""``--command-config``: what Kafka's client properties may say, and how the live tools log in by them."""

from __future__ import annotations

import base64
import json
import socket

import pytest

import protocol
from kafka_rack.cli import main
from mockbroker import MockCluster
from mockbroker.adapters.client_properties.login import MECHANISMS, MODULES, SaslLogin, login_of, scram
from mockbroker.adapters.client_properties.settings import ClientSettings, client_settings_of
from mockbroker.adapters.real_cluster.cluster import LiveCluster, addresses_of
from mockbroker.adapters.real_cluster.connection import BrokerConnection, RealClusterError
from protocol.apis.api_versions import ApiVersionsResponse
from protocol.apis.metadata import MetadataRequest
from protocol.apis.sasl import SaslAuthenticateResponse, SaslHandshakeResponse
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.adapters.real_cluster.scripted_broker import scripted_broker

SECRET = "hunter2=,;é"
HANDSHAKE, API_VERSIONS, AUTHENTICATE = 17, 18, 36


def jaas(mechanism, password=SECRET, user="alice"):
    escaped = password.replace("\\", "\\\\").replace('"', '\\"')
    return f'org.apache.kafka.{MODULES[mechanism]} required username="{user}" password="{escaped}";'


def properties(mechanism, password=SECRET, **more):
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": jaas(mechanism, password),
        **more,
    }


def written(path, settings):
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def secured():
    with MockCluster(2, racks=("a", "b"), topics={"orders": (2, 2)}, users={"alice": SECRET}) as cluster:
        yield cluster


@pytest.mark.parametrize("mechanism", [one for one in MECHANISMS if one != "OAUTHBEARER"])
def test_whoever_has_the_password_looks_at_a_cluster_that_asks_for_it(secured, mechanism, tmp_path, capsys):
    config = written(tmp_path / "client.properties", properties(mechanism))
    given = ["--bootstrap-server", secured.bootstrap_servers, "--command-config", config]
    assert main(["inspect", *given, "--format", "json"]) == 0
    said = capsys.readouterr()
    assert [broker["trouble"] for broker in json.loads(said.out)["brokers"]] == [None, None]
    assert SECRET not in said.out + said.err
    assert main(["topics", "describe", *given]) == 0
    assert main(["audit", *given]) == 0
    assert main(["reassign", "repair", *given]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            properties("PLAIN", "guessed"),
            "no login as alice by PLAIN: SASL_AUTHENTICATION_FAILED: Authentication failed",
        ),
        (properties("SCRAM-SHA-512", "guessed"), "no login as alice by SCRAM-SHA-512: SASL_AUTHENTICATION_FAILED"),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.jaas.config": 'OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";',
            },
            "SaslHandshake failed: UNSUPPORTED_SASL_MECHANISM; it has ",
        ),
        ({}, "closed the connection at Metadata; is it a listener for plaintext, without TLS and SASL?"),
    ],
)
def test_whoever_is_kept_out_is_told_why_in_one_line(secured, settings, words, tmp_path, capsys):
    config = written(tmp_path / "client.properties", settings)
    given = ["--bootstrap-server", secured.bootstrap_servers, "--command-config", config]
    assert main(["inspect", *given]) == 1
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert "guessed" not in said.err


def test_a_listener_that_asks_for_no_login_is_told_of(tmp_path, capsys):
    config = written(tmp_path / "client.properties", properties("PLAIN"))
    with MockCluster(1) as cluster:
        assert main(["inspect", "--bootstrap-server", cluster.bootstrap_servers, "--command-config", config]) == 1
    assert "asks nobody to log in: expected security.protocol=PLAINTEXT, got SASL_PLAINTEXT" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"security.protocol": "TLS"}, "security.protocol: expected PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, got TLS"),
        (
            {"sasl.mechanism": "plain"},
            "sasl.mechanism: expected PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, got plain",
        ),
        ({"sasl.mechanism": None}, "got GSSAPI, which is Kafka's default"),
        ({"sasl.mechanism": "SCRAM-SHA-256"}, "expected ScramLoginModule for the mechanism SCRAM-SHA-256"),
        ({"sasl.jaas.config": None}, "sasl.jaas.config: expected a login module and its options, got none"),
        ({"sasl.jaas.config": f'x.PlainLoginModule required username="a" {SECRET}'}, "sasl.jaas.config: "),
        ({"sasl.jaas.config": 'x.PlainLoginModule required username="a";'}, "got no password"),
        ({"sasl.mechansim": "PLAIN"}, "sasl.mechansim is no setting of Kafka's clients; did you mean sasl.mechanism?"),
        ({"config.providers": "file"}, "config.providers cannot be had"),
        ({"sasl.login.callback.handler.class": "com.example.Mine"}, "got Mine"),
        ({"request.timeout.ms": "-1"}, "request.timeout.ms: expected 1 to 86400000, got -1"),
    ],
)
def test_settings_that_cannot_be_are_wrong_usage_and_no_secret_is_told(change, words, tmp_path, capsys):
    settings = {key: value for key, value in (properties("PLAIN") | change).items() if value is not None}
    config = written(tmp_path / "client.properties", settings)
    assert main(["inspect", "--bootstrap-server", "127.0.0.1:1", "--command-config", config]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.startswith(f"kafka-rack inspect: --command-config {config}")
    assert "hunter2" not in said


def test_a_file_that_is_not_there_is_wrong_usage(tmp_path, capsys):
    missing = tmp_path / "none.properties"
    assert main(["inspect", "--bootstrap-server", "127.0.0.1:1", "--command-config", str(missing)]) == 2
    assert f"--command-config {missing}: No such file or directory" in capsys.readouterr().err


def test_settings_for_a_cluster_do_not_go_with_a_file(tmp_path, capsys):
    assert main(["audit", "--layout", "x.json", "--command-config", "y"]) == 2
    assert "--command-config needs --bootstrap-server" in capsys.readouterr().err


def test_what_other_clients_take_is_left_alone_and_what_nobody_does_is_told():
    settings = client_settings_of({"acks": "all", "group.id": "g", "client.id": "me", "monitoring.token": "x"})
    assert settings == ClientSettings(client_id="me")
    assert settings.notes == ("monitoring.token is no setting of Kafka's clients, and left alone",)


def test_the_time_to_wait_comes_from_the_file_unless_it_is_given(tmp_path, capsys):
    config = written(tmp_path / "client.properties", {"request.timeout.ms": "40"})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        given = ["--bootstrap-server", f"127.0.0.1:{silent.getsockname()[1]}", "--command-config", config]
        assert main(["inspect", *given]) == 1
        assert "no answer to ApiVersions within 0.04 s" in capsys.readouterr().err
        assert main(["inspect", *given, "--timeout", "50ms"]) == 1
        assert "no answer to ApiVersions within 0.05 s" in capsys.readouterr().err


class BeforeKafka10(BrokerConnection):
    """A client that takes the broker for one older than 1.0, which knows no SaslAuthenticate."""

    def _negotiated(self):
        known = super()._negotiated()
        return {key: (0, 0) if key == HANDSHAKE else known[key] for key in known if key != AUTHENTICATE}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_tokens_go_bare_to_a_broker_before_1_0(secured, mechanism):
    address = addresses_of(secured.bootstrap_servers)[0]
    with BeforeKafka10(address, settings=client_settings_of(properties(mechanism))) as connection:
        assert connection.ask(MetadataRequest(topics=[]), 1).brokers
    kept_out = BeforeKafka10(address, settings=client_settings_of(properties(mechanism, "guessed")))
    with pytest.raises(RealClusterError, match=f"no login as alice by {mechanism}: the broker closed the connection"):
        kept_out.open()


def broker_with(mechanism, tokens):
    """A broker that answers the client's tokens by the next of these, and keeps what it was sent."""
    heard, left = [], list(tokens)

    def answer(key, version, correlation_id, request):
        if key == API_VERSIONS:
            ranges = [(HANDSHAKE, 0, 1), (API_VERSIONS, 0, 3), (AUTHENTICATE, 0, 1)]
            keys = [
                ApiVersionsResponse.ApiVersion(api_key=one, min_version=low, max_version=high)
                for one, low, high in ranges
            ]
            code = ErrorCode.NONE if version <= 3 else ErrorCode.UNSUPPORTED_VERSION
            said = ApiVersionsResponse(error_code=code, api_keys=keys)
            version = version if version <= 3 else 0
        elif key == HANDSHAKE:
            said = SaslHandshakeResponse(mechanisms=[mechanism])
        else:
            heard.append(request.auth_bytes)
            token = left.pop(0)
            said = SaslAuthenticateResponse(auth_bytes=token, error_code=0 if left or token == b"" else 58)
        return protocol.response_frame(said, version, correlation_id=correlation_id)

    return answer, heard


def test_a_broker_too_old_for_logins_is_told_of():
    def before_logins(key, version, correlation_id, _request):
        said = ApiVersionsResponse(api_keys=[ApiVersionsResponse.ApiVersion(api_key=API_VERSIONS, max_version=3)])
        if version > 3:
            said.error_code, version = ErrorCode.UNSUPPORTED_VERSION, 0
        return protocol.response_frame(said, version, correlation_id=correlation_id)

    with (
        scripted_broker(before_logins) as where,
        pytest.raises(RealClusterError, match=r"does not serve SaslHandshake \(Kafka 0\.10\); nobody can log in"),
    ):
        BrokerConnection(addresses_of(where)[0], settings=client_settings_of(properties("PLAIN"))).open()


def test_an_unsecured_token_says_who_we_are():
    settings = client_settings_of(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            'unsecuredLoginStringClaim_sub="alice" unsecuredLoginListClaim_scope=",a,b" '
            'unsecuredLoginExtension_traceId="7";',
        }
    )
    broker, heard = broker_with("OAUTHBEARER", [b""])
    with scripted_broker(broker) as where, LiveCluster(where, settings=settings):
        pass
    head, token, extension, *rest = heard[0].decode().split("\x01")
    assert (head, extension, rest) == ("n,,", "traceId=7", ["", ""])
    encoded_header, encoded_claims, signature = token.removeprefix("auth=Bearer ").split(".")
    decoded = [json.loads(base64.urlsafe_b64decode(part + "==")) for part in (encoded_header, encoded_claims)]
    assert (decoded[0], decoded[1]["sub"], decoded[1]["scope"], signature) == ({"alg": "none"}, "alice", ["a", "b"], "")
    assert decoded[1]["exp"] - decoded[1]["iat"] == 3600


@pytest.mark.parametrize(("scope", "words"), [("read", None), ("write", "no login as alice by OAUTHBEARER: SASL_AUTH")])
def test_an_unsecured_token_is_a_login_where_brokers_take_them(scope, words, tmp_path, capsys):
    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            'unsecuredValidatorRequiredScope="read";'
        ),
    }
    claims = f'unsecuredLoginStringClaim_sub="alice" unsecuredLoginListClaim_scope=",{scope}"'
    login = f"x.OAuthBearerLoginModule required {claims};"
    given = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": login}
    config = written(tmp_path / "client.properties", given)
    with MockCluster(1, settings=settings) as cluster:
        code = main(["inspect", "--bootstrap-server", cluster.bootstrap_servers, "--command-config", config])
        assert code == (0 if words is None else 1)
        assert (cluster.journal.count(principal="User:alice", api="Metadata") > 0) == (words is None)
    assert (words or "") in capsys.readouterr().err


def test_a_token_in_a_file_is_sent_and_a_refusal_is_acknowledged_as_rfc_7628_has_it(tmp_path):
    path = tmp_path / "token"
    path.write_text("a.b.c\n")
    login = login_of("OAUTHBEARER", "OAuthBearerLoginModule", {}, f"file://{path}")
    broker, heard = broker_with("OAUTHBEARER", [b'{"status":"invalid_token"}', b"no"])
    settings = ClientSettings(login)
    with (
        scripted_broker(broker) as where,
        pytest.raises(RealClusterError, match="no login as OAUTHBEARER: SASL_AUTHENTICATION_FAILED"),
        LiveCluster(where, settings=settings),
    ):
        pass
    assert heard == [b"n,,\x01auth=Bearer a.b.c\x01\x01", b"\x01"]


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (b"r=elsewhere,s=c2FsdA==,i=4096", "the broker's nonce does not go on from ours"),
        (b"hello", "the broker's first token has not the form of SCRAM-SHA-256"),
        (b"r={nonce}x,s=c2FsdA==,i=2000000000", "expected 4096 to 1000000 iterations"),
        (b"r={nonce}x,s=c2FsdA==,i=1", "expected 4096 to 1000000 iterations"),
    ],
)
def test_a_broker_that_plays_scram_wrongly_is_not_answered(token, words):
    exchange = scram(SaslLogin("SCRAM-SHA-256", "alice", SECRET), "mine")
    next(exchange)
    with pytest.raises(Exception, match=words):
        exchange.send(token.replace(b"{nonce}", b"mine"))


def test_a_broker_that_does_not_know_the_password_is_not_trusted():
    exchange = scram(SaslLogin("SCRAM-SHA-512", "alice", SECRET), "mine")
    next(exchange)
    exchange.send(b"r=mineandtheirs,s=c2FsdA==,i=4096")
    with pytest.raises(Exception, match="the broker does not prove that it knows the password"):
        exchange.send(b"v=" + base64.b64encode(b"x" * 64))


def test_the_example_of_rfc_7677_gives_its_proof():
    exchange = scram(SaslLogin("SCRAM-SHA-256", "user", "pencil"), "rOprNGfwEbeRWgbNEkqO")
    assert next(exchange) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    final = exchange.send(b"r=" + nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    assert final == b"c=biws,r=" + nonce + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    with pytest.raises(StopIteration):
        exchange.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_the_key_of_a_delegation_token_logs_in_by_scram():
    options = {"username": "token-id", "password": "key", "tokenauth": "true"}
    login = login_of("SCRAM-SHA-256", "x.ScramLoginModule", options, None)
    assert next(scram(login, "mine")) == b"n,,n=token-id,r=mine,tokenauth=true"


def test_settings_show_no_secret_when_they_are_printed():
    settings = client_settings_of(properties("SCRAM-SHA-256"))
    assert "hunter2" not in repr(settings) + str(settings) + str(settings.login)
