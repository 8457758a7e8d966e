"""kcat: a process for what is written to a partition, a process for each consumer."""

from __future__ import annotations

import json
import queue
import re
import subprocess
import threading
from collections import defaultdict
from typing import Any

from tests.interop.matrix.actors.orders import Actor, Given, given, serve, told

ASSIGNED = re.compile(r"assigned: (.*)")
PIPE = subprocess.PIPE
MAX_WAIT_S = "60"
"""For metadata and offsets; it has 5 seconds else, and a busy machine may take them."""
LINGER_MS = "200"
"""librdkafka leaves a batch as it is that compression would make larger, as it does with a single record."""


class KcatConsumer:
    """``kcat -G``; it commits by itself what it has printed, and once more when it ends."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True)
        self.lines: queue.Queue[str] = queue.Queue()
        self.held = 0
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._listen, daemon=True).start()

    def poll(self, timeout_s: float) -> list[str]:
        found = []
        try:
            found.append(self.lines.get(timeout=timeout_s))
            while True:
                found.append(self.lines.get_nowait())
        except queue.Empty:
            return found

    def partitions(self) -> int:
        return self.held

    def commit(self) -> None:
        pass

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            one = json.loads(line)
            names = one.get("headers") or []
            pairs = [(name, value.encode()) for name, value in zip(names[::2], names[1::2], strict=True)]
            key, value = (None if one[part] is None else one[part].encode() for part in ("key", "payload"))
            self.lines.put(told(one["partition"], one["offset"], key, value, pairs))

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            assigned = ASSIGNED.search(line)
            if assigned:
                self.held = assigned[1].count("[")
            elif "revoked" in line:
                self.held = 0


class Kcat(Actor):
    def command(self, *words: str, **settings: str) -> list[str]:
        named = {"client.id": self.client_id, **{name.replace("_", "."): value for name, value in settings.items()}}
        options = [word for name, value in named.items() for word in ("-X", f"{name}={value}")]
        return ["kcat", "-b", self.address, "-q", "-m", MAX_WAIT_S, *options, *words]

    def run(self, command: list[str], text: str = "") -> str:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def topics(self) -> str:
        found = json.loads(self.run(self.command("-L", "-J")))
        return " ".join(topic["topic"] for topic in found["topics"])

    def end(self, topic: str, partition: int) -> int:
        printed = self.run(self.command("-Q", "-t", f"{topic}:{partition}:-1"))
        return int(printed.split()[-1])

    def produce(self, topic: str, compression: str, *records: str) -> str:
        places: dict[int, str] = {}
        alike: dict[tuple[int, tuple[Any, ...]], list[tuple[int, Given]]] = defaultdict(list)
        for index, text in enumerate(records):
            record = given(text)
            alike[record.partition, tuple(record.headers)].append((index, record))
        for (partition, headers), batch in alike.items():
            first = self.end(topic, partition)
            words = ["-P", "-t", topic, "-p", str(partition), "-K", "=", "-z", compression]
            words += [word for name, value in headers for word in ("-H", f"{name}={value.decode()}")]
            text = "".join(f"{record.key.decode()}={record.value.decode()}\n" for _, record in batch)
            self.run(self.command(*words, linger_ms=LINGER_MS), text)
            assert self.end(topic, partition) == first + len(batch)
            places |= {index: f"{partition}/{first + number}" for number, (index, _) in enumerate(batch)}
        return " ".join(places[index] for index in range(len(records)))

    def consumer(self, topic: str, group: str, settings: dict[str, str]) -> Any:
        named = {
            "auto_offset_reset": "earliest",
            "auto_commit_interval_ms": "100",
            "heartbeat_interval_ms": "200",
            "client_rack": settings.get("rack", ""),
            "isolation_level": settings.get("isolation", "read_uncommitted"),
        }
        command = self.command("-u", "-J", "-G", group, topic, **named)
        command.remove("-q")  # it tells its partitions
        return KcatConsumer(command)


if __name__ == "__main__":
    serve(Kcat())
