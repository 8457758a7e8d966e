"""Apache Kafka's own message classes, of two releases, and ours: the same bytes, and the same JSON, both ways."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import protocol
from protocol.fuzz import Draws, messages
from protocol.fuzz.oracles import JavaOracle
from protocol.versions import VersionRange
from tests.interop.fetched import maven_jars, skipped_without_tools

SOURCES = Path(__file__).parent / "java"

# Each release's folder of jars under build/interop, and what names them. 3.9.1 still had what 4.0 dropped.
RELEASES = {"4.4.0": ("kafka-messages-4.4.0", "codec"), "3.9.1": ("kafka-metadata-3.9.1", "placement")}
KNOWN = {"4.4.0": 744, "3.9.1": 702}  # message versions of ours that a release knows
REVIEWED = {
    ("3.9.1", "ReadShareGroupStateSummaryResponse"): ("0", "an early draft; 4.1 released version 0 with other fields"),
}
WITH_RECORDS = {"FetchResponse", "FetchSnapshotResponse", "ProduceRequest", "ShareFetchResponse"}
NAMES_OF_TODAY = "4.4.0"  # 3.9.1 has the same bytes, but some fields had other names; only those of today are ours
FINITE = Draws(floats=st.floats(allow_nan=False, allow_infinity=False))  # JSON has no others
FEW = settings(
    max_examples=max(2, settings.default.max_examples // 50),
    phases=[
        Phase.explicit,
        Phase.reuse,
        Phase.generate,
    ],  # asking Java a thousand times for a smaller case takes minutes
    suppress_health_check=list(HealthCheck),
)


def jars(release: str) -> Path:
    """The folder with a release's message classes, fetched once into build/; skips where it cannot be had."""
    name, sources = RELEASES[release]
    with skipped_without_tools():
        return maven_jars(name, SOURCES / sources / "pom.xml", f"kafka-clients-{release}.jar")


@pytest.fixture(scope="module", params=sorted(RELEASES))
def release(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def java(release: str) -> Iterator[JavaOracle]:
    with JavaOracle(jars(release)) as oracle:
        yield oracle


def judged(java: JavaOracle, release: str, message: Any) -> list[int]:
    """The versions of a message that this release knows, and means as we do."""
    other, _ = REVIEWED.get((release, message.name), ("none", ""))
    return [
        version
        for version in message.valid_versions
        if java.supports(message.name, version) and version not in VersionRange.parse(other)
    ]


def test_kafka_knows_as_many_of_our_message_versions_as_ever(java, release):
    found = sum(
        java.supports(message.name, version) for message in protocol.messages() for version in message.valid_versions
    )
    assert found == KNOWN[release]


@pytest.mark.parametrize("message", protocol.messages(), ids=lambda one: one.name)
@FEW
@given(st.data())
def test_kafka_reads_and_writes_as_we_do(java, release, message, data):
    for version in judged(java, release, message):
        drawn = data.draw(messages(message, version, FINITE))
        written = protocol.encode(drawn, version)
        again, printed = java.read(message.name, version, written)
        assert again == written
        if release != NAMES_OF_TODAY:
            continue
        value = protocol.to_json(drawn, version)
        assert without_records(value) == without_records(printed)
        if message.name not in WITH_RECORDS:  # Kafka reads none from JSON; nor does JSON hold unknown tagged fields
            plain = protocol.encode(protocol.from_json(message.name, version, value), version)
            assert java.written(message.name, version, value) == plain


def without_records(value: Any) -> Any:
    """JSON without the records, which Kafka prints as empty."""
    if isinstance(value, dict):
        return {
            name: without_records(one) for name, one in value.items() if name not in ("records", "unalignedRecords")
        }
    return [without_records(one) for one in value] if isinstance(value, list) else value
