"""Results of a run, which can be added: those of two halves of the work give those of the whole.

Addition is commutative, so the order of chunks does not matter.
"""

from __future__ import annotations

from typing import Any

import msgspec

import protocol
from protocol.fuzz.generation import MARKS, maker


class CheckTally(msgspec.Struct):
    """The counts of one check: runs, agreements, values that it could not represent, and faults."""

    asked: int = 0
    agreed: int = 0
    unfit: int = 0
    failed: int = 0

    def add(self, other: CheckTally) -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Failure(msgspec.Struct):
    """One fault of one message version, with an example.

    ``value`` is the message in the form of :func:`protocol.fuzz.sparse.sparse`, None if the input is bytes. ``hex`` is
    that input, or our codec's bytes of the message, if it can encode it. ``chunk`` and ``example`` are the fault's
    first occurrence in the run, ``count`` is the number of all.
    """

    message: str
    version: int
    check: str
    kind: str
    chunk: int
    example: int
    value: dict[str, Any] | None
    hex: str | None
    ours: str
    theirs: str
    count: int = 1
    minimised: bool = False

    @property
    def key(self) -> str:
        return f"{self.message} {self.version:05d} {self.check} {self.kind}"

    @property
    def place(self) -> tuple[int, int]:
        return self.chunk, self.example


class Coverage(msgspec.Struct):
    """One message version: ``counts`` has the number of examples with each mark, 32 possible ones per field."""

    examples: int = 0
    counts: list[int] = msgspec.field(default_factory=list)

    def add(self, other: Coverage) -> None:
        self.examples += other.examples
        self.counts = (
            [one + more for one, more in zip(self.counts, other.counts, strict=True)]
            if self.counts
            else list(other.counts)
        )


class Results(msgspec.Struct):
    """The results of a run so far."""

    examples: int = 0
    tallies: dict[str, CheckTally] = msgspec.field(default_factory=dict)
    unfit: dict[str, int] = msgspec.field(default_factory=dict)  # check and reason -> count
    coverage: dict[str, Coverage] = msgspec.field(default_factory=dict)  # "MetadataRequest 12"
    failures: dict[str, Failure] = msgspec.field(default_factory=dict)

    @property
    def sorted_failures(self) -> list[Failure]:
        return [one for _, one in sorted(self.failures.items())]

    def tally(self, check: str) -> CheckTally:
        return self.tallies.setdefault(check, CheckTally())

    def add_failure(self, failure: Failure) -> None:
        """Store the first example of each fault, and count the others."""
        known = self.failures.get(failure.key)
        if known is None:
            self.failures[failure.key] = failure
            return
        count = known.count + failure.count
        first = failure if failure.place < known.place else known
        first.count = count
        self.failures[failure.key] = first

    def add(self, other: Results) -> None:
        """Add the results of another part of the run."""
        self.examples += other.examples
        for check, tally in other.tallies.items():
            self.tally(check).add(tally)
        for reason, count in other.unfit.items():
            self.unfit[reason] = self.unfit.get(reason, 0) + count
        for name, coverage in other.coverage.items():
            self.coverage.setdefault(name, Coverage()).add(coverage)
        for failure in other.failures.values():
            self.add_failure(failure)


def coverage_rows(results: Results) -> list[dict[str, Any]]:
    """A row for each message, version and field: the number of examples with each kind of value.

    ``examples`` counts those of the message version, ``present`` those that have the field (a field of an empty array's
    items is absent); a message with several values of a field counts in each column that matches one of them.
    """
    rows = []
    names = {name: name.split(" ") for name in results.coverage}
    for name, (message, number) in sorted(names.items(), key=lambda item: (item[1][0], int(item[1][1]))):
        version, coverage = int(number), results.coverage[name]
        for at, field in enumerate(maker(protocol.named_class(message), version).fields):
            counts = coverage.counts[at * 32 : at * 32 + 32]
            row: dict[str, Any] = {"message": message, "version": version, "field": field}
            row |= {"examples": coverage.examples, "present": sum(counts[1:])}
            row |= {name: sum(counts[mark] for mark in range(32) if mark & bit) for name, bit in MARKS.items()}
            rows.append(row)
    return rows


def never_exercised(rows: list[dict[str, Any]]) -> list[str]:
    """Fields that had the default in all examples, as ``FetchRequest v4 topics[].topic``."""
    return [f"{row['message']} v{row['version']} {row['field']}" for row in rows if row["non_default"] == 0]
