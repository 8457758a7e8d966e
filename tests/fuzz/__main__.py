"""All fuzzing for a given time: properties with new seeds, the mutation fuzzer, and atheris where it is installed.

    python -m tests.fuzz --seconds 120 [--seed 7]

Half of the time goes to the properties, drawn at random; the rest to the decoder. Each run has a new seed and prints
it; ``--seed`` repeats its choices. What fails is printed with how to repeat it, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from importlib.util import find_spec
from random import Random, SystemRandom

PROPERTIES = "tests/property"
TESTS_IN_A_ROW = 25
PROFILE = "nightly"
CORPUS, FOUND = "build/fuzz/corpus", "build/fuzz/found"


def pytest_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "--quiet", "--no-header", "-p", "no:cacheprovider", *arguments]


def property_tests() -> list[str]:
    """The ids of all tests of properties."""
    listed = subprocess.run(
        pytest_command("--collect-only", PROPERTIES), capture_output=True, text=True, check=True
    ).stdout
    return [line for line in listed.splitlines() if "::" in line]


def run_properties(seconds: float, chance: Random) -> bool:
    """Run some tests after others until the time is up; whether none failed."""
    until = time.monotonic() + seconds
    tests = property_tests()
    chance.shuffle(tests)
    done = 0
    while time.monotonic() < until:
        chosen = [tests[(done + step) % len(tests)] for step in range(min(TESTS_IN_A_ROW, len(tests)))]
        seed = chance.randrange(2**32)
        command = pytest_command("-x", f"--hypothesis-profile={PROFILE}", f"--hypothesis-seed={seed}", *chosen)
        try:
            ran = subprocess.run(
                command, capture_output=True, text=True, timeout=max(1.0, until - time.monotonic()), check=False
            )
        except subprocess.TimeoutExpired:
            break  # the last tests were cut short
        if ran.returncode:
            print(ran.stdout[-20_000:])
            again = f"--hypothesis-profile={PROFILE} --hypothesis-seed={seed}"
            print(f"FAILED; again: python -m pytest {again} <the test above>")
            return False
        done += len(chosen)
    print(f"properties: {done} runs of {len(tests)} tests with new seeds, none failed", flush=True)
    return True


def run_mutations(seconds: float, chance: Random) -> bool:
    """The mutation fuzzer; whether it found nothing."""
    seed = str(chance.randrange(2**32))
    command = [sys.executable, "-m", "tests.fuzz.mutate", "--seconds", f"{seconds:.0f}", "--seed", seed]
    return subprocess.run(command, check=False).returncode == 0


def run_atheris(seconds: float, chance: Random) -> bool:
    """atheris; whether it found nothing."""
    limits = [f"-max_total_time={seconds:.0f}", f"-seed={chance.randrange(1, 2**31)}"]
    command = [sys.executable, "-m", "tests.fuzz.atheris_decode", FOUND, CORPUS, *limits]
    ran = subprocess.run(
        [*command, f"-artifact_prefix={FOUND}/"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ran.returncode:
        print(ran.stdout[-20_000:])
        return False
    print(f"atheris: {ran.stdout.strip().splitlines()[-1]}", flush=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=None, help="the same seed makes the same choices")
    given = parser.parse_args()
    seed = SystemRandom().randrange(2**32) if given.seed is None else given.seed
    print(f"fuzzing for {given.seconds:.0f} s, seed {seed}", flush=True)
    chance = Random(seed)
    quarter = given.seconds / 4
    has_atheris = find_spec("atheris") is not None
    good = run_mutations(quarter if has_atheris else 2 * quarter, chance)
    if has_atheris:
        good = run_atheris(quarter, chance) and good
    else:
        print("atheris is not installed, so its time went to the mutation fuzzer (pip install atheris: Linux, CPython)")
    good = run_properties(2 * quarter, chance) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
