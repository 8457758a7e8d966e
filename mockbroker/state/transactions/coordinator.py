"""The transaction coordinator: producers' ids and epochs, the partitions of transactions, and their completion.

The state of a transactional id is the last record in its shard. Every command takes plain values, and raises ApiError
for a caller's error. Handlers check that the broker that received the request is the coordinator.

A transaction ends in two steps, as in Kafka: the decision is written, then each partition gets its marker. Here the
second step follows at once, unless a partition has no reachable leader or too few replicas in sync: then it is retried
every ``MARKER_RETRY_MS``, and the producer gets CONCURRENT_TRANSACTIONS meanwhile.

Source: TransactionCoordinator, TransactionMetadata, TransactionStateManager and TransactionMarkerChannelManager, Apache
Kafka 4.4; KIP-98, KIP-360, KIP-664, KIP-890, KIP-939.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mockbroker.state.errors import ApiError
from mockbroker.state.features import feature_level
from mockbroker.state.image import TopicPartition
from mockbroker.state.logs.producers import MAX_EPOCH, NO_EPOCH, NO_PRODUCER_ID
from mockbroker.state.timers import Timers, next_multiple
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from mockbroker.state.transactions.markers import Markers
from mockbroker.state.transactions.states import (
    ENDING,
    NO_TRANSACTION,
    Producer,
    TransactionState,
    after,
    check_ended,
    check_epoch,
    concurrent,
    fenced,
    in_state,
    new_value,
    partitions_of,
    record,
    wrong_id,
)
from protocol.embedded.transaction_log import TransactionLogKey, TransactionLogValue
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

MARKER_RETRY_MS = 100  # TransactionMarkerChannelManager uses retry.backoff.ms
EXHAUSTED_EPOCH = MAX_EPOCH - 1  # the last one for producers; the next one is for fencing
MAX_TIMEOUT_MS = 2**31 - 1  # for two-phase commit, whose transactions have no time-out
NO_BUMP, BUMP = 0, 2  # a client's transaction.version; from 2 on each transaction has its own epoch


@dataclass(slots=True, eq=False)
class Transactions:
    """The transactional ids of a cluster. The state of each is in its shard (``coordinator_shard``).

    ``_new`` has new ids that cannot be written to the log yet; they are known all the same.
    """

    cluster: Cluster
    _timers: Timers[str] = field(init=False)  # by transactional id
    _markers: Markers = field(init=False)
    _new: dict[str, TransactionLogValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._markers = Markers(self.cluster)
        self._timers = self.cluster.timers.subsystem(
            "transactions", self._on_timer, runs=lambda: bool(self.cluster.liveness.online_brokers)
        )

    def restore(self) -> None:
        """Resume the transactions in the shards."""
        for transactional_id in sorted(self.values()):
            self._set_timer(transactional_id)

    # reads

    def find(self, transactional_id: str) -> TransactionLogValue | None:
        """The value of a transactional id in the log."""
        shard = self.cluster.internal_topics.shard(TRANSACTIONS_TOPIC, transactional_id)
        return shard.value(TransactionLogKey, transactional_id)

    def values(self) -> dict[str, TransactionLogValue]:
        """The values in the logs, by transactional id."""
        shards = self.cluster.internal_topics.shards(TRANSACTIONS_TOPIC)
        return {
            id_: value for shard in shards for id_ in shard.records if (value := shard.value(TransactionLogKey, id_))
        }

    # producers

    def initialise(self, producer: Producer, timeout_ms: int) -> tuple[int, int]:
        """The producer id and epoch to use from now on; they fence the previous producer.

        Args:
            producer: with the present id and epoch if it continues after an error (KIP-360), else -1 twice. The
                previous pair is a retry after a lost answer: it gets the current pair again.
            timeout_ms: as returned by ``check_initialisation``.

        Raises ApiError: COORDINATOR_NOT_AVAILABLE; PRODUCER_FENCED if another producer took over, or had the
            transactional id all along; CONCURRENT_TRANSACTIONS while a transaction ends, which includes an open one
            that this call aborts.
        """
        transactional_id = producer.transactional_id
        value = self.find(transactional_id) or self._new.get(transactional_id)
        if value is None:
            value = new_value(self._new_id(transactional_id), timeout_ms, self._wall_ms())
            if not self._takes_writes(transactional_id):
                self._new[transactional_id] = value
        value = self._after_markers(transactional_id, value)
        if producer.id != NO_PRODUCER_ID and not is_valid_id(value, producer):
            raise fenced(producer, value)
        if value.transaction_status == TransactionState.ONGOING:
            self._fence(transactional_id, value)
        if value.transaction_status not in NO_TRANSACTION:
            raise concurrent(transactional_id, value)
        return self._next_epoch(producer, value, timeout_ms)

    def check_initialisation(
        self, transactional_id: str, timeout_ms: int, *, two_phase_commit: bool, keep_prepared: bool
    ) -> int:
        """The time-out of a producer's transactions, after the checks that do not depend on the coordinator's state.

        Args:
            two_phase_commit, keep_prepared: KIP-939; the second is not in any release yet.

        Raises ApiError: INVALID_REQUEST, TRANSACTIONAL_ID_AUTHORIZATION_FAILED, UNSUPPORTED_VERSION,
            INVALID_TRANSACTION_TIMEOUT.
        """
        settings = self.cluster.settings
        if not transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST, "expected a transactional id or none, got ''")
        if two_phase_commit and not settings["transaction.two.phase.commit.enable"]:
            raise ApiError(
                ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                "expected transaction.two.phase.commit.enable=true for commits in two phases, got false",
            )
        if keep_prepared:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, "expected keep_prepared=false, got true")
        if two_phase_commit:
            return MAX_TIMEOUT_MS
        max_timeout_ms = settings["transaction.max.timeout.ms"]
        if not 0 < timeout_ms <= max_timeout_ms:
            raise ApiError(
                ErrorCode.INVALID_TRANSACTION_TIMEOUT,
                f"expected a timeout of 1 to {max_timeout_ms} ms, got {timeout_ms}",
            )
        return timeout_ms

    def add_partitions(
        self, producer: Producer, partitions: Collection[TopicPartition], *, client_version: int = NO_BUMP
    ) -> None:
        """Add partitions to a producer's transaction; the first one begins it.

        Args:
            client_version: the transaction.version that the producer uses.

        Raises ApiError: INVALID_REQUEST, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS.
        """
        value = self._not_ending(producer)
        is_open = value.transaction_status == TransactionState.ONGOING
        known = set(partitions_of(value)) if is_open else set()
        if not (is_open and known.issuperset(partitions)):
            added = {"partitions": known.union(partitions), "client_transaction_version": client_version}
            self._write(producer.transactional_id, value, TransactionState.ONGOING, **added)

    def verify(self, producer: Producer, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        """NONE for each partition in a producer's transaction, TRANSACTION_ABORTABLE for each other one.

        Raises ApiError: as ``add_partitions``.
        """
        known = set(partitions_of(self._not_ending(producer)))
        return {one: ErrorCode.NONE if one in known else ErrorCode.TRANSACTION_ABORTABLE for one in partitions}

    def end(self, producer: Producer, *, commit: bool, client_version: int = NO_BUMP) -> tuple[int, int]:
        """Commit or abort a producer's transaction; returns the producer id and epoch for the next one.

        Args:
            client_version: the transaction.version that the producer uses. From 2 on the epoch is bumped, the previous
                epoch is a retry, and a transaction without partitions may be aborted.

        Raises ApiError: INVALID_REQUEST, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS,
            INVALID_TXN_STATE if there is nothing to end, or the transaction ends or ended the other way.
        """
        if client_version >= BUMP:
            return self._end_bumping(producer, commit=commit)
        transactional_id, value = producer.transactional_id, self._value(producer)
        check_epoch(producer, value)
        if value.transaction_status == TransactionState.ONGOING:
            self._decide(transactional_id, value, commit=commit, client_transaction_version=NO_BUMP)
        else:
            check_ended(transactional_id, value, commit=commit)
        return (value.producer_id, value.producer_epoch)

    # admins

    def get(self, transactional_id: str) -> TransactionLogValue:
        """The state of a transactional id. Raises ApiError: TRANSACTIONAL_ID_NOT_FOUND."""
        value = self.find(transactional_id) or self._new.get(transactional_id)
        if value is None:
            raise ApiError(
                ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, f"there is no producer with transactional id {transactional_id}"
            )
        return value

    def forget_all(self) -> None:
        """Remove all transactional ids after their topic was deleted."""
        self._timers.forget(list(self._timers))
        self._markers = Markers(self.cluster)
        self.cluster.producers.last_epochs.clear()

    # time

    def clock_jumped(self) -> None:
        """After a jump of the wall clock, end and expire what is too old by it."""
        for transactional_id in sorted(self.values()):
            self._on_timer(transactional_id, self.cluster.now_ms)

    def _on_timer(self, transactional_id: str, now_ms: int) -> None:
        self.cluster.now_ms = now_ms
        if not self.cluster.internal_topics.has_coordinator(TRANSACTIONS_TOPIC, transactional_id):
            self._retry(transactional_id)
            return
        value = self.get(transactional_id)
        if value.transaction_status in ENDING:
            self._write_markers(transactional_id, value)
            return
        over_ms = self._over_ms(value)
        if over_ms is None or self._wall_ms() < over_ms or not self._takes_writes(transactional_id):
            self._set_timer(transactional_id)
        elif value.transaction_status == TransactionState.ONGOING:
            self._fence(transactional_id, value)
        else:
            self._expire(transactional_id, value)

    def _retry(self, transactional_id: str) -> None:
        self._timers.set(transactional_id, self.cluster.now_ms + MARKER_RETRY_MS)

    def _set_timer(self, transactional_id: str) -> None:
        """Schedule the next check of a transactional id at the time of Kafka's periodic check."""
        value, settings = self.get(transactional_id), self.cluster.settings
        if value.transaction_status in ENDING:
            self._retry(transactional_id)
            return
        over_ms = self._over_ms(value)
        if over_ms is None:
            self._timers.cancel(transactional_id)
            return
        interval_ms = settings["transaction.remove.expired.transaction.cleanup.interval.ms"]
        if value.transaction_status == TransactionState.ONGOING:
            interval_ms = settings["transaction.abort.timed.out.transaction.cleanup.interval.ms"]
        over_ms -= self.cluster.clock.offset_ms
        self._timers.set(transactional_id, next_multiple(max(over_ms, self.cluster.now_ms + 1), interval_ms))

    def _over_ms(self, value: TransactionLogValue) -> int | None:
        """The wall clock time at which a transaction times out or an id without one expires; None: never."""
        if value.transaction_status != TransactionState.ONGOING:
            expiration_ms: int = self.cluster.settings["transactional.id.expiration.ms"]
            return value.transaction_last_update_timestamp_ms + expiration_ms
        timeout_ms = value.transaction_timeout_ms
        return None if timeout_ms == MAX_TIMEOUT_MS else value.transaction_start_timestamp_ms + timeout_ms + 1

    def _expire(self, transactional_id: str, value: TransactionLogValue) -> None:
        self.cluster.internal_topics.write(TRANSACTIONS_TOPIC, transactional_id, [record(transactional_id, None)])
        for shard in self.cluster.internal_topics.shards(OFFSETS_TOPIC):
            shard.producer_epochs.pop(value.producer_id, None)
        self.cluster.producers.last_epochs.pop(transactional_id, None)

    def _takes_writes(self, transactional_id: str) -> bool:
        return self.cluster.internal_topics.takes_writes(TRANSACTIONS_TOPIC, transactional_id)

    def _wall_ms(self) -> int:
        return self.cluster.clock.at(self.cluster.now_ms)

    # producers, internals

    def _new_id(self, transactional_id: str) -> int:
        """A new producer id from the coordinator's block."""
        broker = self.cluster.internal_topics.coordinator(transactional_id, TRANSACTIONS_TOPIC)
        return self.cluster.producers.new_id(broker.id, broker.epoch)

    def _value(self, producer: Producer) -> TransactionLogValue:
        """The state of a transactional id, for a request of its producer.

        Raises ApiError: INVALID_REQUEST, INVALID_PRODUCER_ID_MAPPING.
        """
        value = self._known(producer)
        if value.producer_id != producer.id:
            raise wrong_id(producer)
        return value

    def _not_ending(self, producer: Producer) -> TransactionLogValue:
        """The state of a transactional id, for the producer of this epoch. Raises ApiError."""
        value = self._value(producer)
        check_epoch(producer, value)
        if value.transaction_status in ENDING:
            raise concurrent(producer.transactional_id, value)
        return value

    def _known(self, producer: Producer) -> TransactionLogValue:
        if not producer.transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST, "expected a transactional id, got ''")
        value = self.find(producer.transactional_id)
        if value is None:
            raise wrong_id(producer)
        return self._after_markers(producer.transactional_id, value)

    def _after_markers(self, transactional_id: str, value: TransactionLogValue) -> TransactionLogValue:
        """The state of a transactional id after its markers are written, if that is possible now."""
        if value.transaction_status not in ENDING:
            return value
        self._write_markers(transactional_id, value)
        return self.get(transactional_id)

    def _next_epoch(self, producer: Producer, value: TransactionLogValue, timeout_ms: int) -> tuple[int, int]:
        """The next epoch of a producer, with a new id if epochs are exhausted. Raises ApiError: PRODUCER_FENCED.

        Source: TransactionMetadata.prepareIncrementProducerEpoch and prepareProducerIdRotation.
        """
        transactional_id, last_epochs = producer.transactional_id, self.cluster.producers.last_epochs
        is_new, known_epoch = producer.id == NO_PRODUCER_ID, value.producer_epoch
        producer_id, epoch, last_epoch = value.producer_id, known_epoch + 1, NO_EPOCH
        if known_epoch >= EXHAUSTED_EPOCH and (is_new or producer.epoch == known_epoch):
            producer_id, epoch = self._new_id(transactional_id), 0
            last_epoch = NO_EPOCH if is_new else known_epoch
        elif not is_new and known_epoch != NO_EPOCH:
            last_epoch = known_epoch
            if producer.epoch != known_epoch:
                last_epoch = last_epochs.get(transactional_id, NO_EPOCH)
                if producer.epoch != last_epoch:
                    raise fenced(producer, value)
                epoch = known_epoch  # a retry
        changes = {"producer_id": producer_id, "producer_epoch": epoch, "transaction_timeout_ms": timeout_ms}
        self._write(transactional_id, value, TransactionState.EMPTY, **changes)
        last_epochs[transactional_id] = last_epoch
        return (producer_id, epoch)

    def _end_bumping(self, producer: Producer, *, commit: bool) -> tuple[int, int]:
        """End a transaction and bump its producer's epoch (KIP-890); see ``end``."""
        transactional_id, value = producer.transactional_id, self._known(producer)
        state = TransactionState(value.transaction_status)
        retries_bump = value.producer_epoch == producer.epoch + 1
        retries_rotation = (
            value.previous_producer_id == producer.id
            and producer.epoch == EXHAUSTED_EPOCH
            and value.producer_epoch == 0
        )
        if value.producer_id != producer.id and not retries_rotation:
            raise wrong_id(producer)
        may_retry = state not in (TransactionState.ONGOING, TransactionState.EMPTY)
        if may_retry and (retries_bump or (retries_rotation and state not in ENDING)):
            check_ended(transactional_id, value, commit=commit)
            return (value.producer_id, value.producer_epoch)
        if state in ENDING or producer.epoch != value.producer_epoch:
            raise fenced(producer, value)
        if commit and state is not TransactionState.ONGOING:
            raise in_state(ErrorCode.INVALID_TXN_STATE, transactional_id, value)
        return completed_pair(self._bump(transactional_id, value, commit=commit))

    def _bump(self, transactional_id: str, value: TransactionLogValue, *, commit: bool) -> TransactionLogValue:
        """Decide how a transaction ends, in the next epoch, or under a new id after the last. Returns the new value."""
        known_epoch = value.producer_epoch
        changes = {
            "client_transaction_version": BUMP,
            "producer_epoch": min(known_epoch + 1, MAX_EPOCH),
            "next_producer_id": self._new_id(transactional_id) if known_epoch >= EXHAUSTED_EPOCH else NO_PRODUCER_ID,
        }
        decided = self._decide(transactional_id, value, commit=commit, **changes)
        self.cluster.producers.last_epochs[transactional_id] = known_epoch
        return decided

    def _fence(self, transactional_id: str, value: TransactionLogValue) -> None:
        """Abort a transaction in an epoch that its producer does not have."""
        if feature_level(self.cluster, "transaction.version") >= BUMP:
            self._bump(transactional_id, value, commit=False)
            return
        changes = {"client_transaction_version": NO_BUMP, "producer_epoch": min(value.producer_epoch + 1, MAX_EPOCH)}
        self._decide(transactional_id, value, commit=False, **changes)
        self.cluster.producers.last_epochs[transactional_id] = NO_EPOCH

    def _decide(
        self, transactional_id: str, value: TransactionLogValue, *, commit: bool, **changes: int
    ) -> TransactionLogValue:
        """Write how a transaction ends, then its markers; returns the value written."""
        state = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
        partitions = partitions_of(value) if value.transaction_status == TransactionState.ONGOING else []
        decided = self._write(transactional_id, value, state, partitions=partitions, **changes)
        self._write_markers(transactional_id, decided)
        return decided

    def _write(
        self, transactional_id: str, value: TransactionLogValue, state: TransactionState, **changes: Any
    ) -> TransactionLogValue:
        """Write the next state of a transactional id; returns its value. Raises ApiError: COORDINATOR_NOT_AVAILABLE."""
        changed = after(value, state, self._wall_ms(), **changes)
        topics = self.cluster.internal_topics
        topics.check_takes_writes(TRANSACTIONS_TOPIC, transactional_id)
        topics.write(TRANSACTIONS_TOPIC, transactional_id, [record(transactional_id, changed)])
        self._new.pop(transactional_id, None)
        self._set_timer(transactional_id)
        return changed

    def _write_markers(self, transactional_id: str, value: TransactionLogValue) -> None:
        """Write the markers that can be written; when none is missing, complete the transaction."""
        if not self._markers.write(transactional_id, value) or not self._takes_writes(transactional_id):
            self._retry(transactional_id)
            return
        committed = value.transaction_status == TransactionState.PREPARE_COMMIT
        state = TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT
        producer_id, epoch = completed_pair(value)
        changes = {"producer_id": producer_id, "producer_epoch": epoch, "next_producer_id": NO_PRODUCER_ID}
        self._write(transactional_id, value, state, partitions=(), **changes)
        self._markers.forget(transactional_id)


def is_valid_id(value: TransactionLogValue, producer: Producer) -> bool:
    """True if a producer with this id and epoch may use the transactional id; the epoch is checked later."""
    return (
        value.producer_epoch == NO_EPOCH
        or producer.id == value.producer_id
        or (producer.id == value.previous_producer_id and producer.epoch >= EXHAUSTED_EPOCH)
    )


def completed_pair(value: TransactionLogValue) -> tuple[int, int]:
    """The producer id and epoch after a transaction that is ending."""
    if value.client_transaction_version >= BUMP and value.next_producer_id != NO_PRODUCER_ID:
        return (value.next_producer_id, 0)
    return (value.producer_id, value.producer_epoch)
