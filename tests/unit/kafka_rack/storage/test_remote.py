"""Paths of stores, over pyarrow's own file system of this machine."""

from __future__ import annotations

import gzip

import pytest

from kafka_rack.storage import remote
from kafka_rack.storage.settings import StorageSettings

arrow = pytest.importorskip("pyarrow.fs", reason="pyarrow is missing: pip install pyarrow")


@pytest.fixture
def bucket(monkeypatch, tmp_path):
    (tmp_path / "trace").mkdir()
    here = arrow.SubTreeFileSystem(str(tmp_path), arrow.LocalFileSystem())
    monkeypatch.setattr(remote, "filesystem", lambda *_: here)
    return remote.RemotePath("s3a", "trace", "", StorageSettings.of({}))


def test_what_is_written_is_there_as_it_was_given_whatever_its_name_ends_in(bucket):
    packed = gzip.compress(b"a line\n" * 100)
    for name in ("a.jsonl.gz", "b.jsonl"):
        with (bucket / name).open("wb") as file:
            file.write(packed)
        with (bucket / name).open() as file:
            assert file.read() == packed
