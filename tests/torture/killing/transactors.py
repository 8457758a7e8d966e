"""Transactions under killing: Java's client in a process of its own, for librdkafka is not to be trusted with them.

Where librdkafka 2.16 is told to abort while an answer to Produce is missing, it drops those records and gives their
sequence numbers to the next transaction's. A broker that has them takes these for a repetition and says that they are
written, ours as Apache Kafka's: the transaction that is told as committed lacks them, which ``dropped.py`` shows.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.interop.fetched import java_program, maven_jars
from tests.interop.java_brokers import LIGHT, VERSION
from tests.interop.java_client import SOURCES
from tests.torture.killing.workloads import Workload

PROGRAM = Path(__file__).parent / "java" / "Killing.java"


class Transactor(Workload):
    """A program at work. ``fresh_starts`` counts the producers that took over from one that had failed for good;
    ``note`` is what the program was told last that it cannot do.

    Raises: ToolMissingError: Java, Maven or the jars are not there.
    """

    def __init__(self, kind: str, bootstrap: str, seed: int, *topics: str) -> None:
        super().__init__(kind, bootstrap, seed)
        self.fresh_starts, self.note = 0, ""
        command = ["java", *LIGHT, *java_program(PROGRAM, client_jars()), kind, bootstrap, str(seed), *topics]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it goes with the program
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )

    def run(self) -> None:
        try:
            assert self._process.stdout is not None
            for line in self._process.stdout:
                word, _, rest = line.rstrip("\n").partition(" ")
                self.take(word, rest)
            if not self.is_ending:
                self._errors.seek(0)
                raise AssertionError(f"{self.name} has ended: {self._errors.read()[-2000:]}")
        except BaseException as error:  # noqa: BLE001 - whoever looks after the workloads raises it
            self.failure = error
        finally:
            self._process.kill()
            self._process.wait()
            self._is_paused.set()
            self.close()

    def close(self) -> None:
        for one in (self._process.stdin, self._process.stdout, self._errors):
            assert one is not None
            with suppress(BrokenPipeError):
                one.close()

    def take(self, word: str, rest: str) -> None:
        """A line that it said."""
        if word == "paused":
            self._is_paused.set()
        elif word == "anew":
            self.fresh_starts += 1
            print(f"{self.name} begins anew: {self.note}; then {rest}", file=sys.stderr, flush=True)
        elif word == "note":
            self.note = rest
        else:
            raise AssertionError(f"{self.name} said {word!r} {rest!r}")

    def pause(self) -> None:
        super().pause()
        self._tell("pause")

    def go_on(self) -> None:
        self._is_paused.clear()
        super().go_on()
        self._tell("go")

    def end(self) -> None:
        super().end()
        self._process.kill()

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ValueError):  # it has ended, which ``failure`` says
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()


class Ledger(Transactor):
    """Writes the same number to each partition of a topic in one transaction; some are aborted.

    ``outcomes`` has ``committed``, ``aborted`` or ``unknown`` by number: the last where nobody was told how it ended.
    ``course`` is what was said of it meanwhile.
    """

    def __init__(self, topic: str, bootstrap: str, seed: int) -> None:
        super().__init__("ledger", bootstrap, seed, topic)
        self.topic = topic
        self.outcomes: dict[int, str] = {}
        self.course: dict[int, list[str]] = {}

    def take(self, word: str, rest: str) -> None:
        outcome = {"begun": "aborted", "committing": "unknown", "committed": "committed", "aborted": "aborted"}.get(
            word
        )
        if outcome is None:
            self.course.setdefault(len(self.outcomes) - 1, []).append(f"{word} {rest}")
            super().take(word, rest)
            return
        self.course.setdefault(int(rest), []).append(word)
        self.outcomes[int(rest)] = outcome
        self.progress += word in ("committed", "aborted")


class Copier(Transactor):
    """Copies one topic to another exactly once: the records and how far it has read are in one transaction."""

    def __init__(self, source: str, target: str, bootstrap: str, seed: int) -> None:
        super().__init__("copier", bootstrap, seed, source, target)
        self.source, self.target = source, target

    def take(self, word: str, rest: str) -> None:
        if word != "copied":
            super().take(word, rest)
            return
        self.progress += 1


def client_jars() -> Path:
    """The folder with the client's jars, fetched once into build/. Raises ToolMissingError."""
    name = f"kafka-clients-{VERSION}"
    return maven_jars(name, SOURCES / "pom.xml", f"{name}.jar", f"kafka.version={VERSION}")
