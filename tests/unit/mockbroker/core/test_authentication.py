from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import protocol
from mockbroker.core.simulation import Simulation
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from protocol.error_codes import ErrorCode
from protocol.headers import read_response
from tests.scram_client import final_token, first_token
from tests.tokens import bearer, unsecured
from tests.unit.mockbroker.core.client import METADATA, Client
from tests.unit.mockbroker.handlers.records import batch, produce_request

ALICE, WRONG = b"\0alice\0secret", b"\0alice\0wrong"
DELAY_MS = 100
SIZE = struct.Struct(">i")


def secured(**settings: object) -> Simulation:
    """A simulation whose listeners ask who is there: alice, whose password is secret."""
    sim = Simulation(settings={name.replace("_", "."): value for name, value in settings.items()})
    for broker in sim.cluster.brokers.values():
        for listener in broker.listeners:
            listener.protocol = "SASL_PLAINTEXT"
    sim.cluster.security.add_users(sim.cluster, {"alice": "secret", "bob": "builder"}, sim.engine.entropy)
    return sim


@pytest.fixture
def sasl() -> Simulation:
    return secured()


def log_in(client: Client, token: bytes = ALICE) -> None:
    client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    assert client.ask(SaslAuthenticateRequest(auth_bytes=token), 2).error_code == 0


def test_whoever_has_not_logged_in_is_told_the_versions_and_nothing_else(sasl):
    client = Client(sasl)
    assert client.ask(ApiVersionsRequest(), 0).api_keys
    client.write(client.frame(METADATA, 12))
    assert client.frames() == []
    assert client.connection.closed == "expected a SaslHandshake, got MetadataRequest version 12"


def test_whoever_has_logged_in_is_served_under_his_name(sasl):
    client = Client(sasl)
    log_in(client)
    assert client.connection.session.principal == "User:alice"
    assert client.ask(METADATA, 12).brokers


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_user_logs_in_by_scram_too(sasl, mechanism):
    client = Client(sasl)
    assert mechanism in client.ask(SaslHandshakeRequest(mechanism=mechanism), 1).mechanisms
    first = client.ask(SaslAuthenticateRequest(auth_bytes=first_token("alice")), 1)
    final = final_token("alice", "secret", first.auth_bytes, f"sha{mechanism[-3:]}")
    assert client.ask(SaslAuthenticateRequest(auth_bytes=final), 1).auth_bytes.startswith(b"v=")
    assert client.connection.session.principal == "User:alice"


def test_users_alone_bring_the_mechanisms_of_passwords(sasl):
    answer = Client(sasl).ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    assert sorted(answer.mechanisms) == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


def test_a_wrong_password_is_answered_late_and_ends_the_connection(sasl):
    client = Client(sasl)
    client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    client.write(client.frame(SaslAuthenticateRequest(auth_bytes=WRONG), 1) + client.frame(METADATA, 12))
    sasl.advance(ms=DELAY_MS - 1)
    assert client.frames() == []
    assert client.connection.closed is None
    sasl.advance(ms=1)
    (frame,) = client.frames()
    _, answer = read_response(frame, 36, 1)
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.SASL_AUTHENTICATION_FAILED,
        "Authentication failed: Invalid username or password",
    )
    assert client.connection.closed is not None
    assert client.connection.session.principal == "User:ANONYMOUS"


def test_bare_tokens_follow_the_first_version_of_the_handshake(sasl):
    client = Client(sasl)
    client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 0)
    client.write(SIZE.pack(len(ALICE)) + ALICE)
    assert client.frames() == [b""]
    assert client.ask(METADATA, 12).brokers
    assert [entry.api for entry in sasl.journal] == ["SaslHandshake", "SaslAuthenticate", "Metadata"]


@pytest.mark.parametrize("size", [524289, -1, 2**31 - 1])
def test_before_the_login_frames_are_small(sasl, size):
    client = Client(sasl)
    client.write(SIZE.pack(size) + bytes(64))
    sasl.advance(ms=DELAY_MS)
    assert client.connection.closed is not None


def test_after_the_login_frames_may_be_large(sasl):
    client = Client(sasl)
    log_in(client)
    answer = client.ask(produce_request(batch(b"x" * 600_000)), 8)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_session_ends_unless_it_is_prolonged_by_the_same_user():
    sim = secured(connections_max_reauth_ms="5000")
    client, other, late = Client(sim), Client(sim), Client(sim)
    for one in (client, other, late):
        one.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert one.ask(SaslAuthenticateRequest(auth_bytes=ALICE), 1).session_lifetime_ms == 5000
    sim.advance(ms=4000)
    log_in(client)
    other.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    other.write(other.frame(SaslAuthenticateRequest(auth_bytes=b"\0bob\0builder"), 1))
    sim.advance(ms=2000)
    assert client.ask(METADATA, 12).brokers
    assert "Cannot change principals during re-authentication" in str(other.connection.closed)
    late.write(late.frame(METADATA, 12))
    assert late.connection.closed == "the session has expired"


@given(
    st.lists(st.one_of(st.binary(max_size=64), st.sampled_from(["PLAIN", "SCRAM-SHA-256", ALICE, WRONG])), max_size=6)
)
def test_nobody_comes_in_without_a_password(steps):
    sim = secured(connection_failed_authentication_delay_ms="0")
    client = Client(sim)
    has_password = False
    for step in steps:
        if isinstance(step, str):
            client.write(client.frame(SaslHandshakeRequest(mechanism=step), 1))
        else:
            has_password = has_password or step == ALICE
            client.write(client.frame(SaslAuthenticateRequest(auth_bytes=step), 1))
        client.write(SIZE.pack(len(step)) + (step if isinstance(step, bytes) else step.encode()))
    assert has_password or client.connection.session.principal == "User:ANONYMOUS"
    client.frames()
    client.write(client.frame(METADATA, 12))
    assert has_password or client.frames() == []


def test_a_listener_without_passwords_for_plain_is_refused():
    sim = Simulation(settings={"sasl.enabled.mechanisms": "PLAIN"})
    sim.cluster.brokers[0].listeners[0].protocol = "SASL_PLAINTEXT"
    with pytest.raises(ValueError, match=r"listener\.name\.plaintext\.plain\.sasl\.jaas\.config"):
        sim.cluster.security.check(sim.cluster)


def test_mechanisms_that_are_not_served_are_refused():
    sim = Simulation()
    sim.cluster.brokers[0].listeners[0].protocol = "SASL_PLAINTEXT"
    with pytest.raises(ValueError, match=r"sasl\.enabled\.mechanisms: expected some of PLAIN, .* got GSSAPI"):
        sim.cluster.security.check(sim.cluster)


def with_tokens(options: str = "", **settings: str) -> Simulation:
    """A simulation whose listeners take unsecured tokens."""
    name = "listener.name.plaintext.oauthbearer.sasl.jaas.config"
    given = {name: f"OAuthBearerLoginModule required {options};", **settings}
    sim = Simulation(settings={"sasl.enabled.mechanisms": "OAUTHBEARER", **given})
    sim.cluster.brokers[0].listeners[0].protocol = "SASL_PLAINTEXT"
    sim.cluster.security.check(sim.cluster)
    return sim


@pytest.mark.access_control
def test_a_session_ends_with_its_token():
    sim = with_tokens()
    client = Client(sim)
    for seconds in (5, 8):
        client.ask(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
        token = bearer(unsecured(exp=seconds))
        answer = client.ask(SaslAuthenticateRequest(auth_bytes=token), 1)
        assert (answer.error_code, answer.session_lifetime_ms) == (0, seconds * 1000 - sim.now_ms)
        sim.advance(ms=4000)
    assert client.connection.session.principal == "User:alice"
    assert client.ask(METADATA, 12).brokers
    sim.advance(ms=1)
    client.write(client.frame(METADATA, 12))
    assert client.connection.closed == "the session has expired"


@pytest.mark.access_control
def test_a_wrong_token_is_told_and_once_acknowledged_ends_the_connection():
    sim = with_tokens()
    client = Client(sim)
    client.ask(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
    assert client.ask(SaslAuthenticateRequest(auth_bytes=bearer("a.b.")), 1).auth_bytes == b'{"status":"invalid_token"}'
    client.write(client.frame(SaslAuthenticateRequest(auth_bytes=b"\1"), 1))
    sim.advance(ms=DELAY_MS)
    (frame,) = client.frames()
    _, answer = read_response(frame, 36, 1)
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.SASL_AUTHENTICATION_FAILED,
        '{"status":"invalid_token"}',
    )
    assert client.connection.closed == "expected the parts of a token in base64url"


@pytest.mark.access_control
def test_a_token_for_longer_than_kafka_can_count_ends_the_connection():
    client = Client(with_tokens())
    client.ask(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
    client.write(client.frame(SaslAuthenticateRequest(auth_bytes=bearer(unsecured(exp=10**11))), 1))
    assert client.frames() == []
    assert "good for 9223372036854 ms or less" in str(client.connection.closed)


@pytest.mark.access_control
def test_tokens_are_taken_only_where_a_login_module_says_so():
    sim = Simulation(settings={"sasl.enabled.mechanisms": "OAUTHBEARER"})
    sim.cluster.brokers[0].listeners[0].protocol = "SASL_PLAINTEXT"
    with pytest.raises(
        ValueError, match=r"plaintext\.oauthbearer\.sasl\.jaas\.config: expected an OAuthBearerLoginModule"
    ):
        sim.cluster.security.check(sim.cluster)


@pytest.mark.parametrize(
    ("options", "settings", "expected"),
    [
        ('unsecuredValidatorAllowableClockSkewMs="x"', {}, r"jaas\.config: unsecuredValidatorAllowableClockSkewMs: "),
        (
            "",
            {"sasl.server.callback.handler.class": "com.example.Mine"},
            r"handler\.class: expected .*, got com\.example",
        ),
    ],
)
@pytest.mark.access_control
def test_what_cannot_judge_tokens_is_refused_at_the_start(options, settings, expected):
    named = {f"listener.name.plaintext.oauthbearer.{name}": value for name, value in settings.items()}
    with pytest.raises(ValueError, match=expected):
        with_tokens(options, **named)


def test_a_listener_that_asks_nothing_has_nothing_in_the_way_of_its_calls():
    client = Client(Simulation())
    assert client.connection.session.authenticator is None
    assert client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_a_login_leaves_nothing_in_the_way_of_calls(sasl):
    client = Client(sasl)
    log_in(client)
    assert client.connection.session.authenticator is None
    assert protocol.FrameReader().max_frame_bytes == client.connection._reader.max_frame_bytes
