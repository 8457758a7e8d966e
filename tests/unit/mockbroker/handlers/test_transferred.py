from __future__ import annotations

import pytest

from mockbroker.handlers.transferred import offsets_in
from protocol.framing import Pieces
from protocol.records import DecompressionBudget, down_convert
from tests.unit.mockbroker.handlers.records import batch

FIRST, SECOND = batch(b"a", b"b", base_offset=5), batch(b"c", base_offset=7)


def test_records_begin_with_the_first_batch_and_end_with_the_last_whole_one():
    assert offsets_in(FIRST + SECOND, 6) == (5, 8)
    assert offsets_in(Pieces([FIRST, SECOND[:-1]]), 6) == (5, 7)


def test_without_records_the_requested_offset_is_next():
    assert offsets_in(b"", 6) == (6, 6)


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_an_older_format_end_after_the_last(magic):
    messages = down_convert(FIRST + SECOND, magic, first_offset=6, limit=DecompressionBudget(1000))
    assert offsets_in(messages, 6) == (6, 8)
    assert offsets_in(messages[:-1], 6) == (6, 7)


def test_damaged_lengths_end_the_search():
    assert offsets_in(FIRST[:8] + bytes(4) + FIRST[12:], 6) == (6, -1)
