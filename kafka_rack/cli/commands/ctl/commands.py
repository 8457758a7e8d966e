"""What each command of `kafka-rack ctl` asks of the control API, and how its answer is shown."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from kafka_rack.cli import DONE, UsageError
from kafka_rack.cli.commands.ctl import FILTERS, views
from kafka_rack.cli.commands.ctl.connection import ControlConnection

DEFAULT_LIMIT = 50
FOLLOW_S = 0.5
MATCHES = (
    "api",
    "client_id",
    "client_rack",
    "client_address",
    "topic",
    "partition",
    "group",
    "rack",
    "broker",
    "listener",
)


def carry_out(control: ControlConnection, arguments: argparse.Namespace) -> int:
    """Do what a command line says; gives the exit code. Raises CommandError, UsageError."""
    name = arguments.command
    action = {
        "status": status,
        "topics": topics,
        "groups": groups,
        "lag": lag,
        "software": software,
        "cut": link,
        "mend": link,
        "leader": partition,
        "replicas": partition,
        "isr": partition,
        "coordinator": coordinator,
        "clock": clock,
        "faults": faults,
        "requests": requests,
        "assert": check,
        "traffic": traffic,
        "metrics": metrics,
        "events": events,
        "reset": reset,
        "shutdown": shutdown,
    }.get(name, on_brokers)
    action(control, arguments)
    return DONE


def say(arguments: argparse.Namespace, answer: Any, text: str) -> None:
    """Print an answer as JSON, or the text that people read."""
    print(json.dumps(answer, indent=2, ensure_ascii=False) if arguments.format == "json" else text)


def status(control: ControlConnection, arguments: argparse.Namespace) -> None:
    cluster, found, moved = control.get("cluster"), control.get("faults")["faults"], control.get("traffic")
    say(arguments, {**cluster, "faults": found, "traffic": moved}, views.status(cluster, found, moved))


def topics(control: ControlConnection, arguments: argparse.Namespace) -> None:
    match arguments.action:
        case "show":
            topic = control.get("topics", arguments.topic)
            say(arguments, topic, views.topic(topic))
        case "create":
            topic = control.post("topics", body=new_topic(arguments))
            say(arguments, topic, views.topic(topic))
        case "delete":
            say(arguments, control.delete("topics", arguments.topic), f"deleted {arguments.topic}")
        case _:
            wants_internal = getattr(arguments, "internal", False)
            answer = control.get("topics", query={"internal": ["true"]} if wants_internal else None)
            say(arguments, answer, views.topics(answer["topics"]))


def new_topic(arguments: argparse.Namespace) -> dict[str, Any]:
    """The body of POST /topics out of NAME[:PARTITIONS[:RF]] and settings. Raises UsageError."""
    name, *numbers = arguments.topic.split(":")
    if len(numbers) > 2 or not all(number.isdecimal() and len(number) < 10 for number in numbers):
        raise UsageError(f"topic: expected NAME[:PARTITIONS[:RF]] with numbers from 1, got {arguments.topic!r}")
    body: dict[str, Any] = {"name": name, "diskless": arguments.diskless}
    for key, number in zip(("partitions", "replication_factor"), numbers, strict=False):
        body[key] = int(number)
    for text in arguments.config:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--config: expected KEY=VALUE, got {text!r}")
        body.setdefault("configs", {})[key] = value
    return body


def groups(control: ControlConnection, arguments: argparse.Namespace) -> None:
    if arguments.action == "show":
        group = control.get("groups", arguments.group)
        say(arguments, group, views.group(group))
    else:
        answer = control.get("groups")
        say(arguments, answer, views.groups(answer["groups"]))


def on_brokers(control: ControlConnection, arguments: argparse.Namespace) -> None:
    answer = control.post(f"{arguments.what}s", arguments.name, arguments.command)
    say(arguments, answer, f"{arguments.command}: {views.brokers(answer['brokers'])}")


def lag(control: ControlConnection, arguments: argparse.Namespace) -> None:
    answer = control.post(f"{arguments.what}s", arguments.name, "lag", body={"records": arguments.records})
    say(arguments, answer, f"followers on {views.brokers(answer['brokers'])} are {answer['records']} records behind")


def software(control: ControlConnection, arguments: argparse.Namespace) -> None:
    given = {"release": arguments.release, "inter.broker.protocol.version": arguments.protocol}
    body = {name: text for name, text in given.items() if text is not None}
    answer = control.post("brokers", arguments.name, "software", body=body)
    say(arguments, answer, f"{views.brokers(answer['brokers'])} will run it from the next start on")


def link(control: ControlConnection, arguments: argparse.Namespace) -> None:
    answer = control.post("links", arguments.command, body={"between": arguments.brokers})
    first, second = answer["between"]
    say(arguments, answer, f"{arguments.command}: the link between {first} and {second}")


def partition(control: ControlConnection, arguments: argparse.Namespace) -> None:
    name = arguments.command
    body = {"broker": arguments.broker} if name == "leader" else {"brokers": arguments.brokers}
    answer = control.post("topics", arguments.topic, "partitions", arguments.partition, name, body=body)
    say(arguments, answer, views.partitions([answer]))


def coordinator(control: ControlConnection, arguments: argparse.Namespace) -> None:
    answer = control.post("groups", arguments.group, "coordinator", body={"broker": arguments.broker})
    say(arguments, answer, f"broker {answer['coordinator']} coordinates {answer['id']}")


def clock(control: ControlConnection, arguments: argparse.Namespace) -> None:
    answer = control.post("clock", body={"jump_ms": arguments.jump_ms})
    say(arguments, answer, f"the wall clock is {answer['clock_ms']} ms ahead")


def faults(control: ControlConnection, arguments: argparse.Namespace) -> None:
    match arguments.action:
        case "show":
            fault = control.get("faults", arguments.fault)
            say(arguments, fault, views.fault(fault))
        case "add":
            answer = control.post("faults", body=new_faults(arguments))
            say(arguments, answer, views.faults(answer.get("faults", [answer])))
        case "remove":
            removed = [control.delete("faults", fault) for fault in arguments.fault]
            say(arguments, removed, views.faults(removed))
        case "clear":
            answer = control.delete("faults")
            say(arguments, answer, f"removed {', '.join(answer['deleted']) or 'none'}")
        case _:
            answer = control.get("faults")
            say(arguments, answer, views.faults(answer["faults"]))


def new_faults(arguments: argparse.Namespace) -> Any:
    """The body of POST /faults, out of a file or of options. Raises UsageError."""
    parts = {"effect": arguments.effect, "when": arguments.when, "link": arguments.link}
    match = {name: one_or_all(values) for name in MATCHES if (values := getattr(arguments, name))}
    if arguments.file is not None:
        if match or any(parts.values()) or arguments.id:
            raise UsageError("faults add: expected a file or options, got both")
        return from_file(arguments.file)
    if arguments.effect is None:
        raise UsageError("faults add: expected a file or --effect, got neither")
    fault: dict[str, Any] = {"id": arguments.id} if arguments.id else {}
    if match:
        fault["match"] = match
    for name, text in parts.items():
        if text is not None:
            try:
                fault[name] = json.loads(text)
            except ValueError as error:
                raise UsageError(f"--{name}: expected JSON, got {text!r}: {error}") from None
    return fault


def from_file(name: str) -> Any:
    """The JSON of a file, or of one called so the YAML. Raises UsageError."""
    from pathlib import Path

    from mockbroker.adapters.fault_files import YAML_SUFFIXES, FaultFileError, read_yaml

    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        return read_yaml(Path(name), text) if name.endswith(YAML_SUFFIXES) else json.loads(text)
    except FaultFileError as error:
        raise UsageError(str(error)) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: {getattr(error, 'strerror', None) or error}") from None


def one_or_all(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def requests(control: ControlConnection, arguments: argparse.Namespace) -> None:
    wanted = filters(arguments)
    if arguments.clear:
        say(arguments, control.delete("requests"), "forgotten")
    elif arguments.count:
        answer = control.post("requests", "count", body=wanted)
        say(arguments, answer, str(answer["count"]))
    else:
        query = {**wanted, "limit": [arguments.limit or DEFAULT_LIMIT]}
        answer = control.get("requests", query=query)
        lines = views.RequestLines()
        show_requests(arguments, answer, lines)
        while arguments.follow:
            time.sleep(FOLLOW_S)
            answer = control.get("requests", query={**wanted, "since": [answer["next"]]})
            show_requests(arguments, answer, lines)


def show_requests(arguments: argparse.Namespace, answer: Any, lines: views.RequestLines) -> None:
    """Print calls: with --follow one line of JSON a call, since that may be cut off anywhere."""
    if arguments.format == "json" and not arguments.follow:
        print(json.dumps(answer, indent=2, ensure_ascii=False))
        return
    for entry in answer["requests"]:
        print(json.dumps(entry, ensure_ascii=False) if arguments.format == "json" else lines.line(entry))
    sys.stdout.flush()


def filters(arguments: argparse.Namespace) -> dict[str, Any]:
    """The filters of a command line, as JSON has them."""
    found: dict[str, Any] = {}
    for flag in FILTERS:
        name = flag.removeprefix("--").replace("-", "_")
        if values := getattr(arguments, name):
            found[name] = values
    if arguments.since is not None:
        found["since"] = arguments.since
    return found


def check(control: ControlConnection, arguments: argparse.Namespace) -> None:
    body = {"assert": arguments.claim.replace("-", "_"), **filters(arguments)}
    own = {"at_most": arguments.at_most, "rack": arguments.by_rack, "broker": arguments.by_broker}
    body |= {name: value for name, value in own.items() if value is not None}
    answer = control.post("assertions", body=body)
    say(arguments, answer, "it holds")


def traffic(control: ControlConnection, arguments: argparse.Namespace) -> None:
    answer = control.get("traffic")
    say(arguments, answer, views.traffic(answer))


def metrics(control: ControlConnection, _: argparse.Namespace) -> None:
    print(control.get_text("metrics"), end="")


def events(control: ControlConnection, _: argparse.Namespace) -> None:
    for kind, data in control.events():
        print(json.dumps({"event": kind, "data": data}, ensure_ascii=False), flush=True)


def reset(control: ControlConnection, arguments: argparse.Namespace) -> None:
    say(arguments, control.post("reset"), "the cluster is as it was started")


def shutdown(control: ControlConnection, arguments: argparse.Namespace) -> None:
    say(arguments, control.post("shutdown"), "the cluster ends")
