"""The options that say what is to be different."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kafka_rack.cli import UsageError
from kafka_rack.cli.options.locality import add_prices
from kafka_rack.cli.options.text_files import racks_file
from kafka_rack.cli.options.whole_numbers import whole_number
from kafka_rack.errors import InputError

if TYPE_CHECKING:
    from kafka_rack.locality.rack_rules import RackRules
    from kafka_rack.what_if import WhatIfChange

ALL = "*"
MAX_REPLICAS = 100


def add_change_arguments(parser: argparse.ArgumentParser) -> None:
    change = parser.add_argument_group("what is to be different")
    change.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="client.rack=auto (each client names the rack it is in) or =RACK,\n"
        "replica.selector.class=rack-aware or =leader, partition.assignment.strategy,\n"
        "group.protocol, group.remote.assignor; may be repeated",
    )
    change.add_argument("--protocol", choices=("classic", "consumer"), help="of groups")
    change.add_argument(
        "--assignor",
        metavar="NAME",
        help="range, roundrobin, sticky, cooperative-sticky (classic);\nuniform, range, rack-uniform (consumer)",
    )
    change.add_argument(
        "--diskless",
        action="append",
        nargs="?",
        const=ALL,
        default=[],
        metavar="TOPIC",
        help="topics that any broker serves, * for anything; all without TOPIC",
    )
    change.add_argument("--placer", metavar="NAME", help="places all replicas again, as kafka-rack place does")
    change.add_argument(
        "--placer-setting", action="append", default=[], metavar="NAME=VALUE", help="of the placer; may be repeated"
    )
    change.add_argument(
        "--replication-factor", type=whole_number(MAX_REPLICAS, least=1), metavar="N", help="of topics placed again"
    )


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--captured-with",
        action="append",
        default=[],
        metavar="replica.selector.class=rack-aware",
        help="what brokers had while they were captured; default: what the capture says (redirects, DescribeConfigs)",
    )
    parser.add_argument(
        "--client-racks", metavar="FILE", help="where clients are that do not say it: lines as az-a@10.0.1.0/24"
    )
    add_prices(parser)
    parser.add_argument("--ports", metavar="P,P,...", help="the brokers' ports in packets; default: recognised")
    parser.add_argument(
        "--brokers",
        metavar="ID[@RACK]=[HOST]:PORT,...",
        help="which broker listens where in packets;\ndefault: learned from Metadata",
    )
    parser.add_argument("--format", choices=("table", "json"), default="table", help="of what is printed")


def change_asked_for(arguments: argparse.Namespace) -> WhatIfChange:
    """Raises UsageError: it cannot be meant, or nothing is different."""
    from kafka_rack.what_if import change_of

    try:
        change = change_of(
            pairs(arguments.set, "--set"),
            protocol=arguments.protocol,
            assignor=arguments.assignor,
            diskless=arguments.diskless,
            placer=arguments.placer,
            placer_settings=pairs(arguments.placer_setting, "--placer-setting"),
            replication_factor=arguments.replication_factor,
        )
    except InputError as error:
        raise UsageError(str(error)) from None
    if change.is_nothing:
        raise UsageError("expected something that is to be different, as --set client.rack=auto, got nothing")
    return change


def selector_captured(arguments: argparse.Namespace) -> bool | None:
    """Whether brokers had the rack-aware selector, None if the user does not say it. Raises UsageError."""
    from kafka_rack.what_if.change import SELECTOR, from_followers

    settings = pairs(arguments.captured_with, "--captured-with")
    for name in settings:
        if name != SELECTOR:
            raise UsageError(f"--captured-with: expected {SELECTOR}, got {name!r}")
    try:
        return from_followers(settings.get(SELECTOR))
    except InputError as error:
        raise UsageError(f"--captured-with: {error}") from None


def pairs(given: list[str], option: str) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{option}: expected NAME=VALUE, got {text!r}")
        found[name.strip()] = value.strip()
    return found


def rules_given(arguments: argparse.Namespace) -> RackRules | None:
    return racks_file(arguments.client_racks)
