"""Other codecs read what ours writes and write the same bytes again, for every message version that they know.

Kafka's own classes are asked in tests/interop/test_java_codec.py.
"""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import settings
from hypothesis import strategies as st

import protocol
from protocol.apis.classic_group import HeartbeatResponse
from protocol.fuzz import Draws, messages
from protocol.fuzz.oracles import KafkaPythonOracle, KioOracle, Oracle, Unfit
from protocol.versions import VersionRange
from tests.families import of_each_message

# Message versions that each is known to handle otherwise than Kafka: message -> versions, why.
FAULTS: dict[str, dict[str, tuple[str, str]]] = {
    "kio": {},
    "kafka-python": {"ApiVersionsResponse": ("1-4", "any answer with an error is read as version 0")},
}
KNOWN = {"kio": 625, "kafka-python": 486}  # message versions; fewer would mean that it is asked the wrong way


def no_tags() -> st.SearchStrategy[tuple[tuple[int, bytes], ...]]:
    return st.just(())


# What each can hold at all: kio reads error codes, dates and durations as Python's own kinds of thing.
DRAWS = {
    "kio": Draws(
        integers={**Draws().integers, "h": st.integers(-1, 100), "q": st.integers(0, 2**40)}, unknown_tags=no_tags()
    ),
    "kafka-python": Draws(unknown_tags=no_tags()),
}


@cache
def oracle(name: str) -> Oracle:
    return {"kio": KioOracle, "kafka-python": KafkaPythonOracle}[name]()


@cache
def judged_versions(name: str, message: str) -> list[int]:
    """The versions of a message that an oracle knows, without those that it is known to get wrong."""
    wrong, _ = FAULTS[name].get(message, ("none", ""))
    return [
        version
        for version in protocol.named_class(message).valid_versions
        if oracle(name).supports(message, version) and version not in VersionRange.parse(wrong)
    ]


def test_an_oracle_that_cannot_hold_a_value_says_so():
    strange = protocol.encode(HeartbeatResponse(error_code=12_345), 0)
    with pytest.raises(Unfit, match="12345 is not a valid ErrorCode"):
        oracle("kio").rewritten("HeartbeatResponse", 0, strange)
    with pytest.raises(Unfit):
        oracle("kafka-python").rewritten("HeartbeatResponse", 0, strange[:1])


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_an_oracle_knows_as_many_message_versions_as_ever(name):
    found = sum(
        oracle(name).supports(message.name, version)
        for message in protocol.messages()
        for version in message.valid_versions
    )
    assert found == KNOWN[name]


# Which of them an oracle knows is found by loading all of it, so not while tests are collected.
@of_each_message(max(2, settings().max_examples // 30))  # an example has a message for each version
def test_each_oracle_writes_the_bytes_that_it_read_from_ours(message_class, data):
    for name in KNOWN:
        for version in judged_versions(name, message_class.name):
            drawn = data.draw(messages(message_class, version, DRAWS[name]))
            written = protocol.encode(drawn, version)
            assert oracle(name).rewritten(message_class.name, version, written) == written, (name, version)
