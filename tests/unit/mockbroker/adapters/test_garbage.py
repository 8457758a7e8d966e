"""The walks of the garbage collector over what a server keeps are kept short."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from mockbroker.adapters import garbage
from mockbroker.adapters.garbage import ShortCollections


class Kept:
    """Refers to itself, as what only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def frozen_as_before() -> Iterator[None]:
    """As the root's conftest.py has it; else all later walks are over what was collected too."""
    yield
    gc.freeze()


@pytest.fixture
async def collections(monkeypatch: pytest.MonkeyPatch) -> Iterator[ShortCollections]:
    monkeypatch.setattr(garbage, "LONG_S", -1.0)  # each walk is a long one
    kept = ShortCollections()
    kept.start()
    yield kept
    kept.stop()


def is_walked_over(kept: object) -> bool:
    return any(one is kept for one in gc.get_objects())


async def test_what_a_long_walk_leaves_is_set_aside_until_there_is_time(collections, monkeypatch):
    kept = Kept()
    assert is_walked_over(kept)
    gc.collect()
    assert not is_walked_over(kept)
    gone = weakref.ref(kept)
    del kept
    gc.collect()
    assert gone() is not None
    monkeypatch.setattr(garbage, "IDLE_SHARE", 1e9)
    collections.look()
    assert (gone(), collections.walks) == (None, 1)


async def test_a_busy_process_walks_over_everything_now_and_then(collections, monkeypatch):
    monkeypatch.setattr(garbage, "IDLE_SHARE", 0.0)
    gc.collect()
    for _ in range(garbage.MAX_LOOKS - 1):
        collections.look()
    assert collections.walks == 0
    collections.look()
    assert collections.walks == 1


async def test_without_long_walks_nothing_is_set_aside(monkeypatch):
    monkeypatch.setattr(garbage, "LONG_S", 1e9)
    monkeypatch.setattr(garbage, "IDLE_SHARE", 1e9)
    collections = ShortCollections()
    collections.start()
    kept = Kept()
    gc.collect()
    assert is_walked_over(kept)
    collections.look()
    assert collections.walks == 0
    collections.stop()
    collections.stop()


async def test_what_has_no_owner_is_freed_though_it_was_set_aside(collections):
    kept = {"some": [1]}
    held = Kept()
    held.itself, held.kept = None, kept
    gone = weakref.ref(held)
    gc.collect()
    del held
    assert gone() is None


async def test_walks_are_over_little_as_long_as_they_are_kept_short():
    before = gc.get_threshold()
    collections = ShortCollections()
    collections.start()
    assert gc.get_threshold() == (*before[:2], garbage.YOUNGER_WALKS)
    collections.stop()
    assert gc.get_threshold() == before


async def test_while_there_are_large_lists_all_is_set_aside_before_a_walk(monkeypatch):
    monkeypatch.setattr(garbage, "LONG_S", 1e9)
    monkeypatch.setattr(garbage, "IDLE_SHARE", 1e9)
    has_large_lists = True
    collections = ShortCollections(lambda: has_large_lists)
    collections.start()
    kept = Kept()
    gone = weakref.ref(kept)
    gc.collect(0)
    assert not is_walked_over(kept)
    del kept
    collections.look()
    assert (gone(), collections.walks) == (None, 1), "the walk over everything is over all the same"
    has_large_lists = False
    kept = Kept()
    gc.collect(0)
    assert is_walked_over(kept)
    collections.stop()
