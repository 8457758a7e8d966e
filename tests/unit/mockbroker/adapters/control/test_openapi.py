"""GET /openapi.json: it is OpenAPI, it describes what there is, and what is answered is as it says."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from mockbroker.adapters import dashboard
from mockbroker.adapters.control.app import routes_of
from tests.unit.mockbroker.adapters.control.calls import read, write

NAMES = {"id": "1", "rack": "a", "topic": "orders", "partition": "0", "group": "readers", "fault": "fault-1"}
BODIES: dict[str, Any] = {
    "add_faults": {"id": "fault-1", "effect": {"delay_ms": 1}},
    "check_assertion": {"assert": "no_errors"},
    "count_requests": {"api": "Fetch"},
    "create_topic": {"name": "new", "partitions": 1},
    "cut_link": {"between": [0, 1]},
    "jump_clock": {"jump_ms": 1},
    "restore_link": {"between": [0, 1]},
    "move_coordinator": {"broker": 2},
    "move_leader": {"broker": 0},
    "move_replicas": {"brokers": [0, 2]},
    "set_broker_lag": {"records": 0},
    "set_isr": {"brokers": [0]},
    "set_rack_lag": {"records": 0},
    "set_software": {"release": "0.10.0"},
}
"""A body for each operation that has one."""


@pytest.fixture
async def description(http) -> dict[str, Any]:
    return (await http.get("/openapi.json")).json()


def operations(description: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(method, path, one) for path, methods in description["paths"].items() for method, one in methods.items()]


def resolved(description: dict[str, Any], schema: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": description["components"]})


async def test_the_description_is_openapi(description):
    OpenAPIV31SpecValidator(description).validate()
    assert description["openapi"].startswith("3.1")


async def test_each_operation_that_is_described_is_there(http, description):
    for path, methods in description["paths"].items():
        response = await http.request("PATCH", re.sub(r"{\w+}", "no-such", path))
        assert response.status_code == 405, path
        allowed = set(response.headers["allow"].split(", ")) - {"HEAD"}
        assert allowed == {method.upper() for method in methods}, path


async def test_each_route_that_is_there_is_described(control, description):
    routes = {route.path.replace(":kafka_name", "") for route in routes_of(control)}
    assert routes - dashboard.static_files().keys() == description["paths"].keys()


async def test_each_body_and_each_path_that_is_described_has_its_example_here(description):
    with_body = {one["operationId"] for _, _, one in operations(description) if "requestBody" in one}
    assert with_body == BODIES.keys()
    assert {name for path in description["paths"] for name in re.findall(r"{(\w+)}", path)} == NAMES.keys()


async def test_what_is_answered_is_what_is_described(http, cluster, description):
    """Every operation is asked, the deleting ones last; whatever comes is of a status and a shape that it names."""
    cluster.move_replicas("orders", 0, [0, 1])
    await write(cluster)
    await read(cluster, 1, "b")
    asked = [one for one in operations(description) if one[1] not in {"/events", "/shutdown"}]
    seen = set()
    for method, path, one in sorted(asked, key=lambda each: (each[0] == "delete", each[0] == "get")):
        body = BODIES.get(one["operationId"])
        if body is not None:
            schema = one["requestBody"]["content"]["application/json"]["schema"]
            resolved(description, schema).validate(body)
        response = await http.request(method, path.format(**NAMES), json=body)
        answer = one["responses"].get(str(response.status_code))
        assert answer is not None, (method, path, response.status_code, response.text)
        ((media_type, shape),) = answer["content"].items()
        assert response.headers["content-type"].partition(";")[0] == media_type
        if media_type.endswith("json"):
            resolved(description, shape["schema"]).validate(response.json())
        seen.add(response.status_code)
    assert {200, 201, 404, 409} <= seen


@pytest.mark.parametrize("method", ["get", "post", "delete"])
async def test_no_body_makes_an_operation_fail(http, description, method):
    for body in (b"null", b"[]", b'"x"', b"{", b"\xff", b'{"a": 1}', b"1e999", b'{"records": 1e400}'):
        for found, path, one in operations(description):
            if found == method and path not in {"/events", "/shutdown"}:
                response = await http.request(method, path.format(**NAMES), content=body)
                answers = one["responses"]
                assert str(response.status_code) in answers, (path, body, response.status_code, response.text)


async def test_no_name_makes_an_operation_fail(http, description):
    for name in ("%00", "%2e%2e", "a%2Fb", "%F0%9F%98%80", "%ff", "9" * 400, "-1", "+1", "%20"):
        for method, path, one in operations(description):
            if "{" in path:
                filled = re.sub(r"{\w+}", name, path)
                response = await http.request(method, filled, json=BODIES.get(one["operationId"]))
                answers = one["responses"]
                assert str(response.status_code) in answers, (filled, response.status_code, response.text)


def anything(rng: Random, depth: int = 3) -> Any:
    """A JSON value of any shape, with names and values that mean something now and then."""
    names = [
        "records",
        "brokers",
        "broker",
        "between",
        "effect",
        "match",
        "assert",
        "name",
        "partitions",
        "configs",
        "x",
    ]
    plain = [None, True, 0, -1, 1, 2**31, 2**64, 1.5, "", "orders", "a", "rack_local", "\u0000", "\U0001f600"]
    kind = rng.randrange(3) if depth else 0
    if kind == 1:
        return [anything(rng, depth - 1) for _ in range(rng.randrange(3))]
    if kind == 2:
        return {rng.choice(names): anything(rng, depth - 1) for _ in range(rng.randrange(4))}
    return rng.choice(plain)


async def test_no_json_makes_an_operation_fail(http, description):
    rng = Random(0)
    with_body = [one for one in operations(description) if "requestBody" in one[2]]
    refused = 0
    for _ in range(12):
        for method, path, one in with_body:
            response = await http.request(method, path.format(**NAMES), json=anything(rng))
            assert str(response.status_code) in one["responses"], (path, response.request.content, response.text)
            refused += response.status_code == 400
            if response.status_code >= 400:
                assert "\n" not in response.json()["detail"]
    assert refused > 40
