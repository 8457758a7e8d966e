"""``python -m tests.torture [--seed N] [NAME...]``: attacks by family or by a part of their names; default: all.

Each family is a module here with ``ATTACKS``, functions by name, and ``BOUND``, the most that one may cost; a new
module needs its line in ``FAMILIES``. Each attack has a server of its own, made with the module's ``OPTIONS`` and
filled by its ``PREPARE``, if any. The seed draws the sizes of attacks and their order; where a family's share of the
time is over, the rest of it is left to another night. The exit code is 1 if an attack hung or cost too much.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from importlib import import_module

import httpx

from mockbroker.adapters.open_files import raise_open_files_limit
from tests.torture.target import HEADING, BoundError, TooLongError, run_attack

FAMILIES = {
    "answers": ("answers without end", 50),
    "requests": ("one request, seconds of work", 150),
    "lies": ("few bytes, much work", 90),
    "growth": ("costs that grow", 120),
    "memory": ("records without end", 20),
    "control": ("the control API beside clients", 90),
    "hostile": ("hostile load beside a good client", 180),
    "tls": ("hostile handshakes and records beside a good client with TLS", 180),
}
"""The subject of each, and the seconds in which an attack of it may begin: 15 minutes in all, and less where quick."""


def run_family(family: str, names: list[str], seed: int) -> list[str]:
    """Run the named attacks of a family, all without a name. Returns what went wrong."""
    subject, share_s = FAMILIES[family]
    module = import_module(f"{__package__}.{family}")
    chosen = [name for name in module.ATTACKS if not names or family in names or any(one in name for one in names)]
    if not chosen:
        return []
    if not names:
        random.Random(seed).shuffle(chosen)
    print(f"== {family}: {subject}\n\n{HEADING}", flush=True)
    failures = []
    began_s = time.monotonic()
    for name in chosen:
        if not names and time.monotonic() - began_s > share_s:
            print(f"{name:<30} left to another night: the family's {share_s} s are over")
            continue
        try:
            figures = run_attack(module, name, random.Random(f"{seed} {name}"))
            print(figures, flush=True)
            module.BOUND.check(figures)
        except (BoundError, TooLongError, AssertionError, OSError, httpx.HTTPError) as error:
            print(f"FAILED {error}\n{'' if isinstance(error, BoundError) else traceback.format_exc()}", flush=True)
            failures.append(f"{name}: {error!r}")
    print(f"{family}: {time.monotonic() - began_s:.0f} s\n", flush=True)
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture")
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(2**32), help="draws sizes and order"
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    raise_open_files_limit()
    print(f"seed {given.seed}", flush=True)
    if not given.names:
        print(f"families share {sum(share_s for _, share_s in FAMILIES.values())} s", flush=True)
    failures = [text for family in FAMILIES for text in run_family(family, given.names, given.seed)]
    print("\n".join(failures) if failures else "all within their bounds")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
