"""A good client beside hostile ones, as a process of its own: writes, measures how long each record takes, reads all.

``python -m tests.torture.good_traffic SERVERS TOPIC [PROPERTIES]`` writes 100 records a second to a topic of three
partitions, each acknowledged by all in sync, and takes commands by lines: ``window`` answers with the figures since the
last one, ``end`` reads the topic from its beginning and answers with the numbers that are missing or doubled. Answers
are lines of JSON. PROPERTIES is a file of librdkafka's settings, for a cluster that requires them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAUSE_S = 0.01
PARTITIONS = 3
NO_PAUSES = {
    "retry.backoff.ms": 1,
    "retry.backoff.max.ms": 10,
    "reconnect.backoff.ms": 1,
    "reconnect.backoff.max.ms": 10,
    "topic.metadata.refresh.fast.interval.ms": 1,
}
"""What librdkafka waits by itself after an error, as from a broker that has stopped, is no figure of the server's."""
FLUSH_S = 120.0
QUIET_S, READ_S = 30.0, 300.0
"""Without a record for that long there are no more to read; and the longest that reading takes, errors included."""


class Window(NamedTuple):
    """The records that were acknowledged meanwhile: how many, and in ms how long half, 99 of 100 and all took."""

    records: int
    p50_ms: float
    p99_ms: float
    longest_ms: float

    @classmethod
    def of(cls, latencies_ms: list[float]) -> Window:
        ordered = sorted(latencies_ms)
        if not ordered:
            return cls(0, float("nan"), float("nan"), float("nan"))
        at = [ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99, 1.0)]
        return cls(len(ordered), *(round(one, 2) for one in at))


class Writer(threading.Thread):
    """Writes numbered records until it is stopped; ``acknowledged`` has the numbers that were taken."""

    def __init__(self, servers: str, topic: str, properties: dict[str, str]) -> None:
        super().__init__(daemon=True)
        from confluent_kafka import Producer

        self._topic = topic
        self._producer = Producer(
            {
                **properties,
                "bootstrap.servers": servers,
                "client.id": "good",
                "enable.idempotence": True,
                "linger.ms": 0,
                **NO_PAUSES,
                "log_level": 0,
            }
        )
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._latencies_ms: list[float] = []
        self.acknowledged: list[int] = []
        self.failed: Counter[str] = Counter()

    def run(self) -> None:
        number, due_s = 0, time.perf_counter()
        while not self._stopped.is_set():
            self._producer.produce(self._topic, str(number), on_delivery=self._taken(number, time.perf_counter()))
            number, due_s = number + 1, max(due_s + PAUSE_S, time.perf_counter())
            while (left_s := due_s - time.perf_counter()) > 0:
                self._producer.poll(left_s)
        self._producer.flush(FLUSH_S)

    def stop(self) -> None:
        self._stopped.set()
        self.join()

    def window(self) -> Window:
        with self._lock:
            latencies_ms, self._latencies_ms = self._latencies_ms, []
        return Window.of(latencies_ms)

    def _taken(self, number: int, began_s: float) -> Any:
        def taken(error: Any, _: Any) -> None:
            if error is not None:
                self.failed[error.name()] += 1
                return
            with self._lock:
                self._latencies_ms.append((time.perf_counter() - began_s) * 1000)
                self.acknowledged.append(number)

        return taken


def read_all(servers: str, topic: str, expected: set[int], properties: dict[str, str]) -> Counter[int]:
    """How often each number is in the topic.

    The end is that of each partition, as the consumer reports it. To query offsets first is not safe: librdkafka loses
    that request, or fails it, if it replaces the broker's handle meanwhile.
    """
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    own = {"bootstrap.servers": servers, "group.id": "good", "enable.auto.commit": False, "log_level": 0}
    consumer = Consumer({**properties, **own, "enable.partition.eof": True})
    unread, missing, found = set(range(PARTITIONS)), set(expected), Counter[int]()
    consumer.assign([TopicPartition(topic, index, 0) for index in unread])
    ends_at = time.monotonic() + READ_S
    while (unread or missing) and time.monotonic() < ends_at:
        message = consumer.poll(QUIET_S)
        if message is None:
            break
        if message.error() is None:
            found[int(message.value())] += 1
            missing.discard(int(message.value()))
        elif message.error().code() == KafkaError._PARTITION_EOF:
            unread.discard(message.partition())
    consumer.close()
    return found


def main(servers: str, topic: str, file: str | None = None) -> None:
    lines = [] if file is None else Path(file).read_text(encoding="utf-8").splitlines()
    properties = {name: value for name, _, value in (line.partition("=") for line in lines)}
    writer = Writer(servers, topic, properties)
    writer.start()
    for line in sys.stdin:
        if line.strip() == "window":
            print(json.dumps(writer.window()._asdict()), flush=True)
        else:
            break
    writer.stop()
    expected = set(writer.acknowledged)
    found = read_all(servers, topic, expected, properties)
    told = {
        "acknowledged": len(expected),
        "missing": len(expected - found.keys()),
        "doubled": sum(count > 1 for count in found.values()),
        "failed": writer.failed,
    }
    print(json.dumps(told), flush=True)


class GoodTraffic:
    """That process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def window(self) -> Window:
        """The figures since the last call."""
        return Window(**self._ask("window"))

    def end(self) -> dict[str, Any]:
        """Stop writing, and tell whether all that was acknowledged is there once."""
        return self._ask("end")

    def _ask(self, command: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the good client has ended instead of answering {command!r}"
        return json.loads(line)


@contextmanager
def good_traffic(servers: str, topic: str, properties: Path | None = None) -> Iterator[GoodTraffic]:
    """A good client at work."""
    command = [sys.executable, "-m", "tests.torture.good_traffic", servers, topic]
    if properties is not None:
        command.append(str(properties))
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield GoodTraffic(process)
        finally:
            process.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
