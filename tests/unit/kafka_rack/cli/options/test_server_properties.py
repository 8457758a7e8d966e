from __future__ import annotations

from pathlib import Path

import pytest

from kafka_rack.cli.options.server_properties import brokers_from_files
from mockbroker.adapters.properties_file import PropertiesError, read_properties

BROKER = """\
# A broker as Kafka ships it.
process.roles=broker,controller
node.id=1
broker.rack=eu-west-1a
listeners=PLAINTEXT://127.0.0.1:19092,CONTROLLER://:9093
advertised.listeners=PLAINTEXT://localhost:19092
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
num.partitions=4
log.dirs=/var/lib/kafka
"""


@pytest.fixture
def write(tmp_path: Path):
    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def problem(*paths: Path) -> str:
    with pytest.raises(PropertiesError) as caught:
        brokers_from_files(list(paths))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_of_kafkas_kind_describes_a_broker(write):
    (broker,), settings = brokers_from_files([write("1.properties", BROKER)])
    assert (broker.id, broker.rack, settings) == (
        1,
        "eu-west-1a",
        {"num.partitions": "4", "log.dirs": "/var/lib/kafka"},
    )
    (listener,) = broker.listeners
    assert (listener.name, listener.host, listener.port) == ("PLAINTEXT", "localhost", 19092)
    assert (listener.bind_host, listener.bind_port) == ("127.0.0.1", 19092)


def test_zookeepers_broker_id_and_several_listeners_will_do(write):
    text = """\
broker.id = 7
listeners = INSIDE://:9092, OUTSIDE://0.0.0.0:9192
advertised.listeners=OUTSIDE://kafka.example.com:29192
listener.security.protocol.map=INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT
"""
    (broker,), _ = brokers_from_files([write("7.properties", text)])
    assert (broker.id, broker.rack) == (7, None)
    assert [(one.name, one.host, one.port, one.bind_host) for one in broker.listeners] == [
        ("INSIDE", "127.0.0.1", 9092, ""),
        ("OUTSIDE", "kafka.example.com", 29192, "0.0.0.0"),
    ]


def test_the_forms_of_a_properties_file_are_read(write):
    text = "! note\n\n a = 1 \nb:2\nc 3\nd=x\\\n  y\nempty=\n"
    assert read_properties(write("forms", text)) == {"a": "1", "b": "2", "c": "3", "d": "xy", "empty": ""}


def test_the_last_value_of_a_key_counts_as_in_java(write):
    """Source: java.util.Properties.load."""
    assert read_properties(write("twice", "a=1\nb=2\na=3\n")) == {"a": "3", "b": "2"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("node.id=1", ""), "node.id (or broker.id) is missing"),
        (("node.id=1", "node.id=one"), "node.id: expected a number from 0, got 'one'"),
        (("node.id=1", "node.id=1\nbroker.id=2"), "node.id=1 and broker.id=2 contradict each other"),
        (("num.partitions=4", "num.partitions"), "'num.partitions' is not KEY=VALUE"),
        (("://127.0.0.1:19092,", "://127.0.0.1,"), "listeners: expected NAME://HOST:PORT, got 'PLAINTEXT://127.0.0.1'"),
        (
            ("=PLAINTEXT://localhost", "=OTHER://localhost"),
            "advertised.listeners names OTHER, which is not among listeners",
        ),
        (("PLAINTEXT:PLAINTEXT", "PLAINTEXT:TLS"), "expected PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, got TLS"),
        (("PLAINTEXT:PLAINTEXT", "PLAINTEXT"), "listener.security.protocol.map: expected NAME:PROTOCOL"),
        (("process.roles=broker,controller", "process.roles=controller"), "describes no broker"),
        (("num.partitions=4", "num.partitons=4"), "unknown setting num.partitons; did you mean num.partitions?"),
        (("names=CONTROLLER", "names=CONTROLLER,PLAINTEXT"), "listeners has none for clients"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_the_reason(write, change, words):
    path = write("1.properties", BROKER.replace(*change))
    assert problem(path).startswith(str(path))
    assert words in problem(path)


def test_a_placer_of_ones_own_gets_its_settings_from_the_file(write):
    own = BROKER + "replica.placer.class.name=my.module:Placer\nacme.zone=7\n"
    assert brokers_from_files([write("1.properties", own)])[1]["acme.zone"] == "7"


def test_a_placer_named_elsewhere_gets_its_settings_from_the_file(write):
    path = write("1.properties", BROKER + "acme.zone=7\n")
    assert "unknown setting acme.zone" in problem(path)
    given = {"replica.placer.class.name": "my.module:Placer"}
    assert brokers_from_files([path], given)[1]["acme.zone"] == "7"


def test_settings_without_effect_may_differ_from_file_to_file(write):
    other = BROKER.replace("node.id=1", "node.id=2").replace("19092", "19192").replace("/kafka", "/kafka-2")
    brokers, _ = brokers_from_files([write("1.properties", BROKER), write("2.properties", other)])
    assert len(brokers) == 2


def test_files_must_not_contradict_each_other(write):
    first = write("1.properties", BROKER)
    other_id = BROKER.replace("node.id=1", "node.id=2")
    assert "node.id 1 is that of" in problem(first, write("same-id.properties", BROKER))
    assert "127.0.0.1:19092 is a listener of" in problem(first, write("same-port.properties", other_id))
    other_port = other_id.replace("19092", "19192")
    assert "num.partitions=5, but 4 in" in problem(
        first, write("settings.properties", other_port.replace("num.partitions=4", "num.partitions=5"))
    )
    brokers, _ = brokers_from_files([first, write("well.properties", other_port)])
    assert [broker.id for broker in brokers] == [1, 2]


def test_a_file_that_is_not_there_is_named(tmp_path):
    assert "No such file" in problem(tmp_path / "none.properties")


JAAS = "listener.name.plaintext.plain.sasl.jaas.config=a.Plain required user_alice="


def test_a_listener_has_the_security_protocol_of_the_map(write):
    text = BROKER.replace("PLAINTEXT:PLAINTEXT", "PLAINTEXT:SASL_PLAINTEXT")
    brokers, settings = brokers_from_files([write("1.properties", f'{text}{JAAS}"secret";\n')])
    assert brokers[0].listeners[0].protocol == "SASL_PLAINTEXT"
    assert settings["listener.name.plaintext.plain.sasl.jaas.config"] == 'a.Plain required user_alice="secret";'


def test_secrets_that_disagree_are_refused_and_not_repeated(write):
    other = BROKER.replace("node.id=1", "node.id=2").replace("19092", "19192")
    one, two = write("1.properties", f"{BROKER}{JAAS}hunter;\n"), write("2.properties", f"{other}{JAAS}hunter2;\n")
    with pytest.raises(PropertiesError) as refused:
        brokers_from_files([one, two])
    assert "plain.sasl.jaas.config differs from that in" in str(refused.value)
    assert "hunter" not in str(refused.value)


def test_each_broker_has_its_own_settings_of_tls_unless_the_command_line_says_another(write):
    own = BROKER + "ssl.keystore.location=one.p12\nlistener.name.outside.ssl.keystore.password=hush\n"
    other = own.replace("node.id=1", "node.id=2").replace("19092", "19192").replace("one.p12", "two.p12")
    paths = [write("1.properties", own), write("2.properties", other)]
    brokers, settings = brokers_from_files(paths)
    password = {"listener.name.outside.ssl.keystore.password": "hush"}
    assert [one.settings for one in brokers] == [
        {"ssl.keystore.location": "one.p12", **password},
        {"ssl.keystore.location": "two.p12", **password},
    ]
    assert not [name for name in settings if "ssl" in name]
    brokers, _ = brokers_from_files(paths, {"ssl.keystore.location": "all.p12"})
    assert [one.settings for one in brokers] == [password, password]
    assert "hush" not in repr(brokers)
