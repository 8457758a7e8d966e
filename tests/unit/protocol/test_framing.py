"""Frames out of a stream, however it is cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import FrameError, FrameReader
from protocol.framing import frame

FRAMES = st.lists(st.binary(max_size=30), max_size=6)


@given(FRAMES, st.lists(st.integers(0, 200), max_size=8))
def test_frames_come_out_whole_however_the_stream_is_cut(frames, cuts):
    stream = b"".join(frame(one) for one in frames) + b"\0\0"
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    reader = FrameReader()
    found = [one for start, end in pairwise(edges) for one in reader.feed(stream[start:end])]
    assert found == frames
    assert reader.pending == 2


@given(FRAMES)
def test_frames_come_out_byte_by_byte(frames):
    reader = FrameReader()
    stream = b"".join(frame(one) for one in frames)
    assert [one for byte in stream for one in reader.feed(bytes([byte]))] == frames


@pytest.mark.parametrize("length", ["7fffffff", "80000000", "00000065"])
def test_a_length_over_the_limit_is_refused_before_its_bytes_come(length):
    with pytest.raises(FrameError, match="expected a frame of 0 to 100 bytes"):
        FrameReader(max_frame_bytes=100).feed(bytes.fromhex(length))


@given(FRAMES.map(lambda frames: [one * 9000 for one in frames]), st.lists(st.integers(0, 10**6), max_size=8))
def test_large_frames_come_one_at_a_time_however_the_stream_is_cut(frames, cuts):
    stream = b"".join(frame(one) for one in frames) + b"\0"
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    reader = FrameReader()
    found = []
    taken = 0
    for start, end in pairwise(edges):
        reader.add(stream[start:end])
        one = reader.next_frame()
        if one is not None:
            found.append(one)
            taken += 4 + len(one)
        length_read = 4 if reader._missing else 0
        assert reader.pending == end - taken - length_read
    while (one := reader.next_frame()) is not None:
        found.append(one)
    assert found == frames


def test_a_frame_below_the_least_is_refused():
    with pytest.raises(FrameError, match="expected a frame of 8 to"):
        FrameReader(min_frame_bytes=8).feed(bytes([0, 0, 0, 7]))


def test_bytes_of_a_large_frame_that_come_one_by_one_are_kept_together():
    data = bytes(range(250)) * 400
    reader = FrameReader()
    reader.add(len(data).to_bytes(4, "big"))
    for start in range(0, 90_000, 9):
        reader.add(data[start : start + 9])
        assert reader.next_frame() is None
    assert reader.gathered == 90_000
    assert len(reader._pieces) < 3
    reader.add(data[90_000:])
    assert (reader.next_frame(), reader.gathered, reader.pending) == (data, 0, 0)
