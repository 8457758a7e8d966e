"""Members of a Streams group that count words, for tests."""

from __future__ import annotations

from typing import Any

from mockbroker.core.simulation import Simulation
from protocol.apis.streams_group import (
    KeyValue,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

GROUP, LINES = "counter", "lines"
WORDS, COUNTS = "counter-words-repartition", "counter-counts-changelog"
AT_ONCE = {"group.streams.initial.rebalance.delay.ms": 0, "group.streams.assignment.interval.ms": 0}
"""Settings by which nobody waits."""

Topology = StreamsGroupHeartbeatRequest.Topology
Subtopology = Topology.Subtopology
Info = Subtopology.TopicInfo
TaskIds = StreamsGroupHeartbeatRequest.TaskIds


def word_count() -> Topology:
    """Subtopology 0 splits lines into words, 1 counts those and keeps the counts."""
    words = Info(name=WORDS, topic_configs=[KeyValue(key="cleanup.policy", value="delete")])
    counts = Info(name=COUNTS, topic_configs=[KeyValue(key="cleanup.policy", value="compact")])
    return Topology(
        subtopologies=[
            Subtopology(subtopology_id="0", source_topics=[LINES], repartition_sink_topics=[WORDS]),
            Subtopology(subtopology_id="1", repartition_source_topics=[words], state_changelog_topics=[counts]),
        ]
    )


class Member:
    """A thread of an application; each is a process of its own unless told otherwise."""

    def __init__(self, sim: Simulation, name: str = "one", **always: Any) -> None:
        self.sim, self.name, self.always = sim, name, always
        self.epoch = 0
        self.tasks: dict[str, list[TaskIds]] = {role: [] for role in ("active_tasks", "standby_tasks", "warmup_tasks")}

    def beat(self, epoch: int | None = None, **fields: Any) -> StreamsGroupHeartbeatResponse:
        """A heartbeat that says nothing of tasks, unless it joins."""
        epoch = self.epoch if epoch is None else epoch
        joins: dict[str, Any] = {}
        if epoch == 0:
            joins = {"rebalance_timeout_ms": 60_000, "topology": word_count(), "process_id": f"process-{self.name}"}
            joins |= {role: [] for role in self.tasks}
        said = {"group_id": GROUP, "member_id": self.name, "member_epoch": epoch} | joins | self.always | fields
        version = said.pop("version", 1)
        broker = self.sim.cluster.internal_topics.coordinator(said["group_id"] or GROUP).id
        answer: StreamsGroupHeartbeatResponse = self.sim.ask(
            StreamsGroupHeartbeatRequest(**said), broker=broker, version=version
        )
        if not answer.error_code and epoch >= 0:
            self.epoch = answer.member_epoch
            for role in self.tasks:
                told = getattr(answer, role)
                if told is not None:
                    self.tasks[role] = [TaskIds(subtopology_id=t.subtopology_id, partitions=t.partitions) for t in told]
        return answer

    def owning(self, **fields: Any) -> StreamsGroupHeartbeatResponse:
        """A heartbeat that says that it has what it was given."""
        return self.beat(**(self.tasks | fields))

    @property
    def active(self) -> list[tuple[str, int]]:
        return [(one.subtopology_id, number) for one in self.tasks["active_tasks"] for number in one.partitions]

    @property
    def standby(self) -> list[tuple[str, int]]:
        return [(one.subtopology_id, number) for one in self.tasks["standby_tasks"] for number in one.partitions]


def settle(*members: Member) -> None:
    """Heartbeats until everybody has what is his; what is missing is made with the first."""
    for _ in range(4):
        for member in members:
            member.owning() if member.epoch else member.beat()


def statuses(answer: StreamsGroupHeartbeatResponse) -> dict[int, str]:
    return {status.status_code: status.status_detail for status in answer.status or ()}


def describe(sim: Simulation, group: str = GROUP) -> StreamsGroupDescribeResponse.Group:
    request = StreamsGroupDescribeRequest(group_ids=[group])
    answer: StreamsGroupDescribeResponse = sim.ask(
        request, broker=sim.cluster.internal_topics.coordinator(group).id, version=1
    )
    return answer.groups[0]
