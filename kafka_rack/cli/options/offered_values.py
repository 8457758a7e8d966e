"""What a shell offers for options and arguments whose values are known by name, though others may be taken too.

Of what takes nothing else (``choices``) the parsers themselves know. Here are the rest: a placer may be a class of
one's own, an assignor depends on the protocol, some take several between commas, of which the first is offered.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

import protocol
from kafka_rack.cli.options.placers import PLACER_MEANINGS
from protocol.error_codes import ErrorCode


def assignors() -> Iterable[str]:
    """Of both protocols."""
    from kafka_rack.assignment import CONSUMER_SIDE, SERVER_ASSIGNORS

    return sorted({*CONSUMER_SIDE, *SERVER_ASSIGNORS})


def outage_placers() -> Iterable[str]:
    from kafka_rack.availability import PLACERS

    return ("all", *PLACERS)


def what_if_settings() -> Iterable[str]:
    """Kafka's settings that ``what-if`` can change, each with its values."""
    from kafka_rack.assignment import CONSUMER_SIDE, SERVER_ASSIGNORS
    from kafka_rack.what_if.change import ASSIGNOR, AUTO, CLIENT_RACK, PROTOCOL, PROTOCOLS, REMOTE_ASSIGNOR, SELECTOR

    values: dict[str, Iterable[str]] = {
        CLIENT_RACK: (AUTO,),
        SELECTOR: ("rack-aware", "leader"),
        PROTOCOL: PROTOCOLS,
        ASSIGNOR: CONSUMER_SIDE,
        REMOTE_ASSIGNOR: SERVER_ASSIGNORS,
    }
    return [f"{name}={value}" for name, known in values.items() for value in known]


def releases() -> Iterable[str]:
    """Those that a cluster can emulate."""
    from mockbroker.state.kraft_releases import DISKLESS, KRAFT_ONLY
    from mockbroker.zookeeper.releases import RELEASES

    return (*RELEASES, *KRAFT_ONLY, DISKLESS)


def zookeeper_releases() -> Iterable[str]:
    from mockbroker.zookeeper.releases import RELEASES

    return RELEASES


def zone_keys() -> Iterable[str]:
    from kafka_rack.zones import ZONE_KEYS

    return [key.key for key in ZONE_KEYS]


def grades() -> Iterable[str]:
    from mockbroker.testing.certify.certificate import GRADES

    return [grade for grade, _ in GRADES]


def claims() -> Iterable[str]:
    from mockbroker.core.journal.assertions import CLAIMS

    return [claim.replace("_", "-") for claim in CLAIMS]


def libraries() -> Iterable[str]:
    from kafka_rack.cli.commands.demo.plan import LIBRARIES

    return LIBRARIES


def fuzz_checks() -> Iterable[str]:
    from kafka_rack.pipeline.fuzz.checks import CHECKS

    return CHECKS


def log_levels() -> Iterable[str]:
    from kafka_rack.cli.pipeline.running import LOG_LEVELS

    return LOG_LEVELS


def message_names() -> Iterable[str]:
    return sorted(message.name for message in protocol.messages())


def api_names() -> Iterable[str]:
    """Kafka's names of its APIs, as Fetch."""
    ending = "Request"
    return [name.removesuffix(ending) for name in message_names() if name.endswith(ending)]


def error_names() -> Iterable[str]:
    return [code.name for code in ErrorCode]


OFFERED: dict[str, Callable[[], Iterable[str]]] = {
    "--placer": lambda: PLACER_MEANINGS,
    "availability --placer": outage_placers,
    "--assignor": assignors,
    "what-if --set": what_if_settings,
    "--emulate": releases,
    "rolling-upgrade --from": zookeeper_releases,
    "rolling-upgrade --to": zookeeper_releases,
    "software --release": zookeeper_releases,
    "--mend-client-ids": zone_keys,
    "--at-least": grades,
    "assert claim": claims,
    "--libraries": libraries,
    "--checks": fuzz_checks,
    "--spark-log": log_levels,
    "--message": message_names,
    "fuzz --messages": message_names,
    "messages name": message_names,
    "--api": api_names,
    "--error": error_names,
    "--locality": lambda: ("local", "cross", "unknown"),
}
"""An option of every command, or one of a command alone, which comes first -> what gives the names."""


def offered_values(command: str, action: argparse.Action) -> list[str]:
    """The names to offer for an option, or an argument, of a command; empty where none are known.

    >>> parser = argparse.ArgumentParser()
    >>> offered_values("kafka-rack proxy", parser.add_argument("--mend-client-ids"))
    ['diskless_az', 'warpstream_az', 'ws_az', 'automq_az', 'zone']
    """
    last = command.rpartition(" ")[2]
    for option in action.option_strings or [action.dest]:
        for key in (f"{last} {option}", option):
            if key in OFFERED:
                return list(OFFERED[key]())
    return []
