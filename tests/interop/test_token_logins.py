"""Real clients log in with a token, and are kept out with the right error with one that will not do."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from kafka import KafkaProducer
from kafka.net.sasl.oauth import AbstractTokenProvider as KafkaPythonProvider

from mockbroker.adapters.server import MockCluster
from tests.interop import login_programs
from tests.interop.fetched import java_program, skipped_without_tools
from tests.interop.java_brokers import LIGHT, broker_jars
from tests.progress import run
from tests.tokens import jwk, signed, unsecured

PACKAGE = "org.apache.kafka.common.security.oauthbearer"
LOGIN_MODULE = f"{PACKAGE}.OAuthBearerLoginModule required"
NAME = "listener.name.sasl_plaintext.oauthbearer"
UNSECURED = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    f"{NAME}.sasl.jaas.config": f'{LOGIN_MODULE} unsecuredValidatorRequiredScope="read";',
}
HOUR = 3600


class Provider(AbstractTokenProvider):
    """Gives one token to aiokafka."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token

    def extensions(self) -> dict[str, str]:
        return {"team": "blue"}


def librdkafka_login(servers: str, settings: Mapping[str, Any]) -> str:
    return login_programs.librdkafka(servers, {"sasl.mechanism": "OAUTHBEARER", **settings})


def given(token: str) -> dict[str, Any]:
    """What has librdkafka log in with this token."""
    return {"oauth_cb": lambda _: (token, time.time() + HOUR)}


async def aiokafka_login(servers: str, token: str) -> str:
    producer = AIOKafkaProducer(
        bootstrap_servers=servers,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauth_token_provider=Provider(token),
    )
    async with producer:
        return str((await producer.send_and_wait("orders", b"x")).topic)


def test_librdkafka_makes_itself_a_token_and_gets_in_with_the_right_scope():
    with MockCluster(1, topics={"orders": 1}, settings=UNSECURED) as cluster:
        said = [
            librdkafka_login(
                cluster.bootstrap_servers,
                {
                    "enable.sasl.oauthbearer.unsecure.jwt": True,
                    "sasl.oauthbearer.config": f"principal=alice scope={scope} extension_team=blue",
                },
            )
            for scope in ("read", "write")
        ]
    assert said == ["orders", "_AUTHENTICATION"]


def test_librdkafka_gets_in_with_a_token_of_its_users():
    with MockCluster(1, topics={"orders": 1}, settings=UNSECURED) as cluster:
        for scopes, expected in ((["read"], "orders"), (["write"], "_AUTHENTICATION")):
            assert librdkafka_login(cluster.bootstrap_servers, given(unsecured(scope=scopes))) == expected


def test_a_token_gets_in_that_a_key_of_the_file_has_signed(tmp_path: Path):
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": [jwk("rsa", kid="one")]}))
    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": f"file:{file}",
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": "issuer",
        f"{NAME}.sasl.jaas.config": f"{LOGIN_MODULE};",
        f"{NAME}.sasl.server.callback.handler.class": f"{PACKAGE}.OAuthBearerValidatorCallbackHandler",
    }
    now = int(time.time())
    claims = {"sub": "alice", "iss": "issuer", "aud": "kafka", "iat": now, "exp": now + HOUR}
    header = {"alg": "RS256", "kid": "one"}
    with MockCluster(1, topics={"orders": 1}, settings=settings) as cluster:
        for kind, expected in (("rsa", "orders"), ("rsa/2", "_AUTHENTICATION")):
            token = signed(kind, header, claims)
            assert librdkafka_login(cluster.bootstrap_servers, given(token)) == expected


async def test_aiokafka_gets_in_with_a_token_of_its_provider():
    async with MockCluster(1, topics={"orders": 1}, settings=UNSECURED) as cluster:
        assert await aiokafka_login(cluster.bootstrap_servers, unsecured(scope=["read"])) == "orders"


def test_java_gets_in_with_a_good_token_alone():
    with skipped_without_tools():
        program = java_program(Path(__file__).parent / "java" / "Login.java", broker_jars())
    modules = [
        f'{LOGIN_MODULE} unsecuredLoginStringClaim_sub="alice" unsecuredLoginListClaim_scope=",{scope}" '
        'unsecuredLoginExtension_team="blue";'
        for scope in ("read", "write")
    ]
    with MockCluster(1, topics={"orders": 1}, settings=UNSECURED) as cluster:
        command = ["java", *LIGHT, *program, cluster.bootstrap_servers, "OAUTHBEARER", *modules]
        said = run(command).stdout.splitlines()
    assert said == ["[orders]", 'SaslAuthenticationException: {"status":"insufficient_scope", "scope":"[read]"}']


def test_kafka_python_gets_in_with_a_token_of_its_provider():
    class Given(KafkaPythonProvider):
        def token(self) -> str:
            return unsecured(scope=["read"])

    with MockCluster(1, topics={"orders": 1}, settings=UNSECURED) as cluster:
        producer = KafkaProducer(
            bootstrap_servers=cluster.bootstrap_servers,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=Given(),
        )
        assert producer.send("orders", b"x").get().topic == "orders"
        producer.close()


def test_franz_go_gets_in_with_good_tokens_alone():
    with skipped_without_tools():
        command = login_programs.program("franz_go")
    now = int(time.time())
    with MockCluster(1, topics={"orders": 1}, settings=UNSECURED) as cluster:
        logins = [("OAUTHBEARER", "", unsecured(scope=["read"], exp=now + after)) for after in (HOUR, -HOUR)]
        in_, out = login_programs.results(command, cluster.bootstrap_servers, "orders", logins)
        assert (in_, out) == ("sent", "unexpected data in oauth response")  # it gives up without asking for the error
