"""A remote file is read as a file of this machine is, in fewer fetches than reads."""

from __future__ import annotations

import io
import random

import pytest

from kafka_rack.storage import reading
from kafka_rack.storage.reading import ReadAhead

LINES = b"".join(b"%d:" % number + b"x" * (number * 37 % 900) + b"\n" for number in range(300)) + b"the last"


class Counted(io.BytesIO):
    """A store's file: counts what it is asked for."""

    fetches = 0

    def read(self, size=-1):
        self.fetches += 1
        return super().read(size)

    def size(self):
        return len(self.getvalue())


@pytest.fixture
def remote(monkeypatch):
    monkeypatch.setattr(reading, "FIRST_BYTES", 64)
    monkeypatch.setattr(reading, "MAX_BYTES", 4096)
    return ReadAhead(Counted(LINES), "s3a://trace/x")


def test_lines_are_those_of_a_file_of_this_machine(remote):
    assert list(remote) == list(io.BytesIO(LINES))
    assert remote.read(1) == b""


def test_any_order_of_reads_and_seeks_gives_what_a_file_of_this_machine_gives(remote):
    here, draw = io.BytesIO(LINES), random.Random(3)
    for _ in range(2000):
        what, size = draw.choice(("read", "readline", "seek", "end")), draw.randrange(700)
        if what == "seek":
            at = draw.randrange(len(LINES))
            assert remote.seek(at) == here.seek(at)
        elif what == "end":
            assert remote.seek(-size, io.SEEK_END) == here.seek(-size, io.SEEK_END)
        else:
            assert getattr(remote, what)(size) == getattr(here, what)(size)
        assert remote.tell() == here.tell()


def test_a_file_is_fetched_in_pieces_that_grow_and_looked_at_again_for_nothing(remote):
    beginning = remote.read(2)
    remote.seek(0)
    assert (beginning, remote.read(2), remote._source.fetches) == (LINES[:2], LINES[:2], 1)
    remote.seek(0)
    assert remote.read() == LINES
    assert remote._source.fetches < 10


def test_an_error_names_the_file_and_the_reason():
    class Refusing(Counted):
        def read(self, size=-1):
            raise OSError("When reading: AWS Error ACCESS_DENIED during GetObject operation: no")

    with pytest.raises(PermissionError, match="the store refuses it") as caught:
        ReadAhead(Refusing(LINES), "s3a://trace/x").read(1)
    assert caught.value.filename == "s3a://trace/x"
