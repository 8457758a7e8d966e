"""Rounds of a cluster that is killed under real clients, opened again, and compared with what these were told."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from confluent_kafka.admin import AdminClient, NewTopic

from tests.progress import SignsOfWork, wait_until
from tests.torture.killing import checks
from tests.torture.killing.damage import flip, tear
from tests.torture.killing.server import KilledServer
from tests.torture.killing.workloads import PARTITIONS, Copier, Ledger, Reader, Transactor, Workload, Writer

ROUNDS_IN_A_LIFE = 10
PATIENCE_S = 60
STUCK_S = 20.0
TOPICS = ("plain", "copy", "ledger", "unread")
CONFIGS = {"segment.ms": "1500"}  # a smaller segment.bytes than 1 MiB is no broker's
KINDS = ("killed", "torn", "flipped")


@dataclass
class Figures:
    """What the rounds came to."""

    rounds: int = 0
    acknowledged: int = 0
    transactions: int = 0
    copied: int = 0
    commits: int = 0
    fresh_starts: int = 0
    damages: int = 0
    cut: int = 0
    slowest_start_s: float = 0.0
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.rounds} kills: {self.acknowledged} records acknowledged, {self.transactions} transactions, "
            f"{self.copied} of exactly-once copies, {self.commits} offsets committed; {self.damages} tails damaged, "
            f"{self.fresh_starts} producers begun anew; slowest start {self.slowest_start_s:.1f} s; "
            f"{self.seconds:.0f} s in all"
        )


class StandStill:
    """Since when producers have not got on."""

    def __init__(self) -> None:
        self._seen: dict[Transactor, tuple[int, float]] = {}

    def is_long(self, one: Transactor) -> bool:
        """Whether one that is not paused has got nowhere for ``STUCK_S`` while it was looked at."""
        now = time.monotonic()
        progress, since = self._seen.get(one, (-1, now))
        if progress != one.progress or one.is_paused or now - since > 2 * STUCK_S:
            self._seen[one] = one.progress, now
            return False
        return now - since > STUCK_S


class Life:
    """One data directory, from empty through some kills."""

    def __init__(self, folder: Path, seed: int, options: list[str]) -> None:
        self.seed = seed
        self.server = KilledServer(folder, options)
        self.rng = Random(seed)
        self.observed = checks.Observed()
        self.server.start()
        self._make_topics()
        bootstrap = self.server.bootstrap
        self.plain = Writer("plain", bootstrap, seed)
        self.unread = Writer("unread", bootstrap, seed)
        self.ledger = Ledger("ledger", bootstrap, seed)
        self.copier = Copier("plain", "copy", bootstrap, seed)
        self.readers = [
            Reader("plain", "classic-readers", "classic", bootstrap, seed),
            Reader("plain", "consumer-readers", "consumer", bootstrap, seed),
        ]
        for one in self.workloads:
            one.start()
        self._stand_still = StandStill()

    @property
    def workloads(self) -> list[Workload]:
        return [self.plain, self.unread, self.ledger, self.copier, *self.readers]

    def round(self, kind: str, figures: Figures) -> None:
        """Let the clients work, kill, damage, open, and check."""
        wanted = self.rng.randrange(50, 400)
        self._work_on(wanted)
        self.observed.look(self.server.bootstrap)
        time.sleep(self.rng.random() * 0.05)  # a moment of the seed's choice
        self.server.kill()
        damage = []
        if kind == "flipped":
            safe = {partition: offset + 1 for partition, offset in sorted(self.unread.acknowledged)}
            damage += flip(self.server.data, "unread", safe, self.rng)
        if kind != "killed":
            damage += tear(self.server.data, self.rng)
        before = time.monotonic()
        self.server.start()
        figures.slowest_start_s = max(figures.slowest_start_s, time.monotonic() - before)
        self.observed.look(self.server.bootstrap)
        self._work_on(20)
        try:
            self.check()
        except AssertionError as error:
            error.add_note("damaged: " + "; ".join(damage))
            error.add_note(f"the server said: {self.server.said[-3000:]}")
            raise
        figures.rounds += 1
        figures.damages += len(damage)

    def check(self) -> None:
        """Have all clients wait, and compare what they were told with what there is."""
        bootstrap = self.server.bootstrap
        self._pause()
        plain = checks.writer_is_right(self.plain, bootstrap)
        checks.writer_is_right(self.unread, bootstrap)
        checks.ledger_is_right(self.ledger, bootstrap)
        checks.copy_is_right(self.copier, plain, bootstrap)
        for reader in self.readers:
            checks.reader_is_right(reader, "plain", bootstrap)
        self.observed.look(bootstrap)
        for one in self.workloads:
            one.go_on()

    def count(self, figures: Figures) -> None:
        figures.acknowledged += len(self.plain.acknowledged) + len(self.unread.acknowledged)
        figures.transactions += self.ledger.progress
        figures.copied += self.copier.progress
        figures.commits += sum(reader.progress for reader in self.readers)
        figures.fresh_starts += self.ledger.fresh_starts + self.copier.fresh_starts

    def end(self) -> None:
        for one in self.workloads:
            one.end()
        for one in self.workloads:
            one.join(PATIENCE_S)
        if self.server.is_running():
            self.server.kill()

    def _make_topics(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.server.bootstrap})
        made = admin.create_topics([NewTopic(name, PARTITIONS, 3, config=CONFIGS) for name in TOPICS])
        for one in made.values():
            one.result(PATIENCE_S)

    def _work_on(self, wanted: int) -> None:
        """Wait until every client has got somewhere, and all together have done so much."""
        before = [one.progress for one in self.workloads]

        def has_got_on() -> bool:
            self._raise_failures()
            self._replace_those_that_stand_still()
            moved = [one.progress - start for one, start in zip(self.workloads, before, strict=True)]
            return min(moved) > 0 and sum(moved) >= wanted

        wait_until(has_got_on, "progress of all clients", lambda: {one.name: one.progress for one in self.workloads})

    def _pause(self) -> None:
        for one in self.workloads:
            one.pause()
        signs = SignsOfWork(
            "the clients' pause", lambda: {one.name: (one.progress, one.is_paused, one.note) for one in self.workloads}
        )
        while not all(one.is_paused for one in self.workloads):
            signs.check()
            self._raise_failures()
            if self._replace_those_that_stand_still():
                self.ledger.pause()
                self.copier.pause()
            time.sleep(0.01)
        self._raise_failures()

    def _replace_those_that_stand_still(self) -> bool:
        """Have another program go on where a producer of transactions hangs, as whoever looks after it would.

        librdkafka 2 sometimes sends no TxnOffsetCommit after AddOffsetsToTxn was answered, and waits for it for good.
        """
        replaced = False
        if self._stand_still.is_long(self.ledger):
            self.ledger = self.ledger.successor()
            self.ledger.start()
            replaced = True
        if self._stand_still.is_long(self.copier):
            self.copier = self.copier.successor()
            self.copier.start()
            replaced = True
        return replaced

    def _raise_failures(self) -> None:
        for one in self.workloads:
            if one.failure is not None:
                one.failure.add_note(f"{one.name} failed; the server said: {self.server.said[-3000:]}")
                raise one.failure
        if not self.server.is_running():
            raise AssertionError(f"the server has ended: {self.server.said[-3000:]}")


@contextmanager
def life(folder: Path, seed: int, options: list[str]) -> Iterator[Life]:
    lived = Life(folder, seed, options)
    try:
        yield lived
    finally:
        lived.end()


def run(rounds: int, seed: int = 1, options: list[str] | None = None) -> Figures:
    """Kill so often, on a new data directory after every ten. Raises AssertionError: something does not hold."""
    figures = Figures()
    began = time.monotonic()
    for first in range(0, rounds, ROUNDS_IN_A_LIFE):
        fsync = "always" if (first // ROUNDS_IN_A_LIFE) % 2 else "os"
        with (
            tempfile.TemporaryDirectory() as folder,
            life(Path(folder), seed + first, ["--fsync", fsync, *(options or [])]) as lived,
        ):
            for number in range(first, min(first + ROUNDS_IN_A_LIFE, rounds)):
                kind = KINDS[number % len(KINDS)]
                try:
                    lived.round(kind, figures)
                except BaseException as error:
                    error.add_note(f"round {number}, {kind}, --fsync {fsync}, seed {seed + first}")
                    raise
                print(
                    f"round {number + 1} of {rounds}: {kind}, --fsync {fsync}: all right", file=sys.stderr, flush=True
                )
            lived.count(figures)
    figures.seconds = time.monotonic() - began
    return figures
