"""Real clients that work on a cluster while it is killed, each in a thread, and what they were told.

Clients are librdkafka's. None of them is begun anew because the cluster went away; one that has failed for good is, as
a program would do it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from copy import copy
from random import Random
from typing import Any, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

PARTITIONS = 2
IN_FLIGHT = 60
PAUSE_S = 0.002
POLL_S = 0.2
MAX_TRIES = 15  # of a second each; then a new producer takes over
CLIENT = {"socket.timeout.ms": 10_000, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200}


class Workload(threading.Thread):
    """Does one thing again and again; ``progress`` counts what came of it, ``failure`` is what ended it, ``note`` is
    what it was told last that it cannot do.
    """

    def __init__(self, name: str, bootstrap: str, seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self.rng = Random(f"{seed} {name}")
        self.client: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0, **CLIENT}
        self.progress = 0
        self.failure: BaseException | None = None
        self.note = ""
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
    """An idempotent producer. ``acknowledged`` has the values that it was told are kept, by partition and offset."""

    def __init__(self, topic: str, bootstrap: str, seed: int) -> None:
        super().__init__(f"writer of {topic}", bootstrap, seed)
        self.topic = topic
        self.acknowledged: dict[tuple[int, int], bytes] = {}
        self.sent = 0
        self._refused: list[str] = []
        self._producer = Producer({**self.client, "enable.idempotence": True, "message.timeout.ms": 0, "linger.ms": 1})

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

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            if not self.is_ending:
                self._refused.append(f"{message.value()!r}: {error}")
            return
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        assert isinstance(value, bytes)
        assert (partition, offset) not in self.acknowledged
        self.acknowledged[partition, offset] = value
        self.progress += 1


class UndeliveredError(Exception):
    """A record was given up by its producer: what belongs to it is not to be committed."""


class Transactor(Workload):
    """Keeps a transactional producer going.

    What Kafka's clients call retriable is tried again, what can be aborted is, and after all else a new producer with
    the same transactional id takes over.
    """

    def __init__(self, transactional_id: str, bootstrap: str, seed: int) -> None:
        super().__init__(transactional_id, bootstrap, seed)
        self.transactional_id = transactional_id
        self.fresh_starts = 0
        self._producer: Producer | None = None
        self._undelivered = 0

    def step(self) -> None:
        if self._producer is None:
            self._producer = Producer(
                {**self.client, "transactional.id": self.transactional_id, "transaction.timeout.ms": 60_000}
            )
            if not self._retried(lambda: self._own.init_transactions(POLL_S * 5)):
                self._forget()
                return
        self._undelivered = 0
        try:
            self.transaction()
        except UndeliveredError:
            self._abort()
        except KafkaException as exception:
            error = exception.args[0]
            self.note = str(error)
            if not error.txn_requires_abort():
                self._forget()
                return
            self._abort()

    def _abort(self) -> None:
        if self._retried(lambda: self._own.abort_transaction(POLL_S * 5)):
            self.was_aborted()
        else:
            self._forget()

    def send(self, topic: str, value: bytes, partition: int) -> None:
        self._own.produce(topic, value, None, partition, on_delivery=self._delivered)

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        self._undelivered += error is not None

    def deliver(self) -> None:
        """Wait until brokers have all of it. Raises UndeliveredError.

        librdkafka, going on with an abort that a kill broke off, may drop a record of the next transaction, which then
        has no number in the log, and still commit that one. Where the delivery report tells, it is aborted here.
        """
        while len(self._own) and not self.is_ending:
            self._own.flush(POLL_S)
        if self._undelivered:
            raise UndeliveredError

    def successor(self) -> Self:
        """Another program that goes on where this one stands still: its producer fences the one before."""
        self.end()
        other = copy(self)
        Workload.__init__(other, self.transactional_id, self.client["bootstrap.servers"], self.fresh_starts)
        other.progress, other.fresh_starts = self.progress, self.fresh_starts + 1
        other._producer = None
        return other

    def transaction(self) -> None:
        """One of them, from its beginning to its end. Raises KafkaException."""
        raise NotImplementedError

    def was_aborted(self) -> None:
        """It had failed, and was aborted."""

    def was_lost(self) -> None:
        """The producer is given up, whatever it was about."""

    def finish(self, work: Callable[[], object]) -> None:
        """Commit or abort, and try again for so long as a program would. Raises KafkaException: it cannot be done."""
        for tries_left in reversed(range(MAX_TRIES)):
            try:
                work()
            except KafkaException as exception:
                self.note = str(exception.args[0])
                if not tries_left or not exception.args[0].retriable() or self.is_ending:
                    raise
                continue
            return

    @property
    def _own(self) -> Producer:
        assert self._producer is not None
        return self._producer

    def _retried(self, work: Callable[[], object]) -> bool:
        """Try until it works; False where it cannot."""
        try:
            self.finish(work)
        except KafkaException:
            return False
        return True

    def _forget(self) -> None:
        self.fresh_starts += 1
        self._producer = None
        self.was_lost()


class Ledger(Transactor):
    """Writes the same number to each partition of a topic in one transaction; some are aborted.

    ``outcomes`` has ``committed``, ``aborted`` or ``unknown`` by number: the last where nobody was told how it ended.
    """

    def __init__(self, topic: str, bootstrap: str, seed: int) -> None:
        super().__init__("ledger", bootstrap, seed)
        self.topic = topic
        self.outcomes: dict[int, str] = {}
        self._is_committing = False

    def transaction(self) -> None:
        number = len(self.outcomes)
        self.outcomes[number] = "aborted"
        self._is_committing = False
        self._own.begin_transaction()
        for partition in range(PARTITIONS):
            self.send(self.topic, b"%d" % number, partition)
        if self.rng.random() < 0.3:
            self._own.flush(POLL_S)
            self.finish(lambda: self._own.abort_transaction(POLL_S * 5))
        else:
            self.deliver()
            self._is_committing = True
            self.outcomes[number] = "unknown"
            self.finish(lambda: self._own.commit_transaction(POLL_S * 5))
            self.outcomes[number] = "committed"
        self.progress += 1


class Copier(Transactor):
    """Copies one topic to another exactly once: the records and how far it has read are in one transaction."""

    def __init__(self, source: str, target: str, bootstrap: str, seed: int) -> None:
        super().__init__("copier", bootstrap, seed)
        self.source, self.target = source, target
        self._consumer: Consumer | None = None

    def transaction(self) -> None:
        if self._consumer is None:
            self._consumer = Consumer(
                {
                    **self.client,
                    "group.id": "copier",
                    "isolation.level": "read_committed",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "earliest",
                }
            )
            self._consumer.assign([TopicPartition(self.source, one) for one in range(PARTITIONS)])
        messages = read(self._consumer, 30)
        if not messages:
            return
        following = {one.partition(): (one.offset() or 0) + 1 for one in messages}
        self._own.begin_transaction()
        for one in messages:
            value, partition = one.value(), one.partition()
            assert isinstance(value, bytes)
            self.send(self.target, value, partition or 0)
        self.deliver()
        offsets = [TopicPartition(self.source, partition or 0, offset) for partition, offset in following.items()]
        self.finish(
            lambda: self._own.send_offsets_to_transaction(offsets, self._members.consumer_group_metadata(), POLL_S * 5)
        )
        self.finish(lambda: self._own.commit_transaction(POLL_S * 5))
        self.progress += 1

    @property
    def _members(self) -> Consumer:
        assert self._consumer is not None
        return self._consumer

    def successor(self) -> Self:
        other = super().successor()
        other._consumer = None
        return other

    def was_aborted(self) -> None:
        self._restart()

    def was_lost(self) -> None:
        self._restart()

    def _restart(self) -> None:
        """Read on from what is committed."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def close(self) -> None:
        self._restart()


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
