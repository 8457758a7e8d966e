"""What a user would write first: a Python UDF that Spark hands one frame a call.

It is made easy for it: frames lie in a Parquet file as binary, without JSON around them, and each response stands
beside the API and version that it answers. It decodes header, body and the sizes of record batches as the pipeline
does, and gives one number; it makes no tables.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.bench.pipeline.bare import Framed, frames_of


def frames_as_rows(path: Path, target: Path, cores: int) -> int:
    """A capture's frames as a Parquet file of binary rows, one row group a core at least; gives their number."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    frames = list(frames_of(path))
    rows = pa.table({name: [frame[at] for frame in frames] for at, name in enumerate(Framed._fields)})
    pq.write_table(rows, target, row_group_size=-(-len(frames) // max(cores, 1)), compression="none")
    return len(frames)


def decode_rows(spark: Any, rows: Path) -> int:
    """Decode them all, one call a row; gives the records found."""
    from pyspark.sql.functions import col, udf

    found = spark.read.parquet(str(rows)).select(
        udf(decode_row, "long")(*map(col, Framed._fields)).alias("records"),
    )
    return int(found.groupBy().sum("records").collect()[0][0])


def decode_row(is_request: bool, api_key: int, version: int, data: bytes) -> int:
    """The records in a frame."""
    from protocol.records.sizes import batch_sizes
    from tests.bench.pipeline.bare import read, records_of

    frame = Framed(is_request, api_key, version, bytes(data))
    sizes = (size for records in records_of(frame, read(frame)) for size in batch_sizes(records))
    return sum(size.counts.records for size in sizes if size.counts is not None)
