"""One client process: a producer and a consumer of one library.

Reads ``go``, ``drain`` and ``finish`` from standard input, a line each; writes its progress to standard output as JSON
lines, and at the end what it sent and saw.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from mockbroker.testing.clients.process import LIBRARIES, ClientPlan

RECORD_BYTES = 400
PAUSE_S = 0.03  # between two records of a producer, on each topic
PROGRESS_S = 0.1


class ClientLedger:
    """The records acknowledged and read, by name; and the orders from the parent."""

    def __init__(self, plan: ClientPlan) -> None:
        self.plan = plan
        self.acknowledged: dict[str, None] = {}
        self.seen: Counter[str] = Counter()
        self.failures: list[str] = []
        self.assigned = self.drained = False
        self.orders = {name: threading.Event() for name in ("go", "drain", "finish")}
        self._sent = 0

    def next_records(self) -> list[tuple[str, bytes]]:
        """The next record for each topic: the topic, and a value that starts with the record's name."""
        self._sent += 1
        names = [(topic, f"{self.plan.name}/{topic}/{self._sent}") for topic in self.plan.topics]
        return [(topic, name.encode().ljust(RECORD_BYTES)) for topic, name in names]

    def acknowledge(self, value: bytes) -> None:
        self.acknowledged[name_of(value)] = None

    def fail(self, error: object) -> None:
        """The client gave a record up."""
        self.failures.append(str(error))

    def see(self, value: bytes) -> None:
        self.seen[name_of(value)] += 1

    def progress(self) -> dict[str, Any]:
        return {
            "assigned": self.assigned,
            "drained": self.drained,
            "acknowledged": len(self.acknowledged),
            "failed": len(self.failures),
            "seen": self.seen.total(),
            "distinct": len(self.seen),
        }

    def produce(self, send: Callable[[str, bytes], object], flush: Callable[[], object]) -> None:
        """Send records at an even pace from ``go`` to ``drain``; ``send(topic, value)`` reports to the ledger."""
        self.orders["go"].wait()
        while not self.orders["drain"].wait(PAUSE_S):
            for topic, value in self.next_records():
                try:
                    send(topic, value)
                except Exception as error:  # noqa: BLE001 - each library has its own
                    self.fail(error)
        flush()
        self.drained = True

    def run(
        self,
        send: Callable[[str, bytes], object],
        flush: Callable[[], object],
        poll: Callable[[], Iterable[bytes]],
        assignment: Callable[[], object],
    ) -> None:
        """Produce in a thread; here consume the values that ``poll`` returns, until ``finish``."""
        producing = threading.Thread(target=self.produce, args=(send, flush))
        producing.start()
        while not self.orders["finish"].is_set():
            for value in poll():
                self.see(value)
            self.assigned = self.assigned or bool(assignment())
        producing.join()


def name_of(value: bytes) -> str:
    """The name in a record's value."""
    return value.decode().rstrip()


def listen(ledger: ClientLedger) -> None:
    """Follow the parent's orders until it has gone."""
    for line in sys.stdin:
        ledger.orders[line.strip()].set()
    for event in ledger.orders.values():
        event.set()


def report(ledger: ClientLedger) -> None:
    """Write the progress until ``finish``."""
    while not ledger.orders["finish"].wait(PROGRESS_S):
        write(ledger.progress())


def write(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run the client of the one argument, a plan as JSON."""
    ledger = ClientLedger(ClientPlan(**json.loads(sys.argv[1])))
    threads = [threading.Thread(target=target, args=(ledger,), daemon=True) for target in (listen, report)]
    for thread in threads:
        thread.start()
    import_module(f"mockbroker.testing.clients.{LIBRARIES[ledger.plan.library]}").run(ledger)
    threads[1].join()
    seen, failures = dict(ledger.seen), ledger.failures
    write({"result": {"acknowledged": list(ledger.acknowledged), "seen": seen, "failures": failures}})


if __name__ == "__main__":
    main()
