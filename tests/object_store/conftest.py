"""A real S3 endpoint on loopback, and one Spark session that reaches it.

The suite `object-store` runs these tests; `make test` does not, as they fetch what only they need.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import on_spark
from tests.interop.fetched import fetched, maven_jars, skipped_without_tools

HERE = Path(__file__).parent
collect_ignore = ["s3_server.py"]  # it runs with packages of its own
MOTO = ("moto[s3]==5.1.22", "flask<4", "flask-cors<7")
"""Fetched apart from the developers' packages: it needs an older python-dateutil than they do."""
HADOOP = "3.4.1"
"""What pyspark 4.0.0 bundles."""
BUCKET = "trace"
KEY, SECRET = "AKIDLOOPBACK", "not-to-be-shown"
NAMES = ("java41-range.jsonl", "aiokafka.pcap")

collected = on_spark.collected


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    on_spark.mark(items, HERE)


class Store:
    """The S3 endpoint, seen past everything that is tested."""

    def __init__(self, port: int) -> None:
        import pyarrow.fs

        self.endpoint = f"http://127.0.0.1:{port}"
        self.fs = pyarrow.fs.S3FileSystem(
            access_key=KEY,
            secret_key=SECRET,
            region="us-east-1",
            scheme="http",
            endpoint_override=f"127.0.0.1:{port}",
            allow_bucket_creation=True,
        )
        self.fs.create_dir(BUCKET)

    @property
    def settings(self) -> dict[str, str]:
        """Hadoop's, for this endpoint."""
        return {
            "fs.s3a.endpoint": self.endpoint,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.access.key": KEY,
            "fs.s3a.secret.key": SECRET,
            "fs.s3a.path.style.access": "true",
        }

    def put(self, key: str, data: bytes) -> None:
        with self.fs.open_output_stream(f"{BUCKET}/{key}", compression=None) as file:
            file.write(data)

    def get(self, key: str) -> bytes:
        with self.fs.open_input_file(f"{BUCKET}/{key}") as file:
            return bytes(file.read())

    def keys(self, folder: str) -> list[str]:
        """The files below a folder, by their paths in it."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(f"{BUCKET}/{folder}", recursive=True, allow_not_found=True)
        found = [info for info in self.fs.get_file_info(selector) if info.is_file]
        return sorted(info.path.removeprefix(f"{BUCKET}/{folder}/") for info in found)

    def copy_to(self, folder: str, target: Path) -> Path:
        """The files below a folder, on this machine."""
        for key in self.keys(folder):
            (target / key).parent.mkdir(parents=True, exist_ok=True)
            (target / key).write_bytes(self.get(f"{folder}/{key}"))
        return target


@pytest.fixture(scope="session")
def store() -> Iterator[Store]:
    with skipped_without_tools():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", ".", *MOTO]
        packages = fetched("moto", "moto/server.py", install)
    command = [sys.executable, "-S", str(HERE / "s3_server.py")]
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Store(int(process.stdout.readline()))
        process.stdin.close()


@pytest.fixture(scope="session")
def spark(store: Store) -> Iterator[Any]:
    """A session that has what Spark needs for s3a://."""
    from kafka_rack.pipeline.session import spark_session

    with skipped_without_tools():
        folder = maven_jars("object_store", HERE / "pom.xml", f"hadoop-aws-{HADOOP}.jar")
    jars = ",".join(str(jar) for jar in sorted(folder.glob("*.jar")))
    settings = {"spark.jars": jars, **{f"spark.hadoop.{name}": value for name, value in store.settings.items()}}
    session = spark_session("local[2]", driver_memory="1g", settings=settings)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory, store: Store) -> Path:
    """A folder of captures, the same files below s3a://trace/captures."""
    folder = tmp_path_factory.mktemp("captures")
    for name in NAMES:
        (folder / name).write_bytes(on_spark.unpacked(name))
    for path in folder.iterdir():
        store.put(f"captures/{path.name}", path.read_bytes())
    return folder
