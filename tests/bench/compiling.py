"""How long a new process takes to import the protocol, and to compile what its first Metadata answer needs.

`python -m tests.bench.compiling` prints the table alone.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

RUNS = 7
WORK = {
    "import protocol": "import protocol",
    "import protocol.apis.metadata, after that": "import protocol.apis.metadata",
    "compile headers, ApiVersions v4, Metadata v12 and Produce v11, both ways": """
from protocol.codec import codec
for name, version in ({names}):
    one = codec(protocol.named_class(name), version)
    message = one.message()
    one.decode(one.encode(message))
""".replace(
        "{names}",
        ", ".join(
            f"({name!r}, {version})"
            for stem, version in (("ApiVersions", 4), ("Metadata", 12), ("Produce", 11))
            for name in (f"{stem}Request", f"{stem}Response")
        )
        + ", ('RequestHeader', 2), ('ResponseHeader', 1)",
    ),
}


def main() -> None:
    """Print the table."""
    runs = [one_process() for _ in range(RUNS)]
    for label, times in zip(WORK, zip(*runs, strict=True), strict=True):
        print(f"{label:75} {statistics.median(times) * 1e3:7.1f} ms")


def one_process() -> list[float]:
    """The seconds that each piece of work takes in a process of its own."""
    lines = ["from time import perf_counter"]
    for code in WORK.values():
        lines += ["start = perf_counter()", code, "print(perf_counter() - start)"]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    return [float(line) for line in done.stdout.split()]


if __name__ == "__main__":
    main()
