"""The same requests for delegation tokens, and logins by them, to a real Kafka 4.4 and to ours.

Ids, secrets and times are drawn anew by each; what is compared is what follows from them.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mockbroker.adapters.server import MockCluster
from protocol.apis.acls import CreateAclsRequest
from protocol.apis.delegation_tokens import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from protocol.apis.metadata import MetadataRequest
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_brokers
from tests.interop.sasl_line import Line
from tests.progress import wait_until
from tests.scram_client import final_token, first_token

LISTENERS = {"USERS": "SASL_PLAINTEXT"}
USERS = ("alice", "bob", "carol", "dora", "root")
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required " + " ".join(
    f'user_{name}="secret"' for name in USERS
)
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
DAY, HOUR = 86_400_000, 3_600_000
SETTINGS = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "connection.failed.authentication.delay.ms": "20",
    "listener.name.users.plain.sasl.jaas.config": f"{PLAIN};",
    "listener.name.users.scram-sha-256.sasl.jaas.config": SCRAM,
    "listener.name.users.scram-sha-512.sasl.jaas.config": SCRAM,
}
WITH_KEY = {"delegation.token.secret.key": "a key that all brokers have"}
AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root;User:ANONYMOUS",
}
METADATA = MetadataRequest(topics=[])
TIMES = ("issueTimestampMs", "expiryTimestampMs", "maxTimestampMs", "issueTimestamp", "expiryTimestamp", "maxTimestamp")


class Client:
    """Logs in, asks for tokens, and keeps what it is told without what is drawn or measured."""

    def __init__(self, address: str, begun_ms: int, names: dict[str, str]) -> None:
        self.line, self._begun_ms, self._names = Line(address), begun_ms, names
        self.heard: list[Any] = []

    def plain(self, user: str) -> None:
        self.line.handshake("PLAIN")
        self.line.token(b"\0" + user.encode() + b"\0secret")

    def scram(self, name: str, password: str, extensions: str, mechanism: str = "SCRAM-SHA-256") -> None:
        self.line.handshake(mechanism)
        first = self.line.token(first_token(name, extensions), 1)
        if first:
            hash_name = "sha256" if mechanism.endswith("256") else "sha512"
            self.line.token(final_token(name, password, first, hash_name, extensions), 1)
        self.heard += [self.shown(one) for one in self.line.heard]

    def ask(self, request: Any, version: int) -> Any:
        place = len(self.line.heard)
        answer = self.line.ask(request, version)
        self.heard += [self.shown(one) for one in self.line.heard[place:]]
        return answer

    def shown(self, value: Any) -> Any:
        """A part of an answer: tokens are called by their order, times by the hours since the beginning."""
        if isinstance(value, list | tuple):
            return [self.shown(one) for one in value]
        if not isinstance(value, dict):
            return value
        found = {name: self.shown(one) for name, one in value.items()}
        for name in TIMES:
            if found.get(name, 0) > 0:
                found[name] = round((found[name] - self._begun_ms) / HOUR)
        if found.get("sessionLifetimeMs"):
            found["sessionLifetimeMs"] = round(found["sessionLifetimeMs"] / HOUR)
        if isinstance(found.get("authBytes"), list):
            found["authBytes"] = [b"s=" if one.startswith(b"s=") else one for one in found["authBytes"]]
        if found.get("hmac"):
            found["hmac"] = len(base64.b64decode(found["hmac"]))
        if found.get("tokenId"):
            found["tokenId"] = self._names.setdefault(found["tokenId"], f"token {len(self._names)}")
        if "tokens" in found:
            found["tokens"] = sorted(found["tokens"], key=lambda one: str(one["tokenId"]))
        return found


Token = tuple[str, bytes]


def create(owner: str | None = None, renewers: Any = (), **fields: Any) -> Any:
    owner_type, _, owner_name = (owner or "").partition(":")
    return CreateDelegationTokenRequest(
        owner_principal_type=owner_type,
        owner_principal_name=owner_name,
        renewers=[
            CreateDelegationTokenRequest.Renewer(principal_type=kind, principal_name=name)
            for kind, _, name in (one.partition(":") for one in renewers)
        ],
        **{"max_lifetime_ms": -1, **fields},
    )


def describe(*owners: str) -> Any:
    entry = DescribeDelegationTokenRequest.Owner
    named = [entry(principal_type=one.partition(":")[0], principal_name=one.partition(":")[2]) for one in owners]
    return DescribeDelegationTokenRequest(owners=named)


ALL = DescribeDelegationTokenRequest(owners=None)


class Stories:
    """What clients hear of one cluster. ``made`` has the tokens, by the names that the stories call them."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._addresses = addresses
        self._begun_ms, self._names = round(time.time() * 1000), dict[str, str]()
        self.heard: dict[str, list[Any]] = {}
        self.made: dict[str, Token] = {}

    def client(self, story: str, user: str, steps: Callable[[Client], object], listener: str = "USERS") -> None:
        one = Client(self._addresses[listener], self._begun_ms, self._names)
        with closing(one.line):
            if user:
                one.plain(user)
            steps(one)
        self.heard[story] = one.heard

    def make(self, one: Client, name: str, request: Any, version: int = 3) -> None:
        """Have a token made, and wait until the broker knows it."""
        answer = one.ask(request, version)
        if answer is None or answer.error_code:
            return
        self.made[name] = answer.token_id, answer.hmac
        self.settle(answer.token_id, answer.expiry_timestamp_ms)

    def settle(self, token_id: str, expires_ms: int) -> None:
        """Wait until the broker knows when a token expires."""
        with closing(Line(self._addresses["USERS"])) as line:
            line.handshake("PLAIN")
            line.token(b"\0root\0secret")
            while (token_id, expires_ms) not in {
                (one.token_id, one.expiry_timestamp) for one in line.ask(ALL, 3).tokens
            }:
                pass

    def hmac(self, name: str) -> bytes:
        return self.made.get(name, ("", b"x"))[1]

    def by_token(self, name: str, /, *requests: Any, **changes: Any) -> None:
        """A client that logs in by a token."""
        token_id, hmac = self.made.get(name, ("no-token", b"x"))
        login = {"name": token_id, "password": base64.b64encode(hmac).decode(), "extensions": ",tokenauth=true"}

        def steps(one: Client) -> None:
            one.scram(**{**login, **changes})
            for request in (*requests, METADATA):
                one.ask(request, 9 if request is METADATA else 2)

        self.client(f"{len(self.heard)}. by token {name} {sorted(changes)}", "", steps)


def give_leave(address: str) -> None:
    """Carol may have tokens made for bob, dora may see alice's."""
    entry = CreateAclsRequest.Creation
    users = {"resource_type": 7, "resource_pattern_type": 3, "host": "*", "permission_type": 3}
    entries = [
        entry(resource_name="User:bob", principal="User:carol", operation=13, **users),
        entry(resource_name="User:alice", principal="User:dora", operation=14, **users),
    ]
    with closing(Line(address)) as line:
        line.handshake("PLAIN")
        line.token(b"\0root\0secret")
        line.ask(CreateAclsRequest(creations=entries), 3)


def told(addresses: Mapping[str, str], *, authorized: bool) -> dict[str, list[Any]]:
    """What each client hears."""
    if authorized:
        give_leave(addresses["USERS"])
    stories = Stories(addresses)
    make_tokens(stories)
    look(stories)
    put_off(stories)
    log_in(stories)
    return stories.heard


def make_tokens(stories: Stories) -> None:
    make, client = stories.make, stories.client
    for version in range(1, 4):
        client(f"alice makes one, v{version}", "alice", lambda one, v=version: make(one, f"plain {v}", create(), v))
    client("nobody asks", "", lambda one: [one.ask(each, 2) for each in (create(), ALL, *on(b"x"))], "PLAINTEXT")
    client(
        "alice makes more",
        "alice",
        lambda one: [
            make(one, "for an hour", create(max_lifetime_ms=HOUR)),
            make(one, "for ever", create(max_lifetime_ms=2**63 - 1)),
            make(one, "for no time", create(max_lifetime_ms=0)),
            make(one, "with renewers", create(renewers=["User:bob", "User:bob"])),
            make(one, "with a group", create(renewers=["User:bob", "Group:x"])),
            make(one, "of herself", create(owner="User:alice")),
            make(one, "of nobody", create(owner="User:")),
            make(one, "of bob", create(owner="User:bob")),
            make(one, "of a group", create(owner="Group:x")),
            make(one, "of no type", create(owner=":x")),
        ],
    )
    bobs = create(owner="User:bob", renewers=["User:dora"])
    client("carol makes one for bob", "carol", lambda one: make(one, "bob's", bobs))


def look(stories: Stories) -> None:
    requests = (ALL, describe(), describe("User:alice"), describe("User:bob", "User:carol"), describe("User:x"))
    for user in USERS:
        stories.client(f"{user} looks", user, lambda one: [one.ask(request, 3) for request in requests])
    for version in (1, 2):
        stories.client(f"alice looks, v{version}", "alice", lambda one, v=version: one.ask(describe("User:alice"), v))


def put_off(stories: Stories) -> None:
    renew, expire = RenewDelegationTokenRequest, ExpireDelegationTokenRequest
    for user, name in (
        ("alice", "plain 3"),
        ("bob", "with renewers"),
        ("bob", "plain 3"),
        ("root", "plain 3"),
        ("carol", "bob's"),
        ("dora", "bob's"),
    ):
        hmac = stories.hmac(name)
        requests = [
            *(renew(hmac=hmac, renew_period_ms=ms) for ms in (2 * HOUR, 0, -1, 30 * DAY, 2**63 - 1, 3 * HOUR)),
            *(expire(hmac=hmac, expiry_time_period_ms=ms) for ms in (5 * HOUR, 2**63 - 1, 4 * HOUR)),
        ]
        answers: list[Any] = []
        story = f"{user} puts off {name}"
        stories.client(story, user, lambda one, all_=requests, to=answers: to.extend(one.ask(each, 2) for each in all_))
        if not answers[-1].error_code:
            stories.settle(stories.made[name][0], answers[-1].expiry_timestamp_ms)
    unknown = [(each, version) for version in (1, 2) for each in on(b"unknown")]
    stories.client("alice names no token", "alice", lambda one: [one.ask(*each) for each in unknown])


def log_in(stories: Stories) -> None:
    by_token = stories.by_token
    for name in ("plain 3", "for an hour", "with renewers", "bob's"):
        by_token(name, create(), ALL, *on(b"x"))
    by_token("plain 3", mechanism="SCRAM-SHA-512")
    by_token("plain 3", extensions=",tokenauth=TRUE")
    by_token("plain 3", extensions=",tokenauth=yes")
    by_token("plain 3", extensions="")
    by_token("plain 3", password="guessed")
    by_token("plain 3", name="unknown")
    token_id, hmac = stories.made.get("plain 3", ("", b"x"))

    def end(one: Client) -> None:
        answer = one.ask(ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=-5), 2)
        if not answer.error_code:
            wait_until(
                lambda: token_id not in {token.token_id for token in one.line.ask(ALL, 3).tokens}, "the token's end"
            )
        for request in on(hmac):
            one.ask(request, 2)

    stories.client("alice ends one", "alice", end)
    by_token("plain 3")


def on(hmac: bytes) -> list[Any]:
    return [
        RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=-1),
        ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=0),
    ]


@pytest.mark.parametrize("case", ["authorized", "open", "without a key"])
def test_tokens_are_made_shown_and_taken_as_by_kafka(case: str, tmp_path: Path):
    settings = {
        **SETTINGS,
        **(WITH_KEY if case != "without a key" else {}),
        **(AUTHORIZED if case == "authorized" else {}),
    }
    with skipped_without_tools(), kafka_brokers(["a"], tmp_path, settings, listeners=LISTENERS) as kafka:
        addresses = {"PLAINTEXT": kafka.addresses[0], **{name: found[0] for name, found in kafka.others.items()}}
        theirs = told(addresses, authorized=case == "authorized")
    settings |= {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in ("PLAINTEXT", *LISTENERS)),
        "listener.security.protocol.map": ",".join(
            f"{name}:{one}" for name, one in {"PLAINTEXT": "PLAINTEXT", **LISTENERS}.items()
        ),
    }
    with MockCluster(1, settings=settings) as cluster:
        broker = cluster.run(lambda running: running.state.brokers[0])
        addresses = {one.name: f"{one.host}:{one.port}" for one in broker.listeners}
        ours = told(addresses, authorized=case == "authorized")
    differing = {name: (theirs[name], ours[name]) for name in theirs if theirs[name] != ours[name]}
    assert differing == {}
    assert theirs.keys() == ours.keys()
