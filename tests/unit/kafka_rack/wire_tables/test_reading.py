"""Tables in memory, for notebooks and scripts."""

from __future__ import annotations

import pytest

from kafka_rack import wire_capture, wire_tables
from kafka_rack.wire_tables.reading import decode_paths
from kafka_rack.wire_tables.tables import TABLES
from tests.fixture_data import CAPTURES

pa = pytest.importorskip("pyarrow", reason="pyarrow is missing: pip install pyarrow")

CAPTURE = CAPTURES / "aiokafka.jsonl.gz"


def test_all_tables_come_with_all_rows():
    tables = wire_tables.read(CAPTURE)
    rows = decode_paths([str(CAPTURE)])
    assert list(tables) == list(TABLES)
    for name, table in tables.items():
        assert len(table) == len(rows.as_dicts(name))
        assert table.column_names == [*TABLES[name].names, "api"]
    assert len(tables["frames"]) == sum(1 for _ in wire_capture.read(CAPTURE)) > 0
    assert tables["problems"].to_pylist() == []


def test_only_tables_that_are_wanted_come_and_others_are_refused():
    assert list(wire_tables.read([str(CAPTURE)], ["calls"])) == ["calls"]
    with pytest.raises(ValueError, match=r"expected one of frames, .*, got 'call'"):
        wire_tables.read(CAPTURE, ["call"])


def test_strings_that_rows_share_are_in_a_dictionary_once_with_the_same_values_in_rows():
    rows = decode_paths([str(CAPTURE)])
    from kafka_rack.wire_tables.arrow import record_batch

    for name, table in wire_tables.read(CAPTURE).items():
        plain = record_batch(rows, name)
        assert table.to_pylist() == ([] if plain is None else plain.to_pylist())
        for column in table.itercolumns():
            if pa.types.is_dictionary(column.type):
                for chunk in column.chunks:
                    assert len(chunk.dictionary) == len(chunk.dictionary.unique())
    assert table.schema.field("api").type == pa.dictionary(pa.int32(), pa.string())
