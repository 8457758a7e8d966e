"""Operations on brokers and racks. A call is answered when it has taken effect, 409 where nothing would change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import msgspec

from mockbroker.adapters.control.operations import ControlCall, known_rack, operation
from mockbroker.adapters.control.problems import bad_request, conflict
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


@operation("POST", "/brokers/{id}/stop", "Stop a broker", tag="brokers", answer=Changed, statuses=(404, 409))
async def stop_broker(call: ControlCall) -> Any:
    """A controlled shutdown: its partitions have new leaders, its connections are closed."""
    number = call.broker_id()
    return changed([number] if await call.cluster.stop_broker(number) else [], f"broker {number} is stopped already")


@operation("POST", "/brokers/{id}/start", "Start a broker", tag="brokers", answer=Changed, statuses=(404, 409))
async def start_broker(call: ControlCall) -> Any:
    """It listens on its old ports, and is in sync again."""
    number = call.broker_id()
    return changed([number] if await call.cluster.start_broker(number) else [], f"broker {number} is running already")


@operation("POST", "/brokers/{id}/restart", "Stop and start a broker", tag="brokers", answer=Changed, statuses=(404,))
async def restart_broker(call: ControlCall) -> Any:
    """One that is down is started."""
    number = call.broker_id()
    await call.cluster.restart_broker(number)
    return Changed([number])


@operation("POST", "/brokers/{id}/crash", "Crash a broker", tag="brokers", answer=Changed, statuses=(404, 409))
async def crash_broker(call: ControlCall) -> Any:
    """Its connections break at once, and the others notice only when its session has expired."""
    number = call.broker_id()
    return changed([number] if await call.cluster.crash_broker(number) else [], f"broker {number} is stopped already")


@operation("POST", "/brokers/{id}/fence", "Fence a broker", tag="brokers", answer=Changed, statuses=(404, 409))
async def fence_broker(call: ControlCall) -> Any:
    """It leads no partition and is in no metadata; clients that know its address still reach it."""
    number = call.broker_id()
    with refused_in_zookeeper_mode():
        fenced = call.cluster.fence_broker(number)
    return changed([number] if fenced else [], f"broker {number} is fenced already, or down")


@operation(
    "POST", "/brokers/{id}/unfence", "Let a broker serve again", tag="brokers", answer=Changed, statuses=(404, 409)
)
async def unfence_broker(call: ControlCall) -> Any:
    """One that was fenced."""
    number = call.broker_id()
    with refused_in_zookeeper_mode():
        unfenced = call.cluster.unfence_broker(number)
    return changed([number] if unfenced else [], f"broker {number} is not fenced")


@operation(
    "POST", "/brokers/{id}/fill-disk", "Fill a broker's disk", tag="brokers", answer=Changed, statuses=(404, 409)
)
async def fill_disk(call: ControlCall) -> Any:
    """It answers KAFKA_STORAGE_ERROR for its replicas, and others lead them."""
    number = call.broker_id()
    with refused_in_zookeeper_mode():
        filled = call.cluster.fill_disk(number)
    return changed([number] if filled else [], f"the disk of broker {number} is full already")


@operation(
    "POST",
    "/brokers/{id}/empty-disk",
    "Empty a broker's disk",
    tag="brokers",
    answer=Changed,
    statuses=(404, 409),
)
async def empty_disk(call: ControlCall) -> Any:
    """Its replicas catch up and are in sync again."""
    number = call.broker_id()
    return changed([number] if call.cluster.empty_disk(number) else [], f"the disk of broker {number} is not full")


@operation(
    "POST", "/brokers/{id}/isolate", "Cut a broker off from all others", tag="brokers", answer=Changed, statuses=(404,)
)
async def isolate_broker(call: ControlCall) -> Any:
    """From the controller too; clients still reach it."""
    number = call.broker_id()
    call.cluster.isolate_broker(number)
    return Changed([number])


@operation(
    "POST", "/brokers/{id}/rejoin", "Restore every link of a broker", tag="brokers", answer=Changed, statuses=(404,)
)
async def rejoin_broker(call: ControlCall) -> Any:
    """The others and the controller reach it again."""
    number = call.broker_id()
    call.cluster.rejoin_broker(number)
    return Changed([number])


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


@operation("POST", "/racks/{rack}/stop", "Stop a rack", tag="racks", answer=Changed, statuses=(404, 409))
async def stop_rack(call: ControlCall) -> Any:
    """Stops every broker of the rack that is up."""
    rack = call.rack()
    return changed(await call.cluster.stop_rack(rack), f"rack {rack} is stopped already")


@operation("POST", "/racks/{rack}/start", "Start a rack", tag="racks", answer=Changed, statuses=(404, 409))
async def start_rack(call: ControlCall) -> Any:
    """Starts every broker of the rack that is down."""
    rack = call.rack()
    return changed(await call.cluster.start_rack(rack), f"rack {rack} is running already")


@operation("POST", "/racks/{rack}/restart", "Stop and start a rack", tag="racks", answer=Changed, statuses=(404,))
async def restart_rack(call: ControlCall) -> Any:
    """Every broker of the rack; those that are down are started."""
    rack = call.rack()
    await call.cluster.restart_rack(rack)
    return Changed([broker.id for broker in call.state.brokers_in(rack)])


@operation(
    "POST", "/racks/{rack}/lag", "Have a rack's followers lag", tag="racks", body=Lag, answer=LagChanged,
    statuses=(404,),
)  # fmt: skip
async def set_rack_lag(call: ControlCall) -> Any:
    """The same for each broker of the rack."""
    return set_lag(call, [broker.id for broker in known_rack(call.state, call.rack())])


@contextmanager
def refused_in_zookeeper_mode() -> Iterator[None]:
    """409 for a command that is for KRaft mode alone. Raises ControlProblem."""
    try:
        yield
    except ValueError as error:
        raise conflict(str(error)) from None


def changed(brokers: list[int], unchanged: str) -> Changed:
    """The answer where brokers have changed. Raises ControlProblem: 409 where none has."""
    if not brokers:
        raise conflict(unchanged)
    return Changed(brokers)


def set_lag(call: ControlCall, broker_ids: list[int]) -> LagChanged:
    for broker_id in broker_ids:
        call.cluster.set_follower_lag(broker_id, call.body.records)
    return LagChanged(broker_ids, call.body.records)
