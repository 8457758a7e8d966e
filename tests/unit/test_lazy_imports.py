"""A program that imports a package, or starts a cluster, loads no more than it uses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mockbroker.parts import PACKAGES


def loaded_by(program: str) -> set[str]:
    """The modules of a process of its own at the end of a program."""
    code = f"{program}\nimport sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize("package", ["protocol", "kafka_rack", "mockbroker"])
def test_importing_a_package_loads_none_of_its_modules(package):
    loaded = loaded_by(f"import {package}")
    assert package in loaded
    assert {name for name in loaded if name.startswith(f"{package}.")} <= {"protocol.errors"}
    assert loaded & {"asyncio", "construct", "msgspec", "pyspark"} == set()


STARTED_CLUSTER = """
import asyncio
from kafka_rack.cli.commands.serve import serve
from mockbroker.adapters.server import MockCluster

async def start():
    async with MockCluster():
        pass

asyncio.run(start())
"""


def test_starting_a_cluster_loads_nothing_of_http_captures_and_tables():
    loaded = loaded_by(STARTED_CLUSTER)
    assert "mockbroker.adapters.server" in loaded
    unwanted = {
        "email",
        "encodings.idna",
        "h11",
        "json",
        "mockbroker.adapters.capture",
        "mockbroker.core.faults",
        "pathlib",
        "shutil",
        "starlette",
        "urllib.parse",
        "uvicorn",
    }
    assert loaded & unwanted == set()
    optional = tuple(f"{package}." for package in (*PACKAGES, "mockbroker.proxy"))
    assert [name for name in loaded if name.startswith(optional)] == []
