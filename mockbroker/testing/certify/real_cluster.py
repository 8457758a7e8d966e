"""A real cluster with a proxy before it: programs are led to the proxy, and what happens to them happens there.

Racks that stop, followers that lag and metadata that is late are the proxy's doing; the real brokers go on. What only
they can do, another leader and other replicas, is asked of them for the one topic that was made for the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mockbroker.adapters.real_cluster.connection import RealClusterError
from mockbroker.proxy.adapters.server import KafkaProxy
from mockbroker.proxy.rewrites import APIS_REWRITTEN, Rewrites
from mockbroker.state.topics.topic import NO_LEADER
from mockbroker.testing.certify.plan import CertifyPlan, UnfitClusterError, UpstreamPlan, layout
from mockbroker.testing.certify.real_requests import OWN_CONFIGS, RealBrokers
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker.call import Call
    from mockbroker.core.faults.faults import FaultHandle
    from mockbroker.proxy.path import ProxyPath
    from mockbroker.state.topics.topic import Partition
    from mockbroker.testing.certify.facts import TopicPartition
    from protocol.records.batches import BatchHeader

FETCH, METADATA = 1, 3
LOOK_AGAIN_S = 0.2
MOVE_S = 20.0
"""How long real brokers may take for a move."""
CLEAN_UP_S = 15.0


@dataclass(frozen=True)
class HiddenRacks(Rewrites):
    """Has clients see what they would see if some brokers lagged or had gone.

    The rack of clients in ``hidden`` is kept from the real brokers: a leader then names them no replica, as it does
    when the follower in their rack is not in sync. Brokers that are stopped here are not in
    Metadata, lead nothing there and are not in sync.
    """

    hidden: AbstractSet[str] = frozenset()

    def takes_request(self, call: Call) -> bool:
        is_with_rack = call.api_key == FETCH and call.version >= APIS_REWRITTEN[FETCH]
        return is_with_rack and call.session.listener_rack in self.hidden

    def rewrite_request(self, call: Call, request: Any) -> bool:
        request.rack_id = ""
        return True

    def takes_answer(self, api_key: int) -> bool:
        return api_key == METADATA

    def rewrite_answer(self, call: Call, response: Any) -> bool:
        stopped = {broker.id for broker in call.cluster.brokers.values() if not broker.is_running}
        if not stopped:
            return False
        response.brokers = [one for one in response.brokers if one.node_id not in stopped]
        for partition in (one for topic in response.topics for one in topic.partitions):
            partition.isr_nodes = [one for one in partition.isr_nodes if one not in stopped]
            partition.offline_replicas = [one for one in partition.replica_nodes if one in stopped]
            if partition.leader_id in stopped:
                partition.leader_id, partition.error_code = NO_LEADER, ErrorCode.LEADER_NOT_AVAILABLE
        return True


class RealCluster:
    """See the module; methods that say nothing are as those of ``OwnCluster``."""

    def __init__(self, plan: CertifyPlan, upstream: UpstreamPlan) -> None:
        self._plan, self._upstream = plan, upstream
        self.proxy = self.served = KafkaProxy(
            upstream.settings,
            racks=upstream.racks,
            listener_per_rack=True,
            capture=plan.capture,
            capture_bytes=plan.capture_bytes,
            tls=upstream.security_dir is not None,
            security_dir=upstream.security_dir,
        )
        self.fed = 0
        self._brokers = RealBrokers(upstream.settings, self.proxy.mirror.upstream)
        path: ProxyPath = self.proxy.engine.path  # type: ignore[assignment]
        self.hidden_racks: set[str] = set()
        path.rewrites = HiddenRacks(hidden=self.hidden_racks)
        self._ends: dict[TopicPartition, int] = {}
        self._out_of_range: list[FaultHandle] = []
        self._is_own_topic = False

    # its life

    async def start(self) -> None:
        await self.proxy.start()
        racks = self.proxy.state.liveness.racks()
        if len(racks) < 2:
            raise UnfitClusterError(
                f"expected brokers in two or more racks, got {', '.join(racks) or 'none'} of "
                f"{len(self.proxy.state.brokers)} brokers; --racks ID=RACK,... says where they are"
            )
        if self._plan.topic not in self.proxy.state.topics:
            await self._create_topic()

    async def close(self) -> None:
        with suppress(RealClusterError, TimeoutError):
            if self._is_own_topic:
                await asyncio.wait_for(self._brokers.clean_up(self._plan.topic, self._plan.group), CLEAN_UP_S)
        self._brokers.close()
        await self.proxy.close()

    async def _create_topic(self) -> None:
        """Make the topic, with replicas as in a cluster of certify's own."""
        racks = self.proxy.state.liveness.racks()
        members = [[broker.id for broker in self.proxy.state.liveness.brokers_in(rack)] for rack in racks]
        replicas = [
            [members[rack][index % len(members[rack])] for rack in row]
            for index, row in enumerate(layout(len(racks), self._plan.partitions))
        ]
        try:
            await self._brokers.ask(lambda real: real.create_topic(self._plan.topic, replicas, OWN_CONFIGS))
        except RealClusterError as error:
            raise UnfitClusterError(f"{error}; --topic names an existing topic, and --feed writes to it") from None
        self._is_own_topic = True
        self._ends = {(self._plan.topic, index): 0 for index in range(len(replicas))}

        def is_led() -> bool:
            topic = self.proxy.state.topics.get(self._plan.topic)
            return topic is not None and [one.leader for one in topic.partitions] == [row[0] for row in replicas]

        if not await self._seen(is_led):
            raise UnfitClusterError(f"expected every partition of {self._plan.topic} to have a leader, but not all do")

    # what the course asks

    def feeds(self, topic: str) -> bool:
        return self.owns(topic) or (topic == self._plan.topic and self._upstream.feeds_named)

    async def feed(self, topics: Sequence[str], count: int) -> None:
        by_leader: dict[int, dict[str, list[int]]] = {}
        for topic in topics:
            for one in self.proxy.state.topics[topic].partitions:
                if one.leader in self.proxy.mirror.upstream:
                    by_leader.setdefault(one.leader, {}).setdefault(topic, []).append(one.index)
        all_led = True
        for leader, indexes in by_leader.items():
            ends: dict[TopicPartition, int | None] = {}
            with suppress(RealClusterError):
                ends = await self._brokers.write(leader, indexes, self.proxy.now_ms(), count)
            for place, end in ends.items():
                if end is not None:
                    self.fed += count
                    self._ends[place] = max(end, self._ends.get(place, 0))
            all_led &= bool(ends) and None not in ends.values()
        if not all_led:  # another broker leads, or one has gone
            with suppress(RealClusterError):
                await self.proxy.look()

    def end_offset(self, place: TopicPartition) -> int:
        return self._ends.get(place, 0)

    async def lag(self, broker: int, places: Iterable[TopicPartition]) -> None:
        self.hidden_racks.add(self.proxy.state.brokers[broker].rack or "")
        effect = {"error": ErrorCode.OFFSET_OUT_OF_RANGE.name}
        matches = ({"api": "Fetch", "broker": broker, "topic": topic, "partition": index} for topic, index in places)
        self._out_of_range = [self.proxy.faults.add(match=match, effect=effect) for match in matches]

    async def catch_up(self, broker: int) -> None:
        for fault in self._out_of_range:
            fault.remove()
        self.hidden_racks.discard(self.proxy.state.brokers[broker].rack or "")

    def owns(self, topic: str) -> bool:
        return self._is_own_topic and topic == self._plan.topic

    async def move(self, topic: str, replicas: Mapping[int, Sequence[int]]) -> str | None:
        def placed() -> Iterator[tuple[Partition, Sequence[int]]]:
            return ((self.proxy.state.find_partition(topic, index), row) for index, row in replicas.items())

        def is_led() -> bool:
            return all(one.leader == row[0] for one, row in placed())

        try:
            await self._brokers.place(topic, replicas)
            if not await self._seen(lambda: all(set(one.replicas) == set(row) for one, row in placed())):
                return "the real brokers have not moved the partition in time"
            if not is_led():
                await self._brokers.elect(topic, replicas)
        except RealClusterError as error:
            return str(error)
        return None if await self._seen(is_led) else "the real brokers have not elected another leader in time"

    async def stop_rack(self, rack: str) -> list[int]:
        self.hidden_racks.add(rack)
        stopped = await self.proxy.stop_rack(rack)
        if self._is_own_topic:  # as a controller does whose brokers have gone
            moved = {}
            for one in self.proxy.state.topics[self._plan.topic].partitions:
                others = [broker for broker in one.replicas if broker not in stopped]
                if one.leader in stopped and others:
                    moved[one.index] = [*others, *(broker for broker in one.replicas if broker in stopped)]
            if moved:
                await self.move(self._plan.topic, moved)
        return stopped

    async def start_rack(self, rack: str) -> None:
        await self.proxy.start_rack(rack)
        self.hidden_racks.discard(rack)

    def outage_rack(self, followers: Mapping[int, int], coordinators: AbstractSet[int]) -> str | None:
        read: dict[str, int] = {}
        for rack in reversed(self.proxy.state.liveness.racks()):
            brokers = {broker.id for broker in self.proxy.state.liveness.brokers_in(rack)}
            if not brokers & coordinators:
                read[rack] = sum(followers.get(broker, 0) for broker in brokers)
        return max(read, key=lambda rack: read[rack], default=None)

    async def logged(self, place: TopicPartition, first: int, end: int) -> list[BatchHeader]:
        for _ in range(2):
            leader = self.proxy.state.find_partition(*place).leader
            found = await self._brokers.batches(leader, place, first, end)
            if found:
                return found
            await self.proxy.look()
        return []

    # inside

    async def _seen(self, is_so: Callable[[], bool]) -> bool:
        """Look at the real cluster until it is so; False where it takes too long."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + MOVE_S
        while True:
            with suppress(RealClusterError):
                await self.proxy.look()
            if is_so():
                return True
            if loop.time() >= ends_at:
                return False
            await asyncio.sleep(LOOK_AGAIN_S)
