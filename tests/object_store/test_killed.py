"""A run that ends while it puts tables on S3 in place: they are the old ones or the new ones, at each of its changes.

The store's gate refuses a change and all that follow, as if the run had been killed before it.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from uuid import uuid4

import pytest

from kafka_rack.pipeline.output.commits import TEMPORARY, settle
from kafka_rack.pipeline.output.writing import WrittenFile, file_key, put_in_place
from kafka_rack.storage import StorageSettings, location, use_settings
from tests.object_store.conftest import BUCKET
from tests.pipeline.plain import tables_of


@pytest.fixture
def place(store):
    """The URL of a folder of its own."""
    use_settings(StorageSettings.of(store.settings))
    return f"s3a://{BUCKET}/killed-{uuid4().hex}"


def key_of(url):
    return url.removeprefix(f"s3a://{BUCKET}/")


def found(store, place, tmp_path):
    """The tables on S3 as they are."""
    return tables_of(store.copy_to(f"{key_of(place)}/out", tmp_path / f"found-{uuid4().hex}"), f"{place}/in")


def part(place, start):
    return f"frames/capture=a/day=2026-11-23/part-{file_key(f'{place}/in/a.jsonl')}-{start:015d}.parquet"


def replace_parts(place, starts, text):
    """What a run on another machine does at its end that read a capture in blocks from these starts."""
    out, run = location(f"{place}/out"), f"1-{uuid4().hex}@elsewhere"
    written = []
    for start in starts:
        staged = f"{part(place, start)}.one"
        (out / TEMPORARY / run / staged).write_text(text)
        written.append(WrittenFile("frames", "Fetch", part(place, start), 1, 1, 0, 0, staged))
    read = [(f"{place}/in/a.jsonl", start, start + 1) for start in starts]
    put_in_place(out, run, read, written, whole=True)


def parts(store, place):
    """Starts of blocks, and what is in their files."""
    keys = [key for key in store.keys(f"{key_of(place)}/out") if key.startswith("frames/") and "part-" in key]
    return {int(key[-23:-8]): store.get(f"{key_of(place)}/out/{key}").decode() for key in keys}


def test_tables_are_the_old_or_the_new_ones_wherever_a_run_on_another_machine_ends(store, place, monkeypatch):
    from kafka_rack.pipeline.output import writing

    monkeypatch.setattr(writing, "ensure_table", lambda *_: None)
    old, new = dict.fromkeys((0, 10, 20), "old"), dict.fromkeys((0, 15), "new")
    seen_decided = False
    for step in count(1):
        at = f"{place}/{step}"
        replace_parts(at, old, "old")
        assert parts(store, at) == old
        store.close_gate(step, how="refuse")
        with suppress(OSError):
            replace_parts(at, new, "new")
        died = store.gate_is_closed
        store.open_gate()
        decided = any(key.endswith("commit.json") for key in store.keys(f"{key_of(at)}/out"))
        if died and not decided and not seen_decided:
            assert parts(store, at) == old
        seen_decided |= decided
        settle(location(f"{at}/out"))
        assert parts(store, at) == (new if seen_decided else old)
        if not died:
            break
    assert seen_decided
