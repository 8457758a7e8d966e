"""Replay a rack bug of a released client: it fails with one version and is mended in the next.

    kafka-rack replay --list
    kafka-rack replay sarama-2071

The client is fetched by name from its registry (Go proxy, Maven Central, PyPI), once, into a folder below
XDG_CACHE_HOME; Go, or Java with Maven, builds it. Then it reads in three racks of a cluster here, and what is seen on
the wire is judged as `kafka-rack certify` does. Exit code 0: both versions did as recorded; 3: one did not.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import DONE, FINDINGS, CommandError, UsageError

if TYPE_CHECKING:
    from mockbroker.testing.museum.bugs import Bug
    from mockbroker.testing.museum.replaying import Replayed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bug", nargs="?", metavar="BUG", help="one of --list; every one of --client if left out")
    parser.add_argument("--client", help="bugs of this client alone")
    parser.add_argument("--list", action="store_true", help="show what there is, and end")
    parser.add_argument("--format", choices=["table", "json"], default="table", help="for people or for programs")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def run(arguments: argparse.Namespace) -> int:
    from mockbroker.testing.museum.bugs import BUGS

    bugs = chosen(arguments)
    if arguments.list:
        if arguments.format == "json":
            print(json.dumps([described(bug) for bug in bugs], indent=2))
        else:
            print(listing(bugs))
        return DONE
    if arguments.bug is None and arguments.client is None:
        names = ", ".join(bug.id for bug in BUGS)
        raise UsageError(f"expected a bug, --client or --list; there are {names}")
    results = []
    for bug in bugs:
        replays = replayed(bug, quiet=arguments.quiet)
        results.append({**described(bug), "replays": [outcome(one) for one in replays]})
        if arguments.format == "table":
            print(story(bug, replays))
    if arguments.format == "json":
        print(json.dumps(results, indent=2))
    return DONE if all(one["as_recorded"] for bug in results for one in bug["replays"]) else FINDINGS


def chosen(arguments: argparse.Namespace) -> list[Bug]:
    """The bugs that are asked for. Raises UsageError."""
    from mockbroker.testing.museum.bugs import BUGS, find

    clients = sorted({bug.client for bug in BUGS})
    if arguments.client is not None and arguments.client not in clients:
        raise UsageError(f"--client: expected one of {', '.join(clients)}, got {arguments.client!r}")
    if arguments.bug is None:
        return [bug for bug in BUGS if arguments.client in (None, bug.client)]
    bug = find(arguments.bug)
    if bug is None:
        raise UsageError(f"expected one of {', '.join(one.id for one in BUGS)}, got {arguments.bug!r}")
    if arguments.client not in (None, bug.client):
        raise UsageError(f"{bug.id} is a bug of {bug.client}, not of {arguments.client}")
    return [bug]


def replayed(bug: Bug, *, quiet: bool) -> list[Replayed]:
    """Both versions, the one with the bug first. Raises CommandError."""
    from mockbroker.testing.certify.programs import ProgramError
    from mockbroker.testing.museum.builders import ToolMissingError
    from mockbroker.testing.museum.replaying import replay

    found = []
    for version in (bug.bad, bug.good):

        def say(line: str, version: str = version) -> None:
            if not quiet:
                sys.stderr.write(f"{bug.client} {version}: {line}\n")
                sys.stderr.flush()

        say("fetched and built, unless it is in the cache")
        try:
            found.append(replay(bug, version, say))
        except (ToolMissingError, ProgramError) as error:
            raise CommandError(f"{bug.id}: {error}") from None
        except OSError as error:
            raise CommandError(error.strerror or str(error)) from None
    return found


def listing(bugs: list[Bug]) -> str:
    """A few lines for each."""
    lines = []
    for bug in bugs:
        lines += [f"{bug.id}: {bug.title}", f"  {bug.client} {bug.bad}, mended in {bug.good}"]
        lines += [f"  {link}" for link in bug.links]
    return "\n".join(lines)


def story(bug: Bug, replays: list[Replayed]) -> str:
    """What was seen, and what that means."""
    lines = [f"{bug.id}: {bug.title}", "", bug.story, *bug.links, ""]
    for one in replays:
        lines.append(f"{bug.client} {one.version}: {one.check.question}? {one.check.verdict}")
        lines.append(f"  {one.check.evidence}")
    wrong = [one for one in replays if not one.is_as_recorded]
    lines.append("")
    if wrong:
        said = "; ".join(f"{one.version}: expected {one.expected}, got {one.check.verdict}" for one in wrong)
        lines.append(f"not as recorded: {said}")
    else:
        lines.append(f"as recorded: fails with {bug.bad}, mended in {bug.good}")
    return "\n".join(lines) + "\n"


def described(bug: Bug) -> dict[str, Any]:
    return {
        "bug": bug.id,
        "client": bug.client,
        "title": bug.title,
        "links": list(bug.links),
        "bad": bug.bad,
        "good": bug.good,
    }


def outcome(one: Replayed) -> dict[str, Any]:
    return {
        "version": one.version,
        "expected": one.expected,
        "as_recorded": one.is_as_recorded,
        **one.check.to_json(),
    }
