"""The command of tests/answers: record from a real Kafka, compare with ours.

python -m tests.answers compare [--family NAME] [--api NAME] [--scenario GLOB] [--limit N] [--all]
python -m tests.answers record --family NAME | --all
python -m tests.answers random --family NAME [--seed N] [--requests N] [--replay PLAN] [--alone]
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from collections.abc import Sequence

from tests.answers.comparison import Difference
from tests.answers.excuses import HEADER, PAGE, excuse_of, matches, rows
from tests.answers.random_requests.families import FAMILIES
from tests.answers.recorded import differences, recorded, recorded_families
from tests.answers.scenarios import families, scenarios_of


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.answers", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    compare = commands.add_parser("compare", help="show where ours differs from what was recorded")
    compare.add_argument("--family", help="a module of tests/answers/scenarios; default: all that are recorded")
    compare.add_argument("--api", help="only answers of this API, as OffsetFetch")
    compare.add_argument("--scenario", default="*", help="only scenarios of this name; * stands for anything")
    compare.add_argument("--limit", type=int, default=100, help="how many differences to print; default: 100")
    compare.add_argument("--excused", action="store_true", help="also those with an excuse")
    record = commands.add_parser("record", help="ask three real brokers of Kafka 4.4, and write what they answer")
    which = record.add_mutually_exclusive_group(required=True)
    which.add_argument("--family")
    which.add_argument("--all", action="store_true")
    random = commands.add_parser("random", help="ask Kafka and ours the same random requests, and show what differs")
    random.add_argument("--family", required=True, choices=FAMILIES)
    random.add_argument("--seed", type=int, default=1, help="of the first run; each next one has the next; default: 1")
    random.add_argument("--requests", type=int, default=1_000, help="how many at least; default: 1000")
    random.add_argument("--replay", metavar="PLAN", help="the one run that a difference was printed with")
    random.add_argument("--alone", action="store_true", help="ours without Kafka: show what it fails at")
    commands.add_parser("excuses", help="write the excuses into fixtures/answers/README.md")
    options = parser.parse_args(arguments)
    if options.command == "random":
        from tests.answers.random_requests.runner import run

        return run(options)
    if options.command == "excuses":
        text = PAGE.read_text(encoding="utf-8")
        start, _, rest = text.partition(HEADER)
        PAGE.write_text(f"{start}{HEADER}{rows()}\n\n{rest.partition(chr(10) * 2)[2]}", encoding="utf-8")
        return 0
    if options.command == "record":
        from tests.answers.recorder import record as record_family

        done = [record_family(family) for family in (families() if options.all else [options.family])]
        return 0 if all(done) else 1
    return run_compare(options)


def run_compare(options: argparse.Namespace) -> int:
    found: list[Difference] = []
    counts: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    failed = 0
    for family in [options.family] if options.family else recorded_families():
        by_name = {one.name: one for one in scenarios_of(family)}
        for name, lines in recorded(family).items():
            if not matches(options.scenario, name):
                continue
            wanted = {step: line for step, line in lines.items() if options.api in (None, line["api"])}
            if not wanted:
                continue
            counts.update(line["api"] for line in wanted.values())
            try:
                differing = list(differences(by_name[name], wanted))
            except Exception as error:  # noqa: BLE001 - it is told, and the others go on
                failed += 1
                traceback.print_exc(limit=-3)
                print(f"FAILED {name}: {error}")
                wrong.update(line["api"] for line in wanted.values())
                continue
            if not options.excused:
                differing = [one for one in differing if excuse_of(one) is None]
            wrong.update({(one.api, one.step): one.api for one in differing}.values())
            found += differing
    for one in found[: options.limit]:
        print(one)
    print(f"{'API':30} exchanges  different")
    for api in sorted(counts):
        print(f"{api:30} {counts[api]:9}  {wrong[api]:9}")
    print(f"{'all':30} {counts.total():9}  {wrong.total():9}")
    return 1 if found or failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
