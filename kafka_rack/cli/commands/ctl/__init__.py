"""Look at a running cluster, change it and ask who served whom, by the control API of `kafka-rack serve`.

Examples:
  kafka-rack ctl status                          brokers, racks and what is wrong with them
  kafka-rack ctl stop rack a                     and: start rack a, restart broker 1, crash broker 2, ...
  kafka-rack ctl leader orders 0 2               broker 2 leads partition 0 of orders
  kafka-rack ctl faults add --api Fetch --rack b --effect '{"delay_ms": 200}'
  kafka-rack ctl requests --client-rack a --locality cross --follow
  kafka-rack ctl assert rack_local --topic orders --client-id worker
  kafka-rack ctl reset                           as it was started

The control API is found at --url, else by KAFKA_RACK_CONTROL, else at http://127.0.0.1:8090.

Exit codes: 0 done; 1 refused or not reached; 2 wrong usage; 3 an assertion that does not hold, with its sentence; 130
interrupted.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from kafka_rack.cli import EXIT_CODES
from kafka_rack.cli.options.environment import CONTROL, CONTROL_TOKEN
from kafka_rack.cli.parser import HelpFormatter, Parser

DEFAULT_URL = "http://127.0.0.1:8090"
FORMATS = ("table", "json")
COMMANDS_ON_BROKERS = {
    "crash": "end a broker without a word: its connections break, the others notice later",
    "fence": "have the controller fence a broker; clients that know it still reach it",
    "unfence": "let a fenced broker serve again",
    "isolate": "cut a broker off from all others and from the controller",
    "rejoin": "mend every link of a broker",
    "fill-disk": "fill a broker's disk: what it has replicas of fails there",
    "empty-disk": "make room on a broker's full disk",
}
FILTERS = {
    "--api": "Kafka's name of it, as Fetch",
    "--client-id": "as the client says it; * stands for anything",
    "--client-rack": "the client's rack, as far as it is known",
    "--client-address": "an address, or a range as 10.0.0.0/8",
    "--principal": "who logged in, as User:alice; * stands for anything",
    "--topic": "that the request names",
    "--partition": "its number",
    "--group": "that the request names",
    "--broker": "the id of the broker that answered",
    "--rack": "that broker's rack",
    "--locality": "local, cross or unknown",
    "--error": "in the answer, as NOT_LEADER_OR_FOLLOWER",
    "--fault": "the id of a fault that hit it",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common = Parser(add_help=False)
    common.add_argument(
        "--url",
        metavar="URL",
        default=argparse.SUPPRESS,
        help=f"of the control API, or {CONTROL}; default: {DEFAULT_URL}",
    )
    token_help = f"has the token of the control API; or {CONTROL_TOKEN} has it"
    common.add_argument("--token-file", metavar="FILE", default=argparse.SUPPRESS, help=token_help)
    common.add_argument("--format", choices=FORMATS, default=argparse.SUPPRESS, help="default: table, for people")
    parser.add_argument("--token-file", metavar="FILE", help=token_help)
    parser.add_argument("--url", metavar="URL", help=f"of the control API, or {CONTROL}; default: {DEFAULT_URL}")
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table, for people")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True, parser_class=Parser)

    def command(name: str, meaning: str, under: Any = commands) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = under.add_parser(
            name,
            help=meaning,
            description=sentence(meaning),
            epilog=EXIT_CODES,
            parents=[common],
            formatter_class=HelpFormatter,
        )
        return made

    command("status", "the cluster at a glance: brokers, racks, what is wrong, who crossed racks")
    add_looks(command)
    add_commands(command)
    add_faults(command)
    add_requests(command)


Command = Callable[..., argparse.ArgumentParser]


def add_looks(command: Command) -> None:
    """The commands on topics, groups, and the cluster as a whole."""
    topics = command("topics", "list, show, create or delete topics").add_subparsers(metavar="ACTION", dest="action")
    command("list", "all topics", topics).add_argument(
        "--internal", action="store_true", help="the coordinators' topics too"
    )
    command("show", "one topic, partition by partition", topics).add_argument("topic", metavar="TOPIC", help="its name")
    made = command("create", "create a topic", topics)
    made.add_argument(
        "topic",
        metavar="NAME[:PARTITIONS[:RF]]",
        help="as orders:6:3; default: as num.partitions and default.replication.factor say",
    )
    made.add_argument("--config", action="append", default=[], metavar="KEY=VALUE", help="a setting of it; repeatable")
    made.add_argument("--diskless", action="store_true", help="without replicas of its own")
    command("delete", "delete a topic", topics).add_argument("topic", metavar="TOPIC", help="its name")
    groups = command("groups", "list or show groups").add_subparsers(metavar="ACTION", dest="action")
    command("list", "all groups", groups)
    command("show", "one group: members, assignments, lag", groups).add_argument(
        "group", metavar="GROUP", help="its id"
    )
    command("traffic", "client traffic across racks, what of it is avoidable, and what it costs")
    command("metrics", "the metrics as Prometheus reads them")
    command("events", "follow what changes: one line of JSON an event, until Ctrl-C")
    command("reset", "back to how the cluster was started: topics, no groups, no faults, empty journal, all up")
    command("shutdown", "end the cluster")


def add_commands(command: Command) -> None:
    """The commands on brokers, racks, links, partitions and the clock."""
    for name in ("stop", "start", "restart"):
        made = command(name, f"{name} a broker or a rack")
        made.add_argument("what", choices=("broker", "rack"), help="one broker, or all of a rack")
        made.add_argument("name", metavar="ID|RACK", help="the broker's id, or the rack's name")
    for name, meaning in COMMANDS_ON_BROKERS.items():
        made = command(name, meaning)
        made.add_argument("what", choices=("broker",), help="the word itself")
        made.add_argument("name", metavar="ID", help="the broker's id")
    made = command("lag", "keep followers so many records behind their leaders; 0 ends it")
    made.add_argument("what", choices=("broker", "rack"), help="one broker, or all of a rack")
    made.add_argument("name", metavar="ID|RACK", help="the broker's id, or the rack's name")
    made.add_argument("records", type=int, metavar="RECORDS", help="how many; 0 ends it")
    made = command("software", "in ZooKeeper mode: what a broker runs from its next start on")
    made.add_argument("name", metavar="ID", help="the broker's id")
    made.add_argument("--release", metavar="RELEASE", help="of Kafka, as 0.10.0")
    made.add_argument("--protocol", metavar="VERSION", help="its inter.broker.protocol.version")
    for name in ("cut", "mend"):
        made = command(name, f"{name} the link between two brokers; -1 stands for the controller")
        made.add_argument(
            "brokers", type=int, nargs=2, metavar="ID", help="the two brokers' ids; -1 stands for the controller"
        )
    made = command("leader", "have another replica lead a partition")
    made.add_argument("topic", metavar="TOPIC", help="its name")
    made.add_argument("partition", metavar="PARTITION", help="its number")
    made.add_argument("broker", type=int, metavar="ID", help="the broker's id")
    for name, meaning in (("replicas", "move a partition to these brokers"), ("isr", "have this ISR of a partition")):
        made = command(name, meaning)
        made.add_argument("topic", metavar="TOPIC", help="its name")
        made.add_argument("partition", metavar="PARTITION", help="its number")
        made.add_argument("brokers", metavar="ID,ID,...", type=whole_numbers, help="the brokers' ids")
    made = command("coordinator", "have a broker coordinate a group")
    made.add_argument("group", metavar="GROUP", help="its id")
    made.add_argument("broker", type=int, metavar="ID", help="the broker's id")
    command("clock", "move the brokers' wall clock by so many ms, back with a minus").add_argument(
        "jump_ms", type=int, metavar="MS", help="milliseconds; -60000 for a minute back"
    )


def add_faults(command: Command) -> None:
    faults = command("faults", "list, show, add or remove faults").add_subparsers(metavar="ACTION", dest="action")
    command("list", "the faults that are set, and how often they acted", faults)
    command("show", "one fault; why it never acted, where it did not", faults).add_argument(
        "fault", metavar="ID", help="the fault's id"
    )
    made = command("add", "set faults: from a file, or one by options", faults)
    made.add_argument("file", nargs="?", metavar="FILE", help="JSON: a fault or a list of them; - for standard input")
    made.add_argument("--id", metavar="ID", help="default: fault-1, fault-2, ...")
    made.add_argument("--effect", metavar="JSON", help='what it does, as {"error": "NOT_LEADER_OR_FOLLOWER"}')
    made.add_argument("--when", metavar="JSON", help='on which of the calls, as {"times": 3}; default: all')
    made.add_argument("--link", metavar="JSON", help='in place of a match, as {"between": ["a", "b"]}')
    for flag in ("--api", "--client-id", "--client-rack", "--client-address", "--topic", "--group", "--rack"):
        made.add_argument(flag, action="append", metavar="VALUE", help=f"match: {FILTERS[flag]}; repeatable")
    made.add_argument("--listener", action="append", metavar="VALUE", help="match: by its name; repeatable")
    for flag in ("--partition", "--broker"):
        made.add_argument(flag, action="append", type=int, metavar="N", help=f"match: {FILTERS[flag]}; repeatable")
    command("remove", "take faults back", faults).add_argument("fault", nargs="+", metavar="ID", help="the faults' ids")
    command("clear", "take all faults back", faults)


def add_requests(command: Command) -> None:
    made = command("requests", "who asked what, who answered, and whether it left the rack")
    add_filters(made)
    made.add_argument("--since", type=int, metavar="MARK", help="only those behind the call with this sequence")
    made.add_argument("--limit", type=int, metavar="N", help="the last N; default: 50")
    how = made.add_mutually_exclusive_group()
    how.add_argument("--follow", action="store_true", help="go on with those to come, until Ctrl-C")
    how.add_argument("--count", action="store_true", help="only how many there are")
    how.add_argument("--clear", action="store_true", help="forget all calls so far")
    made = command("assert", "check a claim about the calls so far; 3 and its sentence where it does not hold")
    made.add_argument(
        "claim",
        metavar="CLAIM",
        help="rack-local, served-by (with --by-rack or --by-broker), cross-rack-bytes (with --at-most),\n"
        "no-errors or consistent",
    )
    add_filters(made)
    made.add_argument("--since", type=int, metavar="MARK", help="only calls behind the one with this sequence")
    made.add_argument("--at-most", type=int, metavar="BYTES", help="of cross-rack-bytes: how many may have crossed")
    made.add_argument("--by-rack", metavar="RACK", help="of served-by: the rack that has to have served them")
    made.add_argument("--by-broker", type=int, metavar="ID", help="of served-by: the broker that has to")


def add_filters(parser: argparse.ArgumentParser) -> None:
    for flag, meaning in FILTERS.items():
        parser.add_argument(flag, action="append", metavar="VALUE", help=f"{meaning}; repeatable")


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def whole_numbers(text: str) -> list[int]:
    try:
        return [int(one) for one in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected whole numbers between commas, got {text!r}") from None


def run(arguments: argparse.Namespace) -> int:
    from kafka_rack.cli.commands.ctl.commands import carry_out
    from kafka_rack.cli.commands.ctl.connection import ControlConnection
    from kafka_rack.cli.options.control_token import shown_token

    url = arguments.url or os.environ.get(CONTROL) or DEFAULT_URL
    token = shown_token(arguments.token_file, os.environ)
    with ControlConnection(url, token) as control:
        return carry_out(control, arguments)
