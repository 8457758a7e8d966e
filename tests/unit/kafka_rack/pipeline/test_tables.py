"""The tables' page and their types."""

from __future__ import annotations

import pytest

from kafka_rack.pipeline.arrow import arrow_schema, record_batch
from kafka_rack.pipeline.reading import decode_paths
from kafka_rack.pipeline.tables import TABLES, markdown
from tests.fixture_data import CAPTURES, FIXTURES


def test_the_page_is_what_the_tables_are():
    assert (FIXTURES.parent / "docs" / "tables.md").read_text() == markdown()


@pytest.mark.parametrize("table", TABLES)
def test_rows_fit_their_columns(table):
    rows = decode_paths([str(CAPTURES / "java41-kip848.jsonl.gz")])
    for api, found in rows.tables[table].items():
        batch = record_batch(table, found, api)
        assert batch.schema == arrow_schema(table, with_api=True)
        assert batch.num_rows == len(found)
