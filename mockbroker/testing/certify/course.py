"""The course of a certification: a cluster, the program in each rack, and what happens to them, one thing at a time.

Nothing here waits for a number of seconds to pass: each step ends when the wire shows what it is for, or when nothing
has moved for ``quiet_s``. ``budget_s`` bounds them all together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from mockbroker.adapters.server import MockCluster
from mockbroker.state.brokers.numbered import numbered_brokers
from mockbroker.state.cluster import Cluster
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from mockbroker.state.topics.topic import INTERNAL_TOPICS, Partition
from mockbroker.testing.certify.facts import ClientFacts, WireFacts
from mockbroker.testing.certify.feeder import Feeder
from mockbroker.testing.certify.following import TopicPartition
from mockbroker.testing.certify.observer import WireObserver, consumed_topics
from mockbroker.testing.certify.programs import ProgramError, WorkerProcess, filled_in
from protocol.records import iter_batches

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
LOOK_EVERY_S = 0.05
FEED_EVERY_S = 0.1
MOST_MOVES = 3
MOST_FOR_THE_END_S = 12.0
"""Of the budget, for reading to the end what was fed."""
RECORDS_A_STEP = 10
LONG_READING = 150
LARGE_LAG = 1_000_000
"""Records: every reader that is not at the log's start is ahead of a follower that lags so far."""
METADATA_DELAY_MS = 1_500
"""While a leader moves: whoever follows the hint in the error is there long before."""
STEPS = ("lag", "leaders", "replicas", "outage")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class CertifySecurity:
    """What the cluster asks of programs, and the file of Kafka's client properties by which they meet that.

    Args:
        client_config: the file's path.
        users: who may log in, with passwords.
        settings: the listeners' keys.
    """

    protocol: str
    client_config: str
    users: Mapping[str, str] = field(repr=False)
    settings: Mapping[str, str] = field(repr=False)


NO_SECURITY = CertifySecurity("PLAINTEXT", "", {}, {})


@dataclass(frozen=True, slots=True)
class CertifyPlan:
    """What is to be run.

    Args:
        command: the program and its arguments, with ``{rack}``, ``{bootstrap}``, ``{topic}`` and ``{group}`` in them,
            and ``{config}`` where there is one.
        budget_s: for everything together.
        quiet_s: how long a step may show nothing new.
        steps: those to take, in their order: all of ``STEPS``, or ``reading`` too.
    """

    command: Sequence[str]
    racks: Sequence[str]
    topic: str = "orders"
    partitions: int = 12
    group: str = "certify"
    budget_s: float = 120.0
    quiet_s: float = 6.0
    steps: Sequence[str] = STEPS
    capture: Path | None = None
    capture_bytes: int = 1 << 40
    environment: dict[str, str] = field(default_factory=dict)
    security: CertifySecurity = NO_SECURITY


async def run(plan: CertifyPlan, say: Say = lambda _: None) -> WireFacts:
    """Run the program through the course. ``say`` gets a line for each step.

    Raises: ProgramError: it cannot be started, or did nothing. OSError: the capture cannot be written.
    """
    course = Course(plan, say)
    try:
        return await course.run()
    finally:
        await course.close()


def replication_factor(racks: int) -> int:
    """Replicas a partition: a rack less than there are, so that an assignment can be local or not.

    >>> [replication_factor(racks) for racks in (1, 2, 3, 4, 6)]
    [1, 2, 2, 3, 3]
    """
    return min(3, racks - 1) if racks > 2 else racks


def layout(racks: int, partitions: int) -> list[list[int]]:
    """Replicas by partition: whoever is dealt every n-th one, or some in a row, gets near and far ones.

    >>> layout(3, 7)
    [[0, 1], [1, 2], [2, 0], [1, 2], [2, 0], [0, 1], [2, 0]]
    """
    factor = replication_factor(racks)
    return [[(index + index // racks + n) % racks for n in range(factor)] for index in range(partitions)]


def coordinators(cluster: Cluster, groups: Iterable[str]) -> set[int]:
    """The brokers that coordinate groups, as far as there are any: a topic that they have none in is not made."""
    topics = cluster.internal_topics
    known = [
        group for group in groups if OFFSETS_TOPIC in cluster.topics and topics.has_coordinator(OFFSETS_TOPIC, group)
    ]
    return {cluster.coordinator_for(group).id for group in known}


class Course:
    """One run."""

    def __init__(self, plan: CertifyPlan, say: Say) -> None:
        self.plan, self.say = plan, say
        settings = {
            "replica.selector.class": RACK_AWARE,
            "group.initial.rebalance.delay.ms": 500,
            "replica.lag.time.max.ms": 1_000,
            "default.replication.factor": replication_factor(len(plan.racks)),
            "num.partitions": plan.partitions,
            **plan.security.settings,
        }
        protocol = plan.security.protocol
        brokers = numbered_brokers(
            len(plan.racks), list(plan.racks), "127.0.0.1", 0, listener_per_rack=True, protocol=protocol
        )
        self.cluster = MockCluster(
            brokers,
            settings=settings,
            capture=plan.capture,
            capture_bytes=plan.capture_bytes,
            users=plan.security.users,
        )
        self.state = self.cluster.state
        self.state.create_topic(plan.topic, assignment=layout(len(plan.racks), plan.partitions))
        engine = self.cluster.engine
        self.observer = WireObserver(self.state)
        self.facts = self.observer.facts
        self.facts.partitions = plan.partitions
        engine.path.arrivals.append(self.observer.call_arrived)
        engine.path.observers.append(self.observer)
        self.feeder = Feeder(engine)
        self.programs: list[WorkerProcess] = []
        self._stack = AsyncExitStack()
        self._feeding: asyncio.Task[None] | None = None
        self._deadline_s = 0.0

    async def run(self) -> WireFacts:
        """Everything, in order."""
        loop = asyncio.get_running_loop()
        end_s = loop.time() + self.plan.budget_s
        self._deadline_s = end_s - min(MOST_FOR_THE_END_S, self.plan.budget_s / 4)
        await self.cluster.start()
        await self._start_programs()
        await self._arrive()
        self._feeding = asyncio.create_task(self._feed())
        steps: dict[str, Callable[[], Awaitable[None]]] = {
            "lag": self._lag,
            "leaders": self._move_leaders,
            "replicas": self._move_replicas,
            "reading": self._read_on,
            "outage": self._outage,
        }
        await self._go_on("work", "records, and fetches at followers")
        self.observer.settle_assignments()
        for name in self.plan.steps:
            if self._is_over():
                break
            await steps[name]()
        self._deadline_s = end_s
        await self._finish()
        return self.facts

    async def close(self) -> None:
        """End processes and cluster."""
        if self._feeding is not None:
            self._feeding.cancel()
            with suppress(asyncio.CancelledError):
                await self._feeding
        for program in self.programs:
            if program.exit_code is None:
                program.interrupt()
        await self._stack.aclose()
        await self.cluster.close()

    # the steps

    async def _start_programs(self) -> None:
        for rack in self.plan.racks:
            servers = self.cluster.bootstrap_servers_for(rack)
            values = {"rack": rack, "bootstrap": servers, "topic": self.plan.topic, "group": self.plan.group}
            environment = {
                "KAFKA_BOOTSTRAP_SERVERS": servers,
                "KAFKA_CLIENT_RACK": rack,
                "KAFKA_TOPIC": self.plan.topic,
                "KAFKA_GROUP_ID": self.plan.group,
                **self.plan.environment,
            }
            config = self.plan.security.client_config
            if config:
                values["config"] = environment["KAFKA_COMMAND_CONFIG"] = config
            program = WorkerProcess(rack, filled_in(self.plan.command, values), environment)
            self.programs.append(await self._stack.enter_async_context(program))
        self.say(f"{len(self.programs)} processes start, one in each of the racks {', '.join(self.plan.racks)}")

    async def _arrive(self) -> None:
        """Wait until the program produces, or all that it reads is read by somebody."""

        def is_at_work() -> bool:
            if self.facts.produced_topics and not consumed_topics(self.facts):
                return {client.rack for client in self.facts.producers} >= self._alive()
            topics = self._fed_topics()
            return bool(topics) and not self._unread(topics) and not self._rebalancing()

        await self._until(is_at_work, self._arrivals, quiet_s=self.plan.quiet_s * 5)
        if not self.facts.consumed_topics and not self.facts.produced_topics:
            self._explain_nothing()
        for topic, index in self._unread(self._fed_topics()):
            self.facts.unfinished["start"] = f"nobody reads {topic}-{index}"
        roles = []
        if self.facts.consumed_topics:
            roles.append(f"reads {', '.join(sorted(self.facts.consumed_topics))}")
        if self.facts.produced_topics:
            roles.append(f"writes {', '.join(sorted(self.facts.produced_topics))}")
        self.say(f"the program {' and '.join(roles)}; what it only reads is fed from here")

    def _arrivals(self) -> object:
        """What changes while the program is on its way to work, and no more once it is there or hangs."""
        clients = self.facts.clients.values()
        joined = sum(client.calls["JoinGroup"] + client.calls["SyncGroup"] for client in clients)
        reads = sum(map(len, self.observer.following.readers.values()))
        return len(clients), joined, reads, self.facts.produced.records

    async def _lag(self) -> None:
        """Have followers lag that are read from: out of range there, and -1 at the leader."""
        followers = self.observer.following.at_followers()
        if not followers:
            self.say("nobody reads from a follower, so none of them is made to lag")
            return
        broker = max(sorted(followers), key=lambda one: followers[one])
        self.say(f"follower broker {broker} lags: readers there are ahead of it ({followers[broker]} partitions)")
        self.cluster.set_follower_lag(broker, LARGE_LAG)
        await self._go_on("lag", "records while a follower lags")
        self.cluster.set_follower_lag(broker, 0)
        await self._go_on("caught up", "records once it has caught up")

    async def _move_leaders(self) -> None:
        """Give partitions another leader, one at a time: who goes there by the hint in the error alone?"""
        moved = 0
        for partition in self._partitions():
            if moved == MOST_MOVES or self._is_over():
                break
            target = next((one for one in partition.isr if one != partition.leader), None)
            if target is None or not self._is_used_at_leader(partition):
                continue
            moved += 1
            place = (partition.topic.name, partition.index)
            others = [broker for broker in self.state.brokers if broker != target]
            held_up = self.cluster.faults.add(
                match={"api": ["Metadata", "DescribeTopicPartitions"], "broker": others},
                effect={"delay_ms": METADATA_DELAY_MS},
            )
            self.observer.leader_moved(place, target)
            self.cluster.move_leader(*place, target)
            await self._go_on("leader moved", f"records of {place[0]}-{place[1]} at its new leader", only=place)
            held_up.remove()
            self.observer.leader_settled(place)
        if moved:
            self.say(f"{moved} partitions were given another leader")

    async def _move_replicas(self) -> None:
        """Take a replica away from a follower that is read from: it says that it has the partition no more."""
        for partition in self._partitions():
            reader = self._follower_read(partition)
            others = [one for one in self.state.online_ids() if one not in partition.replicas]
            if reader is None or not others:
                continue
            self.say(f"{partition.topic.name}-{partition.index} moves away from follower broker {reader}, read there")
            replicas = [partition.leader, *(one for one in partition.replicas if one not in (partition.leader, reader))]
            self.cluster.move_replicas(partition.topic.name, partition.index, [*replicas, min(others)])
            await self._go_on("moved", "records once it has moved")
            return

    async def _read_on(self) -> None:
        """Let the program work for a while, with nothing amiss."""
        self.say("nothing happens but reading and writing")
        await self._go_on(
            "reading", "records though nothing happens", quiet_s=self.plan.quiet_s * 3, records=LONG_READING
        )

    async def _outage(self) -> None:
        """Stop a rack and bring it back."""
        followers = self.observer.following.at_followers()
        rack = self.plan.racks[-1]
        if followers:
            # Members that lose their coordinator join again, which frees a reader that hangs on a follower.
            groups = {client.group for client in self.facts.clients.values() if client.group}
            spared = coordinators(self.state, groups)
            most = max(sorted(followers), key=lambda one: (one not in spared, followers[one]))
            rack = self.state.brokers[most].rack or rack
        self.facts.outage_rack = rack
        self.say(f"rack {rack} stops")
        readers = self._readers_in(rack)
        stopped = self.observer.brokers_stopped(await self.cluster.stop_rack(rack))
        await self._until(
            lambda: all(client.last_metadata > stopped for client in readers),
            lambda: sum(client.last_metadata > stopped for client in readers),
        )
        await self._go_on("outage", f"records while rack {rack} is down", quiet_s=self.plan.quiet_s * 3)
        await self.cluster.start_rack(rack)
        self.say(f"rack {rack} is back")
        await self._go_on("back", "records once it is back", quiet_s=self.plan.quiet_s * 3)

    async def _finish(self) -> None:
        """Feed no more, let all that was fed be read, end the processes, and look into the logs."""
        self.say("no more is fed; what is there is read to its end")
        assert self._feeding is not None
        self._feeding.cancel()
        with suppress(asyncio.CancelledError):
            await self._feeding
        self._feeding = None
        await self._until(lambda: not self._undelivered()[1], self._progress, quiet_s=self.plan.quiet_s * 2)
        for program in self.programs:
            if program.failed:
                said = program.said(3).strip()
                self.facts.failures.append(
                    f"the process in rack {program.rack} ended with exit code {program.exit_code}: {said or 'no word'}"
                )
        self.facts.lost, self.facts.unread = self._undelivered()
        if not self._alive():  # whoever has ended by itself, and well, need not read what came later
            self.facts.unread = []
        self.facts.fed = self.feeder.fed
        await asyncio.gather(*(program.end() for program in self.programs))
        self._compare_logs()

    # what they wait for

    async def _go_on(
        self,
        step: str,
        what: str,
        quiet_s: float | None = None,
        only: TopicPartition | None = None,
        records: int = RECORDS_A_STEP,
    ) -> None:
        """Wait until every partition that is read has gone on by some records, and so have the producers.

        With ``only`` it is this partition alone that is looked at. Where nothing more comes that is put down.
        """
        read = {
            (topic, partition.index): partition.log.end_offset + records
            for topic in self._fed_topics()
            for partition in self.state.topics[topic].partitions
            if only in (None, (topic, partition.index))
        }
        written = self._written(only) + records * (1 if only else len(self._alive()))
        writes = bool(self.facts.produced_topics) and (only is None or only[0] in self.facts.produced_topics)

        def progress() -> tuple[int, int]:
            seen = sum(min(self._delivered_to(place), offset) for place, offset in read.items())
            return seen, min(written, self._written(only)) if writes else written

        wanted = (sum(read.values()), written)
        if await self._until(lambda: progress() == wanted, progress, quiet_s=quiet_s):
            return
        if self._is_over():
            self.facts.cut_short = step
            return
        behind = sorted(
            f"{topic}-{index}" for (topic, index), to in read.items() if self._delivered_to((topic, index)) < to
        )
        shown = ", ".join(behind[:4]) + (f" and {len(behind) - 4} more" if len(behind) > 4 else "")
        self.facts.unfinished[step] = f"no more {what}" + (f" ({shown})" if behind else "")

    def _written(self, only: TopicPartition | None) -> int:
        """Records that producers got acknowledged, in all or of one partition."""
        produced = self.facts.produced
        if only is None:
            return produced.records
        return sum(batch.records for batch in produced.acknowledged.get(only, {}).values())

    async def _until(
        self, is_done: Callable[[], bool], progress: Callable[[], object], quiet_s: float | None = None
    ) -> bool:
        """Wait as long as there is progress, time left, and a process that runs. Gives whether it is done.

        Of a pause between two looks, as on a busy machine, little counts as quiet: others had no turn either.
        """
        loop = asyncio.get_running_loop()
        most_quiet_s = self.plan.quiet_s if quiet_s is None else quiet_s
        before, looked_s, quiet = progress(), loop.time(), 0.0
        while not is_done():
            now, now_s = progress(), loop.time()
            quiet = quiet + min(now_s - looked_s, 2 * LOOK_EVERY_S) if now == before else 0.0
            before, looked_s = now, now_s
            if quiet >= most_quiet_s or now_s >= self._deadline_s or not self._alive():
                return False
            await asyncio.sleep(LOOK_EVERY_S)
        return True

    def _progress(self) -> object:
        """What changes while the program gets on with its work, and not by its merely asking again."""
        delivered = sum(end - first for ranges in self.facts.delivered.values() for first, end in ranges.spans)
        return delivered, self.facts.produced.records

    def _is_over(self) -> bool:
        return asyncio.get_running_loop().time() >= self._deadline_s or not self._alive()

    def _alive(self) -> set[str]:
        """The racks whose process runs."""
        return {program.rack for program in self.programs if program.exit_code is None}

    async def _feed(self) -> None:
        while True:
            for topic in self._fed_topics():
                self.feeder.feed(topic, self.cluster.now_ms(), 2)
            self.cluster.settle()
            await asyncio.sleep(FEED_EVERY_S)

    # what is looked at

    def _fed_topics(self) -> list[str]:
        """The topics that are fed: those that the program only reads, as far as it has not deleted them."""
        return [topic for topic in consumed_topics(self.facts) if topic in self.state.topics]

    def _partitions(self) -> list[Partition]:
        """Of the topics that the program works with, in their order."""
        topics = sorted({*self._fed_topics(), *self.facts.produced_topics})
        return [
            partition
            for topic in topics
            if topic in self.state.topics and not self.state.topics[topic].diskless
            for partition in self.state.topics[topic].partitions
        ]

    def _unread(self, topics: Sequence[str]) -> list[TopicPartition]:
        read = {place for readers in self.observer.following.readers.values() for place in readers}
        return [
            (topic, partition.index)
            for topic in topics
            for partition in self.state.topics[topic].partitions
            if (topic, partition.index) not in read
        ]

    def _rebalancing(self) -> bool:
        """Whether members of a group, as many as there are processes, have yet to come."""
        if not self.state.has_groups:
            return False
        groups = {client.group for client in self.facts.clients.values() if client.group}
        members = {client.rack for client in self.facts.clients.values() if client.group}
        stable = {group.id for group in self.state.groups.select(states=["Stable"])}
        return bool(groups) and (not groups & stable or not members >= self._alive())

    def _is_used_at_leader(self, partition: Partition) -> bool:
        """Whether the program fetches this partition at its leader, or writes it."""
        place = (partition.topic.name, partition.index)
        if partition.topic.name in self.facts.produced_topics:
            return True
        return any(
            place in readers and readers[place].broker == partition.leader
            for readers in self.observer.following.readers.values()
        )

    def _readers_in(self, rack: str) -> list[ClientFacts]:
        """The clients that have fetched from a rack's brokers: they learn that it is down by asking for metadata."""
        brokers = {broker.id for broker in self.state.brokers_in(rack)}
        return [
            self.facts.clients[key]
            for key, readers in self.observer.following.readers.items()
            if any(reader.broker in brokers for reader in readers.values())
        ]

    def _follower_read(self, partition: Partition) -> int | None:
        """A follower that this partition is read from, None where there is none."""
        place = (partition.topic.name, partition.index)
        for readers in self.observer.following.readers.values():
            reader = readers.get(place)
            if reader is not None and reader.follower == reader.broker and reader.broker != partition.leader:
                return reader.broker
        return None

    def _delivered_to(self, place: TopicPartition) -> int:
        """How far a partition was delivered, to whoever has come furthest."""
        ends = [ranges.spans[-1][1] for (_, *where), ranges in self.facts.delivered.items() if tuple(where) == place]
        return max(ends, default=0)

    def _undelivered(self) -> tuple[list[str], list[str]]:
        """What readers have passed over, and what they have yet to read, in words."""
        lost, unread = [], []
        readers = sorted({reader for reader, *_ in self.facts.delivered})
        for topic in sorted((self.facts.consumed_topics - INTERNAL_TOPICS) & self.state.topics.keys()):
            for partition in self.state.topics[topic].partitions:
                name, start, end = f"{topic}-{partition.index}", partition.log.start_offset, partition.log.end_offset
                found = [(one, self.facts.delivered.get((one, topic, partition.index))) for one in readers]
                if end > start and not any(ranges for _, ranges in found):
                    unread.append(f"{name}: nothing of it was read")
                for reader, ranges in found:
                    for first, last in ranges.gaps(end) if ranges is not None else ():
                        offsets = f"{name}: offsets {max(first, start)} to {last - 1}"
                        if last == end:
                            unread.append(f"{offsets} were not read by {reader} by the end")
                        elif last > start:
                            lost.append(f"{offsets} were passed over by {reader}")
        return lost, unread

    def _compare_logs(self) -> None:
        """Hold what was acknowledged against what the logs have."""
        produced = self.facts.produced
        for (topic, index), batches in sorted(produced.acknowledged.items()):
            partition = self.state.find_partition(topic, index)
            kept: dict[int, int] = {}
            first_by_checksum: dict[int, int] = {}
            for data in partition.log.read(partition.log.start_offset, 1 << 60):
                for header in iter_batches(data):
                    kept[header.base_offset] = header.crc
                    first = first_by_checksum.setdefault(header.crc, header.base_offset)
                    if first != header.base_offset:
                        produced.duplicates.append(
                            f"{topic}-{index}: the batch at offset {first} is there again at {header.base_offset}"
                        )
            for offset, batch in sorted(batches.items()):
                if kept.get(offset) != batch.checksum:
                    produced.missing.append(f"{topic}-{index}: {batch.records} records from offset {offset}")

    def _explain_nothing(self) -> None:
        """Raise ProgramError: the program neither reads nor writes."""
        ended = [program for program in self.programs if program.exit_code is not None]
        if ended:
            program = ended[0]
            said = program.said().strip()
            last = f"; its last lines:\n{said}" if said else ", without a word"
            raise ProgramError(
                f"the process in rack {program.rack} has ended with exit code {program.exit_code} "
                f"before it produced or fetched anything{last}"
            )
        calls = sorted({name for client in self.facts.clients.values() for name in client.calls})
        if not calls:
            raise ProgramError(
                "expected the program to connect to {bootstrap} or KAFKA_BOOTSTRAP_SERVERS, but no call came from it"
            )
        raise ProgramError(f"expected the program to produce or to fetch, but all it did was {', '.join(calls)}")
