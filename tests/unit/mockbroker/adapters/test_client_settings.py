"""The settings that a cluster gives its clients: real ones get in by them, and what is not there is refused."""

from __future__ import annotations

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient

from mockbroker import MockCluster
from mockbroker.adapters.client_properties.settings import client_settings_of
from mockbroker.adapters.real_cluster.cluster import LiveCluster

USERS = {"alice": 'a"\\;b=,c', "bob": "builder"}
OWN = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": 'x.PlainLoginModule required user_carol="of her own";',
}


@pytest.fixture(scope="module")
def cluster():
    with MockCluster(1, topics={"orders": 1}, users=USERS) as cluster:
        yield cluster


@pytest.mark.parametrize("mechanism", [None, "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_the_settings_of_each_client_log_in(cluster, mechanism):
    how = {"user": "alice", "mechanism": mechanism}
    assert "orders" in AdminClient(cluster.client_settings("confluent", **how)).list_topics(timeout=60).topics
    with LiveCluster(
        cluster.bootstrap_servers, settings=client_settings_of(cluster.client_settings("java", **how))
    ) as live:
        assert list(live.snapshot().topics) == ["orders"]
    client = KafkaAdminClient(**cluster.client_settings("kafka-python", **how))
    assert "orders" in client.list_topics()
    client.close()


async def test_aiokafka_logs_in_with_them():
    async with MockCluster(1, topics={"orders": 1}, users=USERS) as cluster:
        client = AIOKafkaAdminClient(**cluster.client_settings("aiokafka", user="bob"))
        await client.start()
        assert "orders" in await client.list_topics()
        await client.close()


def test_the_first_user_and_the_strongest_mechanism_are_meant_where_nothing_is_said(cluster):
    found = cluster.client_settings()
    assert (found["sasl.username"], found["sasl.mechanism"]) == ("alice", "SCRAM-SHA-512")


def test_users_of_a_jaas_configuration_log_in_by_plain():
    with MockCluster(1, settings=OWN) as cluster:
        found = cluster.client_settings()
        assert (found["sasl.username"], found["sasl.mechanism"]) == ("carol", "PLAIN")
    with MockCluster(1, settings=OWN, users={"alice": "x"}) as cluster:
        assert cluster.client_settings()["sasl.mechanism"] == "SCRAM-SHA-256"
        with pytest.raises(ValueError, match="expected one of the mechanisms PLAIN for carol, got SCRAM-SHA-256"):
            cluster.client_settings(user="carol", mechanism="SCRAM-SHA-256")


def test_without_users_they_say_where_brokers_are():
    with MockCluster(1) as cluster:
        assert cluster.client_settings("aiokafka") == {
            "bootstrap_servers": cluster.bootstrap_servers,
            "security_protocol": "PLAINTEXT",
        }
        with pytest.raises(ValueError, match="expected no user and no mechanism where nobody logs in, got alice"):
            cluster.client_settings(user="alice")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"client": "sarama"}, "expected one of the clients confluent, aiokafka, kafka-python, java, got 'sarama'"),
        ({"user": "mallory"}, "expected one of the users alice, bob, got mallory"),
        (
            {"mechanism": "GSSAPI"},
            "expected one of the mechanisms SCRAM-SHA-512, SCRAM-SHA-256, PLAIN for alice, got GS",
        ),
    ],
)
def test_what_is_not_there_is_refused(cluster, given, words):
    with pytest.raises(ValueError, match=words):
        cluster.client_settings(**given)
