"""``python -m tests.bench [--large] [NAME...]``: the benchmarks by name, all of them without one.

Each is a module here with a ``main()`` that measures and prints; a new one needs its line in ``BENCHMARKS``. With
``--large`` those in ``LARGE`` measure what takes minutes and gigabytes, too.
"""

import sys
from importlib import import_module

BENCHMARKS = {
    "codec": "encode and decode beside kio, kafka-python and construct",
    "calls": "what the public functions cost above the compiled ones, for a tiny message",
    "crowded": "large messages in a process where much else is alive, beside kio",
    "memory": "peak allocation of decoding and encoding",
    "compiling": "import, and compiling what a cluster's first Metadata needs",
    "records": "record batches beside the clients' own readers and writers",
    "placement": "replica placement beside Kafka's own classes",
    "assignment": "partition assignment beside Kafka's own classes",
    "pipeline": "captures to tables through Spark, beside the bare codec and tshark",
    "cluster": "the mock cluster: start, Metadata rate, produce and consume",
    "connections": "Metadata requests of 50 connections, beside real Kafka",
    "overhead": "journal, traffic and faults (none set): what they take of produce and of Metadata requests",
    "proxy": "produce, consume and small requests through the proxy, beside direct ones",
    "fork": "a cluster for each test: forks, resets, the pytest plugin",
    "scale": "100,000 partitions and 1,000 connections at work: memory",
    "idle": "ten thousand connections that say nothing: memory, and whether others notice",
}
LARGE = frozenset({"pipeline"})


def main(names: list[str]) -> int:
    """Run the named benchmarks in the order above."""
    large, names = "--large" in names, [name for name in names if name != "--large"]
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name, subject in BENCHMARKS.items():
        if not names or name in names:
            print(f"== {name}: {subject}\n", flush=True)
            run = import_module(f"{__package__}.{name}").main
            run(**({"large": True} if large and name in LARGE else {}))
            print(flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
