"""Frames whose large ones are put where they are to stand, or come in any cut as ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.proxy.frame_room import MAX_ROOM_BYTES, MIN_ROOM_BYTES, LargeFrameReader
from protocol import FrameError
from protocol.framing import LARGE_FRAME_BYTES, frame

SIZES = st.sampled_from([0, 1, 4, 300, MIN_ROOM_BYTES - 1, MIN_ROOM_BYTES, LARGE_FRAME_BYTES, 99_000])
FRAMES = st.lists(SIZES, max_size=6).map(lambda sizes: [bytes([65 + n]) * size for n, size in enumerate(sizes)])


@given(FRAMES, st.lists(st.integers(1, 70_000), min_size=1, max_size=12), st.booleans())
def test_frames_come_out_whole_however_they_are_read(frames, reads, takes_room):
    reader = LargeFrameReader(1 << 20)
    assert [bytes(one) for one in read(reader, frames, reads, takes_room=takes_room)] == frames


@given(FRAMES, st.lists(st.integers(3000, 70_000), min_size=1, max_size=12), st.booleans(), st.integers(0, 3))
def test_frames_in_rooms_stay_as_they_are_while_they_are_held(frames, reads, takes_room, held):
    for _ in range(2):
        found = read(LargeFrameReader(1 << 20), frames, reads, takes_room=takes_room)
        kept, expected = found[:held], frames[:held]
        del found
        again = read(LargeFrameReader(1 << 20), frames[::-1], reads, takes_room=takes_room)
        assert [bytes(one) for one in kept] == expected
        assert [bytes(one) for one in again] == frames[::-1]
        assert all(type(one) is bytes for one in kept if len(one) < MIN_ROOM_BYTES)


def read(reader, frames, reads, *, takes_room):
    """The frames of a stream that comes in such pieces."""
    stream, at, found = b"".join(frame(one) for one in frames) + b"\0\0", 0, []
    while at < len(stream):
        size = reads[len(found) % len(reads)]
        room = reader.room() if takes_room else None
        if room is None:
            reader.add(stream[at : at + size])
        else:
            size = min(size, len(room), len(stream) - at)
            room[:size] = stream[at : at + size]
            reader.took(size)
        at += size
        while (one := reader.next_frame()) is not None:
            found.append(one)
    assert reader.pending == 2
    return found


def test_a_large_frame_is_counted_as_far_as_it_has_come():
    reader = LargeFrameReader(1 << 20)
    reader.add(frame(b"small") + frame(bytes(100_000))[:50_000])
    assert (reader.room(), reader.next_frame(), reader.next_frame()) == (None, b"small", None)
    assert (reader.gathered, reader.pending) == (49_996, 49_996)
    assert len(reader.room()) == 50_004


@pytest.mark.parametrize("length", [MIN_ROOM_BYTES - 1, MAX_ROOM_BYTES + 1])
def test_small_frames_and_huge_ones_get_no_room(length):
    reader = LargeFrameReader(1 << 30)
    reader.add(length.to_bytes(4) + b"first")
    assert reader.next_frame() is None
    assert reader.room() is None


def test_a_length_over_the_limit_gets_no_room_and_is_refused():
    reader = LargeFrameReader(100_000)
    reader.add((100_001).to_bytes(4) + b"first")
    assert reader.room() is None
    with pytest.raises(FrameError, match="expected a frame of 0 to 100000 bytes, got 100001"):
        reader.next_frame()


def test_room_that_is_still_held_does_no_harm_to_the_next_frame():
    reader = LargeFrameReader(1 << 20)
    reader.add(frame(b"a" * 80_000)[:10])
    room = reader.room()
    room[:] = b"a" * len(room)
    reader.took(len(room))
    assert reader.next_frame() == b"a" * 80_000
    reader.add(frame(b"b" * 90_000))
    assert reader.next_frame() == b"b" * 90_000
    assert bytes(room[:2]) == b"aa"
