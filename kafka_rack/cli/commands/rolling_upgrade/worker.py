"""One client process: kafka-python as of an old version, a producer in a thread and a consumer beside it.

Reads ``go``, ``drain`` and ``finish`` from standard input, a line each; writes its progress to standard output as JSON
lines, and what it sent and saw to the result file at the end.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError

from kafka_rack.cli.commands.rolling_upgrade.clients import TOPIC, Order

ALL_REPLICAS = -1
PAUSE_S = 0.02  # between two records
PROGRESS_S = 0.1
POLL_MS = 100
TRY_FOR_MS = 60_000


class Program:
    """What was acknowledged and seen so far, and the orders from the parent."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.acknowledged: list[str] = []
        self.failures: list[str] = []
        self.seen: Counter[str] = Counter()
        self.assigned = self.drained = False
        self.orders = {name: threading.Event() for name in ("go", "drain", "finish")}
        self.settings: dict[str, Any] = {
            "bootstrap_servers": order.bootstrap_servers.split(","),
            "api_version": order.api_version,
            "metadata_max_age_ms": 1000,
            "client_id": f"kafka-{order.version}",
        }

    def listen(self) -> None:
        """Follow the parent's orders until it has gone."""
        for line in sys.stdin:
            self.orders[line.strip()].set()
        for event in self.orders.values():
            event.set()

    def report(self) -> None:
        """Tell the parent how far we are, again and again; ``seen`` counts a record once."""
        while not self.orders["finish"].wait(PROGRESS_S):
            progress = {
                "assigned": self.assigned,
                "drained": self.drained,
                "acknowledged": len(self.acknowledged),
                "failed": len(self.failures),
                "seen": len(self.seen),
            }
            sys.stdout.write(json.dumps(progress) + "\n")
            sys.stdout.flush()

    def produce(self) -> None:
        """Send records at an even pace from ``go`` to ``drain``."""
        producer = KafkaProducer(
            **self.settings,
            acks=ALL_REPLICAS,
            enable_idempotence=False,  # which no broker before 0.11 knows
            max_block_ms=TRY_FOR_MS,
            delivery_timeout_ms=TRY_FOR_MS,
        )
        self.orders["go"].wait()
        number = 0
        while not self.orders["drain"].wait(PAUSE_S):
            name = f"{self.order.version}/{number}"
            number += 1
            try:
                sent = producer.send(TOPIC, name.encode())
            except KafkaError as error:
                self.failures.append(str(error))
                continue
            sent.add_callback(lambda _, name=name: self.acknowledged.append(name))
            sent.add_errback(lambda error: self.failures.append(str(error)))
        producer.flush()
        self.drained = True
        producer.close()

    def consume(self) -> None:
        """Read from the start of the topic to ``finish``, as a group of one."""
        consumer = KafkaConsumer(
            TOPIC, **self.settings, group_id=f"readers-{self.order.version}", auto_offset_reset="earliest"
        )
        consumer.partitions_for_topic(TOPIC)  # or it joins before it knows them; see the demo's client
        while not self.orders["finish"].is_set():
            try:
                polled = consumer.poll(timeout_ms=POLL_MS)
            except KafkaError:
                continue  # a broker has gone; the next poll finds another
            for records in polled.values():
                self.seen.update(record.value.decode() for record in records)
            self.assigned = self.assigned or bool(consumer.assignment())
        consumer.close()


def main() -> None:
    """Run the client that the one argument, an order as JSON, describes."""
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # it logs every connection that a stopped broker closes
    program = Program(Order(**json.loads(sys.argv[1])))
    for target in (program.listen, program.report):
        threading.Thread(target=target, daemon=True).start()
    producing = threading.Thread(target=program.produce)
    producing.start()
    program.consume()
    producing.join()
    result = {"acknowledged": program.acknowledged, "failures": program.failures, "seen": program.seen}
    Path(program.order.result_file).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
