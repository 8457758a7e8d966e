"""Operations that set, show and remove faults."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import msgspec

from mockbroker.adapters.control.operations import ControlCall, as_response, known, operation
from mockbroker.adapters.control.problems import conflict
from mockbroker.adapters.fault_files import listed
from mockbroker.core.faults.faults import FaultHandle

MAX_FAULTS_BYTES = 1 << 20

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


@operation("GET", "/faults", "The faults that are set", tag="faults", answer=FaultsView)
async def faults(call: ControlCall) -> Any:
    """With how many calls each matched, and on how many it acted."""
    return {"faults": call.cluster.faults.to_json()}


@operation(
    "POST",
    "/faults",
    "Set faults",
    tag="faults",
    body=FaultBody,
    body_schema=BODY_SCHEMA,
    max_body_bytes=MAX_FAULTS_BYTES,
    answer=(FaultView, FaultsView),
    status=201,
    statuses=(409,),
)
async def add_faults(call: ControlCall) -> Any:
    """One or a list; of a list all are set or none. docs/faults.md has the vocabulary."""
    body, known = call.body, call.cluster.faults
    is_one = isinstance(body, dict) and "faults" not in body
    wanted = [body] if is_one else listed(body)
    for place, fault in enumerate(wanted):
        fault_id = fault.get("id") if isinstance(fault, dict) else None
        if isinstance(fault_id, str) and fault_id in known:
            where = "id" if is_one else f"[{place}].id"
            raise conflict(f"{where}: there is a fault {fault_id!r} already; DELETE it first")
    shown = [handle.to_json() for handle in ([known.add(body)] if is_one else known.add_all(wanted))]
    response = as_response(shown[0] if is_one else {"faults": shown}, HTTPStatus.CREATED)
    response.headers["location"] = f"/faults/{quote(shown[0]['id'], safe='')}" if is_one else "/faults"
    return response


@operation("GET", "/faults/{fault}", "One fault", tag="faults", answer=FaultView, statuses=(404,))
async def fault(call: ControlCall) -> Any:
    """One that has acted on no call explains why: the nearest call, and the field in which it missed."""
    return known_fault(call).to_json()


@operation("DELETE", "/faults/{fault}", "Take a fault back", tag="faults", answer=FaultView, statuses=(404,))
async def delete_fault(call: ControlCall) -> Any:
    """The answer has its counts."""
    handle = known_fault(call)
    handle.remove()
    return handle.to_json()


@operation("DELETE", "/faults", "Take all faults back", tag="faults", answer=FaultsDeleted)
async def delete_faults(call: ControlCall) -> Any:
    """The answer names them."""
    ids = [handle.id for handle in call.cluster.faults]
    call.cluster.faults.clear()
    return FaultsDeleted(ids)


def known_fault(call: ControlCall) -> FaultHandle:
    """The fault that the path names. Raises ControlProblem: 404."""
    faults = call.cluster.faults
    return faults[known("fault", call.names["fault"], [handle.id for handle in faults])]
