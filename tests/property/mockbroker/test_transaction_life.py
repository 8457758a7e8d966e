"""Whatever producers, outages and time do, a reader of committed records sees what was committed, once and in order."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mockbroker.core.simulation import Simulation
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from protocol.apis.transaction_admin import DescribeTransactionsRequest
from protocol.embedded.versioned import write_versioned
from tests.families import asks_all
from tests.internal_topics import committed, offsets_in, records_of
from tests.transaction_driver import (
    NEW,
    OLD,
    TOPIC,
    TransactionalProducer,
    committed_offset,
    fetched,
    visible,
)
from tests.unit.mockbroker.handlers.records import batch, produce

TIMEOUT_MS = 60_000
CLEANUP_MS = 10_000  # transaction.abort.timed.out.transaction.cleanup.interval.ms
CONCURRENT_TRANSACTIONS = 51
UNSTABLE_OFFSET_COMMIT = 88
GROUP = "readers"
PARTITIONS = [[0, 1], [1, 2], [1, 0]]  # what has both its replicas down has no leader
VERSIONS = {"payments": NEW, "refunds": OLD}

ids = st.sampled_from(sorted(VERSIONS))
indexes = st.integers(0, len(PARTITIONS) - 1)
brokers = st.integers(0, 2)


@dataclass(eq=False)
class ModelTransaction:
    """A transaction as its producer knows it: open, or decided."""

    begun_ms: int
    committed: bool | None = None
    offset: int | None = None


@dataclass(eq=False)
class ModelId:
    """A transactional id: its instances, which of them may write, and the transaction that is open or was last."""

    instances: list[TransactionalProducer] = field(default_factory=list)
    owner: TransactionalProducer | None = None
    open: ModelTransaction | None = None
    last: ModelTransaction | None = None

    def decide(self, *, committed: bool) -> None:
        if self.open is not None:
            self.open.committed = committed
            self.last, self.open = self.open, None


class TransactionLife(RuleBasedStateMachine):
    """Two transactional ids with two instances each, one of either version, and a producer without any."""

    def __init__(self) -> None:
        super().__init__()
        self.sim = Simulation(settings={"transaction.state.log.min.isr": 1})  # it goes on while brokers are down
        self.sim.cluster.replication_control.create(TOPIC, assignment=PARTITIONS)
        self.model = {name: ModelId() for name in VERSIONS}
        for name, known in self.model.items():
            known.instances = [TransactionalProducer(self.sim, name, version=VERSIONS[name]) for _ in range(2)]
        self.logs: list[list[tuple[bytes, ModelTransaction | None]]] = [[] for _ in PARTITIONS]
        self.group_offset = -1
        self.sent = 0
        self.reads_logs = False

    # producers

    @rule(name=ids, instance=st.integers(0, 1), continues=st.booleans())
    def initialise(self, name: str, instance: int, continues: bool) -> None:
        known = self.model[name]
        producer = known.instances[instance]
        error = producer.init(continues=continues and producer.producer_id >= 0)
        if error in (0, CONCURRENT_TRANSACTIONS):
            if known.open is not None:
                assert error == CONCURRENT_TRANSACTIONS, "an open transaction is aborted first"
                known.owner = None
            known.decide(committed=False)
        else:
            assert continues, error
        if error == 0:
            known.owner = producer

    @rule(name=ids, instance=st.integers(0, 1), index=indexes, size=st.integers(1, 2))
    def send(self, name: str, instance: int, index: int, size: int) -> None:
        known = self.model[name]
        producer = known.instances[instance]
        if producer.producer_id < 0:
            return
        values = self.values(size)
        error = producer.send(*values, index=index)
        if known.owner is not producer:
            assert error, "a producer that was fenced has written"
            return
        if known.open is None and self.state(name) == "Ongoing":
            known.open = ModelTransaction(self.sim.now_ms)
        if error == 0:
            assert known.open is not None
            self.logs[index].extend((value, known.open) for value in values)

    @rule(index=indexes)
    def send_plainly(self, index: int) -> None:
        leader = self.sim.cluster.find_partition(TOPIC, index).leader
        values = self.values(1)
        if leader >= 0 and produce(self.sim, batch(*values), index=index, broker=leader, acks=1).error_code == 0:
            self.logs[index].append((values[0], None))

    @rule(name=ids, instance=st.integers(0, 1))
    def commit_offset(self, name: str, instance: int) -> None:
        known = self.model[name]
        producer = known.instances[instance]
        if producer.producer_id < 0 or any(one.open and one.open.offset is not None for one in self.model.values()):
            return
        self.sent += 1
        error = producer.commit_offset(self.sent)
        if known.owner is not producer:
            assert error, "a producer that was fenced has committed an offset"
            return
        if known.open is None and self.state(name) == "Ongoing":
            known.open = ModelTransaction(self.sim.now_ms)
        if error == 0:
            assert known.open is not None
            known.open.offset = self.sent

    @rule(name=ids, instance=st.integers(0, 1), commit=st.booleans())
    def end(self, name: str, instance: int, commit: bool) -> None:
        known = self.model[name]
        producer = known.instances[instance]
        if producer.producer_id < 0:
            return
        error = producer.end(commit=commit)
        if known.owner is not producer:
            assert error or not commit, "a producer that was fenced has committed"
            if error == 0:  # it aborts what was aborted already, and is told the epoch to go on with (KIP-890)
                assert producer.version == NEW
                assert known.owner is None
                known.owner = producer
        elif known.open is not None:
            assert error == 0, error
            known.decide(committed=commit)
        self.settle_offsets()

    # the cluster

    @precondition(lambda self: len(self.sim.cluster.liveness.online_brokers) > 1)
    @rule(broker=brokers)
    def stop_broker(self, broker: int) -> None:
        self.sim.stop_broker(broker)

    @rule(broker=brokers)
    def start_broker(self, broker: int) -> None:
        self.sim.start_broker(broker)

    @rule(ms=st.sampled_from([100, 5_000, 30_000, 75_000]))
    def time_passes(self, ms: int) -> None:
        self.sim.advance(ms)
        self.find_timed_out()

    @rule(ms=st.sampled_from([-30_000, 30_000, 75_000]))
    def clock_jumps(self, ms: int) -> None:
        for known in self.model.values():
            if known.open is not None:
                known.open.begun_ms -= ms
        self.sim.jump_clock(ms)
        self.find_timed_out()

    @rule()
    def read_coordinators_logs(self) -> None:
        self.reads_logs = True

    # what always holds

    @invariant()
    def readers_see_what_was_committed(self) -> None:
        for index, log in enumerate(self.logs):
            if self.sim.cluster.find_partition(TOPIC, index).leader < 0:
                continue
            entry = fetched(self.sim, index=index)
            assert entry.error_code == 0
            seen = visible(entry)
            expected = self.committed_before(log, self.is_unsettled)
            if seen != expected:  # a marker that is missing elsewhere may be there here
                assert seen == self.committed_before(log, lambda one: one.committed is None), (seen, expected)
            unread = fetched(self.sim, index=index, isolation_level=0)
            assert unread.aborted_transactions is None
            assert unread.high_watermark == entry.high_watermark >= entry.last_stable_offset
            assert len(seen) <= entry.last_stable_offset

    @invariant()
    def offsets_count_once_their_transaction_is_committed(self) -> None:
        self.settle_offsets()
        assert committed_offset(self.sim) == (self.group_offset, 0)
        pending = [one for known in self.model.values() for one in (known.open, known.last) if self.is_pending(one)]
        expected = (-1, UNSTABLE_OFFSET_COMMIT) if pending else (self.group_offset, 0)
        if not any(one.committed is not None for one in pending):
            assert committed_offset(self.sim, stable=True) == expected

    @invariant()
    def coordinators_logs_say_what_coordinators_know(self) -> None:
        if not self.reads_logs:
            return
        for name in VERSIONS:
            partition = self.sim.cluster.internal_topics.partition_of(TRANSACTIONS_TOPIC, name)
            records = records_of(self.sim, TRANSACTIONS_TOPIC, name)
            if len(partition.isr) < partition.effective_min_isr():
                continue  # its coordinator goes on, and readers wait
            values = [one.value for one in records if one.key is not None and one.key.endswith(name.encode())]
            known = self.sim.cluster.transactions.find(name)
            assert (values[-1] if values else None) == (None if known is None else write_versioned(known, 1))
        offsets = offsets_in(committed(records_of(self.sim, OFFSETS_TOPIC, GROUP)))
        assert (offsets[-1][-1] if offsets else -1) == self.group_offset

    def teardown(self) -> None:
        """Once all brokers are up nothing is missing."""
        for broker in range(3):
            self.sim.start_broker(broker)
        self.sim.advance(1_000)
        self.find_timed_out()
        for index, log in enumerate(self.logs):
            expected = self.committed_before(log, lambda one: one.committed is None)
            assert visible(fetched(self.sim, index=index)) == expected

    # inside

    def values(self, size: int) -> list[bytes]:
        self.sent += size
        return [b"%d" % number for number in range(self.sent - size, self.sent)]

    def state(self, name: str) -> str:
        request = DescribeTransactionsRequest(transactional_ids=[name])
        broker = self.sim.cluster.internal_topics.coordinator(name, TRANSACTIONS_TOPIC).id
        state: str = self.sim.ask(request, broker=broker).transaction_states[0].transaction_state
        return state

    def find_timed_out(self) -> None:
        """Find the transactions that the coordinator has aborted, each when its time was up and not before."""
        for name, known in self.model.items():
            if known.open is None:
                continue
            age_ms = self.sim.now_ms - known.open.begun_ms
            if self.state(name) == "Ongoing":
                assert age_ms <= TIMEOUT_MS + CLEANUP_MS, "a transaction has outlived its time"
            else:
                assert age_ms > TIMEOUT_MS, "a transaction was aborted before its time"
                known.decide(committed=False)
                known.owner = None
        self.settle_offsets()

    def settle_offsets(self) -> None:
        for known in self.model.values():
            one = known.last
            if one is not None and one.offset is not None and not self.is_unsettled(one):
                if one.committed:
                    self.group_offset = one.offset
                one.offset = None

    def is_pending(self, one: ModelTransaction | None) -> bool:
        return one is not None and one.offset is not None

    def is_unsettled(self, one: ModelTransaction) -> bool:
        """Whether a transaction is open, or lacks markers that no broker can write now."""
        if one.committed is None:
            return True
        return any(known.last is one and self.state(name).startswith("Prepare") for name, known in self.model.items())

    def committed_before(self, log: list[tuple[bytes, ModelTransaction | None]], is_open) -> list[bytes]:
        """What is committed in a log before the first record of a transaction that is open."""
        values = []
        for value, transaction in log:
            if transaction is not None and is_open(transaction):
                break
            if transaction is None or transaction.committed:
                values.append(value)
        return values


TestTransactionLife = TransactionLife.TestCase
TestTransactionLife.settings = settings(max_examples=settings().max_examples if asks_all() else 15)
