"""The commands of ``core.commands`` as operations: they are answered when they have taken effect, 409 without one."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any

import msgspec

from mockbroker.adapters.control.cluster_json import PartitionView, partition_of
from mockbroker.adapters.control.operations import ControlCall, known_broker, known_partition, operation
from mockbroker.adapters.control.problems import bad_request, conflict
from mockbroker.core.commands import BROKER_COMMANDS, COMMANDS, BrokerCommand, CommandWithArgument
from mockbroker.state.settings import PROTOCOL_SETTING


class Changed(msgspec.Struct):
    """The brokers that something happened to."""

    brokers: list[int]


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
        answer=Changed,
        statuses=(409,) if command.unchanged else (),
    )(change)


def declare_with_argument(command: CommandWithArgument, kind: str = "") -> None:
    """Declare the operation of a command with an argument; ``kind`` is ``broker`` or ``rack`` if it is for both."""
    name, path = command.argument[0], command.path
    if kind:
        path = path.replace("{kind}s/{target}", "brokers/{id}" if kind == "broker" else "racks/{rack}")

    async def change(call: ControlCall) -> Any:
        value = getattr(call.body, name)
        for target in targets_of(call):
            getattr(call.cluster, command.method)(*target, *arguments_of(call, name, value))
        return partition_of(*known_partition(call)) if "partition" in call.names else call.body

    change.__name__ = change.__qualname__ = f"set_{kind}_{command.name}" if kind else command.method
    summary, change.__doc__ = command.words
    operation(
        "POST",
        path,
        summary.replace("a broker", "a rack's brokers") if kind == "rack" else summary,
        body=BODIES[command.name],
        answer=PartitionView if "{partition}" in path else BODIES[command.name],
        statuses=(409,) if "{partition}" in path or "{group}" in path else (404,),
    )(change)


BODIES = {
    command.name: msgspec.defstruct(
        f"{command.name.capitalize()}Command",
        [command.argument],
        forbid_unknown_fields=True,
        module=__name__,
        namespace={"__doc__": f"The argument of {command.path}."},
    )
    for command in COMMANDS
}


def targets_of(call: ControlCall) -> list[tuple[Any, ...]]:
    """The arguments in the path, once for each call of the method. Raises ControlProblem: 404."""
    if "rack" in call.names:
        return [(broker.id,) for broker in call.state.liveness.brokers_in(call.rack())]
    if "id" in call.names:
        return [(call.broker_id(),)]
    if "partition" in call.names:
        topic, partition = known_partition(call)
        return [(topic.name, partition.index)]
    return [tuple(call.names.values())]


def arguments_of(call: ControlCall, name: str, value: Any) -> tuple[Any, ...]:
    """The arguments in the body. Raises ControlProblem: 404 for an unknown broker, 400 for a link with one end."""
    if isinstance(value, tuple):
        if len(set(value)) < len(value):
            raise bad_request(f"{name}: expected two brokers, got {value[0]} twice", field=name)
        return value
    for broker in {"broker": [value], "brokers": value}.get(name, ()):
        known_broker(call.state, str(broker))
    return (value,)


for kind in ("broker", "rack"):
    for command in BROKER_COMMANDS:
        if kind == "broker" or command.on_rack:
            declare(command, kind)
for taking in COMMANDS:
    for kind in ("broker", "rack") if "{kind}" in taking.path else ("",):
        declare_with_argument(taking, kind)


@operation(
    "POST", "/brokers/{id}/software", "Change what a broker runs", body=Software, answer=Changed, statuses=(409,)
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
