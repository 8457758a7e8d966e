"""The jobs ``check`` and ``what-if``: on Spark the answers are those of the commands that need none."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from kafka_rack.consistency.captures import check_capture, recordings
from kafka_rack.consistency.topic_patterns import TopicPatterns
from kafka_rack.consistency.wire import WIRE_SETTINGS
from kafka_rack.pipeline.check.job import SCHEMAS, check_captures
from kafka_rack.pipeline.decode.job import decode
from kafka_rack.pipeline.what_if.job import what_if
from kafka_rack.what_if import change_of, compare
from kafka_rack.what_if.reading import read_workload
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from tests.fixture_data import CAPTURES

NAMES = ("java41-range", "java41-coop", "confluent-kip848", "franz-go")
PATHS = [str(CAPTURES / f"{name}.jsonl.gz") for name in NAMES]
PATTERNS = TopicPatterns(WIRE_SETTINGS)
CHANGE = change_of({"client.rack": "auto", "replica.selector.class": "rack-aware"}, protocol="consumer")


def test_each_recording_is_judged_as_it_is_alone(spark, tmp_path, progress):
    found = check_captures(spark, PATHS, tmp_path / "out", PATTERNS, max_examples=3, max_records=None)
    size = sum(Path(path).stat().st_size for path in PATHS)
    assert progress.now().done == progress.now().totals == {"recordings": len(PATHS), "bytes": size}
    files, _ = find_files(PATHS)
    alone = [
        check_capture(one, Options(), WIRE_SETTINGS, settings_of_topic=PATTERNS, max_examples=3, max_records=None)
        for one in recordings(files)
    ]
    assert [one.as_json() for one in found] == [one.as_json() for one in alone]
    told = json.loads((tmp_path / "out" / "check.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in told["captures"]] == sorted(NAMES)
    rows = pq.read_table(tmp_path / "out" / "recordings").to_pylist()
    assert [(row["recording"], row["consistent"]) for row in rows] == [(one.name, True) for one in alone]
    anomalies = pq.read_table(tmp_path / "out" / "anomalies")
    assert anomalies.schema.names == SCHEMAS["anomalies"].names
    assert len(anomalies) == sum(len(one.report.anomalies) for one in alone) > 0


def test_captures_and_their_tables_under_other_settings_give_what_plain_reading_gives(spark, tmp_path):
    plain = compare(read_workload(find_files(PATHS[:2])[0], Options()), CHANGE)
    decode(spark, PATHS[:1], tmp_path / "tables")
    of_both = what_if(spark, [str(tmp_path / "tables"), PATHS[1]], tmp_path / "out", CHANGE)
    assert of_both.as_json() == plain.as_json()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["what-if.json"]
    written = json.loads((tmp_path / "out" / "what-if.json").read_text(encoding="utf-8"))
    assert written == json.loads(json.dumps(plain.as_json()))
