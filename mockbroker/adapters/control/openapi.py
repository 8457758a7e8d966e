"""``GET /openapi.json``: the control API as OpenAPI 3.1, made from the table of operations."""

from __future__ import annotations

import re
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

from mockbroker.adapters.control.operations import JSON, ControlCall, ControlOperation, operation
from mockbroker.adapters.control.problems import MEDIA_TYPE, ProblemDetails
from mockbroker.core.faults.fault import json_schemas

REF = "#/components/schemas/{name}"
ANY_STATUSES = (403, 413)  # what each request may meet: the guards, and the limit of bodies
PLACES = {
    "id": "A broker's id.",
    "rack": "A rack's name.",
    "topic": "A topic's name.",
    "group": "A group's id.",
    "partition": "A partition's number.",
    "fault": "A fault's id.",
}


@operation("GET", "/openapi.json", "This description", answer=dict[str, Any])
async def description(_: ControlCall) -> Any:
    """OpenAPI 3.1."""
    return openapi()


@cache
def openapi() -> dict[str, Any]:
    """The whole document."""
    typed = [shape for one in operation.table.values() for shape in (*answers_of(one), one.body) if shape is not None]
    unique = list({repr(shape): shape for shape in [*typed, ProblemDetails]}.values())
    schemas, components = msgspec.json.schema_components(unique, ref_template=REF)
    by_type = {repr(shape): schema for shape, schema in zip(unique, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for (method, path), one in operation.table.items():
        paths.setdefault(path, {})[method.lower()] = described(one, by_type)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kafka-rack control API",
            "summary": "Look at a running cluster, change it, and ask who served whom.",
            "version": "1",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(one.tag for one in operation.table.values())],
        "paths": paths,
        "components": {"schemas": dict(sorted({**components, **json_schemas(REF)}.items()))},
    }


def answers_of(one: ControlOperation) -> tuple[Any, ...]:
    """The types that the answer's JSON may have."""
    if one.answer is None:
        return ()
    return one.answer if isinstance(one.answer, tuple) else (one.answer,)


def described(one: ControlOperation, schemas: dict[str, Any]) -> dict[str, Any]:
    """One operation as OpenAPI's Operation Object."""
    found: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "description": " ".join((one.handler.__doc__ or "").split()),
        "tags": [one.tag],
    }
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "description": PLACES[name], "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", one.path)
    ]
    for parameter in one.parameters:
        schema = msgspec.json.schema(parameter.kind)
        parameters.append({"name": parameter.name, "in": "query", "description": parameter.meaning, "schema": schema})
    if parameters:
        found["parameters"] = parameters
    if one.body is not None:
        body_schema = one.body_schema or schemas[repr(one.body)]
        found["requestBody"] = {"required": True, "content": {JSON: {"schema": body_schema}}}
    answers = [schemas[repr(answer)] for answer in answers_of(one)] or [{"type": "string"}]
    content = {one.media_type: {"schema": answers[0] if len(answers) == 1 else {"anyOf": answers}}}
    found["responses"] = {str(one.status): {"description": HTTPStatus(one.status).phrase, "content": content}}
    statuses = {*ANY_STATUSES, *one.statuses, *([404] if "{" in one.path else [])}
    if one.body is not None:
        statuses |= {400, 415}
    if one.parameters:
        statuses |= {400}
    for status in sorted(statuses):
        found["responses"][str(status)] = {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": REF.format(name="ProblemDetails")}}},
        }
    return found
