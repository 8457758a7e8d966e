"""What a stream keeps of a capture: what comes is added, nothing twice, and what is wrong is made anew."""

from __future__ import annotations

from gzip import decompress

import pytest

from kafka_rack.locality.captures import flows_of
from kafka_rack.locality.traffic import TrafficSums, rewindowed
from kafka_rack.pipeline.locality import stream_state
from kafka_rack.pipeline.locality.files import captures_of
from kafka_rack.pipeline.locality.stream_state import updated
from kafka_rack.pipeline.output.writing import file_key, prepare, put_in_place, write_block
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from tests.fixture_data import CAPTURES
from tests.pipeline.line_blocks import line_blocks

WINDOW_US = 60_000_000


def traffic_of(flows):
    sums = TrafficSums(flows.evidence.conclude())
    sums.add_flows(flows, flows.evidence.covered)
    return rewindowed(sums.amounts, WINDOW_US)


class Followed:
    """A capture whose blocks are decoded one after the other, and its state."""

    def __init__(self, folder, name, monkeypatch):
        (folder / "in").mkdir()
        (folder / "in" / f"{name}.jsonl").write_bytes(decompress((CAPTURES / f"{name}.jsonl.gz").read_bytes()))
        (self.file,) = find_files([str(folder / "in")])[0]
        self.blocks = line_blocks(self.file, 8)
        assert len(self.blocks) > 4
        self.out, self.state = folder / "tables", folder / "x.flows"
        prepare(self.out)
        self.read = []

        def tables(block, whole=stream_state.ParquetTables):
            self.read.append(block.start)
            return whole(block)

        monkeypatch.setattr(stream_state, "ParquetTables", tables)

    def decode(self, *blocks):
        written = [one for block in blocks for one in write_block(block, Options(), self.out / "_temporary" / "run")]
        ranges = [(block.file.path, block.start, block.end) for block in blocks]
        put_in_place(self.out, "run", ranges, written, whole=False)

    def update(self):
        """The traffic until now, and the blocks that were read for it."""
        self.read.clear()
        (capture,) = (found for found in captures_of(self.out) if found.key == file_key(self.file.path))
        return traffic_of(updated(self.state, capture, None).flows), sorted(set(self.read))


@pytest.fixture
def followed(tmp_path, monkeypatch):
    return lambda name: Followed(tmp_path, name, monkeypatch)


@pytest.mark.parametrize("name", ["interbroker-41-start", "java41-range"])
def test_a_batch_reads_what_is_new_and_the_sums_are_those_of_the_whole(followed, name):
    capture = followed(name)
    for block in capture.blocks:
        capture.decode(block)
        traffic, read = capture.update()
        assert read == [block.start]
    assert traffic == traffic_of(flows_of(capture.file, Options()))
    assert capture.update() == (traffic, [])


def test_a_batch_that_is_written_once_more_counts_once(followed):
    capture = followed("java41-range")
    capture.decode(*capture.blocks[:3])
    before, _ = capture.update()
    capture.decode(capture.blocks[2])
    assert capture.update() == (before, [block.start for block in capture.blocks[:3]])


def test_a_state_that_cannot_be_read_is_made_anew(followed):
    capture = followed("java41-range")
    capture.decode(*capture.blocks[:2])
    before, _ = capture.update()
    for damaged in (b"", b"no pickle", capture.state.read_bytes()[:-9]):
        capture.state.write_bytes(damaged)
        assert capture.update() == (before, [block.start for block in capture.blocks[:2]])
