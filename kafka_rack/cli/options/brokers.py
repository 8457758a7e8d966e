"""Brokers as people give them on the command line: a number and racks, a list with racks, or a file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from kafka_rack.cli import UsageError
from kafka_rack.cli.options.whole_numbers import MAX_BROKERS, MAX_ID, NumberError, number_in, read_number, shown
from kafka_rack.placement import UsableBroker


def add_broker_arguments(parser: argparse.ArgumentParser) -> None:
    """``--brokers``, ``--racks``, ``--brokers-file`` and ``--fenced``."""
    parser.add_argument(
        "--brokers",
        metavar="N | ID:RACK,...",
        help=f"a number of brokers up to {MAX_BROKERS}, ids from 0; or each as id or id:rack, as in 0:a,1:b,2:c",
    )
    parser.add_argument(
        "--racks",
        metavar="a,b,c",
        help="with a number of brokers: broker i is in rack i, going round; with a,,c broker 1 has none",
    )
    parser.add_argument(
        "--brokers-file", metavar="FILE", help='a JSON list of {"id": 0, "rack": "a" or null, "fenced": false}'
    )
    parser.add_argument("--fenced", metavar="ID,...", help="brokers that are registered but not up")


def brokers_of(arguments: argparse.Namespace) -> list[UsableBroker]:
    """The brokers that the arguments give, in their order.

    Raises: UsageError: none or both ways are given, or what is given makes no sense.
    """
    if bool(arguments.brokers) == bool(arguments.brokers_file):
        raise UsageError("give the brokers by --brokers or by --brokers-file")
    if arguments.brokers_file:
        brokers = brokers_in_file(arguments.brokers_file)
    elif arguments.brokers.strip().isdecimal():
        racks = rack_list(arguments.racks)
        count = number_in("--brokers", arguments.brokers, MAX_BROKERS)
        brokers = [UsableBroker(number, racks[number % len(racks)] if racks else None) for number in range(count)]
    else:
        if arguments.racks:
            raise UsageError("--racks goes with a number of brokers; in a list each broker has its own, as 0:a,1:b")
        brokers = brokers_in_list(arguments.brokers)
    fenced = id_list(arguments.fenced, "--fenced")
    unknown = sorted(fenced - {broker.id for broker in brokers})
    if unknown:
        raise UsageError(f"--fenced {unknown[0]}: there is no such broker")
    return [UsableBroker(broker.id, broker.rack, broker.fenced or broker.id in fenced) for broker in brokers]


def rack_list(text: str | None) -> list[str | None]:
    """Rack names between commas; None where there is nothing between two."""
    return [name.strip() or None for name in text.split(",")] if text else []


def id_list(text: str | None, option: str) -> set[int]:
    """Broker ids between commas."""
    try:
        return {read_number(word, MAX_ID, 0) for word in text.split(",")} if text else set()
    except NumberError as error:
        raise UsageError(f"{option}: {error}; broker ids stand between commas") from None


def brokers_in_list(text: str) -> list[UsableBroker]:
    """Brokers as 0:a,1:b,2."""
    brokers = []
    for word in text.split(","):
        number, _, rack = word.strip().partition(":")
        if not number.isdecimal() or len(number) > 10 or int(number) > MAX_ID:
            where = "--brokers" if word == text else f"--brokers {shown(text)}"
            raise UsageError(f"{where}: expected a number, or ids up to {MAX_ID} as 0:a,1:b, got {shown(word)!r}")
        brokers.append(UsableBroker(int(number), rack or None))
    return brokers


def brokers_in_file(path: str) -> list[UsableBroker]:
    """Brokers of a JSON file."""
    said = read_json(path)
    if not isinstance(said, list):
        raise UsageError(f"{path}: expected a list of brokers")
    brokers = []
    for at, entry in enumerate(said):
        where = f"{path}, broker at place {at}"
        if not isinstance(entry, dict) or type(entry.get("id")) is not int:
            raise UsageError(f"{where}: expected an object with a number as id")
        if not 0 <= entry["id"] <= MAX_ID:
            raise UsageError(f"{where}: id is {entry['id']}, but ids go from 0 to {MAX_ID}")
        rack, fenced = entry.get("rack"), entry.get("fenced", False)
        if rack is not None and not isinstance(rack, str):
            raise UsageError(f"{where}: rack: expected a text or null, got {json.dumps(rack)}")
        if not isinstance(fenced, bool):
            raise UsageError(f"{where}: fenced: expected true or false, got {json.dumps(fenced)}")
        brokers.append(UsableBroker(entry["id"], rack, fenced))
    return brokers


def read_json(path: str) -> Any:
    """A JSON file's content.

    Raises: UsageError: it is missing or is no JSON; the message says where.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(no_json(path, error)) from error


def no_json(where: str, error: Exception) -> str:
    """Why a text was not read as JSON, in one line."""
    if isinstance(error, json.JSONDecodeError):
        return f"{where}, line {error.lineno} column {error.colno}: {error.msg}"
    if isinstance(error, UnicodeDecodeError):
        return f"{where}: is no UTF-8 text"
    if isinstance(error, RecursionError):
        return f"{where}: lists or objects are nested too deeply"
    return f"{where}: holds a number of more digits than can be read"
