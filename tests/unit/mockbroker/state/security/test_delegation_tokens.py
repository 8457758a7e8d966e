"""Delegation tokens of a simulated cluster: who gets them, who may log in by them, and until when."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.errors import ApiError
from mockbroker.state.security.delegation_tokens import DelegationTokens
from protocol.apis.delegation_tokens import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from protocol.embedded.metadata_security import AccessControlEntryRecord
from protocol.error_codes import ErrorCode
from tests.scram_client import final_token, first_token
from tests.unit.mockbroker.core.client import METADATA, Client

KEY = {"delegation.token.secret.key": "a key that all brokers have"}
TIMES = {
    "delegation.token.max.lifetime.ms": "10000",
    "delegation.token.expiry.time.ms": "4000",
    "delegation.token.expiry.check.interval.ms": "2000",
}
AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root",
}
AS_TOKEN = ",tokenauth=true"
ALL = DescribeDelegationTokenRequest(owners=None)


def simulation(**settings: str) -> Simulation:
    sim = Simulation(settings={**KEY, **TIMES, "connection.failed.authentication.delay.ms": "0", **settings})
    sim.cluster.brokers[0].listeners[0].protocol = "SASL_PLAINTEXT"
    users = dict.fromkeys(("alice", "bob", "carol", "root"), "secret")
    sim.cluster.security.add_users(sim.cluster, users, sim.engine.entropy)
    return sim


@pytest.fixture
def sim() -> Simulation:
    return simulation()


def logged_in(sim: Simulation, user: str) -> Client:
    client = Client(sim)
    client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    assert not client.ask(SaslAuthenticateRequest(auth_bytes=f"\0{user}\0secret".encode()), 2).error_code
    return client


def by_token(
    sim: Simulation, token_id: str, hmac: bytes, extensions: str = AS_TOKEN, mechanism: str = "SCRAM-SHA-256"
) -> tuple[Client, Any]:
    """A client that logs in by a token, and the last answer to that."""
    client = Client(sim)
    client.ask(SaslHandshakeRequest(mechanism=mechanism), 1)
    client.write(client.frame(SaslAuthenticateRequest(auth_bytes=first_token(token_id, extensions)), 2))
    if client.connection.closed is not None:
        return client, None
    from protocol.headers import read_response

    _, first = read_response(client.frames()[0], 36, 2)
    password = base64.b64encode(hmac).decode()
    proof = final_token(token_id, password, first.auth_bytes, f"sha{mechanism[-3:]}", extensions)
    client.write(client.frame(SaslAuthenticateRequest(auth_bytes=proof), 2))
    _, last = read_response(client.frames()[0], 36, 2)
    return client, last


def create(owner: str = "", renewers: tuple[str, ...] = (), max_lifetime_ms: int = -1) -> CreateDelegationTokenRequest:
    entry = CreateDelegationTokenRequest.Renewer
    return CreateDelegationTokenRequest(
        owner_principal_type="User" if owner else "",
        owner_principal_name=owner,
        renewers=[entry(principal_type="User", principal_name=name) for name in renewers],
        max_lifetime_ms=max_lifetime_ms,
    )


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_whoever_has_a_token_is_its_owner_until_it_expires(sim, mechanism):
    token = logged_in(sim, "alice").ask(create(), 3)
    assert (token.error_code, token.principal_name, len(token.hmac)) == (0, "alice", 64)
    sim.advance(ms=1500)
    client, last = by_token(sim, token.token_id, token.hmac, mechanism=mechanism)
    assert (last.error_code, last.session_lifetime_ms) == (0, 2500)
    assert client.connection.session.principal == "User:alice"
    assert client.ask(METADATA, 12).brokers
    sim.advance(ms=2501)
    client.write(client.frame(METADATA, 12))
    assert client.connection.closed == "the session has expired"


def test_nobody_logs_in_by_a_token_that_is_not_there_or_without_its_secret(sim):
    token = logged_in(sim, "alice").ask(create(), 3)
    for token_id, hmac, extensions in (
        (token.token_id, b"guessed", AS_TOKEN),
        ("guessed", token.hmac, AS_TOKEN),
        (token.token_id, token.hmac, ""),
        (token.token_id, token.hmac, ",tokenauth=false"),
        ("alice", token.hmac, AS_TOKEN),
    ):
        client, last = by_token(sim, token_id, hmac, extensions)
        assert last is None or last.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert client.connection.session.principal == "User:ANONYMOUS"


def test_whoever_logged_in_by_a_token_gets_no_other(sim):
    token = logged_in(sim, "alice").ask(create(), 3)
    client, _ = by_token(sim, token.token_id, token.hmac)
    not_allowed = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert client.ask(create(), 3).error_code == not_allowed
    assert client.ask(ALL, 3).error_code == not_allowed
    assert client.ask(RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=-1), 2).error_code == not_allowed
    assert (
        client.ask(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1), 2).error_code == not_allowed
    )


def test_owners_and_renewers_put_off_a_tokens_end_and_nobody_else(sim):
    alice, bob = logged_in(sim, "alice"), logged_in(sim, "bob")
    token = alice.ask(create(renewers=("bob",)), 3)
    begun = token.issue_timestamp_ms
    assert (token.expiry_timestamp_ms - begun, token.max_timestamp_ms - begun) == (4000, 10000)
    sim.advance(ms=3000)
    for client, period_ms, expected in ((alice, 1000, 4000), (bob, -1, 7000), (bob, 9000, 7000)):
        answer = client.ask(RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=period_ms), 2)
        assert answer.expiry_timestamp_ms - begun == expected
    carol = logged_in(sim, "carol")
    mismatch = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert carol.ask(RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=-1), 2).error_code == mismatch
    assert carol.ask(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1), 2).error_code == mismatch
    sim.advance(ms=3500)
    answer = bob.ask(RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=-1), 2)
    assert answer.expiry_timestamp_ms == token.max_timestamp_ms
    answer = alice.ask(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=100), 2)
    assert answer.expiry_timestamp_ms - begun == 6600


def test_a_token_that_is_ended_is_gone_at_once(sim):
    alice = logged_in(sim, "alice")
    token = alice.ask(create(), 3)
    assert not alice.ask(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1), 2).error_code
    assert alice.ask(ALL, 3).tokens == []
    not_found = ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    assert alice.ask(RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=-1), 2).error_code == not_found


def test_expired_tokens_are_looked_for_in_intervals(sim):
    alice = logged_in(sim, "alice")
    token = alice.ask(create(), 3)
    later = alice.ask(create(), 3)
    sim.advance(ms=3000)
    alice.ask(RenewDelegationTokenRequest(hmac=later.hmac, renew_period_ms=-1), 2)
    sim.advance(ms=2000)
    assert {one.token_id for one in alice.ask(ALL, 3).tokens} == {token.token_id, later.token_id}
    expired = ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert alice.ask(RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=-1), 2).error_code == expired
    assert alice.ask(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=0), 2).error_code == expired
    client, last = by_token(sim, token.token_id, token.hmac)
    assert (last.error_code, last.session_lifetime_ms, client.connection.session.principal) == (0, 0, "User:alice")
    sim.advance(ms=1000)
    assert [one.token_id for one in alice.ask(ALL, 3).tokens] == [later.token_id]
    sim.advance(ms=2000)
    assert alice.ask(ALL, 3).tokens == []


def test_a_jump_of_the_clock_ends_tokens_at_once(sim):
    alice = logged_in(sim, "alice")
    alice.ask(create(), 3)
    sim.cluster.jump_clock(4001, sim.now_ms)
    assert alice.ask(ALL, 3).tokens == []


def test_without_a_key_there_are_no_tokens():
    alice = logged_in(simulation(**{"delegation.token.secret.key": ""}), "alice")
    disabled = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    assert alice.ask(create(), 3).error_code == disabled
    assert alice.ask(ALL, 3).error_code == disabled
    assert alice.ask(RenewDelegationTokenRequest(hmac=b"x", renew_period_ms=-1), 2).error_code == disabled


def test_tokens_for_others_and_of_others_take_leave():
    sim = simulation(**AUTHORIZED)
    tokens = {user: logged_in(sim, user).ask(create(), 3).token_id for user in ("alice", "bob")}
    carol = logged_in(sim, "carol")
    refused = carol.ask(create(owner="bob"), 3)
    assert refused.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert (refused.principal_name, refused.token_requester_principal_name) == ("bob", "carol")
    assert carol.ask(ALL, 3).tokens == []
    for number, (kind, name, operation) in enumerate(
        ((7, "User:bob", 13), (7, "User:alice", 14), (6, tokens["bob"], 8)), start=1
    ):
        entry = AccessControlEntryRecord(
            id=bytes([number]) * 16,
            resource_type=kind,
            resource_name=name,
            pattern_type=3,
            principal="User:carol",
            host="*",
            operation=operation,
            permission_type=3,
        )
        sim.cluster.writer.commit([entry])
    assert {one.token_id for one in carol.ask(ALL, 3).tokens} == set(tokens.values())
    made = carol.ask(create(owner="bob"), 3)
    assert (made.error_code, made.principal_name) == (0, "bob")
    client, _ = by_token(sim, made.token_id, made.hmac)
    assert client.connection.session.principal == "User:bob"
    assert len(logged_in(sim, "root").ask(ALL, 3).tokens) == 3


def test_renewers_are_users(sim):
    request = create(renewers=("bob",))
    request.renewers[0].principal_type = "Group"
    assert logged_in(sim, "alice").ask(request, 3).error_code == ErrorCode.INVALID_PRINCIPAL_TYPE


def test_tokens_are_shown_by_owner(sim):
    alice = logged_in(sim, "alice")
    mine = alice.ask(create(renewers=("carol",)), 3)
    logged_in(sim, "bob").ask(create(), 3)
    owner = DescribeDelegationTokenRequest.Owner(principal_type="User", principal_name="alice")
    (shown,) = alice.ask(DescribeDelegationTokenRequest(owners=[owner]), 3).tokens
    assert (shown.token_id, shown.hmac, shown.renewers[0].principal_name) == (mine.token_id, mine.hmac, "carol")
    assert shown.token_requester_principal_name == "alice"
    assert alice.ask(DescribeDelegationTokenRequest(owners=[]), 3).tokens == []
    assert len(alice.ask(ALL, 1).tokens) == 2


def test_a_fork_has_the_tokens_and_ends_them_in_its_own_time(sim):
    token = logged_in(sim, "alice").ask(create(), 3)
    fork = sim.fork()
    fork.cluster.brokers[0].listeners[0].protocol = "SASL_PLAINTEXT"
    fork.cluster.security.add_users(fork.cluster, {"alice": "secret"}, fork.engine.entropy)
    _, last = by_token(fork, token.token_id, token.hmac)
    assert last.error_code == 0
    fork.advance(ms=6001)
    assert fork.cluster.image.delegation_tokens == {}
    assert list(sim.cluster.image.delegation_tokens) == [token.token_id]


def test_the_image_has_no_secret(sim):
    token = logged_in(sim, "alice").ask(create(), 3)
    record = sim.cluster.image.delegation_tokens[token.token_id]
    assert repr(token.hmac) not in repr(record)
    assert DelegationTokens(sim.cluster).password_of(token.token_id) == token.hmac


def test_clusters_of_kraft_have_tokens_since_3_6():
    older, newer = (DelegationTokens(Simulation(release=one, settings=KEY).cluster) for one in ("3.5", "3.6"))
    with pytest.raises(ApiError) as refused:
        older.create("User:alice", "User:alice", [], -1, 0)
    assert refused.value.code == ErrorCode.UNSUPPORTED_VERSION
    assert newer.create("User:alice", "User:alice", [], -1, 0).owner == "User:alice"
