"""Small test projects that have the pytest plugin and real clients."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

import pytest

import mockbroker

for part in pkgutil.walk_packages(mockbroker.__path__, "mockbroker."):
    # a run within this process forgets the modules that it imports, but not what others remember of them
    with suppress(ModuleNotFoundError):  # of an optional part that is not there
        import_module(part.name)
SETTINGS = """
[tool.pytest.ini_options]
addopts = ['--strict-markers', '-p', 'no:cacheprovider']
asyncio_default_fixture_loop_scope = 'function'
"""
CLIENTS = """
import pytest
from confluent_kafka import Consumer, Producer


def write(servers, topic, *values, **settings):
    producer = Producer({"bootstrap.servers": servers, **settings})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(60) == 0


def read(servers, topic, count, **settings):
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "readers", "auto.offset.reset": "earliest", **settings}
    )
    consumer.subscribe([topic])
    found = []
    while len(found) < count:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            found.append(message.value())
    consumer.close()
    return found
"""


def project_of(pytester: pytest.Pytester) -> Callable[..., pytest.RunResult]:
    """What makes test files that have clients, in a project with settings of its own, and runs them."""
    pytester.makepyprojecttoml(SETTINGS)
    pytester.makepyfile(clients=CLIENTS)

    def make(source: str, *args: str, name: str = "test_it") -> pytest.RunResult:
        pytester.makepyfile(**{name: "from clients import *\n" + inspect.cleandoc(source)})
        return pytester.runpytest_inprocess(*args)

    return make


def text_of(result: pytest.RunResult) -> str:
    return "\n".join(result.outlines)
