"""Real clients that work on a cluster while it is killed, each in a thread, and what they were told.

Writers and members of groups are librdkafka's; transactions are in ``transactors.py``. None of them is begun anew
because the cluster went away.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from random import Random
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

PARTITIONS = 2
IN_FLIGHT = 60
PAUSE_S = 0.002
POLL_S = 0.2
CLIENT = {"socket.timeout.ms": 10_000, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200}


class Workload(threading.Thread):
    """Does one thing again and again; ``progress`` counts what came of it, ``failure`` is what ended it."""

    def __init__(self, name: str, bootstrap: str, seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self.rng = Random(f"{seed} {name}")
        self.client: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0, **CLIENT}
        self.progress = 0
        self.failure: BaseException | None = None
        self._ended, self._goes, self._is_paused = threading.Event(), threading.Event(), threading.Event()
        self._goes.set()

    def run(self) -> None:
        try:
            while not self._ended.is_set():
                if not self._goes.is_set():
                    self.settle()
                    self._is_paused.set()
                    self._goes.wait()
                    self._is_paused.clear()
                    continue
                self.step()
                self._ended.wait(PAUSE_S)
        except BaseException as error:  # noqa: BLE001 - whoever looks after the workloads raises it
            self.failure = error
        finally:
            self._is_paused.set()
            self.close()

    def step(self) -> None:
        raise NotImplementedError

    def settle(self) -> None:
        """Have nothing under way any more."""

    def close(self) -> None:
        """Give up what is held."""

    def pause(self) -> None:
        self._goes.clear()

    @property
    def is_paused(self) -> bool:
        return self._is_paused.is_set()

    def go_on(self) -> None:
        self._goes.set()

    def end(self) -> None:
        self._ended.set()
        self._goes.set()

    @property
    def is_ending(self) -> bool:
        return self._ended.is_set()


class Writer(Workload):
    """An idempotent producer. ``acknowledged`` has the values that it was told are kept, by partition and offset;
    ``is_cut_off`` is set once no broker is left and all that these had answered is in there.
    """

    def __init__(self, topic: str, bootstrap: str, seed: int) -> None:
        super().__init__(f"writer of {topic}", bootstrap, seed)
        self.topic = topic
        self.acknowledged: dict[tuple[int, int], bytes] = {}
        self.sent = 0
        self.is_cut_off = threading.Event()
        self._refused: list[str] = []
        settings = {"enable.idempotence": True, "message.timeout.ms": 0, "linger.ms": 1, "error_cb": self._failed}
        self._producer = Producer({**self.client, **settings})

    def step(self) -> None:
        if len(self._producer) < IN_FLIGHT:
            self.sent += 1
            value = f"{self.topic} {self.sent}".encode()
            partition = self.rng.randrange(PARTITIONS)
            self._producer.produce(self.topic, value, f"key {self.sent % 50}", partition, on_delivery=self._delivered)
        self._producer.poll(0 if len(self._producer) < IN_FLIGHT else POLL_S)
        assert not self._refused, self._refused

    def settle(self) -> None:
        while len(self._producer) and not self.is_ending:
            self._producer.poll(POLL_S)
            assert not self._refused, self._refused

    def close(self) -> None:
        self._producer.purge()

    def _failed(self, error: KafkaError) -> None:
        """An error of connections; they come behind the deliveries that were told before."""
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self.is_cut_off.set()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            if not self.is_ending:
                self._refused.append(f"{message.value()!r}: {error}")
            return
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert isinstance(value, bytes)
        if partition is None or offset is None or (partition, offset) in self.acknowledged:
            self._refused.append(f"{value!r} is delivered to offset {offset} of partition {partition}, of all places")
            return
        self.acknowledged[partition, offset] = value
        self.progress += 1


class Reader(Workload):
    """A member of a group that commits how far it has read; ``committed`` has what it was told is kept."""

    def __init__(self, topic: str, group: str, protocol: str, bootstrap: str, seed: int) -> None:
        super().__init__(f"reader in {group}", bootstrap, seed)
        self.group = group
        self.committed: dict[int, int] = {}
        settings: dict[str, Any] = {
            **self.client,
            "group.id": group,
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        if protocol == "classic":
            settings["session.timeout.ms"] = 6000
        self._consumer = Consumer(settings)
        self._consumer.subscribe([topic])

    def step(self) -> None:
        messages = read(self._consumer, 20)
        following = {one.partition() or 0: (one.offset() or 0) + 1 for one in messages}
        for partition in following:
            before = self.committed.get(partition, 0)
            # what was read and not committed before a kill is read again, from what was committed
            first = min((one.offset() or 0) for one in messages if one.partition() == partition)
            assert first >= before, f"{self.name} was given {first} of {partition}, but had committed {before}"
        if not following:
            return
        offsets = [
            TopicPartition(self.topic_of(messages), partition, offset) for partition, offset in following.items()
        ]
        try:
            kept = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException:
            return  # nothing is said of it; the offsets may be kept all the same
        for one in kept or ():
            if one.error is None:
                self.committed[one.partition] = max(one.offset, self.committed.get(one.partition, 0))
                self.progress += 1

    def topic_of(self, messages: Iterable[Message]) -> str:
        return next(iter(messages)).topic() or ""

    def close(self) -> None:
        self._consumer.close()


def read(consumer: Consumer, most: int) -> list[Message]:
    """Some messages; errors of connections that come and go are left out. Raises KafkaException: another one."""
    found = []
    for message in consumer.consume(most, POLL_S):
        error = message.error()
        if error is None:
            found.append(message)
        elif error.fatal():
            raise KafkaException(error)
    return found
