"""The course of a certification: a cluster, the program in each rack, and what happens to them, one thing at a time.

Nothing here waits for a number of seconds to pass: each step ends when the wire shows what it is for, or when nothing
has moved for ``quiet_s``. ``budget_s`` bounds them all together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from mockbroker.state.topics.topic import INTERNAL_TOPICS, Partition
from mockbroker.testing.certify.clusters import OwnCluster
from mockbroker.testing.certify.facts import (
    AcknowledgedBatch,
    PartitionReader,
    TopicPartition,
    WireFacts,
)
from mockbroker.testing.certify.observer import WireObserver, consumed_topics
from mockbroker.testing.certify.plan import CertifyPlan, UnfitClusterError
from mockbroker.testing.certify.programs import ABANDONED_QUIET_S, ProgramError, WorkerProcess, filled_in
from mockbroker.testing.clients.process import until

if TYPE_CHECKING:
    from mockbroker.testing.certify.real_cluster import RealCluster

ENVIRONMENT = {
    "bootstrap": "KAFKA_BOOTSTRAP_SERVERS",
    "rack": "KAFKA_CLIENT_RACK",
    "topic": "KAFKA_TOPIC",
    "group": "KAFKA_GROUP_ID",
    "config": "KAFKA_COMMAND_CONFIG",
}
"""Placeholder of the program's arguments -> variable with the same value."""
FEED_EVERY_S = 0.1
MAX_MOVES = 3
MAX_ENDING_S = 12.0
"""Of the budget, for reading to the end what was fed."""
RECORDS_A_STEP = 10
METADATA_DELAY_MS = 1_500
"""While a leader moves: clients that follow the hint in the error are faster."""
Say = Callable[[str], None]


async def run(plan: CertifyPlan, say: Say = lambda _: None) -> WireFacts:
    """Run the program through the course. ``say`` gets a line for each step.

    Raises: ProgramError: it cannot be started, or did nothing. OSError: the capture cannot be written. Of a real
    cluster RealClusterError: it does not answer, UnfitClusterError: it is of no use for this.
    """
    return await CertifyCourse(plan, say).run()


class CertifyCourse:
    """One run."""

    def __init__(self, plan: CertifyPlan, say: Say) -> None:
        self.plan, self.say = plan, say
        self.cluster: OwnCluster | RealCluster
        if plan.upstream is None:
            self.cluster = OwnCluster(plan)
        else:
            from mockbroker.testing.certify import real_cluster

            self.cluster = real_cluster.RealCluster(plan, plan.upstream)
        self.served = self.cluster.served
        self.state = self.served.state
        self.observer = WireObserver(self.state, self.cluster.hidden_racks)
        self.facts = self.observer.facts
        path = self.served.engine.path
        path.arrivals.append(self.observer.call_arrived)
        path.observers.append(self.observer)
        self.programs: list[WorkerProcess] = []
        self._feeding: asyncio.Task[None] | None = None
        self._deadline_s = 0.0

    async def run(self) -> WireFacts:
        """Everything, in order; at the end the processes and the cluster are ended."""
        loop = asyncio.get_running_loop()
        end_s = loop.time() + self.plan.budget_s
        self._deadline_s = end_s - min(MAX_ENDING_S, self.plan.budget_s / 4)
        try:
            await self.cluster.start()
            self.facts.racks = self.state.liveness.racks()
            self._start_programs()
            await self._arrive()
            self._feeding = asyncio.create_task(self._feed())
            await self._go_on("work", "records, and fetches at followers")
            self.observer.settle_assignments()
            for step in self.steps():
                if self._is_over():
                    break
                await step()
            self._deadline_s = end_s
            await self._finish()
        finally:
            await self._stop_feeding()
            await asyncio.gather(*(program.end(ABANDONED_QUIET_S) for program in self.programs))
            await self.cluster.close()
        return self.facts

    # the steps

    def steps(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """The steps while the program works, in this order."""
        return (self._lag, self._move_leaders, self._move_replicas, self._outage)

    def _start_programs(self) -> None:
        for rack in self.facts.racks:
            servers = self.served.bootstrap_servers_for(rack)
            values = {"rack": rack, "bootstrap": servers, "topic": self.plan.topic, "group": self.plan.group}
            if self.plan.security.client_config:
                values["config"] = self.plan.security.client_config
            environment = {ENVIRONMENT[name]: value for name, value in values.items()}
            self.programs.append(WorkerProcess(rack, filled_in(self.plan.command, values), environment))
        self.say(f"{len(self.programs)} processes start, one in each of the racks {', '.join(self.facts.racks)}")

    async def _arrive(self) -> None:
        """Wait until the program produces, or reads every partition of its topics."""

        def is_at_work() -> bool:
            if self.facts.produced_topics and not consumed_topics(self.facts):
                return {client.rack for client in self.facts.producers} >= self._alive()
            if not self._fed_topics():
                return bool(consumed_topics(self.facts))
            return not self._unread() and not self._rebalancing()

        await self._until(is_at_work, self._progress, quiet_s=self.plan.quiet_s * 5)
        if not self.facts.consumed_topics and not self.facts.produced_topics:
            self._explain_nothing()
        if not self.facts.produced_topics and not self._fed_topics():
            read = ", ".join(consumed_topics(self.facts))
            raise UnfitClusterError(
                f"the program reads {read}, and nothing is written there from here: --feed has records written to the "
                "topic that --topic names, and without --topic one is made for the run"
            )
        for topic, index in self._unread():
            self.facts.unfinished["start"] = f"nobody reads {topic}-{index}"
        by_role = {"reads": self.facts.consumed_topics, "writes": self.facts.produced_topics}
        roles = [f"{role} {', '.join(sorted(topics))}" for role, topics in by_role.items() if topics]
        self.say(f"the program {' and '.join(roles)}; what it only reads is fed from here")

    async def _lag(self) -> None:
        """Have followers lag that are read from: out of range there, and -1 at the leader."""
        followers = self.facts.at_followers()
        if not followers:
            self.say("nobody reads from a follower, so none of them is made to lag")
            return
        broker = max(sorted(followers), key=lambda one: followers[one])
        places = [
            place
            for place, one, readers in self._used_partitions()
            if any(reader.visited == reader.follower == broker != one.leader for reader in readers)
        ]
        self.say(f"follower broker {broker} lags: readers there are ahead of it ({followers[broker]} partitions)")
        await self.cluster.lag(broker, places)
        await self._go_on("lag", "records while a follower lags")
        await self.cluster.catch_up(broker)
        await self._go_on("caught up", "records once it has caught up")

    async def _move_leaders(self) -> None:
        """Give partitions another leader, one at a time: who goes there by the hint in the error alone?"""
        moved = 0
        for place, partition, readers in self._used_partitions():
            if moved == MAX_MOVES or self._is_over():
                break
            target = next((one for one in partition.isr if one != partition.leader), None)
            is_written = place[0] in self.facts.produced_topics
            is_used = is_written or any(reader.broker == partition.leader for reader in readers)
            if target is None or not (is_used and self.cluster.owns(place[0])):
                continue
            moved += 1
            others = [broker for broker in self.state.brokers if broker != target]
            held_up = self.served.faults.add(
                match={"api": ["Metadata", "DescribeTopicPartitions"], "broker": others},
                effect={"delay_ms": METADATA_DELAY_MS},
            )
            self.observer.leader_moved(place, target)
            replicas = [target, *(one for one in partition.replicas if one != target)]
            refused = await self.cluster.move(place[0], {place[1]: replicas})
            if refused is None:
                await self._go_on("leader moved", f"records of {place[0]}-{place[1]} at its new leader", only=place)
            held_up.remove()
            self.observer.moves.pop(place)
            if refused is not None:
                self.say(f"the leader of {place[0]}-{place[1]} does not move: {refused}")
                return
        if moved:
            self.say(f"{moved} partitions were given another leader")

    async def _move_replicas(self) -> None:
        """Take a replica away from a follower that is read from: it says that it has the partition no more."""
        for place, partition, readers in self._used_partitions():
            followers = (one.broker for one in readers if one.follower == one.broker != partition.leader)
            reader = next(followers, None)
            others = [one for one in self.state.liveness.online_ids if one not in partition.replicas]
            if reader is None or not others or not self.cluster.owns(place[0]):
                continue
            self.say(f"{place[0]}-{place[1]} moves away from follower broker {reader}, read there")
            replicas = [partition.leader, *(one for one in partition.replicas if one not in (partition.leader, reader))]
            wanted = [*replicas, min(others)]
            self.observer.replicas[place] = tuple(wanted)
            refused = await self.cluster.move(place[0], {place[1]: wanted})
            if refused is None:
                await self._go_on("moved", "records once it has moved")
            else:
                self.say(f"it does not: {refused}")
            del self.observer.replicas[place]
            return

    async def _outage(self) -> None:
        """Stop a rack and bring it back."""
        rack = self.cluster.outage_rack(self.facts.at_followers(), self.facts.coordinators)
        if rack is None:
            self.say("no rack stops: each has a coordinator of the program, which no proxy can have move")
            return
        self.facts.outage_rack = rack
        self.say(f"rack {rack} stops")
        brokers = {broker.id for broker in self.state.liveness.brokers_in(rack)}
        readers = [  # they learn that it is down by asking for metadata
            one
            for one in self.facts.clients.values()
            if any(reader.broker in brokers for reader in one.readers.values())
        ]
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
        await self._stop_feeding()
        await self._until(lambda: not self._undelivered()[1], self._progress, quiet_s=self.plan.quiet_s * 2)
        for program in self.programs:
            if program.failed:
                said = program.said(3).strip()
                self.facts.failures.append(
                    f"the process in rack {program.rack} ended with exit code {program.exit_code}: {said or 'no word'}"
                )
        self.facts.lost, self.facts.unread = self._undelivered()
        if not self._alive():  # a program that has ended well need not read later records
            self.facts.unread = []
        self.facts.fed = self.cluster.fed
        await asyncio.gather(*(program.end() for program in self.programs))
        await self._compare_logs()

    # what they wait for

    async def _go_on(
        self, step: str, what: str, quiet_s: float | None = None, only: TopicPartition | None = None
    ) -> None:
        """Wait until every partition that is read has gone on by some records, and so have the producers.

        With ``only`` that partition alone counts. A step without progress is recorded.
        """
        running = {broker.id for broker in self.state.brokers.values() if broker.is_running}
        read = {
            place: self.cluster.end_offset(place) + RECORDS_A_STEP
            for place, partition in self._partitions(self._fed_topics())
            if only in (None, place) and partition.leader in running
        }
        written = self._written(only) + RECORDS_A_STEP * (1 if only else len(self._alive()))
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
        behind = sorted(f"{place[0]}-{place[1]}" for place, to in read.items() if self._delivered_to(place) < to)
        shown = ", ".join(behind[:4]) + (f" and {len(behind) - 4} more" if len(behind) > 4 else "")
        self.facts.unfinished[step] = f"no more {what}" + (f" ({shown})" if behind else "")

    def _written(self, only: TopicPartition | None) -> int:
        """Records that producers got acknowledged, in all or of one partition."""
        if only is None:
            return self.facts.acknowledged_records
        return sum(batch.records for batch in self.facts.acknowledged.get(only, {}).values())

    async def _until(
        self, is_done: Callable[[], bool], progress: Callable[[], object], quiet_s: float | None = None
    ) -> bool:
        """Wait while the program makes progress, time is left, and a process runs. Returns True if it is done."""
        max_quiet_s = self.plan.quiet_s if quiet_s is None else quiet_s
        await until(lambda: is_done() or self._is_over(), progress, max_quiet_s)
        return is_done()

    def _progress(self) -> object:
        """A value that changes as the program starts and advances, and not when it merely repeats requests."""
        clients = self.facts.clients.values()
        joined = sum(client.calls["JoinGroup"] + client.calls["SyncGroup"] for client in clients)
        delivered = sum(ranges.end for readers in self.facts.delivered.values() for ranges in readers.values())
        reading = sum(len(one.readers) for one in clients)
        return len(clients), joined, reading, delivered, self.facts.acknowledged_records

    def _is_over(self) -> bool:
        return asyncio.get_running_loop().time() >= self._deadline_s or not self._alive()

    def _alive(self) -> set[str]:
        """The racks whose process runs."""
        return {program.rack for program in self.programs if program.exit_code is None}

    async def _feed(self) -> None:
        while True:
            await self.cluster.feed(self._fed_topics(), 2)
            await asyncio.sleep(FEED_EVERY_S)

    async def _stop_feeding(self) -> None:
        if self._feeding is not None:
            self._feeding.cancel()
            with suppress(asyncio.CancelledError):
                await self._feeding

    # what is looked at

    def _fed_topics(self) -> list[str]:
        """The topics that are fed: those that the program only reads, as far as it has not deleted them."""
        known = [topic for topic in consumed_topics(self.facts) if topic in self.state.topics]
        return [topic for topic in known if self.cluster.feeds(topic)]

    def _partitions(self, topics: Iterable[str]) -> Iterator[tuple[TopicPartition, Partition]]:
        for topic in topics:
            for partition in self.state.topics[topic].partitions:
                yield (topic, partition.index), partition

    def _used_partitions(self) -> Iterator[tuple[TopicPartition, Partition, list[PartitionReader]]]:
        """The partitions of the topics that the program works with, in their order, and their readers by then."""
        topics = {*self._fed_topics(), *(self.facts.produced_topics & self.state.topics.keys())}
        classic = sorted(topic for topic in topics if not self.state.topics[topic].diskless)
        for place, partition in self._partitions(classic):
            yield place, partition, self.facts.readers_of(place)

    def _unread(self) -> list[TopicPartition]:
        return [place for place, _ in self._partitions(self._fed_topics()) if not self.facts.readers_of(place)]

    def _rebalancing(self) -> bool:
        """True if fewer processes than the running ones are members of groups, or partitions are not assigned."""
        members = [client for client in self.facts.clients.values() if client.group]
        dealt = {place for client in members for place in client.assignment}
        places = {place for place, _ in self._partitions(self._fed_topics())}
        return bool(members) and not (dealt >= places and {client.rack for client in members} >= self._alive())

    def _delivered_to(self, place: TopicPartition) -> int:
        """The highest offset to which a partition was delivered, over all readers."""
        return max((ranges.end for ranges in self.facts.delivered.get(place, {}).values()), default=0)

    def _undelivered(self) -> tuple[list[str], list[str]]:
        """The records that readers have skipped, and those that they have yet to read, in words."""
        lost, unread = [], []
        topics = (self.facts.consumed_topics - INTERNAL_TOPICS) & self.state.topics.keys()
        for place, _ in self._partitions(sorted(topics)):
            name, end = f"{place[0]}-{place[1]}", self.cluster.end_offset(place)
            readers = self.facts.delivered.get(place, {})
            if end and not readers:
                unread.append(f"{name}: nothing of it was read")
            for reader, ranges in sorted(readers.items()):
                for first, last in ranges.gaps:
                    lost.append(f"{name}: offsets {first} to {last - 1} were passed over by {reader}")
                if ranges.end < end:
                    unread.append(f"{name}: offsets {ranges.end} to {end - 1} were not read by {reader} by the end")
        return lost, unread

    async def _compare_logs(self) -> None:
        """Hold what was acknowledged against what the logs have."""
        for place, batches in sorted(self.facts.acknowledged.items()):
            end = max(offset + batch.records for offset, batch in batches.items())
            name, kept = f"{place[0]}-{place[1]}", dict[int, AcknowledgedBatch]()
            checksums_count = self.cluster.owns(place[0])
            first_by_checksum: dict[int, int] = {}
            for header in await self.cluster.logged(place, min(batches), end):
                records = header.last_offset - header.base_offset + 1
                kept[header.base_offset] = AcknowledgedBatch(header.crc, records)
                first = first_by_checksum.setdefault(header.crc, header.base_offset)
                if first != header.base_offset:
                    self.facts.duplicates.append(
                        f"{name}: the batch at offset {first} is there again at {header.base_offset}"
                    )
            for offset, batch in sorted(batches.items()):
                found = kept.get(offset)
                if found is None or (found != batch if checksums_count else found.records != batch.records):
                    self.facts.missing.append(f"{name}: {batch.records} records from offset {offset}")

    def _explain_nothing(self) -> None:
        """Raise ProgramError: the program neither reads nor writes."""
        for program in self.programs:
            if program.exit_code is not None:
                said = "; ".join(program.said().strip().splitlines()) or "none"
                raise ProgramError(
                    f"the process in rack {program.rack} has ended with exit code {program.exit_code} "
                    f"before it produced or fetched anything; its last lines: {said}"
                )
        calls = sorted({name for client in self.facts.clients.values() for name in client.calls})
        if not calls:
            raise ProgramError(
                "expected the program to connect to {bootstrap} or KAFKA_BOOTSTRAP_SERVERS, but no call came from it"
            )
        raise ProgramError(f"expected the program to produce or to fetch, but all it did was {', '.join(calls)}")
