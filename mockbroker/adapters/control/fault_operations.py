"""Operations that set, show and remove faults."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import msgspec

from mockbroker.adapters.control.operations import ControlCall, as_response, known, operation
from mockbroker.adapters.fault_files import listed
from mockbroker.core.faults.faults import FaultHandle

BODY_SCHEMA = {"oneOf": [{"$ref": "#/components/schemas/Fault"}, {"$ref": "#/components/schemas/Faults"}]}

FaultBody = dict[str, Any] | list[dict[str, Any]]


class FaultView(msgspec.Struct):
    """A fault as it was set, how many calls it matched, on how many it acted, and why on none."""

    id: str
    effect: dict[str, Any]
    matched: int
    fired: int
    match: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    link: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    when: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    explanation: str | msgspec.UnsetType = msgspec.UNSET


class FaultsView(msgspec.Struct):
    """The faults that are set, in their order."""

    faults: list[FaultView]


class FaultsDeleted(msgspec.Struct):
    """The ids of those that are no longer set."""

    deleted: list[str]


@operation("GET", "/faults", "The faults that are set", answer=FaultsView)
async def faults(call: ControlCall) -> Any:
    """With how many calls each matched, and on how many it acted."""
    return {"faults": call.cluster.faults.to_json()}


@operation(
    "POST",
    "/faults",
    "Set faults",
    body=FaultBody,
    body_schema=BODY_SCHEMA,
    answer=(FaultView, FaultsView),
    status=201,
    statuses=(409,),
)
async def add_faults(call: ControlCall) -> Any:
    """One or a list; of a list all are set or none. docs/faults.md has the vocabulary."""
    body, faults = call.body, call.cluster.faults
    is_one = isinstance(body, dict) and "faults" not in body
    shown = [handle.to_json() for handle in ([faults.add(body)] if is_one else faults.add_all(listed(body)))]
    response = as_response(shown[0] if is_one else {"faults": shown}, HTTPStatus.CREATED)
    response.headers["location"] = f"/faults/{quote(shown[0]['id'], safe='')}" if is_one else "/faults"
    return response


@operation("GET", "/faults/{fault}", "One fault", answer=FaultView)
async def fault(call: ControlCall) -> Any:
    """One that has acted on no call explains why: the nearest call, and the field in which it missed."""
    return known_fault(call).to_json()


@operation("DELETE", "/faults/{fault}", "Take a fault back", answer=FaultView)
async def delete_fault(call: ControlCall) -> Any:
    """The answer has its counts."""
    handle = known_fault(call)
    handle.remove()
    return handle.to_json()


@operation("DELETE", "/faults", "Take all faults back", answer=FaultsDeleted)
async def delete_faults(call: ControlCall) -> Any:
    """The answer names them."""
    ids = [handle.id for handle in call.cluster.faults]
    call.cluster.faults.clear()
    return FaultsDeleted(ids)


def known_fault(call: ControlCall) -> FaultHandle:
    """The fault that the path names. Raises ControlProblem: 404."""
    faults = call.cluster.faults
    return faults[known("fault", call.names["fault"], [handle.id for handle in faults])]
