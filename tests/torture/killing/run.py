"""Rounds of a cluster that is killed under real clients, opened again, and compared with what these were told."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from confluent_kafka.admin import AdminClient, NewTopic

from tests.progress import SignsOfWork, wait_until
from tests.torture.killing import checks
from tests.torture.killing.damage import flip, tear
from tests.torture.killing.server import KilledKafka, KilledServer
from tests.torture.killing.transactors import Copier, Ledger
from tests.torture.killing.workloads import PARTITIONS, Reader, Workload, Writer

ROUNDS_IN_A_LIFE = 10
PATIENCE_S = 60
TOPICS = ("plain", "copy", "ledger", "unread")
CONFIGS = {"segment.ms": "1500"}  # a smaller segment.bytes than 1 MiB is no broker's
LEFT_BEHIND = 300_000  # so much have others done, which takes some minutes, where a client stands still for good
CUT_OFF = " bytes cut off "  # in the line that says what recovery did to a log
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
            f"{self.copied} of exactly-once copies, {self.commits} offsets committed; {self.damages} files damaged, "
            f"{self.cut} logs cut, {self.fresh_starts} producers begun anew; "
            f"slowest start {self.slowest_start_s:.1f} s; {self.seconds:.0f} s in all"
        )


class Life:
    """One data directory, from empty through some kills."""

    def __init__(self, server: KilledServer, seed: int) -> None:
        self.seed = seed
        self.server = server
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

    @property
    def workloads(self) -> list[Workload]:
        return [self.plain, self.unread, self.ledger, self.copier, *self.readers]

    def round(self, kind: str, figures: Figures) -> None:
        """Let the clients work, kill, damage, open, and check."""
        wanted = self.rng.randrange(50, 400)
        self._work_on(wanted)
        self.observed.look(self.server.bootstrap)
        time.sleep(self.rng.random() * 0.05)  # a moment of the seed's choice
        self.unread.is_cut_off.clear()
        self.server.kill()
        damage = []
        if kind == "flipped":
            wait_until(self.unread.is_cut_off.is_set, "the last answers to the writer")
            safe = {partition: offset + 1 for partition, offset in sorted(self.unread.acknowledged)}
            damage += flip(self.server.data, "unread", self.observed.topic_ids["unread"], safe, self.rng)
        if kind != "killed":
            damage += tear(self.server.data, self.rng)
        before = time.monotonic()
        try:
            self.server.start()
            figures.slowest_start_s = max(figures.slowest_start_s, time.monotonic() - before)
            self.observed.look(self.server.bootstrap)
            self._work_on(20)
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
        figures.cut += self.server.said.count(CUT_OFF)
        figures.fresh_starts += self.ledger.fresh_starts + self.copier.fresh_starts

    def end(self) -> None:
        for one in self.workloads:
            one.end()
        for one in self.workloads:
            one.join(PATIENCE_S)

    def _make_topics(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.server.bootstrap})
        made = admin.create_topics(
            [NewTopic(name, PARTITIONS, len(self.server.ports), config=CONFIGS) for name in TOPICS]
        )
        for one in made.values():
            one.result(PATIENCE_S)

    def _work_on(self, wanted: int) -> None:
        """Wait until every client has got somewhere, and all together have done so much.

        Raises AssertionError: one stands still while others work on and on.
        """
        before = {one: one.progress for one in self.workloads}

        def has_got_on() -> bool:
            self._raise_failures()
            moved = {one.name: one.progress - start for one, start in before.items()}
            assert min(moved.values()) > 0 or sum(moved.values()) < LEFT_BEHIND, f"a client stands still: {moved}"
            return min(moved.values()) > 0 and sum(moved.values()) >= wanted

        wait_until(has_got_on, "progress of all clients", lambda: {one.name: one.progress for one in self.workloads})

    def _pause(self) -> None:
        for one in self.workloads:
            one.pause()
        signs = SignsOfWork(
            "the clients' pause", lambda: {one.name: (one.progress, one.is_paused) for one in self.workloads}
        )
        while not all(one.is_paused for one in self.workloads):
            signs.check()
            self._raise_failures()
            time.sleep(0.01)
        self._raise_failures()

    def _raise_failures(self) -> None:
        for one in self.workloads:
            if one.failure is not None:
                one.failure.add_note(f"{one.name} failed; the server said: {self.server.said[-3000:]}")
                raise one.failure
        if not self.server.is_running():
            raise AssertionError(f"the server has ended: {self.server.said[-3000:]}")


@contextmanager
def life(server: KilledServer, seed: int) -> Iterator[Life]:
    try:
        lived = Life(server, seed)
        try:
            yield lived
        finally:
            lived.end()
    finally:
        if server.is_running():
            server.kill()


def run(rounds: int, seed: int = 1, *, kafka: bool = False, rounds_in_a_life: int = ROUNDS_IN_A_LIFE) -> Figures:
    """Kill so often, on a new data directory after each life; every other one is served with ``--fsync always``.

    Args:
        kafka: whether it is a real Kafka that is killed, to see what its clients are told then.

    Raises: AssertionError: something does not hold. ToolMissingError: Java, Maven or the jars are not there.
    """
    figures = Figures()
    began = time.monotonic()
    for first in range(0, rounds, rounds_in_a_life):
        fsync = "always" if (first // rounds_in_a_life) % 2 else "os"
        subject = "Kafka" if kafka else f"--fsync {fsync}"
        with tempfile.TemporaryDirectory() as name, ExitStack() as lives:
            server = KilledKafka(Path(name)) if kafka else KilledServer(Path(name), ["--fsync", fsync])
            lived = lives.enter_context(life(server, seed + first))
            for number in range(first, min(first + rounds_in_a_life, rounds)):
                kind = KINDS[number % len(KINDS)]
                try:
                    lived.round(kind, figures)
                except BaseException as error:
                    error.add_note(f"round {number + 1}, {kind}, {subject}, seed {seed + first}")
                    raise
                print(f"round {number + 1} of {rounds}: {kind}, {subject}: all right", file=sys.stderr, flush=True)
            lived.count(figures)
    figures.seconds = time.monotonic() - began
    return figures
