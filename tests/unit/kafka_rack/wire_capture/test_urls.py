"""Captures behind URLs, by fsspec."""

from __future__ import annotations

import fsspec
import pytest

from kafka_rack.wire_capture import read
from kafka_rack.wire_capture.files import find_files
from tests.fixture_data import CAPTURES

CAPTURE = CAPTURES / "kcat.jsonl.gz"


@pytest.fixture
def memory():
    filesystem = fsspec.filesystem("memory")
    filesystem.pipe("/trace/day/kcat.jsonl.gz", CAPTURE.read_bytes())
    filesystem.pipe("/trace/notes.txt", b"mine")
    yield filesystem
    filesystem.rm("/trace", recursive=True)


def test_a_folder_and_a_file_behind_urls_are_read_as_local_ones(memory):
    frames = [(frame.ts, frame.data) for frame in read(CAPTURE)]
    for url in ("memory://trace", "memory://trace/day/kcat.jsonl.gz"):
        assert [(frame.ts, frame.data) for frame in read(url)] == frames


def test_a_url_without_anything_and_a_scheme_that_nothing_reads_are_told(memory):
    with pytest.raises(FileNotFoundError, match="memory://elsewhere: no such file or folder"):
        find_files(["memory://elsewhere"])
    with pytest.raises(OSError, match="nosuch://a: URLs are read by fsspec"):
        find_files(["nosuch://a"])
