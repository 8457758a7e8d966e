"""``python -m tests.torture.soak [SECONDS]``: clients come and go under faults; memory, files and waiting over time.

Beside one good client, whose records are counted at the end, members of groups, transactional producers and admins
live for a second or so, one after the other; racks stop and start, faults hit calls and are taken away. A line tells of
each portion of the time.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from tests.serve_process import serve_process
from tests.torture.good_traffic import good_traffic
from tests.torture.target import ANSWER_S, status_mb

SECONDS, PORTIONS = 600.0, 20
TOPIC, OTHER = "good", "orders"
LIVES_AT_A_TIME = 4
RECORDS_A_LIFE, RECORD_BYTES = 200, 1000
SETTINGS = {
    "log.retention.check.interval.ms": 5_000,
    "offsets.retention.check.interval.ms": 10_000,
    "offsets.retention.minutes": 1,
    "producer.id.expiration.ms": 60_000,
    "transaction.remove.expired.transaction.cleanup.interval.ms": 10_000,
    "transactional.id.expiration.ms": 60_000,
}
OPTIONS = (
    *("--brokers", "3", "--racks", "a,b,c", "--topic", f"{TOPIC}:3:3", "--topic", f"{OTHER}:6:3"),
    *("--control-port", "0"),
    *(word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")),
)
QUIET = {"log_level": 0}
KEPT = {"retention.bytes": "3000000", "segment.bytes": "1048576"}
FAULTS: list[dict[str, Any]] = [
    {"match": {"api": "Fetch"}, "effect": {"delay_ms": 200}, "when": {"probability": 0.1}},
    {"match": {"api": "Produce"}, "effect": {"error": "NOT_LEADER_OR_FOLLOWER"}, "when": {"probability": 0.05}},
    {"match": {}, "effect": {"disconnect": True}, "when": {"probability": 0.01}},
]
HEADING = f"{'s':>6} {'MB':>7} {'files':>6} {'p50 ms':>8} {'p99 ms':>8} {'longest ms':>10}  lives so far"


def write_in_a_transaction(servers: str, rng: random.Random) -> None:
    from confluent_kafka import Producer

    transactional_id = f"soak-{rng.randrange(10**9)}"
    producer = Producer({"bootstrap.servers": servers, "transactional.id": transactional_id, **QUIET})
    producer.init_transactions(30)
    producer.begin_transaction()
    for _ in range(RECORDS_A_LIFE):
        producer.produce(OTHER, rng.randbytes(RECORD_BYTES))
    if rng.random() < 0.3:
        producer.abort_transaction(30)
    else:
        producer.commit_transaction(30)


def read_in_a_group(servers: str, rng: random.Random) -> None:
    from confluent_kafka import Consumer

    protocol = rng.choice(["classic", "consumer"])
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            **QUIET,
            "group.id": f"soak-{protocol}-{rng.randrange(1000)}",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "client.rack": rng.choice("abc"),
        }
    )
    consumer.subscribe([OTHER])
    ends_at = time.monotonic() + 2
    while time.monotonic() < ends_at:
        consumer.poll(0.1)
    consumer.close()


def make_and_delete_a_topic(servers: str, rng: random.Random) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin, name = AdminClient({"bootstrap.servers": servers, **QUIET}), f"soak-{rng.randrange(10**9)}"
    for made in admin.create_topics([NewTopic(name, 10, 3)]).values():
        made.result(30)
    for deleted in admin.delete_topics([name]).values():
        deleted.result(30)


LIVES: list[Callable[[str, random.Random], None]] = [write_in_a_transaction, read_in_a_group, make_and_delete_a_topic]


class Lives(threading.Thread):
    """Clients, one after the other; ``ended`` counts them, and those that ended in an error."""

    def __init__(self, servers: str, seed: int, stopped: threading.Event, ended: Counter[str]) -> None:
        super().__init__(daemon=True)
        self._servers, self._rng, self._stopped, self._ended = servers, random.Random(seed), stopped, ended

    def run(self) -> None:
        from confluent_kafka import KafkaException

        while not self._stopped.is_set():
            life = self._rng.choice(LIVES)
            try:
                life(self._servers, self._rng)
            except KafkaException as error:
                self._ended[f"{life.__name__}: {error.args[0].name()}"] += 1
            else:
                self._ended[life.__name__] += 1


class Troubles(threading.Thread):
    """Stops and starts racks, and adds and removes faults."""

    def __init__(self, control: str, stopped: threading.Event) -> None:
        super().__init__(daemon=True)
        self._control, self._stopped, self._rng = control, stopped, random.Random(0)

    def run(self) -> None:
        with httpx.Client(base_url=self._control, trust_env=False, timeout=ANSWER_S) as http:
            while not self._stopped.wait(2):
                fault = http.post("/faults", json=self._rng.choice(FAULTS))
                fault.raise_for_status()
                rack = self._rng.choice("abc")
                http.post(f"/racks/{rack}/stop").raise_for_status()
                self._stopped.wait(2)
                http.post(f"/racks/{rack}/start").raise_for_status()
                http.delete("/faults").raise_for_status()


def keep_little(servers: str) -> None:
    """Have the other topic reach its size soon."""
    from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    entries = [ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in KEPT.items()]
    resource = ConfigResource(ResourceType.TOPIC, OTHER, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": servers, **QUIET})
    for altered in admin.incremental_alter_configs([resource]).values():
        altered.result(30)


def main(seconds: float = SECONDS) -> int:
    with serve_process(*OPTIONS) as served:
        servers, pid = served.ready["bootstrap_servers"], served.process.pid
        keep_little(servers)
        stopped, ended = threading.Event(), Counter[str]()
        threads: list[threading.Thread] = [Lives(servers, seed, stopped, ended) for seed in range(LIVES_AT_A_TIME)]
        threads.append(Troubles(served.ready["control"], stopped))
        with good_traffic(servers, TOPIC) as good:
            began_s = time.monotonic()
            for thread in threads:
                thread.start()
            print(HEADING, flush=True)
            for _ in range(PORTIONS):
                time.sleep(seconds / PORTIONS)
                window = good.window()
                print(
                    f"{time.monotonic() - began_s:>6.0f} {status_mb(pid):>7.1f} {open_files(pid):>6}"
                    f" {window.p50_ms:>8} {window.p99_ms:>8} {window.longest_ms:>10}  {sum(ended.values())}",
                    flush=True,
                )
            stopped.set()
            for thread in threads:
                thread.join()
            told = good.end()
        print(f"{told}\n{dict(ended)}")
        time.sleep(60)
        print(f"a minute later: {status_mb(pid):.1f} MB, {open_files(pid)} files")
        return 1 if told["missing"] or told["doubled"] else 0


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main(*map(float, sys.argv[1:])))
