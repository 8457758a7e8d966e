"""The options that describe brokers: a number and racks, or a list with racks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from kafka_rack.cli import UsageError
from kafka_rack.cli.command import option, section
from kafka_rack.cli.options.shared import racks_option
from kafka_rack.cli.options.types import MAX_ID, Numbers, Type, WholeNumber, shown, whole_number

if TYPE_CHECKING:
    from kafka_rack.placement import UsableBroker

MAX_BROKERS = 100_000
DEFAULT_RACKS = ["a", "b", "c"]


class Brokers(Type):
    """A number of brokers, with ids from 0, or a list such as 0:a,1:b,2."""

    name = "N|ID:RACK,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | list[UsableBroker]:
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return] # converted before
        if value.strip().isdecimal():
            return WholeNumber(1, MAX_BROKERS).convert(value, param, ctx)
        return self.listed(value, param, ctx)

    def listed(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> list[UsableBroker]:
        from kafka_rack.placement import UsableBroker  # here, as most clusters start without a list

        brokers = []
        for word in value.split(","):
            text, _, rack = word.strip().partition(":")
            number = whole_number(text, 0, MAX_ID)
            if number is None:
                self.fail(
                    f"expected a number, or ids up to {MAX_ID} with racks, such as 0:a,1:b, got {shown(word)!r}",
                    param,
                    ctx,
                )
            brokers.append(UsableBroker(number, rack or None))
        return brokers


class BrokerRacks(Brokers):
    """Racks of known brokers: ID:RACK,... as a mapping; "1:" takes the rack of broker 1 away."""

    name = "ID:RACK,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        brokers = self.listed(value, param, ctx)
        if len({broker.id for broker in brokers}) < len(brokers):
            self.refuse("each broker once", value, param, ctx)
        return {broker.id: broker.rack for broker in brokers}


broker_racks_option = option(
    "--broker-racks",
    BrokerRacks(),
    'Racks of a real cluster\'s brokers, instead of their broker.rack: 0:a,1:b; "1:" takes one away.',
)
brokers_option = option(
    "--brokers", Brokers(), f"Number of brokers, at most {MAX_BROKERS}; or their ids and racks, such as 0:a,1:b,2:c."
)
broker_options = section(
    "Brokers",
    brokers_option,
    racks_option,
    option("--fenced", Numbers("ID,..."), "Fence these brokers: they are registered, but not up."),
)


def check_racks(racks: Sequence[str | None] | None) -> None:
    """Refuse fewer than two different racks. Raises UsageError."""
    if racks is not None and (len(racks) < 2 or len(set(racks)) != len(racks) or None in racks):
        shown_racks = ",".join(rack or "" for rack in racks)
        raise UsageError(f"--racks: expected two or more different names, such as a,b,c, got {shown_racks!r}")


def racked_count(brokers: Any, default: int, racks: int, most: int = MAX_BROKERS) -> int:
    """A number of brokers that fills each rack. Raises UsageError."""
    count = default if brokers is None else brokers
    if not isinstance(count, int) or not racks <= count <= most:
        raise UsageError(f"--brokers: expected a number from {racks}, one for each rack, to {most}")
    return count


def brokers_of(arguments: Any) -> list[UsableBroker]:
    """The brokers of ``broker_options``, in their order.

    Raises: UsageError: none, or options that contradict each other.
    """
    from kafka_rack.placement import UsableBroker

    given, racks = arguments.brokers, arguments.racks or []
    if given is None:
        raise UsageError("--brokers is missing")
    if isinstance(given, int):
        brokers = [UsableBroker(number, racks[number % len(racks)] if racks else None) for number in range(given)]
    elif racks:
        raise UsageError("--racks needs a number of --brokers; in a list each broker has its rack, such as 0:a,1:b")
    else:
        brokers = given
    fenced = set(arguments.fenced or [])
    unknown = sorted(fenced - {broker.id for broker in brokers})
    if unknown:
        raise UsageError(f"--fenced {unknown[0]}: there is no such broker")
    return [UsableBroker(broker.id, broker.rack, broker.id in fenced) for broker in brokers]
