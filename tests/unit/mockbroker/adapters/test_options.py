"""The options of a cluster: every way in takes the same ones, and refuses the same values with the same sentence."""

import inspect
import re
from dataclasses import fields

import pytest

from mockbroker import MockCluster
from mockbroker.adapters.options import ClusterOptions
from mockbroker.state.brokers.broker import Broker
from mockbroker.testing.marker import CLUSTER_ARGUMENTS, NOT_FOR_TESTS

WRONG = [
    ({"brokers": 0}, "brokers: expected a whole number >= 1, got 0"),
    ({"brokers": True}, "brokers: expected a whole number >= 1, got True"),
    ({"brokers": [1, 2]}, "brokers: expected a whole number >= 1, got [1, 2]"),
    ({"racks": [1]}, "racks: expected names such as 'a,b,c' or ['a', 'b', 'c'], got [1]"),
    ({"topics": {"orders": "6"}}, "topics['orders']: expected a number of partitions"),
    ({"topics": "orders"}, "topics: expected {'orders': 6} or ['orders'], got 'orders'"),
    ({"topics": ["x"], "diskless_topics": ["x"]}, "diskless_topics: expected names that topics does not have, got 'x'"),
    ({"settings": {"num.partitions": -7}}, "settings: num.partitions: expected at least 1, got -7"),
    ({"users": {"alice": 7}}, "users: expected {'alice': 'secret'}, names and passwords as texts"),
    ({"port": 65_536}, "port: expected a whole number from 0 to 65535, got 65536"),
    ({"capture_bytes": 0}, "capture_bytes: expected a whole number >= 1, got 0"),
    ({"fsync": "never"}, "fsync: expected always or os, got 'never'"),
    ({"tls": "yes"}, "tls: expected True or False, got 'yes'"),
]


@pytest.mark.parametrize(("given", "sentence"), WRONG, ids=[next(iter(given)) for given, _ in WRONG])
def test_a_wrong_value_is_refused_with_what_was_expected(given, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        MockCluster(**given)


def test_a_misspelt_option_is_refused_with_the_name_that_was_meant():
    with pytest.raises(TypeError, match=r"MockCluster: expected one of brokers, .*; did you mean brokers\?"):
        MockCluster(borkers=3)


def test_a_cluster_takes_the_fields_of_its_options_in_their_order():
    _, *own = inspect.signature(MockCluster.__init__).parameters.values()
    assert own == list(inspect.signature(ClusterOptions).parameters.values())


def test_a_marker_takes_all_but_what_a_fork_has_of_its_own():
    names = {one.name for one in fields(ClusterOptions)}
    assert set(CLUSTER_ARGUMENTS) == names - NOT_FOR_TESTS
    assert names >= NOT_FOR_TESTS


def test_checked_options_are_valid_options_of_another_cluster():
    options = ClusterOptions(2, "a,b", topics=["one"], diskless_topics={"two": 3}, users={"alice": "secret"})
    again = ClusterOptions(**{one.name: getattr(options, one.name) for one in fields(options)})
    assert again.key() == options.key()
    assert again.all_topics() == {"one": {}, "two": {"partitions": 3, "diskless": True}}


def test_options_in_words_have_no_secrets():
    settings = {"listener.name.sasl_plaintext.plain.sasl.jaas.config": "secret", "num.partitions": 6}
    told = ClusterOptions([Broker(0, "a")], settings=settings, users={"alice": "secret"}).in_words()
    assert "secret" not in told
    assert "'num.partitions': 6" in told
