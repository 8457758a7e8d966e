"""The work of one task: checks a chunk of examples, and minimises failures. Without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import protocol
from kafka_rack.pipeline.fuzz.checks import BYTES, MESSAGE, WILD, Disagreement, FuzzCheck, described
from kafka_rack.pipeline.fuzz.plan import ExampleChunk, chance_for
from kafka_rack.pipeline.fuzz.results import Coverage, Failure, Results
from protocol.fuzz.generation import maker, wild
from protocol.fuzz.mutation import mutated
from protocol.fuzz.oracles import Unfit
from protocol.fuzz.shrinking import MAX_TRIES, minimise, minimise_bytes
from protocol.fuzz.sparse import from_sparse, sparse

NEIGHBOURS = 8  # examples before this one whose bytes may be mixed into its damage


class Asker:
    """Runs checks on the examples of one chunk and stores the results."""

    def __init__(self, chunk: ExampleChunk, results: Results) -> None:
        self.chunk, self.results = chunk, results
        self.message = protocol.named_class(chunk.message)

    def ask(self, check: FuzzCheck, example: int, value: Any, again: Any = None) -> None:
        """Run a check on an example; ``again`` returns another message if the check cannot represent this one."""
        tally = self.results.tally(check.name)
        tally.asked += 1
        try:
            fault = fault_of(check, self.message, self.chunk.version, value)
        except Unfit as reason:
            if again is not None:
                tally.asked -= 1
                self.ask(check, example, again())
                return
            tally.unfit += 1
            text = f"{check.name}: {str(reason).partition(':')[0]}"
            self.results.unfit[text] = self.results.unfit.get(text, 0) + 1
            return
        self.tell(check.name, example, value, fault)

    def tell(self, check: str, example: int, value: Any, fault: Disagreement | None) -> None:
        """Store a result."""
        tally = self.results.tally(check)
        if fault is None:
            tally.agreed += 1
            return
        tally.failed += 1
        self.results.add_failure(failure(self.chunk, check, example, value, fault))


def fault_of(check: FuzzCheck, message: Any, version: int, value: Any) -> Disagreement | None:
    """The fault that a check finds; an unexpected exception is a fault too.

    Raises: Unfit.
    """
    try:
        return check.fault(message, version, value)
    except Unfit:
        raise
    except Exception as error:  # noqa: BLE001 - one example must not end a run of millions
        return Disagreement(f"{check.name} ends with {type(error).__name__}", "", described(error))


def messages_of(chunk: ExampleChunk, seed: int, coverage: Coverage) -> Iterator[tuple[int, Any]]:
    """The messages of a chunk; adds their coverage."""
    make = maker(protocol.named_class(chunk.message), chunk.version)
    chance = chance_for(seed, chunk, "messages")
    counts = coverage.counts = coverage.counts or [0] * (32 * len(make.fields))
    marks = make.marks
    for example in range(chunk.count):
        found = make.make(chance)
        at = 0
        for mark in marks:
            counts[at + mark] += 1
            at += 32
        coverage.examples += 1
        yield example, found


def run_chunk(chunk: ExampleChunk, seed: int, checks: Sequence[FuzzCheck], results: Results) -> None:
    """Run all examples of a chunk through all checks that support its message version."""
    asker = Asker(chunk, results)
    version, message = chunk.version, asker.message
    fitting = [check for check in checks if check.supports(chunk.message, version)]
    of_messages = [check for check in fitting if MESSAGE in check.takes]
    of_wild = [check for check in fitting if WILD in check.takes]
    of_bytes = [check for check in fitting if BYTES in check.takes]
    max_damaged = max((check.damaged for check in of_bytes), default=0)
    wild_chance = chance_for(seed, chunk, "wild")
    damage_chance = chance_for(seed, chunk, "damage")
    before: list[bytes] = []

    for example, found in messages_of(
        chunk, seed, results.coverage.setdefault(f"{chunk.message} {version}", Coverage())
    ):
        results.examples += 1

        def tame(example: int = example) -> Any:
            return maker(message, version, tame=True).make(chance_for(seed, chunk, f"tame {example}"))

        for check in of_messages:
            asker.ask(check, example, found, tame)
        if of_wild:
            mixed = wild(message, wild_chance)
            for check in of_wild:
                asker.ask(check, example, mixed)
        if of_bytes:
            data = written(found, version) or b""
            damaged = [mutated(data, damage_chance, before) for _ in range(max_damaged)]
            before = [*before[1 - NEIGHBOURS :], data]
            for check in of_bytes:
                for one in damaged[: check.damaged]:
                    asker.ask(check, example, one)


def failure(chunk: ExampleChunk, check: str, example: int, value: Any, fault: Disagreement) -> Failure:
    """A fault with its example."""
    data, tree = (value, None) if isinstance(value, bytes) else (written(value, chunk.version), sparse(value))
    known = chunk.message, chunk.version, check, fault.kind, chunk.number, example
    return Failure(*known, tree, None if data is None else data.hex(), fault.ours, fault.theirs)


def written(message: Any, version: int) -> bytes | None:
    """The bytes of a message, None if it cannot be written."""
    try:
        return protocol.encode(message, version)
    except Exception:  # noqa: BLE001 - another check reports it
        return None


def value_of(failure: Failure) -> Any:
    """The message or the bytes of a failure.

    Raises: ValueError, ProtocolError: malformed.
    """
    if failure.value is None:
        return bytes.fromhex(failure.hex or "")
    return from_sparse(protocol.named_class(failure.message), failure.value)


def minimised(failure_: Failure, check: FuzzCheck, most: int = MAX_TRIES) -> Failure:
    """The same failure with the smallest example that shows it."""
    message = protocol.named_class(failure_.message)

    def fault(value: Any) -> Disagreement | None:
        try:
            return fault_of(check, message, failure_.version, value)
        except Unfit:
            return None

    def fails(value: Any) -> bool:
        found = fault(value)
        return found is not None and found.kind == failure_.kind

    value = value_of(failure_)
    if not fails(value):
        return failure_  # it depends on earlier examples, and is reported unchanged
    small = minimise_bytes(value, fails, most) if isinstance(value, bytes) else minimise(value, fails, most)
    found = fault(small)
    assert found is not None
    chunk = ExampleChunk(failure_.message, failure_.version, failure_.chunk, 0)
    again = failure(chunk, failure_.check, failure_.example, small, found)
    again.count, again.minimised = failure_.count, True
    return again
