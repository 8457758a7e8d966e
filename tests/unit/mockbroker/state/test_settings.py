from __future__ import annotations

import pytest

from mockbroker.state.configs.definitions import definition, find_definition, names
from mockbroker.state.configs.effects import OF_A_BROKER, with_effect, without_effect
from mockbroker.state.configs.values import InvalidValueError, text_of
from mockbroker.state.settings import DEFAULTS, DIFFERENT_DEFAULTS, KafkaSettings, UnknownSettingError, kafka_settings


def test_values_given_as_text_have_the_type_of_their_default():
    settings = KafkaSettings({"num.partitions": "6", "auto.create.topics.enable": "FALSE", "log.dirs": "/a, /b"})
    assert settings["num.partitions"] == 6
    assert settings["auto.create.topics.enable"] is False
    assert settings["log.dirs"] == ("/a", "/b")


def test_a_wrong_value_is_named():
    with pytest.raises(ValueError, match=r"num\.partitions: expected a whole number, got 'many'"):
        KafkaSettings({"num.partitions": "many"})
    with pytest.raises(ValueError, match=r"num\.network\.threads: expected a whole number, got 'many'"):
        KafkaSettings({"num.network.threads": "many"})
    with pytest.raises(ValueError, match=r"log\.cleanup\.policy: expected one of compact, delete, got 'shred'"):
        KafkaSettings({"log.cleanup.policy": "shred"})
    with pytest.raises(ValueError, match=r"auto\.create\.topics\.enable: expected true or false, got 'yes'"):
        KafkaSettings({"auto.create.topics.enable": "yes"})


def test_a_setting_is_given_only_where_it_differs_from_its_default():
    settings = KafkaSettings({"num.partitions": "1", "min.insync.replicas": "2"})
    assert not settings.given("num.partitions")
    assert settings.given("min.insync.replicas")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("num.partitons", "num.partitions"),
        ("log.dir.s", "log.dirs"),
        ("zookeper.connect", "zookeeper.connect"),
        ("broker_rack", "broker.rack"),
        ("replica.placer.clas.name", "replica.placer.class.name"),
        ("replica.placer.sed", "replica.placer.seed"),
    ],
)
def test_a_misspelt_setting_is_refused_with_the_nearest_that_there_is(name, meant):
    with pytest.raises(UnknownSettingError) as refused:
        KafkaSettings({name: "1"})
    assert str(refused.value) == f"unknown setting {name}; did you mean {meant}?"


def test_a_name_like_no_other_is_refused_too():
    with pytest.raises(UnknownSettingError, match=r"^unknown setting zzz$"):
        KafkaSettings({"zzz": "1"})


def test_settings_of_kafka_that_nothing_reads_here_are_kept_and_listed():
    given = {"num.network.threads": 3, "background.threads": "5", "listener.name.inside.ssl.provider": "SunJSSE"}
    settings = KafkaSettings(given | {"num.partitions": 2, "inter.broker.protocol.version": ""})
    assert settings.without_effect == tuple(sorted(given))
    assert settings["background.threads"] == 5


def test_a_placer_of_ones_own_may_have_settings_of_its_own_but_none_misspelt():
    own = {"replica.placer.class.name": "my.module:Placer"}
    settings = KafkaSettings(own | {"replica.placer.zone": "z", "acme.zone": "y"})
    assert (settings["acme.zone"], settings.without_effect) == ("y", ())
    with pytest.raises(UnknownSettingError, match=r"did you mean replica\.placer\.seed"):
        KafkaSettings(own | {"replica.placer.sed": "1"})


def test_the_names_are_those_of_kafka_4_and_of_what_it_removed():
    assert {"broker.rack", "log.retention.hours", "cleanup.policy", "zookeeper.connect"} <= kafka_settings()
    assert not {name for name in kafka_settings() if " " in name or not name}


def test_each_default_is_kafkas_but_for_those_with_a_reason():
    ours = {name for name in DEFAULTS if find_definition("broker", name) is None or name in DIFFERENT_DEFAULTS}
    kafkas = {name: text_of(DEFAULTS[name]) or None for name in DEFAULTS.keys() - ours}
    assert kafkas == {name: text_of(find_definition("broker", name).default) or None for name in kafkas}


def test_every_config_of_kafka_has_an_effect_or_is_told_as_one_without():
    for kind in ("topic", "broker", "group", "client_metrics"):
        assert set(without_effect(kind)) == set(names(kind)) - with_effect(kind) - OF_A_BROKER


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("num.partitions", -7, "at least 1"),
        ("num.partitions", "0", "at least 1"),
        ("num.partitions", 2.5, "a whole number"),
        ("num.partitions", True, "a whole number"),
        ("max.connections", "-5", "at least 0"),
        ("num.network.threads", "0", "at least 1"),
        ("max.request.items", 0, "at least 1"),
        ("records.max.bytes", -2, "at least -1"),
    ],
)
def test_a_number_out_of_its_range_is_refused(name, value, expected):
    with pytest.raises(ValueError, match=rf"^{name}: expected {expected}, got "):
        KafkaSettings({name: value})


def test_a_test_cluster_may_go_below_a_lowest_value_above_one():
    assert KafkaSettings({"log.segment.bytes": "100"})["log.segment.bytes"] == 100


@pytest.mark.parametrize("digits", [30, 5000, 30_000])
def test_a_number_of_many_digits_is_too_large(digits):
    with pytest.raises(InvalidValueError, match="expected a number of 32 bits"):
        definition("topic", "min.insync.replicas").parse("9" * digits)
