"""kafka-rack ctl: what each command asks of the control API; ``views`` shows the answers."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import click

from kafka_rack.cli import DONE, UsageError
from kafka_rack.cli.command import Arguments, Decorator, Group, argument, flag, option, section, together
from kafka_rack.cli.commands.ctl import views
from kafka_rack.cli.commands.ctl.connection import ControlConnection
from kafka_rack.cli.options.control_token import CONTROL, CONTROL_TOKEN, shown_token
from kafka_rack.cli.options.shared import format_option, set_option
from kafka_rack.cli.options.types import (
    FILE,
    Duration,
    Name,
    Number,
    Numbers,
    OneName,
    WholeNumber,
    Words,
    api_names,
    error_names,
    topic_of,
)
from mockbroker.core.commands import BROKER_COMMANDS, COMMANDS
from mockbroker.core.faults.effects import EFFECTS, Effect

DEFAULT_URL = "http://127.0.0.1:8090"
FOLLOW_S = 0.5
BROKER, BROKER_OR_RACK = ("broker",), ("broker", "rack")
MATCHES: dict[str, tuple[click.ParamType[Any], str]] = {
    "--api": (Name("API", api_names), "Kafka's name of the API, such as Fetch"),
    "--client-id": (Words("ID"), "the client id; * matches anything"),
    "--client-rack": (Words("RACK"), "the client's rack"),
    "--client-address": (Words("ADDRESS"), "the client's address, or a range such as 10.0.0.0/8"),
    "--topic": (Words("TOPIC"), "a topic of the request"),
    "--partition": (WholeNumber(), "a partition of the request"),
    "--group": (Words("ID"), "a group of the request"),
    "--broker": (WholeNumber(name="ID"), "the broker that answers"),
    "--rack": (Words("RACK"), "that broker's rack"),
}
"""Options that select calls, for the journal and for faults."""
LISTENER = {"--listener": (Words("NAME"), "the listener's name")}
OUTCOMES: dict[str, tuple[click.ParamType[Any], str]] = {
    "--principal": (Words("USER"), "who logged in, such as User:alice"),
    "--locality": (click.Choice(["local", "cross", "unknown"]), "whether the call left its rack"),
    "--error": (OneName("ERROR", error_names), "an error of the answer, such as NOT_LEADER_OR_FOLLOWER"),
    "--fault": (Words("FAULT"), "the id of a fault that hit the call"),
}
WITH_NEGATIVES = ("clock", "cut", "restore")
"""Commands whose arguments may be negative numbers, which look like options."""
Answer = tuple[Any, str]
Asked = Callable[[ControlConnection, Arguments], Answer | None]

ctl = Group(
    "ctl",
    meant={"kill": "crash", "add-fault": "faults add", "ls": "status", "info": "status", "log": "requests"},
    help="""Look at a running cluster, change it and inject faults, by the control API of `kafka-rack serve`.

    The control API is at --url, else at KAFKA_RACK_CONTROL, else at http://127.0.0.1:8090.

    \b
    Examples:
      kafka-rack ctl status                          brokers, racks and what is wrong with them
      kafka-rack ctl stop rack a                     and: start rack a, restart broker 1, crash broker 2, ...
      kafka-rack ctl leader orders 0 2               broker 2 leads partition 0 of orders
      kafka-rack ctl faults add --api Fetch --rack b --delay 200ms --times 3
      kafka-rack ctl requests --client-rack a --locality cross --follow
      kafka-rack ctl assert rack-local --topic orders --client-id worker
      kafka-rack ctl reset                           the cluster as it was started
    """,
)
topics = Group("topics", default="list", help="List, show, create or delete topics.")
groups = Group("groups", default="list", help="List or show groups.")
faults = Group("faults", default="list", help="List, show, add or remove faults.")
for group in (topics, groups, faults):
    ctl.add_command(group)
connection_options = section(
    "Control API",
    option("--url", Words("URL"), f"URL of the control API; default: {CONTROL}, else {DEFAULT_URL}."),
    option("--token-file", FILE, f"Read the token of the control API from this file, not {CONTROL_TOKEN}."),
    format_option,
)


def asks(group: Group, name: str, help_text: str, *params: Decorator[Any]) -> Callable[[Asked], Asked]:
    """Declares a command: its function returns the answer's JSON and the text for people, or None if it has printed."""

    def add(function: Asked) -> Asked:
        def run(arguments: Arguments) -> int:
            url = arguments.url or os.environ.get(CONTROL) or DEFAULT_URL
            with ControlConnection(url, shown_token(arguments.token_file, os.environ)) as control:
                if (found := function(control, arguments)) is not None:
                    answer, text = found
                    as_json = arguments.format == "json"
                    print(json.dumps(answer, indent=2, ensure_ascii=False) if as_json else text)
            return DONE

        settings = {"ignore_unknown_options": name in WITH_NEGATIVES}
        group.command(name, help=help_text, context_settings=settings)(together(*params, connection_options)(run))
        return function

    return add


def filters(known: dict[str, tuple[click.ParamType[Any], str]], heading: str) -> Decorator[Any]:
    """An option for each, repeatable."""
    return section(
        heading,
        *(
            option(flag, kind, f"Match {meaning}; repeatable.", multiple=True)
            for flag, (kind, meaning) in known.items()
        ),
    )


def values_of(arguments: Arguments, known: dict[str, Any]) -> dict[str, Any]:
    """The values of filters, by their names in JSON."""
    names = (flag.removeprefix("--").replace("-", "_") for flag in known)
    return {name: list(values) for name in names if (values := getattr(arguments, name))}


@asks(ctl, "status", "Show brokers, racks, what is wrong with them, and what crossed racks.")
def status(control: ControlConnection, arguments: Arguments) -> Answer:
    cluster, found, moved = control.get("cluster"), control.get("faults")["faults"], control.get("traffic")
    return {**cluster, "faults": found, "traffic": moved}, views.status(cluster, found, moved)


def sends(name: str, help_text: str, path: str, text: str, *params: Decorator[Any], body: Sequence[str] = ()) -> None:
    """Declares a command that posts to a path of its arguments, with those of ``body`` by their names."""

    @asks(ctl, name, help_text, *params)
    def send(control: ControlConnection, arguments: Arguments) -> Answer:
        sent = {key: getattr(arguments, key) for key in body}
        parts = [part.format_map(vars(arguments)) for part in path.strip("/").split("/")]
        answer = control.post(*parts, body=sent if body else None)
        return answer, views.filled(text, vars(arguments) | answer) if text else views.partitions([answer])


def kind_of(*kinds: str) -> tuple[Decorator[Any], Decorator[Any]]:
    """Arguments that name a broker or a rack."""
    target = argument("target", metavar="ID|RACK" if len(kinds) > 1 else "ID")
    return argument("kind", metavar="|".join(kinds), type=click.Choice(kinds)), target


for command in BROKER_COMMANDS:
    every, kinds = (", or every broker of a rack", BROKER_OR_RACK) if command.on_rack else ("", BROKER)
    name, help_text = command.name, f"{command.summary}{every}. {command.description}"
    sends(name, help_text, f"{{kind}}s/{{target}}/{name}", f"{name}: {{brokers}}", *kind_of(*kinds))
NAMES = {name: argument(name, metavar=name.upper()) for name in ("topic", "partition", "group")}
BODIES = {
    "records": argument("records", metavar="RECORDS", type=WholeNumber()),
    "between": argument("between", metavar="ID ID", nargs=2, type=WholeNumber(-1)),
    "broker": argument("broker", metavar="ID", type=WholeNumber(name="ID")),
    "brokers": argument("brokers", metavar="ID,...", type=Numbers("ID,...")),
    "jump_ms": argument("jump_ms", metavar="MS", type=WholeNumber(-(2**53), 2**53)),
}
for taking in COMMANDS:
    field, is_of_kind = taking.argument[0], "{kind}" in taking.path
    named = kind_of(*BROKER_OR_RACK) if is_of_kind else [NAMES[name] for name in re.findall(r"{(\w+)}", taking.path)]
    summary, description = taking.words
    help_text = f"{summary}{', or on every broker of a rack' if is_of_kind else ''}. {description}".strip()
    sends(taking.name, help_text, taking.path, taking.text, *named, BODIES[field], body=[field])
sends("reset", "Reset the cluster to how it was started.", "reset", "the cluster is as it was started")
sends("shutdown", "End the cluster.", "shutdown", "the cluster ends")


@asks(
    ctl,
    "software",
    "Choose what a broker runs after its next start, in ZooKeeper mode.",
    argument("target", metavar="ID"),
    option("--release", Words("RELEASE"), "Run this release of Kafka, such as 0.10.0."),
    option("--protocol", Words("VERSION"), "Set its inter.broker.protocol.version."),
)
def software(control: ControlConnection, arguments: Arguments) -> Answer:
    chosen = {"release": arguments.release, "inter.broker.protocol.version": arguments.protocol}
    body = {name: text for name, text in chosen.items() if text is not None}
    answer = control.post("brokers", arguments.target, "software", body=body)
    return answer, views.filled("{brokers} will run it after the next start", answer)


@asks(topics, "list", "List all topics.", flag("--internal", "Include the coordinators' topics."))
def list_topics(control: ControlConnection, arguments: Arguments) -> Answer:
    answer = control.get("topics", query={"internal": ["true"]} if arguments.internal else None)
    return answer, views.topics(answer["topics"])


@asks(topics, "create", "Create a topic: NAME[:PARTITIONS[:REPLICAS]].", argument("topic", metavar="TOPIC"), set_option)
def create_topic(control: ControlConnection, arguments: Arguments) -> Answer:
    name, *numbers = topic_of(arguments.topic)
    body: dict[str, Any] = {"name": name}
    sizes = zip(("partitions", "replication_factor"), numbers, strict=True)
    body |= {key: number for key, number in sizes if number is not None}
    if arguments.set:
        body["configs"] = dict(arguments.set)
    topic = control.post("topics", body=body)
    return topic, views.topic(topic)


@asks(topics, "delete", "Delete a topic.", argument("topic", metavar="TOPIC"))
def delete_topic(control: ControlConnection, arguments: Arguments) -> Answer:
    return control.delete("topics", arguments.topic), f"deleted {arguments.topic}"


View = Callable[[Any], str]


def shows(group: Group, name: str, help_text: str, path: str, view: View, *params: Decorator[Any]) -> None:
    """Declares a command that gets a path, with its argument ``name`` if it has one."""

    @asks(group, name, help_text, *params)
    def show(control: ControlConnection, arguments: Arguments) -> Answer:
        answer = control.get(path, *([arguments.name] if params else []))
        return answer, view(answer)


a_topic, a_group, a_fault = (argument("name", metavar=metavar) for metavar in ("TOPIC", "GROUP", "FAULT"))
shows(topics, "show", "Show a topic, partition by partition.", "topics", views.topic, a_topic)
shows(groups, "list", "List all groups.", "groups", lambda answer: views.groups(answer["groups"]))
shows(groups, "show", "Show a group: members, assignments, lag.", "groups", views.group, a_group)
shows(faults, "list", "List the faults and their hits.", "faults", lambda answer: views.faults(answer["faults"]))
shows(faults, "show", "Show a fault, and why it has not fired.", "faults", views.fault, a_fault)
shows(ctl, "traffic", "Show the traffic across racks, what is avoidable, and its cost.", "traffic", views.traffic)


def effect_flag(name: str) -> str:
    """The option of an effect.

    >>> effect_flag("delay_ms")
    '--delay'
    """
    return f"--{name.removesuffix('_ms')}"


def effect_option(name: str, kind: type[Effect]) -> Decorator[Any]:
    """The option of an effect; its help is the first sentence of the docs."""
    help_text = (kind.__doc__ or "").partition(". ")[0].rstrip(".") + "."
    if name == "error":
        return option("--error", OneName("ERROR", error_names), help_text, multiple=True)
    if json.loads(kind.example)[name] is True:
        return flag(effect_flag(name), help_text)
    return option(effect_flag(name), Duration() if name.endswith("_ms") else Words("RATE"), help_text, dest=name)


@asks(
    faults,
    "add",
    "Add a fault by options, or the faults of a file. A call is hit if it matches every option.",
    section("Effect, exactly one", *(effect_option(name, kind) for name, kind in EFFECTS.items())),
    filters(MATCHES | LISTENER, "Calls that it hits; default: all"),
    section(
        "When",
        option("--times", WholeNumber(1), "Hit at most N calls."),
        option("--on-call", WholeNumber(1), "Hit the Nth matching call only."),
        option("--every-nth", WholeNumber(1), "Hit every Nth matching call.", dest="every"),
        option("--probability", Number(), "Hit a matching call with this probability, from 0 to 1."),
        option("--jitter", Duration(), "Vary --delay by up to this time."),
        option("--between", Words("RACK,RACK"), "Hit the link between two racks."),
    ),
    option("--id", Words("FAULT"), "Name the fault; default: fault-1, fault-2, ..."),
    option("--file", FILE, "Add the faults of a JSON or YAML file; - is standard input."),
)
def add_faults(control: ControlConnection, arguments: Arguments) -> Answer:
    body = from_file(arguments.file) if arguments.file is not None else fault_of(arguments)
    answer = control.post("faults", body=body)
    return answer, views.faults(answer.get("faults", [answer]))


def fault_of(arguments: Arguments) -> dict[str, Any]:
    """A fault out of options, as POST /faults takes it. Raises UsageError."""
    effect = {name: value for name in EFFECTS if (value := getattr(arguments, name)) not in (None, False, ())}
    if len(effect) != 1 or len(arguments.error) > 1:
        *known, last = map(effect_flag, EFFECTS)
        got = ", ".join(map(effect_flag, effect)) or "none"
        raise UsageError(f"expected one of {', '.join(known)} and {last}, or --file, got {got}")
    if arguments.error:
        effect["error"] = arguments.error[0]
    if arguments.jitter is not None:
        effect["jitter_ms"] = arguments.jitter
    whens = {name: getattr(arguments, name) for name in ("times", "on_call", "every", "probability")}
    parts: dict[str, Any] = {
        "id": arguments.id,
        "match": {name: one_or_all(found) for name, found in values_of(arguments, MATCHES | LISTENER).items()},
        "link": {"between": arguments.between.split(",")} if arguments.between else None,
        "effect": effect,
        "when": {name: value for name, value in whens.items() if value is not None},
    }
    return {name: value for name, value in parts.items() if value}


def from_file(name: str) -> Any:
    """The JSON of a file, or its YAML if it is named so. Raises UsageError."""
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


@asks(faults, "remove", "Remove faults.", argument("fault", metavar="FAULT...", nargs=-1, required=True))
def remove_faults(control: ControlConnection, arguments: Arguments) -> Answer:
    removed = [control.delete("faults", fault) for fault in arguments.fault]
    return removed, views.faults(removed)


@asks(faults, "clear", "Remove all faults.")
def clear_faults(control: ControlConnection, arguments: Arguments) -> Answer:
    answer = control.delete("faults")
    return answer, f"removed {', '.join(answer['deleted']) or 'none'}"


since_option = option("--since", WholeNumber(), "Consider only calls after the one with this sequence.")


@asks(
    ctl,
    "requests",
    "Show which client asked what, which broker answered, and whether it left the rack.",
    filters(MATCHES | OUTCOMES, "Calls"),
    since_option,
    option("--limit", WholeNumber(1), "Show the last N calls.", default=50),
    flag("--follow", "Continue with new calls, until Ctrl-C."),
    flag("--count", "Print only the number of calls."),
    flag("--clear", "Forget all calls so far."),
)
def requests(control: ControlConnection, arguments: Arguments) -> Answer | None:
    wanted = called(arguments)
    if arguments.clear:
        return control.delete("requests"), "forgotten"
    if arguments.count:
        answer = control.post("requests", "count", body=wanted)
        return answer, str(answer["count"])
    answer = control.get("requests", query={**wanted, "limit": [arguments.limit]})
    if arguments.format == "json" and not arguments.follow:
        return answer, ""
    lines = views.RequestLines()
    while True:
        for entry in answer["requests"]:
            print(json.dumps(entry, ensure_ascii=False) if arguments.format == "json" else lines.line(entry))
        sys.stdout.flush()
        if not arguments.follow:
            return None
        time.sleep(FOLLOW_S)
        answer = control.get("requests", query={**wanted, "since": [answer["next"]]})


def called(arguments: Arguments) -> dict[str, Any]:
    """The filters of a command line, as JSON has them."""
    found = values_of(arguments, MATCHES | OUTCOMES)
    return found if arguments.since is None else {**found, "since": arguments.since}


def claims() -> list[str]:
    from mockbroker.core.journal.assertions import CLAIMS

    return [claim.replace("_", "-") for claim in CLAIMS]


@asks(
    ctl,
    "assert",
    "Check a claim about the calls so far: rack-local, served-by, cross-rack-bytes, no-errors or consistent. "
    "Exit code 3, and its sentence, if it does not hold.",
    argument("claim", metavar="CLAIM", type=Name("CLAIM", claims)),
    filters(MATCHES | OUTCOMES, "Calls"),
    since_option,
    option("--at-most", WholeNumber(0, 2**63), "Of cross-rack-bytes: allow this many bytes to cross."),
    option("--by-rack", Words("RACK"), "Of served-by: the rack that must have served the calls."),
    option("--by-broker", WholeNumber(name="ID"), "Of served-by: the broker that must have served them."),
)
def check(control: ControlConnection, arguments: Arguments) -> Answer:
    own = {"at_most": arguments.at_most, "rack": arguments.by_rack, "broker": arguments.by_broker}
    body = {"assert": arguments.claim.replace("-", "_"), **called(arguments)}
    answer = control.post("assertions", body=body | {name: value for name, value in own.items() if value is not None})
    return answer, "it holds"


@asks(ctl, "metrics", "Print the metrics in Prometheus' format.")
def metrics(control: ControlConnection, arguments: Arguments) -> None:
    print(control.get_text("metrics"), end="")


@asks(ctl, "events", "Follow changes: one line of JSON an event, until Ctrl-C.")
def events(control: ControlConnection, arguments: Arguments) -> None:
    for kind, data in control.events():
        print(json.dumps({"event": kind, "data": data}, ensure_ascii=False), flush=True)
