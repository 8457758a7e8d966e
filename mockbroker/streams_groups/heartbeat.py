"""Members of Streams groups join, stay and leave; the first brings the topology.

Source: GroupMetadataManager.streamsGroupHeartbeat and streamsGroupLeave, GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mockbroker.state.errors import ApiError
from mockbroker.state.groups.coordinator import Groups
from mockbroker.state.groups.modern.group import MemberTimer
from mockbroker.state.groups.modern.members import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH, MemberState
from mockbroker.state.image.coordinator_records import CoordinatorRecord
from mockbroker.streams_groups import records
from mockbroker.streams_groups.assigning import RACK_TAGS, assignment_configs, new_targets
from mockbroker.streams_groups.endpoints import EndpointPartitions, partitions_by_endpoint
from mockbroker.streams_groups.group import NO_TASKS, StreamsGroup, TaskOffsets
from mockbroker.streams_groups.members import Endpoint, StreamsMember
from mockbroker.streams_groups.reconciliation import reconcile
from mockbroker.streams_groups.tasks import NOTHING_TOLD, HeldTasks, OwnedByRole, OwnedTasks, TaskSet, holds_all
from mockbroker.streams_groups.topology import (
    ConfiguredTopology,
    InternalTopic,
    Status,
    StatusCode,
    Topology,
    are_equal,
    configure,
    required_topics,
)
from protocol.error_codes import ErrorCode

NOT_GIVEN = -1
TAGS_VERSION = 1  # of the request, which knows MISSING_CLIENT_TAGS
ToldOffsets = Sequence[tuple[str, int, int]]
"""Subtopology, partition and offset."""


@dataclass(slots=True, frozen=True, kw_only=True)
class StreamsHeartbeat:
    """What a member says of itself; None, or -1 of the time-out, stands for what it said before."""

    group_id: str
    member_id: str
    epoch: int
    endpoint_epoch: int
    version: int
    client_id: str
    client_host: str
    instance_id: str | None = None
    rack: str | None = None
    rebalance_timeout_ms: int = NOT_GIVEN
    topology: Topology | None = None
    owned: OwnedByRole = NOTHING_TOLD
    process_id: str | None = None
    endpoint: Endpoint | None = None
    client_tags: Mapping[str, str] | None = None
    task_offsets: ToldOffsets | None = None
    task_end_offsets: ToldOffsets | None = None
    shutdown: bool = False


class StreamsHeartbeatAnswer(NamedTuple):
    """A member's epoch and what it is to be told; tasks and endpoints only where it has to know of them."""

    member_id: str
    epoch: int
    interval_ms: int = 0
    task_offset_interval_ms: int = 0
    acceptable_recovery_lag: int = -1
    statuses: Sequence[Status] = ()
    tasks: HeldTasks | None = None
    endpoint_epoch: int = 0
    endpoints: Sequence[EndpointPartitions] | None = None
    to_make: Mapping[str, InternalTopic] = {}


def check_heartbeat(beat: StreamsHeartbeat) -> None:
    """Refuse what makes no sense. Raises ApiError: INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY."""
    topology = beat.topology
    if topology is not None and any(one.source_topic_regex for one in topology.subtopologies):
        raise invalid("Regular expressions for source topics are not supported yet.")
    for value, name in (
        (beat.member_id, "MemberId"),
        (beat.group_id, "GroupId"),
        (beat.instance_id, "InstanceId"),
        (beat.rack, "RackId"),
    ):
        if value is not None and not value.strip():
            raise invalid(f"{name} can't be empty.")
    if beat.epoch == JOIN_EPOCH:
        _check_join(beat)
    elif beat.epoch == STATIC_LEAVE_EPOCH:
        if beat.instance_id is None:
            raise invalid("InstanceId can't be null.")
    elif beat.epoch < STATIC_LEAVE_EPOCH:
        raise invalid(f"MemberEpoch is {beat.epoch}, but must be greater than or equal to -2.")
    if any(tasks is not None for tasks in beat.owned) and any(tasks is None for tasks in beat.owned):
        raise invalid("If one task-type is non-null, all must be non-null.")
    if beat.epoch != JOIN_EPOCH and topology is not None:
        raise invalid("Topology can only be provided when (re-)joining.")


def _check_join(beat: StreamsHeartbeat) -> None:
    if beat.rebalance_timeout_ms == NOT_GIVEN:
        raise invalid("RebalanceTimeoutMs must be provided in first request.")
    for tasks, name in zip(beat.owned, ("ActiveTasks", "StandbyTasks", "WarmupTasks"), strict=True):
        if tasks is None or tasks:
            raise invalid(f"{name} must be empty when (re-)joining.")
    if beat.topology is None:
        raise invalid("Topology must be non-null when (re-)joining.")
    for one in beat.topology.subtopologies:
        for topic in one.state_changelog_topics:
            if topic.partitions:
                raise ApiError(
                    ErrorCode.STREAMS_INVALID_TOPOLOGY,
                    f"Changelog topic {topic.name} must have an undefined partition count,"
                    f" but it is set to {topic.partitions}.",
                )


def take_heartbeat(groups: Groups, beat: StreamsHeartbeat, now_ms: int) -> tuple[StreamsHeartbeatAnswer, StreamsGroup]:
    """Take a heartbeat in; gives the answer, and the group as it is then.

    Raises ApiError: GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH,
        FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID, INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY.
    """
    if beat.epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
        return leave(groups, beat)
    group = groups.find_or_make(StreamsGroup, beat.group_id, create=beat.epoch == JOIN_EPOCH)
    answer = _Beat(groups, group, beat, now_ms).taken()
    return answer, group


def leave(groups: Groups, beat: StreamsHeartbeat) -> tuple[StreamsHeartbeatAnswer, StreamsGroup]:
    """A member leaves (epoch -1), or a static one goes away for a while (-2)."""
    group = groups.get_as(StreamsGroup, beat.group_id)
    if beat.shutdown and group.shutdown_by is None:
        group.shutdown_by = beat.member_id
    if beat.instance_id is None:
        group.fence(group.member(beat.member_id))
        return StreamsHeartbeatAnswer(beat.member_id, beat.epoch), group
    member = group.check_static_member(beat.member_id, beat.instance_id)
    if beat.epoch == STATIC_LEAVE_EPOCH:
        held = member.assigned
        active = {name: dict.fromkeys(numbers, 0) for name, numbers in held.active.items()}
        away = replace(
            member,
            epoch=STATIC_LEAVE_EPOCH,
            pending_revocation=HeldTasks(),
            assigned=HeldTasks(active, held.standby, held.warmup),
        )
        group.write([records.member_assignment(group.id, away)])
    else:
        group.fence(member)
    return StreamsHeartbeatAnswer(beat.member_id, beat.epoch), group


class _Beat:
    """One heartbeat that joins or stays."""

    def __init__(self, groups: Groups, group: StreamsGroup, beat: StreamsHeartbeat, now_ms: int) -> None:
        self.groups, self.group, self.beat, self.now_ms = groups, group, beat, now_ms
        self.joins = beat.epoch == JOIN_EPOCH
        self.is_known = groups.find(group.id) is group
        self.written: list[CoordinatorRecord] = []
        self.statuses: list[Status] = []
        self.replaced: StreamsMember | None = None
        self.metadata_hash = group.metadata_hash

    def taken(self) -> StreamsHeartbeatAnswer:
        group, beat = self.group, self.beat
        before = self._member()
        member = self._updated(before)
        recompute = self._has_changed(before, member)
        topology = self._topology()
        if group.topology is not None and member.topology_epoch < group.topology.epoch:
            self._tell(
                StatusCode.STALE_TOPOLOGY,
                f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch"
                f" {group.topology.epoch}.",
            )
        configured = self._configured(topology)
        recompute = recompute or self.metadata_hash != group.metadata_hash
        validated = topology.epoch if configured.is_ready else records.UNKNOWN_EPOCH
        if configured.is_ready:
            for owned in beat.owned:
                check_tasks(configured, owned)
        self._take_offsets()
        configs = assignment_configs(group)
        recompute = recompute or validated != group.metadata.validated_topology_epoch
        recompute = recompute or configs != group.metadata.assignment_configs
        keeps_target = False
        if not recompute and group.state_name == "Stable":
            target = group.task_targets.get(member.id, NO_TASKS)
            keeps_target = nonempty(target) != nonempty(member.assigned.without_epochs)
        epoch = group.epoch
        if recompute or keeps_target:
            epoch += 1
            metadata = replace(
                group.metadata,
                metadata_hash=self.metadata_hash,
                validated_topology_epoch=validated,
                assignment_configs=configs,
            )
            self.written.append(records.group_epoch(group.id, epoch, metadata))
        waits_for_more = not group.members
        self._await_first_members(waits_for_more)
        members, targets = self._members_and_targets(member)
        target_epoch, new = new_targets(
            group,
            epoch,
            members,
            targets,
            configured,
            configs,
            self.written,
            self.statuses,
            self.now_ms,
            keeps_target=keeps_target,
        )
        member = self._reconciled(member, target_epoch, new.get(member.id, NO_TASKS))
        answer = self._answer(before, member, configured, configs)
        group.write(self.written)
        self.groups.register(group)
        group.put_off_session(member.id, self.now_ms)
        if not self.is_known:  # Kafka reads a new group from its records, which do not have all of this
            group.forget_what_is_not_kept()
        return answer

    def _tell(self, code: StatusCode, detail: str) -> None:
        self.statuses.append(Status(code, detail))

    # who it is

    def _member(self) -> StreamsMember:
        """The member as it was, a new one where it joins; a static one takes the place of its forerunner."""
        group, beat = self.group, self.beat
        existing = group.static_member(beat.instance_id)
        if self.joins and existing is None:
            max_size = group.context.configs.broker("group.streams.max.size")
            if len(group.members) >= max_size and beat.member_id not in group.members:
                problem = f"The streams group has reached its maximum capacity of {max_size} members."
                raise ApiError(ErrorCode.GROUP_MAX_SIZE_REACHED, problem)
        if beat.instance_id is None:
            if self.joins:
                return group.members.get(beat.member_id) or StreamsMember(id=beat.member_id)
            member = group.member(beat.member_id)
            self._check_epoch(member)
            return member
        if not self.joins:
            member = group.check_static_member(beat.member_id, beat.instance_id)
            self._check_epoch(member)
            return member
        if existing is None:
            return group.members.get(beat.member_id) or StreamsMember(id=beat.member_id)
        if existing.epoch != STATIC_LEAVE_EPOCH:
            problem = f"Static member {beat.member_id} with instance id {beat.instance_id} cannot join the group"
            problem += f" because the instance id is owned by {existing.id} member."
            raise ApiError(ErrorCode.UNRELEASED_INSTANCE_ID, problem)
        member = replace(existing, id=beat.member_id, epoch=0, previous_epoch=0)
        self.written += [
            *records.no_member(group.id, existing.id),
            records.member_metadata(group.id, member),
            records.target(group.id, member.id, group.task_targets.get(existing.id, NO_TASKS)),
            records.member_assignment(group.id, member),
        ]
        if existing.id != member.id:
            self.replaced = existing
        return member

    def _check_epoch(self, member: StreamsMember) -> None:
        """Raises ApiError: FENCED_MEMBER_EPOCH, of an epoch in which the member is not and was not just before."""
        told, held = self.beat.epoch, member.assigned
        if told == member.epoch:
            return
        owned = self.beat.owned
        if (
            told < member.epoch
            and told == member.previous_epoch
            and holds_all(owned.active, held.active)
            and holds_all(owned.standby, held.standby)
            and holds_all(owned.warmup, held.warmup)
        ):
            return
        size = "greater" if told > member.epoch else "smaller"
        problem = (
            f"The streams group member has a {size} member epoch ({told}) than the one known by the group coordinator"
            f" ({member.epoch}). The member must abandon all its partitions and rejoin."
        )
        raise ApiError(ErrorCode.FENCED_MEMBER_EPOCH, problem)

    def _updated(self, member: StreamsMember) -> StreamsMember:
        beat = self.beat
        told = beat.rebalance_timeout_ms
        return replace(
            member,
            instance_id=member.instance_id if beat.instance_id is None else beat.instance_id,
            rack=member.rack if beat.rack is None else beat.rack,
            rebalance_timeout_ms=member.rebalance_timeout_ms if told == NOT_GIVEN else told,
            topology_epoch=member.topology_epoch if beat.topology is None else beat.topology.epoch,
            client_id=beat.client_id,
            client_host=beat.client_host,
            process_id=member.process_id if beat.process_id is None else beat.process_id,
            client_tags=member.client_tags if beat.client_tags is None else beat.client_tags,
            endpoint=beat.endpoint if self.joins or beat.endpoint is not None else member.endpoint,
        )

    def _has_changed(self, before: StreamsMember, member: StreamsMember) -> bool:
        """Whether what the member says asks for another assignment; of a static member not everything does."""
        if before == member:
            return False
        self.written.append(records.member_metadata(self.group.id, member))
        if self.beat.instance_id is None:
            return True
        return counting(before) != counting(member)

    # the topology

    def _topology(self) -> Topology:
        told, known = self.beat.topology, self.group.topology
        if known is None:
            if told is None:
                raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)  # Kafka thinks that cannot be
            self.written.append(records.topology(self.group.id, told))
            return told
        if told is not None and told.epoch >= known.epoch and not are_equal(told, known):
            raise invalid("Topology updates are not supported yet.")
        return known

    def _configured(self, topology: Topology) -> ConfiguredTopology:
        """The topology against the topics as they are now."""
        group = self.group
        if group.topology is not None and group.configured is not None and not group.metadata_expired():
            return group.configured
        self.metadata_hash = group.context.topics.hash_of(required_topics(topology))
        is_same = group.topology is not None and self.metadata_hash == group.metadata_hash
        if not is_same or group.configured is None:
            group.configured = configure(topology, group.context.topics)
        group.metadata_refreshed()
        return group.configured

    def _take_offsets(self) -> None:
        group, beat = self.group, self.beat
        offsets, ends = (None if told is None else by_task(told) for told in (beat.task_offsets, beat.task_end_offsets))
        if offsets is not None:
            group.task_offsets[beat.member_id] = offsets
        if ends is not None:
            group.task_end_offsets[beat.member_id] = ends

    # the assignment

    def _await_first_members(self, is_first: bool) -> None:
        group = self.group
        delay_ms = group.context.configs.group(group.id, "streams.initial.rebalance.delay.ms")
        if is_first and delay_ms > 0 and not group.has_timer(MemberTimer.INITIAL_REBALANCE, ""):
            group.set_timer(MemberTimer.INITIAL_REBALANCE, "", self.now_ms + delay_ms)

    def _members_and_targets(self, member: StreamsMember) -> tuple[dict[str, StreamsMember], dict[str, TaskSet]]:
        """The group's as they are with this heartbeat: a static member has its forerunner's target."""
        members = {**self.group.members, member.id: member}
        targets = dict(self.group.task_targets)
        if self.replaced is not None:
            members.pop(self.replaced.id, None)
            target = targets.pop(self.replaced.id, None)
            if target is not None:
                targets[member.id] = target
        return members, targets

    def _reconciled(self, member: StreamsMember, target_epoch: int, target: TaskSet) -> StreamsMember:
        group = self.group
        after = reconcile(group, member, target_epoch, target, self.beat.owned.told)
        if after != member:
            self.written.append(records.member_assignment(group.id, after))
            if after.state is MemberState.UNREVOKED_PARTITIONS:
                group.set_timer(MemberTimer.REBALANCE, after.id, self.now_ms + after.rebalance_timeout_ms)
            else:
                group.cancel_timer(MemberTimer.REBALANCE, after.id)
        if self.replaced is not None:
            group.cancel_timers_of(self.replaced.id)
        return after

    # the answer

    def _answer(
        self,
        before: StreamsMember,
        member: StreamsMember,
        configured: ConfiguredTopology,
        configs: Mapping[str, str],
    ) -> StreamsHeartbeatAnswer:
        group, beat = self.group, self.beat
        if beat.shutdown and group.shutdown_by is None:
            group.shutdown_by = beat.member_id
        has_other_tasks = before.assigned != member.assigned
        if before.endpoint != member.endpoint or (has_other_tasks and member.endpoint is not None):
            group.endpoint_epoch += 1
        endpoints = None
        if group.endpoint_epoch != beat.endpoint_epoch:
            endpoints = partitions_by_endpoint(group, configured, member, self.replaced)
        if configured.problem is not None:
            self.statuses.append(configured.problem)
        if group.shutdown_by is not None:
            self._tell(
                StatusCode.SHUTDOWN_APPLICATION,
                f"Streams group member {group.shutdown_by} encountered a fatal error and requested a shutdown for the"
                " entire application.",
            )
        self._check_tags(member, configs.get(RACK_TAGS, ""))

        def config(name: str) -> int:
            found: int = group.context.configs.group(group.id, name)
            return found

        return StreamsHeartbeatAnswer(
            member.id,
            member.epoch,
            config("streams.heartbeat.interval.ms"),
            config("streams.task.offset.interval.ms"),
            config("streams.acceptable.recovery.lag"),
            self.statuses,
            member.assigned if self.joins or has_other_tasks else None,
            group.endpoint_epoch if self.is_known else 0,
            endpoints,
            configured.missing,
        )

    def _check_tags(self, member: StreamsMember, tags: str) -> None:
        """Tell a member whose tags do not say where it is."""
        if self.beat.version < TAGS_VERSION or not tags:
            return
        missing = [tag for tag in tags.split(",") if tag not in member.client_tags]
        if missing:
            self._tell(
                StatusCode.MISSING_CLIENT_TAGS,
                f"Missing required client tags for rack-aware standby assignment: [{', '.join(missing)}]."
                " Configure them via 'client.tag.<tagKey>' in your Streams config.",
            )


def counting(member: StreamsMember) -> tuple[int, str | None, Mapping[str, str], str]:
    """What of a static member asks for another assignment when it changes."""
    return member.topology_epoch, member.rack, member.client_tags, member.process_id


def nonempty(tasks: TaskSet) -> list[dict[str, frozenset[int]]]:
    return [{name: numbers for name, numbers in of_role.items() if numbers} for of_role in tasks]


def check_tasks(configured: ConfiguredTopology, owned: OwnedTasks | None) -> None:
    """Refuse tasks that the topology does not have. Raises ApiError: INVALID_REQUEST."""
    assert configured.subtopologies is not None
    for name, numbers in owned or ():
        subtopology = configured.subtopologies.get(name)
        if subtopology is None:
            raise invalid(f"Subtopology {name} does not exist in the topology.")
        for number in numbers:
            if not 0 <= number < subtopology.tasks:
                raise invalid(
                    f"Task {number} for subtopology {name} is invalid."
                    f" Number of tasks for this subtopology: {subtopology.tasks}"
                )


def by_task(told: ToldOffsets) -> TaskOffsets:
    """Raises ApiError: INVALID_REQUEST, a task that is told twice."""
    found: dict[str, dict[int, int]] = {}
    for name, number, offset in told:
        of_subtopology = found.setdefault(name, {})
        if number in of_subtopology:
            problem = f"Task offsets contain a duplicate entry for subtopology {name} and partition {number}."
            raise invalid(problem)
        of_subtopology[number] = offset
    return found


def invalid(problem: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, problem)
