"""The fixtures are complete, so that a test that reads them tests what it means to."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fixture_data import (
    capture_json,
    capture_names,
    capture_summary,
    captured_frames,
    golden_vectors,
    kafka_schemas,
    oracle,
)


def test_there_are_2595_golden_vectors_over_871_message_versions():
    vectors = golden_vectors()
    assert len(vectors) == 2595
    assert len({(vector.message, vector.version) for vector in vectors}) == 871


def test_each_golden_vector_is_of_a_message_in_the_schemas():
    assert {vector.message for vector in golden_vectors()} <= set(kafka_schemas())


def test_there_are_290_schemas():
    assert len(kafka_schemas()) == 290


@pytest.mark.parametrize(
    ("name", "lines"),
    [("placement", 287), ("assignors", 253), ("selector", 50), ("leader-epochs", 120), ("hashes", 2008)],
)
def test_the_oracle_has_its_lines(name, lines):
    assert len(oracle(name)) == lines


@pytest.mark.parametrize("name", capture_names())
def test_a_capture_has_the_frames_that_its_summary_counts(name):
    found = Counter((frame.api_key, frame.version, frame.kind) for frame in captured_frames(name))
    counts = capture_summary(name)["counts"]
    expected = {(row["api_key"], row["version"], kind): row[kind] for row in counts for kind in ("request", "response")}
    assert found == Counter({key: frames for key, frames in expected.items() if frames})


@pytest.mark.parametrize("name", capture_names())
def test_a_captures_json_is_of_frames_that_it_has(name):
    frames = {frame.index: (frame.kind, frame.api_key, frame.version) for frame in captured_frames(name)}
    for line in capture_json(name):
        assert frames[line["frame"]] == (line["kind"], line["api_key"], line["asked_version"])
