from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from mockbroker import MockCluster
from mockbroker.adapters.control import ControlServer
from tests.plain_http import PLAIN_HTTP


@pytest.fixture
async def cluster() -> AsyncIterator[MockCluster]:
    """Brokers 0-3 on racks a, b, a, b; the topics orders and, diskless, events."""
    async with MockCluster(
        brokers=4, racks=("a", "b"), topics={"orders": (2, 2)}, diskless_topics={"events": 1}
    ) as cluster:
        yield cluster


@pytest.fixture
async def control(cluster: MockCluster) -> AsyncIterator[ControlServer]:
    async with ControlServer(cluster) as control:
        yield control


@pytest.fixture
async def http(control: ControlServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{control.port}", timeout=None, **PLAIN_HTTP) as client:
        yield client
