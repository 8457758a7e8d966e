"""A job on a few megabytes starts Java with less compiling, and says which command needs no Spark."""

from __future__ import annotations

import argparse

import pytest

from kafka_rack.cli.pipeline import small_inputs
from kafka_rack.cli.pipeline.small_inputs import (
    JAVA_OPTIONS,
    QUICK_JAVA,
    SMALL_BYTES,
    TOLD_TO_JAVA,
    bytes_of,
    quick_settings,
    tell_of_command,
)
from kafka_rack.pipeline.spark import session


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch, tmp_path):
    """No settings but those of a test, and no session of another one in this process."""
    for name in (*TOLD_TO_JAVA, "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    monkeypatch.setattr(session, "running_session", lambda: None)


@pytest.fixture
def capture(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"x" * 2_500_000)
    return path


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "large.jsonl"
    with path.open("wb") as file:
        file.truncate(SMALL_BYTES + 1)
    return path


def given(*inputs, master=None, conf=(), **more):
    return argparse.Namespace(inputs=[str(one) for one in inputs], master=master, conf=[*conf], quiet=False, **more)


def test_a_small_job_on_this_machine_has_quick_java(capture):
    assert quick_settings(given(capture), {}) == {JAVA_OPTIONS: QUICK_JAVA}
    assert quick_settings(given(capture.parent, master="local[2]"), {}) == {JAVA_OPTIONS: QUICK_JAVA}


def test_large_inputs_streams_clusters_and_urls_have_not(capture, large):
    assert quick_settings(given(large), {}) == {}
    assert quick_settings(given(capture, large), {}) == {}
    assert quick_settings(given(capture, stream=True), {}) == {}
    assert quick_settings(given(capture, master="spark://host:7077"), {}) == {}
    assert quick_settings(given(capture, conf=["spark.master=yarn"]), {"spark.master": "yarn"}) == {}
    assert quick_settings(given("s3a://bucket/traces"), {}) == {}


@pytest.mark.parametrize("name", TOLD_TO_JAVA)
def test_what_anybody_says_of_java_stands(capture, monkeypatch, name):
    assert quick_settings(given(capture), {JAVA_OPTIONS: "-XX:+UseZGC"}) == {}
    monkeypatch.setenv(name, "-XX:+UseZGC")
    assert quick_settings(given(capture), {}) == {}


def test_what_an_administrator_says_of_java_stands(capture, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(f"{JAVA_OPTIONS} -XX:+UseZGC\n")
    assert quick_settings(given(capture), {}) == {}


def test_a_small_job_names_the_command_that_needs_no_spark(capture, capsys):
    tell_of_command(given(capture))
    assert capsys.readouterr().err == (
        "kafka-rack pipeline locality: note: 2.5 MB of captures need no Spark: "
        "kafka-rack locality gives the same answer sooner\n"
    )


def test_no_command_is_named_for_much_or_for_a_cluster_or_to_who_wants_quiet(capture, large, capsys):
    quiet = given(capture)
    quiet.quiet = True
    for arguments in (
        given(large),
        given(capture, master="spark://host:7077"),
        given(capture, conf=["spark.master=yarn"]),
        given(capture, once=True),
        given(capture.parent / "nowhere"),
        quiet,
    ):
        tell_of_command(arguments)
    assert capsys.readouterr().err == ""


def test_no_command_is_named_below_spark_submit(capture, capsys, monkeypatch):
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    tell_of_command(given(capture))
    assert capsys.readouterr().err == ""


def test_bytes_are_those_of_all_files_below(capture, tmp_path, monkeypatch):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "more.pcap").write_bytes(b"y" * 100)
    assert bytes_of([str(tmp_path)]) == 2_500_100
    monkeypatch.setattr(small_inputs, "SMALL_BYTES", 2_500_099)
    assert bytes_of([str(tmp_path)]) is None
