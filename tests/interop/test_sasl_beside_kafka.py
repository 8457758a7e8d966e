"""The same frames to SASL listeners of a real Kafka 4.4 and of ours: every answer and every end is the same."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from mockbroker.adapters.server import MockCluster
from mockbroker.state.security.mechanisms import salted_password
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.scram import AlterUserScramCredentialsRequest
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_brokers
from tests.interop.sasl_line import CLOSED, SIZE, Line
from tests.scram_client import final_token, first_token

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret" user_bob="builder";'
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
LISTENERS = {"FOREVER": "SASL_PLAINTEXT", "AGAIN": "SASL_PLAINTEXT"}
SETTINGS = {
    "sasl.enabled.mechanisms": MECHANISMS,
    "connection.failed.authentication.delay.ms": "20",
    "listener.name.again.connections.max.reauth.ms": "3600000",
    **{
        f"listener.name.{listener}.{mechanism}.sasl.jaas.config": PLAIN if mechanism == "plain" else SCRAM
        for listener in ("forever", "again")
        for mechanism in ("plain", "scram-sha-256", "scram-sha-512")
    },
}
SALT = b"0123456789abcdef"
CREDENTIALS = AlterUserScramCredentialsRequest(
    upsertions=[
        AlterUserScramCredentialsRequest.Upsertion(
            name=user,
            mechanism=mechanism,
            iterations=4096,
            salt=SALT,
            salted_password=salted_password(mechanism, password, SALT),
        )
        for user, password, mechanism in (("alice", "secret", 1), ("bob", "builder", 2))
    ]
)


def scram(line: Line, user: str, password: str, mechanism: str = "SCRAM-SHA-256", version: int = 1) -> None:
    line.handshake(mechanism)
    first = line.token(first_token(user), version)
    hash_name = "sha256" if mechanism.endswith("256") else "sha512"
    if first:
        line.token(final_token(user, password, first, hash_name), version)


ALICE, BOB = b"\0alice\0secret", b"\0bob\0builder"
METADATA = MetadataRequest(topics=[])
STORIES: dict[str, Callable[[Line], object]] = {
    "an unknown mechanism": lambda line: (line.handshake("GSSAPI"), line.is_over()),
    "an unknown mechanism, v0": lambda line: (line.handshake("nothing", 0), line.is_over()),
    "a request before anything": lambda line: line.ask(METADATA, 9),
    "an unknown API": lambda line: line.bytes(SIZE.pack(10) + struct.pack(">hhih", 999, 0, 7, -1)),
    "versions twice": lambda line: (line.is_over(), line.is_over()),
    "versions of a nameless client": lambda line: (
        line.ask(ApiVersionsRequest(client_software_name=" ", client_software_version="1"), 3),
        line.is_over(),
    ),
    "versions for another broker": lambda line: line.ask(
        ApiVersionsRequest(client_software_name="a", client_software_version="1", cluster_id="other", node_id=7), 5
    ),
    "versions of an unknown version": lambda line: (
        line.unread(SIZE.pack(11) + struct.pack(">hhihb", 18, 99, 7, -1, 0)),
        line.is_over(),
    ),
    "versions of an unknown version in place of a token": lambda line: (
        line.handshake(),
        line.unread(SIZE.pack(11) + struct.pack(">hhihb", 18, 99, 7, -1, 0)),
        line.is_over(),
    ),
    "versions of an unknown version, then a handshake": lambda line: (
        line.unread(SIZE.pack(11) + struct.pack(">hhihb", 18, 99, 7, -1, 0)),
        line.handshake(),
        line.token(ALICE),
        line.unread(SIZE.pack(11) + struct.pack(">hhihb", 18, 99, 7, -1, 0)),
        line.is_over(),
    ),
    "a token before the handshake": lambda line: line.token(ALICE),
    "a request in place of a token": lambda line: (line.handshake(), line.ask(METADATA, 9), line.is_over()),
    "an older request in place of a token": lambda line: (line.handshake(), line.ask(METADATA, 1), line.is_over()),
    "a handshake in place of a token": lambda line: (line.handshake(), line.handshake(), line.is_over()),
    "versions in place of a token": lambda line: (line.handshake(), line.is_over(), line.is_over()),
    "plain, v0": lambda line: (line.handshake(), line.token(ALICE, 0), line.ask(METADATA, 9)),
    "plain, v2": lambda line: (line.handshake(), line.token(b"alice" + ALICE, 2), line.ask(METADATA, 9)),
    "a handshake afterwards": lambda line: (
        line.handshake(),
        line.token(ALICE),
        line.handshake(),
        line.token(ALICE),
        line.ask(METADATA, 9),
    ),
    "a wrong password": lambda line: (line.handshake(), line.token(b"\0alice\0wrong"), line.is_over()),
    "an unknown user": lambda line: (line.handshake(), line.token(b"\0carol\0wrong", 2), line.is_over()),
    "no user": lambda line: (line.handshake(), line.token(b"\0\0wrong"), line.is_over()),
    "no password": lambda line: (line.handshake(), line.token(b"\0alice\0"), line.is_over()),
    "two parts": lambda line: (line.handshake(), line.token(b"alice\0secret"), line.is_over()),
    "five parts": lambda line: (line.handshake(), line.token(b"a\0b\0c\0d\0e"), line.is_over()),
    "no token": lambda line: (line.handshake(), line.token(b""), line.is_over()),
    "for another": lambda line: (line.handshake(), line.token(b"bob" + ALICE), line.is_over()),
    "scram": lambda line: (scram(line, "alice", "secret"), line.ask(METADATA, 9)),
    "scram with the longer hash": lambda line: (scram(line, "bob", "builder", "SCRAM-SHA-512"), line.is_over()),
    "scram with a wrong password": lambda line: (scram(line, "alice", "wrong", version=2), line.is_over()),
    "scram of an unknown user": lambda line: (scram(line, "carol", "secret"), line.is_over()),
    "scram for another": lambda line: (
        line.handshake("SCRAM-SHA-256"),
        line.token(b"n,a=bob,n=alice,r=x"),
        line.is_over(),
    ),
    "no scram": lambda line: (line.handshake("SCRAM-SHA-256"), line.token(b"n=alice"), line.is_over()),
    "a short proof": lambda line: (
        line.handshake("SCRAM-SHA-256"),
        line.token(b"n,,n=alice,r=x"),
        line.token(b"c=biws,r=x,p=dHzb"),
        line.is_over(),
    ),
    "bare plain": lambda line: (line.handshake(version=0), line.bare(ALICE), line.ask(METADATA, 9)),
    "bare plain, wrong": lambda line: (line.handshake(version=0), line.bare(b"\0alice\0wrong")),
    "bare scram": lambda line: (
        line.handshake("SCRAM-SHA-256", 0),
        line.bare(final_token("alice", "secret", line.bare(first_token("alice")))),
        line.ask(METADATA, 9),
    ),
    "bare scram, wrong": lambda line: (
        line.handshake("SCRAM-SHA-256", 0),
        line.bare(final_token("alice", "wrong", line.bare(first_token("alice")))),
    ),
    "an empty bare token": lambda line: (line.handshake(version=0), line.bare(b"")),
    "too large a token": lambda line: (line.handshake(), line.bytes(SIZE.pack(524289) + bytes(100))),
    "a negative size": lambda line: (line.handshake(), line.bytes(SIZE.pack(-5) + bytes(100))),
    "too large a first frame": lambda line: line.bytes(SIZE.pack(524289) + bytes(100)),
    "a large frame afterwards": lambda line: (
        line.handshake(),
        line.token(ALICE),
        line.ask(ProduceRequest(transactional_id="x" * 32000, acks=1), 9),
    ),
}
AGAIN: dict[str, Callable[[Line], object]] = {
    "plain": lambda line: (line.handshake(), line.token(ALICE), line.ask(METADATA, 9)),
    "plain, v0": lambda line: (line.handshake(), line.token(ALICE, 0), line.ask(METADATA, 9)),
    "once more": lambda line: (
        line.handshake(),
        line.token(ALICE),
        line.handshake(),
        line.token(ALICE),
        line.ask(METADATA, 9),
    ),
    "twice in a second": lambda line: (
        line.handshake(),
        line.token(ALICE),
        line.handshake(),
        line.token(ALICE),
        line.handshake(),
        line.ask(METADATA, 9),
    ),
    "as another": lambda line: (
        line.handshake(),
        line.token(ALICE),
        line.handshake(),
        line.token(BOB),
        line.is_over(),
    ),
    "with a wrong password": lambda line: (
        line.handshake(),
        line.token(ALICE),
        line.handshake(),
        line.token(b"\0alice\0wrong"),
        line.is_over(),
    ),
    "by another mechanism": lambda line: (
        line.handshake(),
        line.token(ALICE),
        line.handshake("SCRAM-SHA-256"),
        line.token(first_token("alice")),
    ),
    "by an unknown mechanism": lambda line: (
        line.handshake(),
        line.token(ALICE),
        line.handshake("GSSAPI"),
        line.is_over(),
    ),
    "a request in between": lambda line: (
        line.handshake(),
        line.token(ALICE),
        line.handshake(),
        line.ask(METADATA, 9),
        line.is_over(),
    ),
    "scram once more, wrong": lambda line: (scram(line, "alice", "secret"), scram(line, "alice", "wrong")),
    "bare tokens the second time": lambda line: (
        line.handshake(),
        line.token(ALICE),
        line.handshake(version=0),
        line.bare(ALICE),
        line.ask(METADATA, 9),
    ),
}


def told(addresses: Mapping[str, str]) -> dict[str, list[Any]]:
    """What each story leads to."""
    with closing(Line(addresses["PLAINTEXT"])) as setup:
        while any(one.error_code for one in setup.ask(CREDENTIALS, 0).results):
            pass
    found = {}
    for listener, stories in (("FOREVER", STORIES), ("AGAIN", AGAIN)):
        for name, story in stories.items():
            with closing(Line(addresses[listener])) as line:
                story(line)
            found[f"{listener}: {name}"] = line.heard
    return found


def test_every_way_to_log_in_or_not_to_is_answered_as_by_kafka(tmp_path: Path):
    with (
        skipped_without_tools(),
        kafka_brokers(["a"], tmp_path, SETTINGS, listeners=LISTENERS) as kafka,
    ):
        theirs = told({"PLAINTEXT": kafka.addresses[0], **{name: found[0] for name, found in kafka.others.items()}})
    listeners = ",".join(f"{name}://127.0.0.1:0" for name in ("PLAINTEXT", *LISTENERS))
    protocols = ",".join(f"{name}:{one}" for name, one in {"PLAINTEXT": "PLAINTEXT", **LISTENERS}.items())
    settings = {**SETTINGS, "listeners": listeners, "listener.security.protocol.map": protocols}
    with MockCluster(1, settings=settings) as cluster:
        broker = cluster.run(lambda running: running.state.brokers[0])
        ours = told({one.name: f"{one.host}:{one.port}" for one in broker.listeners})
    differing = {name: (theirs[name], ours[name]) for name in theirs if theirs[name] != ours[name]}
    assert differing == {}
    assert sum(CLOSED in heard for heard in theirs.values()) > 20, "Kafka refused next to nothing: a wrong set-up"
