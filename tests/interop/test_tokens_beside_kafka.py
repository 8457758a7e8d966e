"""The same tokens of OAUTHBEARER to a real Kafka 4.4 and to ours: every answer and every end is the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from mockbroker.adapters.server import MockCluster
from protocol.apis.metadata import MetadataRequest
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_brokers
from tests.interop.sasl_line import CLOSED, Line
from tests.tokens import NONE, YEAR_2100, bearer, part, raw, unsecured

LOGIN_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
BROKERS_OWN = 'unsecuredLoginStringClaim_sub="broker"'  # a broker of Kafka makes itself a token where there are options
LISTENERS = {"TOKENS": "SASL_PLAINTEXT", "AGAIN": "SASL_PLAINTEXT", "SCOPED": "SASL_PLAINTEXT"}
SCOPED = {
    "PrincipalClaimName": " name ",
    "ScopeClaimName": "groups",
    "RequiredScope": "read  write",
    "AllowableClockSkewMs": "600000",
}
SETTINGS = {
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    "connection.failed.authentication.delay.ms": "20",
    "listener.name.again.connections.max.reauth.ms": "3600000",
    "listener.name.tokens.oauthbearer.sasl.jaas.config": f"{LOGIN_MODULE};",
    "listener.name.again.oauthbearer.sasl.jaas.config": f"{LOGIN_MODULE};",
    "listener.name.scoped.oauthbearer.sasl.jaas.config": " ".join(
        [LOGIN_MODULE, BROKERS_OWN, *(f'unsecuredValidator{name}="{value}"' for name, value in SCOPED.items())]
    )
    + ";",
}
OAUTHBEARER = "OAUTHBEARER"
METADATA = MetadataRequest(topics=[])
ACKNOWLEDGED = b"\1"
ALICE = unsecured()
YEAR_2020 = 1_577_836_800
LONG = "x" * 3000


def shown(*messages: bytes, version: int = 1) -> Callable[[Line], object]:
    """A client that sends messages one after another, and then asks for something."""

    def story(line: Line) -> None:
        line.handshake(OAUTHBEARER)
        for message in messages:
            line.token(message, version)
        line.ask(METADATA, 9)

    return story


def refused(token: str) -> Callable[[Line], object]:
    """A client that shows a token and acknowledges that it is none."""
    return shown(bearer(token), ACKNOWLEDGED, version=2)


def bare(*messages: bytes) -> Callable[[Line], object]:
    def story(line: Line) -> None:
        line.handshake(OAUTHBEARER, 0)
        for message in messages:
            line.bare(message)
        line.ask(METADATA, 9)

    return story


def again(*messages: bytes) -> Callable[[Line], object]:
    """A client that logs in and does so once more, with other messages."""

    def story(line: Line) -> None:
        line.handshake(OAUTHBEARER)
        line.token(bearer(ALICE))
        line.handshake(OAUTHBEARER)
        for message in messages:
            line.token(message)
        line.ask(METADATA, 9)

    return story


MESSAGES: dict[str, bytes] = {
    "extensions": bearer(ALICE, {"team": "blue sky", "Zone": "1"}),
    "an extension named auth": bearer(ALICE, {"auth": "Bearer x"}),
    "an extension with a digit in its name": bearer(ALICE, {"team1": "blue"}),
    "an extension with a letter beyond ASCII": bearer(ALICE, {"team": "bl\u00fce"}),
    "an empty extension": bearer(ALICE, {"team": ""}),
    "for herself": bearer(ALICE, start="n,a=alice,"),
    "for another": bearer(ALICE, start="n,a=bob,"),
    "for nobody": bearer(ALICE, start="n,a=,"),
    "with channel binding": bearer(ALICE, start="y,,"),
    "another scheme": bearer(ALICE, scheme="Basic"),
    "a scheme in capitals": bearer(ALICE, scheme="BEARER"),
    "two spaces": bearer(ALICE, scheme="Bearer "),
    "no space": f"n,,\1auth=Bearer{ALICE}\1\1".encode(),
    "no auth": b"n,,\1team=blue\1\1",
    "no pair": b"n,,\1\1",
    "no end": bearer(ALICE)[:-1],
    "a byte behind the end": bearer(ALICE) + b"x",
    "nothing": b"",
    "an acknowledgement of nothing": ACKNOWLEDGED,
    "bytes beyond UTF-8": b"\xff\xfe",
    "a token with spaces in it": bearer(f"{ALICE} {ALICE}"),
    "a large token": bearer(unsecured(x="y" * 100_000)),
}
TOKENS: dict[str, str] = {
    "with a signature": ALICE + "abc",
    "with an equals sign for a signature": ALICE + "=",
    "of two parts": ALICE[:-1],
    "of four parts": ALICE + ".",
    "of dots": "..",
    "of one dot": ".",
    "without a header": ALICE[ALICE.index(".") :],
    "without claims": raw(b""),
    "of another algorithm": unsecured({"alg": "RS256"}),
    "of an algorithm in capitals": unsecured({"alg": "NONE"}),
    "of no algorithm": unsecured({"typ": "JWT"}),
    "of a null algorithm": unsecured({"alg": None}),
    "of a number as algorithm": unsecured({"alg": 1}),
    "of a list as algorithm": unsecured({"alg": ["none"]}),
    "with a list for a header": unsecured(["alg", "none"]),
    "with a word for a header": unsecured("none"),
    "of base64 with a plus": f"{part(NONE)}.ab+d.",
    "of base64 with a rest": f"{part(NONE)}.abcde.",
    "of no JSON": raw(b"sub=alice"),
    "of half a JSON": raw(b"{"),
    "of JSON with something behind it": raw(b'{"sub":"alice","exp":4102444800} more'),
    "of JSON behind spaces": raw(b' {"sub":"alice","exp":4102444800}'),
    "of JSON that names a claim twice": raw(b'{"sub":"bob","sub":"","exp":4102444800}'),
    "of JSON with a NaN": raw(b'{"sub":"alice","exp":NaN}'),
    "of JSON in UTF-16": raw('{"sub":"alice","exp":4102444800}'.encode("utf-16")),
    "of JSON beyond UTF-8": raw(b'{"sub":"al\xffce","exp":4102444800}'),
    "of deep JSON": raw(b'{"x":' + b"[" * 20000),
    "without exp": unsecured(exp=...),
    "with a null as exp": unsecured(exp=None),
    "with text as exp": unsecured(exp="4102444800"),
    "with true as exp": unsecured(exp=True),
    "with a fraction as exp": unsecured(exp=4102444800.5),
    "with a list as exp": unsecured(exp=[YEAR_2100]),
    "that has expired": unsecured(exp=YEAR_2020),
    "that expires before 1970": unsecured(exp=-5),
    "that expires after 300 years": unsecured(exp=99_999_999_999),
    "that expires in a number of 30 digits": unsecured(exp=10**30),
    "that expires in a number of 400 digits": unsecured(exp=10**400),
    "that expires in a number of 2000 digits": unsecured(exp=10**2000),
    "that expires in a large power of ten": raw(b'{"sub":"alice","exp":1e999}'),
    "issued long ago": unsecured(iat=YEAR_2020),
    "issued in the future": unsecured(iat=YEAR_2100 - 5),
    "issued in text": unsecured(iat="x"),
    "issued at null": unsecured(iat=None),
    "that expires before it is issued": unsecured(iat=YEAR_2100 + 5),
    "that expires when it is issued": unsecured(iat=YEAR_2100),
    "without sub": unsecured(sub=...),
    "with an empty sub": unsecured(sub=""),
    "with a blank sub": unsecured(sub=" \t\0"),
    "with a number as sub": unsecured(sub=7),
    "with null as sub": unsecured(sub=None),
    "with true as sub": unsecured(sub=True),
    "with an object as sub": unsecured(sub={"name": "alice"}),
    "with a list as sub": unsecured(sub=["alice"]),
    "with a number as scope": unsecured(scope=7),
    "with an object as scope": unsecured(scope={"a": 1}),
    "with a scope": unsecured(scope="read"),
    "with scopes": unsecured(scope=["read", 7, None, ["x"]]),
    "with a long name": unsecured(sub=LONG),
}
STORIES: dict[str, Callable[[Line], object]] = {
    "a token": shown(bearer(ALICE)),
    "a token, v0": shown(bearer(ALICE), version=0),
    **{f"a message with {name}": shown(message, ACKNOWLEDGED) for name, message in MESSAGES.items()},
    **{f"a token {name}": refused(token) for name, token in TOKENS.items()},
    "a second token behind a wrong one": shown(bearer("x.y."), bearer(ALICE)),
    "a wrong token three times": shown(*[bearer("x.y.")] * 3, ACKNOWLEDGED),
    "no message behind a wrong token": shown(bearer("x.y."), b"", ACKNOWLEDGED),
    "another acknowledgement": shown(bearer("x.y."), b"\1\1"),
    "a wrong token and a request": shown(bearer("x.y.")),
    "a token and a request for more": shown(bearer(ALICE), ACKNOWLEDGED),
    "bare": bare(bearer(ALICE)),
    "bare, wrong": bare(bearer("x.y."), ACKNOWLEDGED),
    "bare, for another": bare(bearer(ALICE, start="n,a=bob,")),
    "bare, no message": bare(b"x"),
    "bare, another scheme": bare(bearer(ALICE, scheme="Basic")),
    "bare, a token for 300 years": bare(bearer(unsecured(exp=99_999_999_999))),
    "once more": again(bearer(ALICE)),
    "once more, as another": again(bearer(unsecured(sub="bob"))),
    "once more, wrong": again(bearer("x.y."), ACKNOWLEDGED),
}
AGAIN = {
    "a token": shown(bearer(ALICE)),
    "a token for 300 years": shown(bearer(unsecured(exp=99_999_999_999))),
    "once more": again(bearer(ALICE)),
    "once more, as another": again(bearer(unsecured(sub="bob"))),
    "once more, no message": again(b"x"),
    "once more, wrong and right": again(bearer("x.y."), bearer(ALICE)),
}
SCOPES: dict[str, Any] = {
    "both": ["read", "write"],
    "both and more": ["write", " read ", "own"],
    "one": ["read"],
    "in capitals": ["READ", "WRITE"],
    "both in one text": "read write",
    "one text": "write",
    "a number": 7,
    "none": ...,
    "an empty list": [],
}
SCOPED_STORIES = {
    **{f"scopes: {name}": refused(unsecured(name="carol", groups=scopes)) for name, scopes in SCOPES.items()},
    "without a name": refused(unsecured(groups=["read", "write"])),
    "long expired": refused(unsecured(name="carol", groups=["read", "write"], exp=YEAR_2020)),
    "long expired, and issued in the future": refused(
        unsecured(name="carol", groups=["read", "write"], exp=YEAR_2020, iat=YEAR_2100)
    ),
}
ALL = {"TOKENS": STORIES, "AGAIN": AGAIN, "SCOPED": SCOPED_STORIES}


def told(addresses: Mapping[str, str]) -> dict[str, list[Any]]:
    """What each story leads to, without how long sessions last that end with their token."""
    found = {}
    for listener, stories in ALL.items():
        for name, story in stories.items():
            with closing(Line(addresses[listener])) as line:
                story(line)
            found[f"{listener}: {name}"] = [without_time(heard) for heard in line.heard]
    return found


def without_time(heard: Any) -> Any:
    lifetime = heard.get("sessionLifetimeMs", 0) if isinstance(heard, dict) else 0
    return {**heard, "sessionLifetimeMs": "years"} if lifetime > 3_600_000 else heard


def test_every_token_is_taken_or_refused_as_by_kafka(tmp_path: Path):
    with skipped_without_tools(), kafka_brokers(["a"], tmp_path, SETTINGS, listeners=LISTENERS) as kafka:
        theirs = told({name: found[0] for name, found in kafka.others.items()})
    settings = {
        **SETTINGS,
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in LISTENERS),
        "listener.security.protocol.map": ",".join(f"{name}:{one}" for name, one in LISTENERS.items()),
    }
    with MockCluster(1, settings=settings) as cluster:
        broker = cluster.run(lambda running: running.state.brokers[0])
        ours = told({one.name: f"{one.host}:{one.port}" for one in broker.listeners})
    differing = {name: (theirs[name], ours[name]) for name in theirs if theirs[name] != ours[name]}
    assert differing == {}
    assert sum(CLOSED in heard for heard in theirs.values()) > 60, "Kafka refused next to nothing: a wrong set-up"
    assert sum(["Metadata"] in heard for heard in theirs.values()) > 20, "Kafka let hardly anybody in: a wrong set-up"
