from __future__ import annotations

import pytest

from mockbroker.state.settings import Settings


def test_values_given_as_text_have_the_type_of_their_default():
    settings = Settings({"num.partitions": "6", "auto.create.topics.enable": "FALSE", "some.other": "text"})
    assert settings["num.partitions"] == 6
    assert settings["auto.create.topics.enable"] is False
    assert settings["some.other"] == "text"


def test_a_wrong_value_is_named():
    with pytest.raises(ValueError, match=r"num\.partitions=many: a whole number is wanted"):
        Settings({"num.partitions": "many"})
    with pytest.raises(ValueError, match=r"auto\.create\.topics\.enable=yes: true or false is wanted"):
        Settings({"auto.create.topics.enable": "yes"})


def test_a_setting_is_given_only_where_it_differs_from_its_default():
    settings = Settings({"num.partitions": "1", "min.insync.replicas": "2"})
    assert not settings.given("num.partitions")
    assert settings.given("min.insync.replicas")
