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
    with pytest.raises(FrameError, match="0 to 100 are allowed"):
        FrameReader(max_frame_bytes=100).feed(bytes.fromhex(length))
