"""Random and mutated bytes, by the million, at every message and version: a message or a DecodeError, nothing else.

    python -m tests.fuzz.mutate --seconds 60
    python -m tests.fuzz.mutate --inputs 10000000 --seed 7

Starts from the golden vectors and fixtures/fuzz. Inputs that decode are kept for a while and mutated further. Of those
that decode, some are written and read again; of all, some are given to the constructs as well, which have to agree.
A failure ends the run with exit code 1, its bytes in build/fuzz/ and the command that repeats it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import msgspec

import protocol
from protocol import reference
from protocol.codec import codec, decode_as
from protocol.fuzz.mutation import mutated, random_bytes
from tests.fixture_data import golden_vectors
from tests.fuzz.corpus import corpus

FAILURES = Path("build/fuzz")
INPUTS_IN_A_ROW = 100  # of one message version, before the next
MAX_KEPT = 12  # inputs that decoded, a message version
MAX_KEPT_BYTES = 2_000  # bytes
CHECKED_TWICE = 1 / 32


class Failure(Exception):
    """An input that a reader mistreats; ``what`` says how."""

    def __init__(self, message: Any, version: int, data: bytes, what: str) -> None:
        super().__init__(message, version, data, what)
        self.message, self.version, self.data, self.what = message, version, data, what

    def report(self) -> str:
        return (
            f"{self.message.name} v{self.version}: {self.what}\n  bytes: {self.data.hex()}\n"
            f"  again: python -m tests.fuzz.mutate --message {self.message.name} --version {self.version} "
            f"--hex {self.data.hex()}"
        )


class Tally:
    """What a run has met."""

    def __init__(self) -> None:
        self.inputs = self.decoded = self.compared = 0
        self.slowest_s = 0.0
        self.slowest = ""


def check(message: Any, version: int, data: bytes, tally: Tally, *, thoroughly: bool) -> bool:
    """Read ``data``; gives whether it decoded.

    Raises: Failure.
    """
    tally.inputs += 1
    started = time.perf_counter()
    found = None
    try:
        found = decode_as(message, version, data)
    except protocol.DecodeError as error:
        if "though its construct reads it" in error.reason:
            raise Failure(message, version, data, str(error)) from error
    except Exception as error:
        raise Failure(message, version, data, f"{type(error).__name__} escaped: {error}") from error
    took_s = time.perf_counter() - started
    if took_s > tally.slowest_s:
        tally.slowest_s, tally.slowest = took_s, f"{message.name} v{version}, {len(data)} bytes"
    if found is not None:
        tally.decoded += 1
    if thoroughly:
        tally.compared += 1
        compare(message, version, data, found)
    return found is not None


def compare(message: Any, version: int, data: bytes, found: Any) -> None:
    """Hold what was read to the constructs, and to its own bytes. Raises Failure."""
    try:
        referred, end = reference.decode(message, version, data)
    except protocol.DecodeError:
        referred, end = None, -1
    if (found is not None) != (end == len(data)):
        raise Failure(message, version, data, "compiled codec and constructs do not agree on whether it is a message")
    if found is None:
        return
    if plain(found) != plain(referred):
        raise Failure(message, version, data, f"compiled codec read {found}, constructs {referred}")
    try:
        written = codec(message, version).encode(found)  # in the one way of writing it; data may use others
        again = codec(message, version).encode(decode_as(message, version, written))
    except protocol.ProtocolError as error:
        raise Failure(message, version, data, f"was read, but not written and read again: {error}") from error
    if again != written:
        raise Failure(message, version, data, f"written as {written.hex()}, after reading that as {again.hex()}")


def plain(message: Any) -> str:
    """A message as text: one that holds NaN is not equal to itself."""
    return str(msgspec.to_builtins(message))


def starting_pools() -> dict[tuple[Any, int], list[bytes]]:
    """For every message version the inputs to begin with."""
    pools: dict[tuple[Any, int], list[bytes]] = {
        (message, version): [] for message in protocol.messages() for version in message.valid_versions
    }
    for vector in golden_vectors():
        pools[protocol.named_class(vector.message), vector.version].append(vector.body)
    for one in corpus():
        pools[protocol.named_class(one.message), one.version].append(one.body)
    return pools


def run(seed: int, *, inputs: int | None = None, seconds: float | None = None, tell: bool = True) -> Tally:
    """Feed the decoder until ``inputs`` or ``seconds`` are used up. Raises Failure."""
    chance = Random(seed)
    tally = Tally()
    pools = {key: (list(pool), pool) for key, pool in starting_pools().items()}
    keys = list(pools)
    started = told = time.monotonic()
    while True:
        now = time.monotonic()
        if seconds is not None and now - started >= seconds:
            return tally
        if tell and now - told >= 60:
            told = now
            print(f"  {tally.inputs:,} inputs after {now - started:.0f} s", flush=True)
        chance.shuffle(keys)
        for message, version in keys:
            kept, original = pools[message, version]
            neighbour = message, message.valid_versions.lowest + int(chance.random() * len(message.valid_versions))
            for _ in range(INPUTS_IN_A_ROW):
                if inputs is not None and tally.inputs >= inputs:
                    return tally
                draw = chance.random()
                if draw < 0.08 or not kept:
                    data = random_bytes(chance)
                else:
                    pool = pools[neighbour][0] or kept if draw < 0.2 else kept
                    data = mutated(pool[int(chance.random() * len(pool))], chance, kept)
                thoroughly = chance.random() < CHECKED_TWICE
                if check(message, version, data, tally, thoroughly=thoroughly) and len(data) <= MAX_KEPT_BYTES:
                    if len(kept) < len(original) + MAX_KEPT:
                        kept.append(data)
                    elif len(kept) > len(original):
                        kept[len(original) + int(chance.random() * MAX_KEPT)] = data
            if seconds is not None and time.monotonic() - started >= seconds:
                return tally


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.mutate", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, help="run for so long (default: 60, unless --inputs is given)")
    parser.add_argument("--inputs", type=int, help="stop after so many inputs")
    parser.add_argument("--seed", type=int, default=None, help="the same seed gives the same inputs")
    parser.add_argument("--message", help="with --version and --hex: this one input again")
    parser.add_argument("--version", type=int)
    parser.add_argument("--hex")
    given = parser.parse_args()
    if given.inputs is None and given.seconds is None:
        given.seconds = 60.0
    return given


def main() -> int:
    given = arguments()
    try:
        if given.message:
            message = protocol.named_class(given.message)
            decoded = check(message, given.version, bytes.fromhex(given.hex), Tally(), thoroughly=True)
            print("decodes" if decoded else "refused, as it should be")
            return 0
        seed = SystemRandom().randrange(2**32) if given.seed is None else given.seed
        print(f"mutation fuzzer, seed {seed}", flush=True)
        started = time.monotonic()
        tally = run(seed, inputs=given.inputs, seconds=given.seconds)
    except Failure as failure:
        FAILURES.mkdir(parents=True, exist_ok=True)
        where = FAILURES / f"{failure.message.name}-{failure.version}.json"
        where.write_text(
            json.dumps(
                {
                    "message": failure.message.name,
                    "version": failure.version,
                    "hex": failure.data.hex(),
                    "what": failure.what,
                }
            )
        )
        print(f"FAILED {failure.report()}\n  kept in {where}", file=sys.stderr)
        return 1
    took_s = time.monotonic() - started
    print(
        f"{tally.inputs:,} inputs over {sum(len(one.valid_versions) for one in protocol.messages())} message versions "
        f"in {took_s:.0f} s ({tally.inputs / took_s:,.0f}/s): {tally.decoded:,} decoded, "
        f"{tally.inputs - tally.decoded:,} raised DecodeError, nothing else came out; "
        f"{tally.compared:,} compared with the constructs; slowest {tally.slowest_s * 1000:.0f} ms ({tally.slowest})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
