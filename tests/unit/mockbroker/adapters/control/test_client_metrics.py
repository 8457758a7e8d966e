from __future__ import annotations

import base64

import httpx

from mockbroker import MockCluster
from mockbroker.adapters.control import ControlServer
from mockbroker.state.configs.effective import CLIENT_METRICS
from protocol import ZERO_UUID
from tests.plain_http import PLAIN_HTTP
from tests.unit.mockbroker.handlers.test_telemetry import METRICS, NAME

OF_THE_SHOP = {"client_id": "shop", "client_software_name": "java", "client_software_version": "4.4.0"}


async def shown(cluster: MockCluster) -> dict[str, object]:
    """What GET /client-metrics answers."""
    async with (
        ControlServer(cluster) as control,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{control.port}", timeout=None, **PLAIN_HTTP) as http,
    ):
        answer = await http.get("/client-metrics")
        assert answer.status_code == 200
        told: dict[str, object] = answer.json()
        return told


async def test_nothing_is_shown_where_nobody_asks_clients_for_anything():
    async with MockCluster(brokers=1) as cluster:
        assert await shown(cluster) == {"enabled": False, "subscriptions": [], "clients": [], "pushes": []}


async def test_subscriptions_clients_and_what_they_pushed_are_shown():
    async with MockCluster(brokers=2, settings={"client.telemetry.enable": "true"}) as cluster:
        configs = cluster.state.configs
        wanted = {"interval.ms": "1000", "metrics": "b,a", "match": "client_id=shop.*"}
        configs.write(CLIENT_METRICS, "shops", wanted)
        client = configs.reports.subscribe(1, ZERO_UUID, OF_THE_SHOP, 7, 5_000)
        configs.reports.push(
            1,
            client.id,
            OF_THE_SHOP,
            7,
            5_000,
            subscription_id=client.subscription_id,
            compression_type=0,
            metrics=METRICS,
            is_last=True,
        )
        told = await shown(cluster)
        client_id = base64.urlsafe_b64encode(client.id).decode().rstrip("=")
        assert told == {
            "enabled": True,
            "subscriptions": [
                {"name": "shops", "metrics": ["b", "a"], "interval_ms": 1000, "match": ["client_id=shop.*"]}
            ],
            "clients": [
                {
                    "id": client_id,
                    "broker": 1,
                    "client_id": "shop",
                    "software_name": "java",
                    "software_version": "4.4.0",
                    "metrics": ["a", "b"],
                    "push_interval_ms": 1000,
                }
            ],
            "pushes": [
                {
                    "client": client_id,
                    "client_id": "shop",
                    "broker": 1,
                    "time_ms": 5_000,
                    "is_last": True,
                    "compression_type": 0,
                    "names": [NAME.decode()],
                    "metrics": base64.b64encode(METRICS).decode(),
                }
            ],
        }
