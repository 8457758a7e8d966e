"""Which files go to which task."""

from __future__ import annotations

import pytest

from kafka_rack.wire_capture.blocks import packed, whole_files
from kafka_rack.wire_capture.files import CaptureFile

BLOCKS = whole_files(
    CaptureFile(f"{number}.jsonl", "lines", False, size) for number, size in enumerate([5, 1, 1, 3, 6])
)


@pytest.mark.parametrize("most", [5, 6, 100])
def test_each_file_is_a_task_where_there_are_enough(most):
    assert packed(BLOCKS, most) == [[block] for block in BLOCKS]


@pytest.mark.parametrize(
    ("most", "sizes"), [(1, [[5, 1, 1, 3, 6]]), (2, [[5, 1, 1], [3, 6]]), (3, [[5, 1], [1, 3], [6]])]
)
def test_fewer_tasks_have_neighbours_of_about_as_many_bytes(most, sizes):
    assert [[block.end for block in group] for group in packed(BLOCKS, most)] == sizes


def test_no_file_is_no_task():
    assert packed([], 4) == []
