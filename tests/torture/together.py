"""``python -m tests.torture.together [SECONDS] [--seed N]``: all hostile loads and lies at once beside honest clients.

Eight honest clients write to a topic each. At the end each reads its topic: no acknowledged record may be missing or
doubled. Then all topics and the journal's calls are deleted, and the server's memory has to return to that of before,
but for its bounded caches. Default: 30 minutes.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace

import httpx
from confluent_kafka.admin import AdminClient

from kafka_rack.cli.serving.running import LOAD_LOOK_S
from mockbroker.adapters.open_files import raise_open_files_limit
from tests.torture import lies
from tests.torture.good_traffic import good_traffic
from tests.torture.hostile import LARGE, LOADS, Load, fill
from tests.torture.target import ANSWER_S, Target, limited, target

SECONDS, PORTIONS, HONEST = 1800.0, 20, 8
CACHES_MB = 160.0
"""Memory that may stay: fetch sessions, 64 MiB a broker at most, flows, and what Python's allocator does not return."""
END_S = 600.0
RETURNED_S = 3 * LOAD_LOOK_S  # a calm server has returned free memory by then
TOPICS = [f"good-{number}" for number in range(HONEST)]
OPTIONS = (
    *("--brokers", "3", "--racks", "a,b,c", "--control-port", "0"),
    *(word for topic in TOPICS for word in ("--topic", f"{topic}:3:3")),
    *("--topic", f"{LARGE}:1:1", "--topic", f"{lies.TOPIC}:1:1"),
    *("--set", "group.streams.initial.rebalance.delay.ms=0"),
)


class Attacker(threading.Thread):
    """Runs one load, or lies one after the other, on connections of its own until all end; ``ran`` counts them."""

    def __init__(self, load: Load | None, attacked: Target, seed: int, ended: threading.Event) -> None:
        super().__init__(daemon=True)
        self._load, self._target, self._ended = load, attacked, ended
        self._rng = random.Random(f"{seed} {load.__name__ if load else 'lies'}")
        self.ran: Counter[str] = Counter()

    def run(self) -> None:
        while not self._ended.is_set():
            name = self._load.__name__ if self._load else self._rng.choice(sorted(lies.ATTACKS))
            with ExitStack() as held:
                address = self._rng.choice(self._target.addresses)
                own = replace(self._target, addresses=[address], held=held, clients=[], rng=self._rng)
                try:
                    self._attack(name, own)
                except (OSError, httpx.HTTPError) as error:  # as from a broker that has stopped
                    self.ran[f"{name}: {type(error).__name__}"] += 1

    def _attack(self, name: str, own: Target) -> None:
        if self._load is None:
            lies.ATTACKS[name](own)
            self.ran[name] += 1
            return
        for _ in self._load(own):
            self.ran[name] += 1
            if self._ended.is_set():
                return


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.together")
    parser.add_argument("seconds", type=float, nargs="?", default=SECONDS)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    given = parser.parse_args()
    raise_open_files_limit()
    print(
        f"seed {given.seed}\n{'s':>6} {'MB':>7} {'files':>6} {'p50 ms':>8} {'p99 ms':>8} {'longest ms':>10}", flush=True
    )
    with target(OPTIONS) as attacked, limited("all at once", given.seconds + END_S), ExitStack() as stack:
        fill(attacked)
        servers = ",".join(attacked.addresses)
        good = [stack.enter_context(good_traffic(servers, topic)) for topic in TOPICS]
        [one.window() for one in good]
        before_mb, ended = attacked.memory_mb(), threading.Event()
        attackers = [Attacker(load, attacked, given.seed, ended) for load in (*LOADS, None)]
        began_s = time.monotonic()
        for attacker in attackers:
            attacker.start()
        for _ in range(PORTIONS):
            time.sleep(given.seconds / PORTIONS)
            seen = [one.window() for one in good]
            print(
                f"{time.monotonic() - began_s:>6.0f} {attacked.memory_mb():>7.0f} {attacked.open_files():>6}"
                f" {max(one.p50_ms for one in seen):>8} {max(one.p99_ms for one in seen):>8}"
                f" {max(one.longest_ms for one in seen):>10}",
                flush=True,
            )
        ended.set()
        for attacker in attackers:
            attacker.join()
        ends = [one.end() for one in good]
        print(dict(sum((attacker.ran for attacker in attackers), Counter())))
        lost = {topic: end for topic, end in zip(TOPICS, ends, strict=True) if end["missing"] or end["doubled"]}
        print(f"acknowledged {sum(end['acknowledged'] for end in ends)}, lost or doubled: {lost or 'none'}")
        admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        for deleted in admin.delete_topics(list(admin.list_topics(timeout=30).topics)).values():
            deleted.exception(30)
        httpx.delete(f"{attacked.control}/requests", trust_env=False, timeout=ANSWER_S).raise_for_status()
        attacked.until_settled()
        settled_mb = attacked.memory_mb()
        time.sleep(RETURNED_S)
        after_mb = attacked.memory_mb()
    print(
        f"memory: {before_mb:.0f} MB before, {settled_mb:.0f} MB at the end, {after_mb:.0f} MB once returned;"
        f" at most {CACHES_MB:.0f} MB more than before"
    )
    return 1 if lost or after_mb > before_mb + CACHES_MB else 0


if __name__ == "__main__":
    sys.exit(main())
