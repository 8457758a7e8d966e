"""The types of the tables' columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kafka_rack.wire_tables.arrow import arrow_schema, record_batch
from kafka_rack.wire_tables.reading import decode_paths
from kafka_rack.wire_tables.tables import TABLES
from tests.fixture_data import CAPTURES


@pytest.mark.parametrize("table", TABLES)
def test_rows_fit_their_columns(table):
    rows = decode_paths([str(CAPTURES / "java41-kip848.jsonl.gz")])
    found = list(rows.of(table))
    batch = record_batch(rows, table)
    if batch is not None:
        assert batch.schema == arrow_schema(table, with_api=True)
        mine = found
        for column, number in zip(batch.columns, range(len(TABLES[table].columns)), strict=False):
            values = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
            found_here = [list(row[number]) if isinstance(row[number], tuple) else row[number] for row in mine]
            assert values.to_pylist() == found_here


def test_settings_are_what_describe_configs_and_api_versions_returned():
    """The broker of this capture is Apache Kafka 4.1, whose message schemas and defaults these are."""
    rows = decode_paths([str(CAPTURES / "java41-admin.jsonl.gz")], only=["settings"]).as_dicts("settings")
    found = {(row["resource"], row["resource_name"], row["name"]): row["value"] for row in rows}
    assert found["api", "", "Fetch"] == "4-18"
    assert found["feature", "", "group.version"] == "1"
    assert found["broker", "1", "group.consumer.assignors"] == "uniform,range"
    assert found["topic", "adm-1", "cleanup.policy"] == "delete"
    assert found["client", "admin-1", "apache-kafka-java"] == "4.1.0"
