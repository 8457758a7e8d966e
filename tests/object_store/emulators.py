"""Google's and Azure's stores on loopback: fake-gcs-server, and Azurite with an account of its own."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop.fetched import FOLDER, fetched, needs_programs
from tests.ports import free_ports
from tests.progress import wait_until

FAKE_GCS = "github.com/fsouza/fake-gcs-server@v1.56.1"
AZURITE = "azurite@3.37.0"
BUCKET, ACCOUNT = "trace", "kafkarack"
KEY = base64.b64encode(b"the key of an account on loopback").decode()
HOST = f"{ACCOUNT}.dfs.core.windows.net"


@dataclass(frozen=True)
class Emulator:
    """A store that runs, with one bucket.

    Args:
        root: the URL of its bucket.
        settings: Hadoop's, for Spark and for workers.
        environment: what commands without Spark look at.
    """

    root: str
    settings: Mapping[str, str]
    environment: Mapping[str, str]


def fake_gcs_server() -> Path:
    """The program, built once. Raises ToolMissingError."""
    needs_programs("go")
    install = ["env", f"GOBIN={FOLDER / 'fake-gcs-server'}", "go", "install", "-ldflags=-s -w", FAKE_GCS]
    return fetched("fake-gcs-server", "fake-gcs-server", install) / "fake-gcs-server"


def azurite() -> Path:
    """The program of its blobs, fetched once. Raises ToolMissingError."""
    needs_programs("node", "npm")
    main = "node_modules/azurite/dist/src/blob/main.js"
    install = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--omit=optional", "--prefix", ".", AZURITE]
    return fetched("azurite", main, install) / main


@contextmanager
def on_google() -> Iterator[Emulator]:
    import pyarrow.fs as arrow

    [port] = free_ports(1)
    address = f"127.0.0.1:{port}"
    command = [fake_gcs_server(), "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", port]
    command += ["-public-host", address, "-external-url", f"http://{address}"]
    with running(command, port):
        options: dict[str, Any] = {"anonymous": True, "scheme": "http", "endpoint_override": address}
        arrow.GcsFileSystem(**options, project_id=BUCKET).create_dir(BUCKET)
        settings = {
            "fs.gs.storage.root.url": f"http://{address}",
            "fs.gs.project.id": BUCKET,
            "fs.gs.auth.service.account.enable": "false",
            "fs.gs.auth.null.enable": "true",
        }
        yield Emulator(f"gs://{BUCKET}", settings, {"STORAGE_EMULATOR_HOST": f"http://{address}"})


@contextmanager
def on_azure() -> Iterator[Emulator]:
    import pyarrow.fs as arrow

    [port] = free_ports(1)
    address = f"127.0.0.1:{port}"
    command = ["node", azurite(), "--blobPort", port, "--inMemoryPersistence", "--silent", "--disableTelemetry"]
    command += ["--skipApiVersionCheck"]
    with running(command, port, AZURITE_ACCOUNTS=f"{ACCOUNT}:{KEY}"):
        services = dict.fromkeys(("blob_storage_authority", "dfs_storage_authority"), address)
        services |= dict.fromkeys(("blob_storage_scheme", "dfs_storage_scheme"), "http")
        arrow.AzureFileSystem(account_name=ACCOUNT, account_key=KEY, **services).create_dir(BUCKET)
        settings = {
            "fs.azure.abfs.endpoint": address,
            "fs.azure.always.use.https": "false",
            f"fs.azure.account.key.{HOST}": KEY,
            "fs.azure.account.hns.enabled": "false",
            "fs.azure.fns.account.service.type": "BLOB",
        }
        connection = f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint=http://{address}/{ACCOUNT}"
        yield Emulator(f"abfs://{BUCKET}@{HOST}", settings, {"AZURE_STORAGE_CONNECTION_STRING": connection})


@contextmanager
def running(command: list[str | Path | int], port: int, **variables: str) -> Iterator[None]:
    """A server until the end, once it listens."""
    words = [str(word) for word in command]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, env={**os.environ, **variables}, stdout=quiet, stderr=quiet) as process:
        try:
            wait_until(lambda: listens(port) or process.poll() is not None, f"a server at port {port}")
            assert process.poll() is None
            yield
        finally:
            process.kill()


def listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
