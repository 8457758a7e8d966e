"""A login is followed from outside as far as the broker itself has come, and a token is never taken for a request."""

from __future__ import annotations

import struct

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.proxy.login import (
    LoginFollower,
    LoginNotFollowedError,
    is_wrapped,
)
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from protocol.error_codes import ErrorCode
from tests.scram_client import final_token, first_token
from tests.tokens import bearer, unsecured
from tests.unit.mockbroker.core.client import METADATA, Client

SIZE = struct.Struct(">i")
KERBEROS = bytes.fromhex("2a864886f712010202")  # 1.2.840.113554.1.2.2, RFC 1964
AP_REQUEST, AP_ANSWER, OLD_WRAP = b"\x01\x00", b"\x02\x00", b"\x02\x01"
CONTEXT = {
    "AES": bytes.fromhex(
        "606a06092a864886f71201020202006f5b3059a003020105a10302010fa24d304ba003020111a2440442bedefdac538ee84b"
        "5dbe5f27b3d80a492b193c712a77bdab71efa1ec354ec155fbdc4acff3ad9c48130221e56133889f051419884c9c9bebbdba"
        "58ab7f672b4276dc"
    ),
    "DES3": bytes.fromhex(
        "606c06092a864886f71201020202006f5d305ba003020105a10302010fa24f304da003020110a2460444f4a02f24ff034d31"
        "777f46caadc650f824a018ca097e12b6e1f48ce9f2d0d76d6f1203db8a24930cecb939941be2ff0ac56496b3d9b6640501e4"
        "1843b5aec19754b67670"
    ),
}
OFFERS = {
    "AES": bytes.fromhex("050401ff000c00000000000024819ccf01010000e7e14455b39c98683022b8cf"),
    "AES, not mutual": bytes.fromhex("050401ff000c00000000000035f76973010100005f77b84c9ecfc036ee5fbb55"),
    "DES3": bytes.fromhex(
        "603f06092a864886f71201020202010400fffffffffb3a1af847f91ff6dce8680d8b7c3fb3fbee31b0c4e405ea808bd4708f"
        "785d344cf3f25b0101000004040404"
    ),
    "DES3, not mutual": bytes.fromhex(
        "603f06092a864886f71201020202010400ffffffff23b8a50197a8bf0e3bda837e659c162be1296d8a09b0fa75a286982d1f"
        "9d8d7dc8c58cc60101000004040404"
    ),
}
"""What a broker sends for GSSAPI, by encryption: where client and broker prove who they are to each other, a token that
sets up the context; then its offer of security layers, wrapped. Recorded: GssKrb5Client and GssKrb5Server of OpenJDK 17
with a KDC of Apache Kerby 2.0.3.
"""


def generic_token(kind: bytes, body: bytes) -> bytes:
    """A token of Kerberos in generic form: RFC 2743, 3.1, with the length in DER."""
    inside = bytes([6, len(KERBEROS)]) + KERBEROS + kind + body
    if len(inside) < 0x80:
        length = bytes([len(inside)])
    else:
        digits = len(inside).to_bytes((len(inside).bit_length() + 7) // 8)
        length = bytes([0x80 | len(digits)]) + digits
    return b"\x60" + length + inside


class FollowedClient(Client):
    """A client whose frames are followed, and held against what the broker itself expects next."""

    def __init__(self, sim: Simulation) -> None:
        super().__init__(sim)
        self.login = LoginFollower()

    def shake_hands(self, mechanism: str, version: int = 0) -> int:
        self.login.handshake_sent(version)
        assert self.login.waits_for_answer is (version == 0)
        answer = self.ask(SaslHandshakeRequest(mechanism=mechanism), version)
        self.login.handshake_answered(version, mechanism, answer.error_code)
        self.compare()
        return int(answer.error_code)

    def send(self, token: bytes) -> bytes:
        """The broker's token for a bare one."""
        assert not self.login.request_follows_header()
        assert not self.login.waits_for_answer
        assert self.login.token_sent(token)
        self.write(SIZE.pack(len(token)) + token)
        (answer,) = self.frames()
        self.login.token_answered(answer)
        self.compare()
        return answer

    def compare(self) -> None:
        assert not self.login.waits_for_answer
        authenticator = self.connection.session.authenticator
        takes_bare_tokens = authenticator is not None and authenticator.takes_bare_tokens
        assert self.login.request_follows_header() is not takes_bare_tokens


def secured(mechanism: str) -> Simulation:
    """A simulation whose listeners have one mechanism, and know alice."""
    settings = {"sasl.enabled.mechanisms": mechanism}
    if mechanism == "OAUTHBEARER":
        settings["listener.name.plaintext.oauthbearer.sasl.jaas.config"] = "OAuthBearerLoginModule required ;"
    sim = Simulation(settings=settings)
    sim.cluster.brokers[0].listeners[0].protocol = "SASL_PLAINTEXT"
    if mechanism == "OAUTHBEARER":
        sim.cluster.security.check(sim.cluster)
    else:
        sim.cluster.security.add_users(sim.cluster, {"alice": "secret"}, sim.engine.entropy)
    return sim


def test_plain_takes_one_token():
    client = FollowedClient(secured("PLAIN"))
    client.shake_hands("PLAIN")
    assert client.send(b"\0alice\0secret") == b""
    assert client.ask(METADATA, 12).brokers


@pytest.mark.parametrize(("mechanism", "hash_name"), [("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512")])
def test_scram_takes_two_tokens(mechanism, hash_name):
    client = FollowedClient(secured(mechanism))
    client.shake_hands(mechanism)
    first = client.send(first_token("alice"))
    assert client.send(final_token("alice", "secret", first, hash_name)).startswith(b"v=")
    assert client.ask(METADATA, 12).brokers


@pytest.mark.access_control
def test_oauthbearer_takes_one_good_token():
    client = FollowedClient(secured("OAUTHBEARER"))
    client.shake_hands("OAUTHBEARER")
    assert client.send(bearer(unsecured(exp=1000))) == b""
    assert client.ask(METADATA, 12).brokers


@pytest.mark.access_control
def test_a_refused_bearer_token_is_followed_by_another():
    client = FollowedClient(secured("OAUTHBEARER"))
    client.shake_hands("OAUTHBEARER")
    assert client.send(bearer("a.b.")) == b'{"status":"invalid_token"}'
    assert client.send(bearer(unsecured(exp=1000))) == b""
    assert client.ask(METADATA, 12).brokers


@pytest.mark.access_control
def test_a_refused_bearer_token_is_acknowledged_by_a_token_before_the_connection_ends():
    client = FollowedClient(secured("OAUTHBEARER"))
    client.shake_hands("OAUTHBEARER")
    client.send(bearer("a.b."))
    assert not client.login.request_follows_header()
    assert client.login.token_sent(b"")
    client.write(SIZE.pack(1) + b"\1")
    client.sim.advance(ms=1000)
    assert client.frames() == []
    assert client.connection.closed


def test_after_the_second_version_of_the_handshake_all_are_requests():
    client = FollowedClient(secured("PLAIN"))
    client.shake_hands("PLAIN", 1)
    assert client.login.request_follows_header()
    assert client.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), 1).error_code == 0
    client.compare()
    assert client.ask(METADATA, 12).brokers


def test_a_handshake_that_is_refused_begins_nothing():
    client = FollowedClient(Simulation())
    assert client.shake_hands("PLAIN") == ErrorCode.ILLEGAL_SASL_STATE
    assert client.login.request_follows_header()
    assert client.ask(METADATA, 12).brokers


@pytest.mark.access_control
def test_a_second_login_on_the_same_connection_is_followed_too():
    client = FollowedClient(secured("OAUTHBEARER"))
    for seconds in (10, 20):
        client.shake_hands("OAUTHBEARER")
        client.send(bearer(unsecured(exp=seconds)))
        assert client.ask(METADATA, 12).brokers
        client.sim.advance(ms=4000)


@pytest.mark.parametrize("name", OFFERS)
def test_gssapi_ends_with_a_token_that_is_not_answered(name):
    """Source: GssKrb5Server.evaluateResponse, OpenJDK 17, null at its end; handleSaslToken sends nothing then."""
    login = LoginFollower()
    login.handshake_sent(0)
    login.handshake_answered(0, "GSSAPI", 0)
    for answer in [CONTEXT[name], OFFERS[name]] if name in CONTEXT else [OFFERS[name]]:
        assert not login.request_follows_header()
        assert login.token_sent(b"")
        assert login.waits_for_answer
        login.token_answered(answer)
        assert not login.waits_for_answer
    assert not login.request_follows_header()
    assert not login.token_sent(b"")
    assert login.request_follows_header()
    assert not login.waits_for_answer


@pytest.mark.parametrize("size", [0, 100, 106, 107, 113, 114, 115, 300, 70_000])
def test_a_wrapped_token_is_told_from_one_that_sets_up_the_context(size):
    assert is_wrapped(generic_token(OLD_WRAP, bytes(size)))
    assert not is_wrapped(generic_token(AP_ANSWER, bytes(size)))
    assert not is_wrapped(generic_token(AP_REQUEST, OLD_WRAP * size))


def test_no_part_of_a_token_is_more_than_it_is():
    whole = generic_token(OLD_WRAP, b"")
    assert not any(is_wrapped(whole[:size]) for size in range(len(whole)))
    assert not any(is_wrapped(OFFERS["AES"][:size]) for size in range(2))


def test_a_mechanism_that_is_not_known_is_refused_with_what_would_help():
    login = LoginFollower()
    login.handshake_sent(0)
    with pytest.raises(LoginNotFollowedError, match=r"'AWS_MSK_IAM' .* a client that sends SaslHandshake version 1"):
        login.handshake_answered(0, "AWS_MSK_IAM", 0)
    login = LoginFollower()
    login.handshake_answered(1, "AWS_MSK_IAM", 0)
    assert login.request_follows_header()


def test_a_request_of_a_client_that_does_not_wait_follows_the_answer_to_its_only_token():
    login = LoginFollower()
    login.handshake_sent(0)
    login.handshake_answered(0, "PLAIN", 0)
    assert login.token_sent(b"")
    assert login.waits_for_answer
    login.token_answered(b"")
    assert login.request_follows_header()
