"""examples/: each language's own test framework runs the example as it stands, against this kafka-rack."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.interop.fetched import (
    FOLDER,
    MAVENS_REPOSITORY,
    ToolMissingError,
    fetched,
    needs_programs,
    one_at_a_time,
    skipped_without_tools,
)
from tests.progress import run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
BUILD_QUIET_S = 240.0
JAVA_TEST_OF_NOTHING = "class NothingTest { @org.junit.jupiter.api.Test void nothing() {} }"
"""With a test to run, Maven fetches what runs tests."""


@pytest.fixture(scope="module")
def kafka_rack(tmp_path_factory) -> str:
    """The command, as it would be installed."""
    script = tmp_path_factory.mktemp("bin") / "kafka-rack"
    root = EXAMPLES.parent
    script.write_text(f'#!/bin/sh\nPYTHONPATH={root} exec {sys.executable} -m kafka_rack.cli "$@"\n')
    script.chmod(0o755)
    return str(script)


def run_example(kafka_rack: str, language: str, *command: str, folder: Path | None = None, **variables: str) -> str:
    """Run an example in a copy of its folder; gives what it printed."""
    place = folder or FOLDER / "examples" / language
    with one_at_a_time(place):
        shutil.copytree(EXAMPLES / language, place, dirs_exist_ok=True)
        environment = {**os.environ, "KAFKA_RACK": kafka_rack, **variables}
        done = run(command, cwd=place, env=environment, quiet_s=BUILD_QUIET_S)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout + done.stderr


def test_the_go_example_passes(kafka_rack):
    with skipped_without_tools():
        needs_programs("go")
        files = {name: (EXAMPLES / "go" / name).read_text() for name in ("go.mod", "go.sum")}
        fetched("examples-go", "downloaded", ["sh", "-c", "go mod download && touch downloaded"], files)
    printed = run_example(kafka_rack, "go", "go", "test", "-count=1", "-v", "./...", CGO_ENABLED="0")
    assert "--- PASS: TestOrdersAreReadInTheirOwnRackAndElsewhereOnceItIsDown" in printed


def test_the_node_example_passes(kafka_rack):
    with skipped_without_tools():
        needs_programs("node", "npm")
        files = {name: (EXAMPLES / "node" / name).read_text() for name in ("package.json", "package-lock.json")}
        install = ["npm", "ci", "--no-audit", "--no-fund", "--silent"]
        folder = fetched("examples-node", "node_modules/kafkajs", install, files)
    assert "# pass 1" in run_example(kafka_rack, "node", "npm", "test", folder=folder)


def test_the_java_example_passes(kafka_rack):
    with skipped_without_tools():
        needs_programs("java", "mvn")
        if shutil.which("javac") is None:
            raise ToolMissingError("javac is not installed (Debian, Ubuntu: apt-get install default-jdk-headless)")
        files = {"pom.xml": (EXAMPLES / "java" / "pom.xml").read_text()}
        tests = FOLDER / "examples-java" / "src" / "test" / "java"
        tests.mkdir(parents=True, exist_ok=True)
        (tests / "NothingTest.java").write_text(JAVA_TEST_OF_NOTHING)
        fetch = "mvn -q -B test && touch downloaded"
        fetched("examples-java", "downloaded", ["sh", "-c", fetch], files, uses=MAVENS_REPOSITORY)
    with one_at_a_time(MAVENS_REPOSITORY):
        printed = run_example(kafka_rack, "java", "mvn", "-B", "test")
    assert "Tests run: 1, Failures: 0, Errors: 0, Skipped: 0" in printed


@pytest.mark.timeout(3600)  # it builds librdkafka
def test_the_rust_example_passes(kafka_rack):
    with skipped_without_tools():
        needs_programs("cargo", "cc", "make")
        files = {name: (EXAMPLES / "rust" / name).read_text() for name in ("Cargo.toml", "Cargo.lock")}
        (FOLDER / "examples-rust" / "tests").mkdir(parents=True, exist_ok=True)
        (FOLDER / "examples-rust" / "tests" / "rack.rs").touch()
        fetched("examples-rust", "downloaded", ["sh", "-c", "cargo fetch --locked && touch downloaded"], files)
    printed = run_example(kafka_rack, "rust", "cargo", "test", "--locked", "--quiet")
    assert "test result: ok. 1 passed" in printed
