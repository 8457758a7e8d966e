"""Real clients log in with the right password, and are kept out with the right error with a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from mockbroker.adapters.server import MockCluster
from tests.interop import login_programs
from tests.interop.fetched import java_program, needs_programs, skipped_without_tools
from tests.interop.java_brokers import LIGHT, broker_jars
from tests.progress import run

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
USERS = {"alice": "secret"}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_gets_in_with_the_right_password_alone(mechanism):
    with MockCluster(1, topics={"orders": 1}, users=USERS) as cluster:
        for password, said in (("secret", "orders"), ("guessed", "_AUTHENTICATION")):
            login = {"sasl.mechanism": mechanism, "sasl.username": "alice", "sasl.password": password}
            assert login_programs.librdkafka(cluster.bootstrap_servers, login) == said


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_aiokafka_gets_in_with_the_right_password_alone(mechanism):
    async with MockCluster(1, topics={"orders": 1}, users=USERS) as cluster:
        login = {
            "bootstrap_servers": cluster.bootstrap_servers,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": mechanism,
            "sasl_plain_username": "alice",
        }
        async with AIOKafkaProducer(**login, sasl_plain_password="secret") as producer:
            assert (await producer.send_and_wait("orders", b"x")).topic == "orders"
        kept_out = AIOKafkaProducer(**login, sasl_plain_password="guessed")
        with pytest.raises(KafkaError):
            await kept_out.start()
        await kept_out.stop()


def test_java_gets_in_with_the_right_password_alone():
    with skipped_without_tools():
        program = java_program(Path(__file__).parent / "java" / "Logins.java", broker_jars())
    with MockCluster(1, topics={"orders": 1}, users=USERS) as cluster:
        said = {
            password: run(["java", *LIGHT, *program, cluster.bootstrap_servers, password]).stdout.splitlines()
            for password in ("secret", "guessed")
        }
    assert said == {
        "secret": [f"{one}: [orders]" for one in MECHANISMS],
        "guessed": [f"{one}: SaslAuthenticationException" for one in MECHANISMS],
    }


LOGINS = [
    (mechanism, user, password)
    for mechanism in MECHANISMS
    for user, password in (("alice", "secret"), ("alice", "guessed"), ("bob", "builder"))
]
"""The right password, a wrong one, and that of somebody who may not write."""
AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:alice",
}


@pytest.mark.parametrize(
    ("library", "said"),
    [
        ("franz_go", ["sent", "SASL_AUTHENTICATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"]),
        ("kafka_go", ["sent", "SASL Authentication Failed", "Unknown Topic Or Partition"]),  # it asks for all topics
        ("kafkajs", ["sent", "KafkaJSSASLAuthenticationError", "TOPIC_AUTHORIZATION_FAILED"]),
    ],
)
def test_a_library_gets_in_with_the_right_password_and_writes_where_it_may(library, said):
    with skipped_without_tools():
        command = login_programs.program(library)
    users = {**USERS, "bob": "builder"}
    with MockCluster(1, topics={"orders": 1}, users=users, settings=AUTHORIZED) as cluster:
        heard = login_programs.results(command, cluster.bootstrap_servers, "orders", LOGINS)
    assert heard == said * len(MECHANISMS)


def test_kcat_gets_in_with_the_right_password_and_writes_where_it_may():
    """By PLAIN; that of Debian 12 has a librdkafka whose SCRAM no Kafka since CVE-2024-56128 takes."""
    with skipped_without_tools():
        needs_programs("kcat")
    users = {**USERS, "bob": "builder"}
    with MockCluster(1, topics={"orders": 1}, users=users, settings=AUTHORIZED) as cluster:
        servers = cluster.bootstrap_servers
        in_, out, denied = (login_programs.kcat(servers, "orders", login) for login in LOGINS[:3])
    assert in_[0] == 0
    assert (out[0], "Local: Authentication failure" in out[1]) == (1, True)
    assert (denied[0], "Broker: Topic authorization failed" in denied[1]) == (1, True)
