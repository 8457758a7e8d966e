"""Operations on brokers and racks. A call is answered when it has taken effect, 409 where nothing would change."""

from __future__ import annotations

from inspect import isawaitable
from typing import Annotated, Any

import msgspec

from mockbroker.adapters.control.operations import ControlCall, known_rack, operation
from mockbroker.adapters.control.problems import bad_request, conflict
from mockbroker.core.commands import BROKER_COMMANDS, BrokerCommand
from mockbroker.state.settings import PROTOCOL_SETTING


class Changed(msgspec.Struct):
    """The brokers that something happened to."""

    brokers: list[int]


class Lag(msgspec.Struct, forbid_unknown_fields=True):
    """By how many records followers lag; 0 ends it."""

    records: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class LagChanged(msgspec.Struct):
    """The brokers whose followers lag, and by how many records."""

    brokers: list[int]
    records: int


class Software(msgspec.Struct, forbid_unknown_fields=True):
    """The software of a broker from its next start on; one of them, or both."""

    release: str | None = None
    protocol: str | None = msgspec.field(name=PROTOCOL_SETTING, default=None)


def declare(command: BrokerCommand, kind: str) -> None:
    """Declare the operation of a command on a broker or on a rack."""

    async def change(call: ControlCall) -> Any:
        target: Any = call.broker_id() if kind == "broker" else call.rack()
        try:
            found = getattr(call.cluster, change.__name__)(target)
            found = await found if isawaitable(found) else found
        except ValueError as error:  # the command is for KRaft mode alone
            raise conflict(str(error)) from None
        if command.unchanged and not found:
            raise conflict(command.unchanged.format(target=f"{kind} {target}"))
        if kind == "broker":
            return Changed([target])
        return Changed(found if command.unchanged else [broker.id for broker in call.state.liveness.brokers_in(target)])

    change.__name__ = change.__qualname__ = command.method(kind)
    change.__doc__ = command.description if kind == "broker" else command.on_rack
    operation(
        "POST",
        f"/brokers/{{id}}/{command.name}" if kind == "broker" else f"/racks/{{rack}}/{command.name}",
        command.summary.replace("broker", kind),
        tag=f"{kind}s",
        answer=Changed,
        statuses=(404, 409) if command.unchanged else (404,),
    )(change)


for command in BROKER_COMMANDS:
    declare(command, "broker")


@operation(
    "POST", "/brokers/{id}/lag", "Have followers lag", tag="brokers", body=Lag, answer=LagChanged, statuses=(404,)
)
async def set_broker_lag(call: ControlCall) -> Any:
    """Every follower on the broker has all but the last N records of its leader, in whole batches."""
    return set_lag(call, [call.broker_id()])


@operation(
    "POST",
    "/brokers/{id}/software",
    "Change what a broker runs",
    tag="brokers",
    body=Software,
    answer=Changed,
    statuses=(404, 409),
)
async def set_software(call: ControlCall) -> Any:
    """In ZooKeeper mode: its release, its inter.broker.protocol.version or both, from its next start on."""
    number, software = call.broker_id(), call.body
    if software.release is None and software.protocol is None:
        raise bad_request(f"expected release, {PROTOCOL_SETTING} or both, got neither")
    try:
        call.cluster.configure_broker(number, emulate=software.release, protocol=software.protocol)
    except ValueError as error:
        raise conflict(str(error)) from None
    return Changed([number])


for command in BROKER_COMMANDS:
    if command.on_rack:
        declare(command, "rack")


@operation(
    "POST", "/racks/{rack}/lag", "Have a rack's followers lag", tag="racks", body=Lag, answer=LagChanged,
    statuses=(404,),
)  # fmt: skip
async def set_rack_lag(call: ControlCall) -> Any:
    """The same for each broker of the rack."""
    return set_lag(call, [broker.id for broker in known_rack(call.state, call.rack())])


def set_lag(call: ControlCall, broker_ids: list[int]) -> LagChanged:
    for broker_id in broker_ids:
        call.cluster.set_follower_lag(broker_id, call.body.records)
    return LagChanged(broker_ids, call.body.records)
