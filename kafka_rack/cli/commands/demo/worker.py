"""One process of the demo: a producer and a consumer of one client library, in one rack.

Reads ``go``, ``drain`` and ``finish`` from standard input, a line each; writes its progress to standard output as JSON
lines, and what it sent and saw to the result file at the end.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

from kafka_rack.cli.commands.demo.plan import LIBRARIES, PAUSE_S, PROGRESS_S, RECORD_BYTES, TOPICS, WorkerPlan


class DemoLedger:
    """What was acknowledged and what was seen, by record name; and the orders from the parent."""

    def __init__(self, plan: WorkerPlan) -> None:
        self.plan = plan
        self.acknowledged: dict[str, None] = {}
        self.seen: Counter[str] = Counter()
        self.failures: list[str] = []
        self.assigned = self.drained = False
        self.go, self.drain, self.finish = threading.Event(), threading.Event(), threading.Event()
        self._sent = 0

    def next_records(self) -> list[tuple[str, bytes]]:
        """The next record for each topic: the topic, and a value that starts with the record's name."""
        self._sent += 1
        names = [f"{self.plan.library}/{self.plan.rack}/{topic}/{self._sent}" for topic in TOPICS]
        return [(topic, name.encode().ljust(RECORD_BYTES)) for topic, name in zip(TOPICS, names, strict=True)]

    def acknowledge(self, value: bytes) -> None:
        """A record was acknowledged."""
        self.acknowledged[name_of(value)] = None

    def fail(self, error: object) -> None:
        """A record was given up by the client."""
        self.failures.append(str(error))

    def see(self, value: bytes) -> None:
        """A record came."""
        self.seen[name_of(value)] += 1

    def progress(self) -> dict[str, Any]:
        """How far we are."""
        return {
            "assigned": self.assigned,
            "drained": self.drained,
            "acknowledged": len(self.acknowledged),
            "failed": len(self.failures),
            "seen": self.seen.total(),
        }


def name_of(value: bytes) -> str:
    """The name in a record's value."""
    return value.decode().rstrip()


def listen(ledger: DemoLedger) -> None:
    """Follow the parent's orders until it has gone."""
    for line in sys.stdin:
        {"go": ledger.go, "drain": ledger.drain, "finish": ledger.finish}[line.strip()].set()
    for event in (ledger.go, ledger.drain, ledger.finish):
        event.set()


def report(ledger: DemoLedger) -> None:
    """Tell the parent how far we are, again and again."""
    while not ledger.finish.wait(PROGRESS_S):
        sys.stdout.write(json.dumps(ledger.progress()) + "\n")
        sys.stdout.flush()


def produce(ledger: DemoLedger, send: Any, flush: Any) -> None:
    """Send records at an even pace from ``go`` to ``drain``; ``send(topic, value)`` reports to the ledger by itself."""
    ledger.go.wait()
    while not ledger.drain.wait(PAUSE_S):
        for topic, value in ledger.next_records():
            send(topic, value)
    flush()
    ledger.drained = True


def main() -> None:
    """Run the worker that the one argument, a plan as JSON, describes."""
    plan = WorkerPlan(**json.loads(sys.argv[1]))
    ledger = DemoLedger(plan)
    for target in (listen, report):
        threading.Thread(target=target, args=(ledger,), daemon=True).start()
    library = import_module(f"kafka_rack.cli.commands.demo.{LIBRARIES[plan.library]}")
    library.run(plan, ledger)
    result = {"acknowledged": list(ledger.acknowledged), "seen": ledger.seen, "failures": ledger.failures}
    Path(plan.result_file).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
