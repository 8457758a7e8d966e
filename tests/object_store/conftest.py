"""A real S3 endpoint on loopback, and one Spark session that reaches it.

The suite `object-store` runs these tests; `make test` does not, as they fetch what only they need. ``store`` and
``spark_settings`` serve any test that wants S3, in this folder or in another that CI runs beside it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlencode

import pytest

from tests import on_spark
from tests.fixture_data import CAPTURES
from tests.formats.sessions import session_with_formats
from tests.interop.fetched import ToolMissingError, fetched, maven_jars, skipped_without_tools
from tests.object_store.emulators import azurite, fake_gcs_server

HERE = Path(__file__).parent
collect_ignore = ["s3_server.py"]  # it runs with packages of its own
MOTO = ("moto[s3]==5.1.22", "flask<4", "flask-cors<7")
"""Fetched apart from the developers' packages: it needs an older python-dateutil than they do."""
HADOOP = "3.4.1"
"""What pyspark 4.0.0 bundles."""
BUCKET = "trace"
KEY, SECRET = "AKIDLOOPBACK", "not-to-be-shown"
NAMES = ("java41-range.jsonl", "zk39-ibp0101.jsonl", "aiokafka.pcap")

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

    @property
    def environment(self) -> dict[str, str]:
        """What Amazon's own libraries look at, for commands without Spark."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
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

    def close_gate(self, after: int, matching: str = "", how: str = "hold") -> None:
        """Let changes through until the one with number ``after`` among those that match: s3_server.py."""
        self._gate("PUT", after=after, matching=matching, how=how)

    def open_gate(self) -> None:
        self._gate("PUT")

    @property
    def gate_is_closed(self) -> bool:
        return bool(self._gate("GET")["closed"])

    def _gate(self, method: str, **given: object) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.endpoint}/_gate?{urlencode(given)}", method=method)
        with urllib.request.urlopen(request) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


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


@pytest.fixture(autouse=True)
def gate_left_open(store: Store) -> Iterator[None]:
    yield
    store.open_gate()


@pytest.fixture(scope="session")
def jars() -> str:
    """What Spark needs for s3a://, gs:// and abfs://, with commas between."""
    with skipped_without_tools():
        folders = [
            maven_jars("object_store", HERE / "pom.xml", f"hadoop-aws-{HADOOP}.jar"),
            maven_jars("connectors", HERE / "connectors-pom.xml", "hadoop-azure-3.4.2.jar"),
        ]
    return ",".join(str(jar) for folder in folders for jar in sorted(folder.glob("*.jar")))


@pytest.fixture(scope="session", autouse=True)
def emulators_on_their_way() -> Iterator[Thread]:
    """Google's emulator takes a minute to build, beside the tests that do not need it."""

    def fetch() -> None:
        for program in (fake_gcs_server, azurite):
            with suppress(ToolMissingError):  # who needs it hears of it
                program()

    fetching = Thread(target=fetch)
    fetching.start()
    yield fetching
    fetching.join()


@pytest.fixture(scope="session")
def emulators_fetched(emulators_on_their_way: Thread) -> None:
    emulators_on_their_way.join()


@pytest.fixture(scope="session")
def spark_settings(store: Store, jars: str) -> dict[str, str]:
    return {"spark.jars": jars, **{f"spark.hadoop.{name}": value for name, value in store.settings.items()}}


@pytest.fixture(scope="session")
def spark(spark_settings: dict[str, str]) -> Iterator[Any]:
    session = session_with_formats(spark_settings)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory, store: Store) -> Path:
    """A folder of captures, the same files below s3a://trace/captures: plain, compressed, damaged."""
    folder = tmp_path_factory.mktemp("captures")
    on_spark.put_captures(folder, NAMES)
    (folder / "confluent-kip848.jsonl.gz").write_bytes((CAPTURES / "confluent-kip848.jsonl.gz").read_bytes())
    for path in folder.iterdir():
        store.put(f"captures/{path.name}", path.read_bytes())
    return folder
