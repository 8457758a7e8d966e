"""Run the whole cluster with simulated clients under virtual time, with things going wrong, by seed.

Each seed draws producers, consumers, share groups, transactional pipelines and admins, and a storm: brokers and racks
that stop and crash, links that are cut or slow, errors, frozen clients, restarts of everything. Then all is mended.
Afterwards nobody may be stuck, and clients may have seen nothing that Kafka does not permit. The same seed does the
same each time; of one that fails the command is printed that does it again, made small first. Exit code 3 when a seed
failed.

Examples:
  kafka-rack simulate
  kafka-rack simulate --seeds 1000
  kafka-rack simulate --seed 17 --story
  kafka-rack simulate --workloads producers,consumers --faults crash-leader,lag --set min.insync.replicas=1
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING

from kafka_rack.cli import DONE, FINDINGS, UsageError
from kafka_rack.cli.options.whole_numbers import whole_number

if TYPE_CHECKING:
    from mockbroker.testing.simulation.plan import PlanOptions, SimulationPlan
    from mockbroker.testing.simulation.run import Result

SEEDS = 100
MAX_SEEDS = 10_000_000
MAX_FAILURES = 3
MAX_MS = 86_400_000
MAX_PROBLEMS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=whole_number(MAX_SEEDS, least=0), metavar="N", help="this seed alone")
    parser.add_argument(
        "--seeds", type=whole_number(MAX_SEEDS), default=SEEDS, metavar="N", help=f"how many seeds; default: {SEEDS}"
    )
    parser.add_argument(
        "--first",
        type=whole_number(MAX_SEEDS, least=0),
        default=0,
        metavar="N",
        help="the seed to begin with; default: 0",
    )
    parser.add_argument(
        "--processes", type=whole_number(1000), metavar="N", help="how many seeds at a time; default: one a core"
    )
    parser.add_argument(
        "--storm-ms", type=whole_number(MAX_MS, least=0), metavar="MS", help="for how long things go wrong"
    )
    parser.add_argument(
        "--workloads", metavar="NAME,...", help="some of producers, consumers, pipelines, admins, sharers; default: all"
    )
    parser.add_argument(
        "--faults", metavar="NAME,...", help="kinds of faults, as --list-faults has them, or none; default: all"
    )
    parser.add_argument("--list-faults", action="store_true", help="print the kinds of faults")
    parser.add_argument("--racks", metavar="RACK,...", help="the racks of brokers 0, 1, ...; a,b,c,a")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="a setting of brokers"
    )
    parser.add_argument("--emulate", metavar="RELEASE", help="the release that brokers emulate")
    parser.add_argument("--end-ms", type=whole_number(MAX_MS, least=0), metavar="MS", help="of one seed: mend all then")
    parser.add_argument("--keep-faults", metavar="N,...", help="of one seed: only the faults of these numbers")
    parser.add_argument("--keep-clients", metavar="N,...", help="of one seed: only the clients of these numbers")
    parser.add_argument("--story", action="store_true", help="of one seed: what happened when, even if all was right")
    parser.add_argument("--digest", action="store_true", help="of one seed: a checksum over its journal")
    parser.add_argument("--no-shrink", action="store_true", help="print failures as they are")


def run(arguments: argparse.Namespace) -> int:
    from mockbroker.testing.simulation.faults import FAULTS
    from mockbroker.testing.simulation.plan import PlanError, plan_of

    if arguments.list_faults:
        print("\n".join(FAULTS))
        return DONE
    try:
        options = options_of(arguments)
        if arguments.seed is not None:
            plan = plan_of(arguments.seed, options).keeping(
                clients=numbers(arguments.keep_clients),
                faults=numbers(arguments.keep_faults),
                storm_ms=arguments.end_ms,
            )
            return run_one(plan, arguments)
    except PlanError as error:
        raise UsageError(str(error)) from None
    of_one_seed = ("keep_faults", "keep_clients", "end_ms", "story", "digest")
    alone = next((name for name in of_one_seed if getattr(arguments, name) not in (None, False)), None)
    if alone is not None:
        raise UsageError(f"--{alone.replace('_', '-')} goes with --seed")
    return run_many(options, arguments)


def options_of(arguments: argparse.Namespace) -> PlanOptions:
    """What the arguments say of all runs. Raises PlanError, UsageError."""
    from mockbroker.testing.simulation.plan import DEFAULTS, PlanOptions

    settings = {}
    for given in arguments.settings:
        name, equals, value = given.partition("=")
        if not equals:
            raise UsageError(f"--set: expected NAME=VALUE, got {given!r}")
        settings[name] = value
    faults = () if arguments.faults == "none" else names(arguments.faults)
    return PlanOptions(
        workloads=names(arguments.workloads) or DEFAULTS.workloads,
        faults=DEFAULTS.faults if arguments.faults is None else faults,
        storm_ms=DEFAULTS.storm_ms if arguments.storm_ms is None else arguments.storm_ms,
        racks=names(arguments.racks) or DEFAULTS.racks,
        settings=settings,
        release=arguments.emulate,
    )


def names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip()) if text else ()


def numbers(text: str | None) -> frozenset[int] | None:
    """The numbers of a list, None where there is no list. Raises UsageError."""
    if text is None:
        return None
    try:
        return frozenset(int(number) for number in names(text))
    except ValueError:
        raise UsageError(f"expected numbers with commas between, got {text!r}") from None


def run_one(plan: SimulationPlan, arguments: argparse.Namespace) -> int:
    """Run one plan, and print what came of it."""
    from mockbroker.testing.simulation.run import simulate

    result = simulate(plan, with_digest=arguments.digest)
    print(summary(result))
    if result.digest:
        print(f"journal: sha256 {result.digest}")
    if arguments.story or not result.is_right:
        print_story(result)
    return DONE if result.is_right else FINDINGS


def run_many(options: PlanOptions, arguments: argparse.Namespace) -> int:
    """Run seeds on all cores; print the first few that fail, made small."""
    from mockbroker.testing.simulation.campaign import run_seeds

    begun = time.monotonic()
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    processes = min(arguments.processes or os.cpu_count() or 1, len(seeds))
    failed: list[Result] = []
    calls = 0
    for done, result in enumerate(run_seeds(seeds, options, processes=processes), 1):
        calls += result.calls
        if not result.is_right:
            failed.append(result)
            print(f"seed {result.plan.seed} failed: {result.problems[0].kind}", flush=True)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{done} of {len(seeds)} seeds, {len(failed)} failed ")
            sys.stderr.flush()
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    took = time.monotonic() - begun
    for result in sorted(failed, key=lambda one: one.plan.seed)[:MAX_FAILURES]:
        print()
        print_failure(result, arguments)
    outcome = f"{len(failed)} failed" if failed else "all right"
    print(f"{len(seeds)} seeds from {seeds[0]} on: {outcome}; {calls:,} calls, {took:.0f} s on {processes} processes")
    return FINDINGS if failed else DONE


def print_failure(result: Result, arguments: argparse.Namespace) -> None:
    """Print a failing seed: what went wrong, the story, and the command that does it again."""
    from mockbroker.testing.simulation.run import simulate
    from mockbroker.testing.simulation.shrinking import Shrinking

    smallest = result if arguments.no_shrink else Shrinking(result, simulate).run()
    print(summary(smallest))
    print_story(smallest)
    print(f"again: {replay_command(smallest.plan, result.plan, arguments)}")


def replay_command(plan: SimulationPlan, drawn: SimulationPlan, arguments: argparse.Namespace) -> str:
    """The command that runs a plan again, which was drawn as ``drawn`` and made smaller since."""
    words = ["kafka-rack", "simulate", "--seed", str(plan.seed)]
    for option in ("workloads", "faults", "racks", "emulate"):
        given = getattr(arguments, option)
        if given is not None:
            words += [f"--{option}", given]
    for given in arguments.settings:
        words += ["--set", given]
    if arguments.storm_ms is not None:
        words += ["--storm-ms", str(arguments.storm_ms)]
    if plan.storm_ms != drawn.storm_ms:
        words += ["--end-ms", str(plan.storm_ms)]
    kept = plan.keeping()
    if len(kept.faults) != len(drawn.faults):
        words += ["--keep-faults", ",".join(str(one.number) for one in kept.faults) or "''"]
    if len(kept.clients) != len(drawn.clients):
        words += ["--keep-clients", ",".join(str(one.number) for one in kept.clients) or "''"]
    return " ".join(words)


def summary(result: Result) -> str:
    """One line of a run."""
    plan = result.plan
    what = f"{len(plan.clients)} clients, {len(plan.faults)} faults, {result.calls} calls"
    ended = f"ended after {result.ended_at_ms / 1000:.1f} s of virtual time"
    return f"seed {plan.seed}: {'all right' if result.is_right else 'failed'}; {what}, {ended}"


def print_story(result: Result) -> None:
    """Print who took part, what happened to whom and when, and what was wrong in the end."""
    print(f"clients: {', '.join(f'{one.name} in rack {one.rack}' for one in result.plan.clients)}")
    for at_ms, what in result.story:
        print(f"  {at_ms:>7} ms  {what}")
    for problem in result.problems[:MAX_PROBLEMS]:
        print(f"  {problem.kind}: {problem.text}")
    if len(result.problems) > MAX_PROBLEMS:
        print(f"  and {len(result.problems) - MAX_PROBLEMS} more problems")
