from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from mockbroker.adapters.control import metrics
from tests.unit.mockbroker.adapters.control.calls import read, write


async def samples(http) -> dict[str, list[tuple[dict[str, str], float]]]:
    """The samples of each metric, as Prometheus reads them."""
    response = await http.get("/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(response.text):
        assert family.type in {"counter", "gauge"}
        assert family.documentation
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


async def test_bytes_between_racks_and_calls_by_api_are_counted(http, cluster):
    cluster.move_replicas("orders", 0, [0, 1])
    await write(cluster)
    await read(cluster, 0, "b")
    await read(cluster, 1, "b")
    entries = cluster.journal.find(client_rack="b")
    found = await samples(http)
    pair = {"client_rack": "b", "broker_rack": "a", "category": "consume", "locality": "cross"}
    (crossed,) = [value for labels, value in found["kafka_rack_bytes_total"] if pair.items() <= labels.items()]
    assert crossed == sum(share.bytes for entry in entries if entry.rack == "a" for share in entry.shares)
    calls = {(labels["api"], labels["error"]): value for labels, value in found["kafka_rack_calls_total"]}
    assert calls["Produce", ""] == 1
    assert sum(value for (api, _), value in calls.items() if api == "Fetch") == 2
    clients = {labels["client_id"] for labels, _ in found["kafka_rack_client_bytes_total"]}
    assert clients == {"reader", "writer"}


async def test_brokers_connections_and_partitions_are_gauges(http, cluster):
    await cluster.stop_broker(1)
    found = await samples(http)
    assert [value for _, value in found["kafka_rack_broker_up"]] == [1, 0, 1, 1]
    assert [labels["rack"] for labels, _ in found["kafka_rack_connections"]] == ["a", "b", "a", "b"]
    assert found["kafka_rack_partitions"] == [({}, 2)]
    assert found["kafka_rack_parked_calls"] == [({}, 0)]


async def test_names_that_clients_choose_stay_inside_their_labels(http, cluster):
    name = 'x"} 1\nfake{a="\\'
    await write(cluster, client_id=name)
    found = await samples(http)
    assert "fake" not in found
    assert name in {labels["client_id"] for labels, _ in found["kafka_rack_client_bytes_total"]}


async def test_clients_beyond_the_busiest_are_added_up(http, cluster, monkeypatch):
    monkeypatch.setattr(metrics, "MAX_CLIENTS", 1)
    for client_id in ("busy", "busy", "one", "other"):
        await write(cluster, client_id=client_id)
    found = (await samples(http))["kafka_rack_client_bytes_total"]
    assert {labels["client_id"] for labels, _ in found} == {"busy", "(others)"}
    sums = {
        client: sum(value for labels, value in found if labels["client_id"] == client)
        for client in ("busy", "(others)")
    }
    assert 0 < sums["(others)"] <= sums["busy"]


async def test_traffic_tells_the_same_with_its_price(http, cluster):
    await write(cluster)
    shown = (await http.get("/traffic")).json()
    assert shown["calls"] == 1
    assert shown["currency"] == "$"
    assert [one["client_id"] for one in shown["clients"]] == ["writer"]
