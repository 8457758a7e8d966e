"""The step of the job ``audit``, without Spark: descriptions to rows of all tables."""

from __future__ import annotations

import json

import pyarrow as pa

from kafka_rack.pipeline.audit.job import auditor
from kafka_rack.pipeline.audit.rows import AuditQuestion

GOOD = {"brokers": [[0, "a"], [1, "b"]], "topics": {"orders": [[0, 1]]}}
NAMES = ["value", "file", "part"]


def rows_of(contents, parts, part=0):
    columns = [
        pa.array(contents),
        pa.array(["file:///fleet/eu.jsonl"] * len(contents)),
        pa.array([part] * len(contents)),
    ]
    batches = auditor(AuditQuestion(), None, parts)([pa.RecordBatch.from_arrays(columns, NAMES)])
    rows = [row for batch in batches for row in batch.to_pylist()]
    return [(row["table"], row[row["table"]]) for row in rows]


def test_lines_have_their_numbers_and_a_bad_one_harms_no_other():
    lines = [json.dumps({**GOOD, "name": "one"}).encode(), b"", b"{", json.dumps(GOOD).encode()]
    found = rows_of(lines, {})
    clusters = [(row["cluster"], row["line"]) for table, row in found if table == "clusters"]
    assert clusters == [("one", 1), ("eu:4", 4)]
    (problem,) = [row for table, row in found if table == "problems"]
    assert problem == {
        "file": "/fleet/eu.jsonl",
        "line": 3,
        "reason": "column 2: Expecting property name enclosed in double quotes",
    }


def test_lines_of_a_later_part_of_a_file_are_counted_from_its_beginning():
    found = rows_of([json.dumps(GOOD).encode()], {("/fleet/eu.jsonl", 4096): (4100, 0, 7)}, 4096)
    assert [row["line"] for table, row in found if table == "clusters"] == [8]


def test_a_whole_file_is_one_cluster():
    found = rows_of([json.dumps(GOOD, indent=1).encode()], None)
    assert [(row["cluster"], row["line"]) for table, row in found if table == "clusters"] == [("eu", None)]
