"""``python -m tests.native``: the native codec from source to tests, in build/native, where no other test finds it.

rustfmt and clippy find nothing, pip builds the wheel, and what tests the codec and captures in Python passes on it
too. Prints each step; exit code 1 at the first that fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE, BUILD = ROOT / "native", ROOT / "build" / "native"
PLACE = BUILD / "installed"
TESTS = (
    *("tests/native", "tests/unit/protocol", "tests/unit/kafka_rack/wire_capture", "tests/unit/kafka_rack/wire_tables"),
    *("tests/property/test_compiled_codec.py", "tests/property/test_wire_compatibility.py"),
    *("tests/conformance/test_golden.py", "tests/conformance/test_captures.py", "tests/unit/test_docs.py"),
)
NEEDS_CARGO = "the native codec is built by cargo 1.83 or newer, which is missing here: install Rust"


def main() -> int:
    if shutil.which("cargo") is None:
        sys.stderr.write(f"native: {NEEDS_CARGO}\n")
        return 1
    shutil.rmtree(BUILD, ignore_errors=True)
    environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "build" / "cargo")}
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    wheels = ["--no-deps", "--no-index", "--find-links", str(BUILD)]
    steps = {
        "the sources are formatted": ["cargo", "fmt", "--check"],
        "clippy finds nothing": ["cargo", "clippy", "--quiet", "--release", "--", "-D", "warnings"],
        "the wheel is built": [*pip, "wheel", "--no-deps", "--wheel-dir", str(BUILD), str(SOURCE)],
        "the wheel is installed": [*pip, "install", *wheels, "--target", str(PLACE), "kafka-rack-native"],
    }
    for step, command in steps.items():
        if not run(step, command, SOURCE, environment):
            return 1
    tests = [sys.executable, "-m", "pytest", "--numprocesses=2", "--dist=loadscope", *TESTS]
    on_it = environment | {"PYTHONPATH": str(PLACE), "KAFKA_RACK_NATIVE": "1"}
    return 0 if run("the codec's tests pass on it", tests, ROOT, on_it) else 1


def run(step: str, command: list[str], folder: Path, environment: Mapping[str, str]) -> bool:
    print(f"native: {step}", flush=True)
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode == 0


if __name__ == "__main__":
    raise SystemExit(main())
