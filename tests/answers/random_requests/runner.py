"""From seed to seed: each cause of a difference once, with the fewest requests that show it and how to replay them."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.answers.drivers import RACKS, brokers_with_users
from tests.answers.random_requests.differential import Both, DifferingAnswer, Failures, told_by_ours
from tests.answers.random_requests.families import family
from tests.answers.random_requests.plan import Plan
from tests.answers.random_requests.shrinking import Shrinking
from tests.answers.random_requests.turns import Turns
from tests.answers.story import Exchange

MAX_CHARACTERS = 1_000
MAX_FIELDS = 6


def run(options: argparse.Namespace) -> int:
    """What the command line asks for; 1 where something differs."""
    turns = family(options.family)
    logging.getLogger("mockbroker").setLevel(logging.CRITICAL)  # connections are closed as they are to be
    if options.alone:
        return run_alone(turns, options)
    with (
        tempfile.TemporaryDirectory() as folder,
        brokers_with_users(RACKS, Path(folder), turns.SETTINGS, turns.USERS) as kafka,
    ):
        both = Both(kafka, turns)
        if options.replay:
            return replay(both, Plan.parse(options.replay))
        return run_against_kafka(both, options)


def run_against_kafka(both: Both, options: argparse.Namespace) -> int:
    begun, causes, seed = time.monotonic(), Counter[tuple[str, ...]](), options.seed
    while both.requests < options.requests:
        plan = Plan.drawn(seed, both.turns.LENGTH)
        seed += 1
        asked = both.requests
        try:
            found = both.run(plan)
            if found is None:
                continue
            asked = both.requests
            causes[found.cause] += 1
            if causes[found.cause] > 1:
                continue
            again = both.run(plan)
            if again is None or again.cause != found.cause:
                print(f"\nseed {seed - 1}: it did not come again")
                tell(found, plan.only(plan.turns[: found.turn + 1]), options.family)
                continue
            shrinking = Shrinking(both.run, plan, again)
            shrinking.shrink()
            print(f"\nseed {seed - 1}")
            tell(shrinking.found, shrinking.plan, options.family)
            causes[shrinking.found.cause] = max(1, causes[shrinking.found.cause])
        except KeyboardInterrupt:
            break
        except Exception:  # noqa: BLE001 - it is told, and the next seed goes on
            print(f"\nseed {seed - 1}: FAILED; replay by --replay {plan}")
            traceback.print_exc(limit=-4, file=sys.stdout)
            both.requests += both.turns.LENGTH
            causes["failed",] += 1
        else:
            both.requests = asked  # what shrinking asks does not count
    print(f"\n{options.family}: {both.requests} requests by seeds {options.seed} to {seed - 1}, ", end="")
    print(f"{len(causes)} causes, {time.monotonic() - begun:.0f} s")
    for cause, count in causes.most_common():
        print(f"{count:6}  {' | '.join(cause)}")
    return 1 if causes else 0


def replay(both: Both, plan: Plan) -> int:
    found = both.run(plan)
    if found is None:
        print("all the same")
        return 0
    tell(found, plan, "")
    return 1


def run_alone(turns: type[Turns], options: argparse.Namespace) -> int:
    """Ours without Kafka: what it failed at."""
    failures, asked, seed = Failures(), 0, options.seed
    while asked < options.requests:
        plan = Plan.parse(options.replay) if options.replay else Plan.drawn(seed, turns.LENGTH)
        known = len(failures.found)
        kept = told_by_ours(turns, plan, failures=failures)
        for one in failures.found[known:]:
            print(f"\nseed {seed}: {one.call.request}")
            traceback.print_exception(one.error, limit=-3, file=sys.stdout)
            print(f"  python -m tests.answers random --family {options.family} --alone --replay {plan}", flush=True)
        seed += 1
        asked += options.requests if options.replay else len(kept)
    print(f"{asked} requests, ours failed at {len(failures.found)}")
    return 1 if failures.found else 0


def tell(found: DifferingAnswer, plan: Plan, family_name: str) -> None:
    for one in found.before:
        print(f"  {shown(one)}")
    for field, kafka, ours in found.fields[:MAX_FIELDS]:
        print(f"  ** {field}: Kafka {short(kafka)}, ours {short(ours)}")
    if family_name:
        print(f"  python -m tests.answers random --family {family_name} --replay {plan}", flush=True)


def shown(one: Exchange) -> str:
    return f"{one.step}: {short(one.request)}\n      -> {short(one.answer)}"


def short(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"))
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}..."
