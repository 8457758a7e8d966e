"""Runs a program of docs/pipeline.md as it stands, and before it stops Spark asks the workers where they are.

Run as a script, so that what goes to the workers is not looked for in a module that they do not have.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MODULES = (
    *("kafka_rack", "kafka_rack.pipeline.output.writing", "protocol", "protocol.compiler"),
    *("construct", "cramjam", "google_crc32c", "lz4", "msgspec", "numpy", "pyarrow", "zstandard"),
)
STOP = "spark.stop()\n"


def where(modules: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Where a worker is and has its modules from."""
    from importlib import import_module

    yield {
        "folder": os.path.realpath("."),
        "python": sys.executable,
        "path": [os.path.realpath(path) for path in sys.path],
        "modules": {name: os.path.realpath(str(import_module(name).__file__)) for name in modules},
    }


def report(spark: Any, summary: Any) -> dict[str, Any]:
    """What was decoded, how many tasks each executor had done, and where they are."""
    found = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    executors = [found.apply(at) for at in range(found.size())]
    tasks = {one.id(): one.completedTasks() for one in executors if one.id() != "driver"}
    modules = MODULES
    everywhere = spark.sparkContext.parallelize(range(len(tasks)), len(tasks)).barrier()  # one on each, at one time
    workers = everywhere.mapPartitions(lambda _: where(modules)).collect()
    return {"tables": summary.tables, "tasks": tasks, "workers": workers}


def main(program: str) -> None:
    text = Path(program).read_text(encoding="utf-8")
    assert text.endswith(STOP)
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(text.removesuffix(STOP), program, "exec"), names)
    found = report(names["spark"], names["summary"])
    exec(STOP, names)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
