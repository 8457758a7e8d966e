from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from mockbroker.adapters.control import events as events_module
from tests.progress import until, while_it_works
from tests.unit.mockbroker.adapters.control.calls import write


async def events_of(response: httpx.Response) -> AsyncIterator[tuple[int, str, Any]]:
    """Number, kind and data of each event of a stream."""
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if not line and "data" in fields:
            yield int(fields["id"]), fields["event"], json.loads(fields["data"])
            fields = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


@pytest.fixture
async def events(http) -> AsyncIterator[AsyncIterator[tuple[int, str, Any]]]:
    async with while_it_works("events"), http.stream("GET", "/events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        yield events_of(response)


async def test_a_stream_begins_with_all_there_is(http, events):
    found = {}
    async for number, kind, data in events:
        found[kind] = (number, data)
        if len(found) == 5:
            break
    assert found["cluster"][1] == (await http.get("/cluster")).json()
    assert found["groups"][1] == {"groups": []}
    assert found["faults"][1] == {"faults": []}
    assert found["requests"][1] == {"requests": [], "skipped": 0, "next": 0}
    assert found["traffic"][1]["calls"] == 0


async def test_a_change_is_told_as_it_takes_effect_under_a_higher_number(http, events):
    numbers = []
    async for number, kind, data in events:
        numbers.append(number)
        if kind == "cluster":
            if data["racks"]["a"]["online"] == []:
                break
            await http.post("/racks/a/stop")
    assert numbers == sorted(set(numbers))


async def test_the_stream_ends_with_its_server(control, events):
    await anext(events)
    await control.__aexit__()
    async for _ in events:
        pass
    assert not control.events.listeners


async def test_whoever_goes_is_forgotten(http, control):
    async with while_it_works("a listener that goes"), http.stream("GET", "/events") as response:
        await anext(events_of(response))
        assert control.events.listeners == 1
    await until(lambda: not control.events.listeners, "the end of a stream that nobody reads")


async def events_until(events, kind: str, enough) -> list[Any]:
    """The data of the events of one kind, until there is enough of it."""
    found = []
    async for _, name, data in events:
        if name == kind:
            found.append(data)
            if enough(found):
                break
    return found


async def test_calls_are_told_as_they_end_and_none_twice(events, cluster):
    async for _, kind, _ in events:
        if kind == "requests":
            break
    for _ in range(3):
        await write(cluster)
    told = await events_until(events, "requests", lambda found: sum(len(one["requests"]) for one in found) >= 3)
    assert [one["sequence"] for batch in told for one in batch["requests"]] == [1, 2, 3]
    assert [one["skipped"] for one in told] == [0] * len(told)


async def test_of_many_calls_the_last_are_told_and_the_rest_is_counted(cluster, monkeypatch):
    monkeypatch.setattr(events_module, "MAX_REQUESTS", 2)
    hub = events_module.EventHub(cluster)
    for _ in range(5):
        await write(cluster)
    batch = json.loads(hub.requests(0, 5))
    assert ([one["sequence"] for one in batch["requests"]], batch["skipped"], batch["next"]) == ([4, 5], 3, 5)


async def test_a_listener_that_does_not_read_gets_the_newest_and_the_number_of_missed_calls(cluster, monkeypatch):
    monkeypatch.setattr(events_module, "MAX_REQUESTS", 2)
    hub = events_module.EventHub(cluster)
    stream = hub.stream()
    begun = b"".join([await anext(stream) for _ in range(6)])
    assert begun.count(b"event: cluster") == begun.count(b"event: requests") == 1
    for number in range(5):
        cluster.create_topic(f"topic-{number}")
        await write(cluster)
    await until(lambda: cluster.journal.mark() == 5, "the calls")
    missed = {}
    async for event in stream:
        head, _, data = event.partition(b"data: ")
        missed[head.partition(b"event: ")[2].strip().decode()] = json.loads(data)
        if {"cluster", "requests"} <= missed.keys():
            break
    await stream.aclose()
    assert {one["name"] for one in missed["cluster"]["topics"]} >= {f"topic-{number}" for number in range(5)}
    assert ([one["sequence"] for one in missed["requests"]["requests"]], missed["requests"]["skipped"]) == ([4, 5], 3)


async def test_no_more_than_so_many_may_listen(http, control, monkeypatch):
    monkeypatch.setattr(events_module, "MAX_LISTENERS", 0)
    response = await http.get("/events")
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
