"""Heartbeats of Streams group members: joining, staying and leaving; the first member sends the topology.

Source: GroupMetadataManager.streamsGroupHeartbeat and streamsGroupLeave, GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from kafka_rack.java import hash_order, string_hash
from mockbroker.groups.coordinator import Groups
from mockbroker.groups.kind import GroupTimer, Sender
from mockbroker.groups.modern.heartbeat import MemberUpdate, check_epoch, check_filled
from mockbroker.groups.modern.members import JOIN_EPOCH, NO_TIMEOUT, STATIC_LEAVE_EPOCH, parts_of
from mockbroker.state.errors import ApiError, invalid_request
from mockbroker.streams_groups.assigning import RACK_TAGS, assignment_configs, computed_targets
from mockbroker.streams_groups.endpoints import partitions_by_endpoint
from mockbroker.streams_groups.group import (
    NO_TASKS,
    UNKNOWN_EPOCH,
    StreamsGroup,
    StreamsMember,
    Task,
    TaskOffsets,
    TaskSet,
    tasks_as,
)
from mockbroker.streams_groups.reconciliation import StreamsStep
from mockbroker.streams_groups.topology import (
    ConfiguredTopology,
    Status,
    StatusCode,
    TopicInfo,
    Topology,
    are_equal,
    configure,
    required_topics,
    status,
)
from protocol.apis.streams_group import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse
from protocol.error_codes import ErrorCode

TAGS_VERSION = 1  # of the request: has the status MISSING_CLIENT_TAGS
Request = StreamsGroupHeartbeatRequest
Response = StreamsGroupHeartbeatResponse


def check_heartbeat(beat: Request) -> None:
    """Check the fields of a heartbeat. Raises ApiError: INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY."""
    topology = beat.topology
    if topology is not None and any(one.source_topic_regex for one in topology.subtopologies):
        raise invalid_request("Regular expressions for source topics are not supported yet.")
    check_filled(beat, "member_id", "group_id", "instance_id", "rack_id")
    if beat.member_epoch == JOIN_EPOCH:
        _check_join(beat)
    problem = f"MemberEpoch is {beat.member_epoch}, but must be greater than or equal to -2."
    check_epoch(beat, STATIC_LEAVE_EPOCH, problem)
    if len({tasks is None for tasks in owned_by(beat)}) > 1:
        raise invalid_request("If one task-type is non-null, all must be non-null.")
    if beat.member_epoch != JOIN_EPOCH and topology is not None:
        raise invalid_request("Topology can only be provided when (re-)joining.")


def _check_join(beat: Request) -> None:
    if beat.rebalance_timeout_ms == NO_TIMEOUT:
        raise invalid_request("RebalanceTimeoutMs must be provided in first request.")
    for tasks, name in zip(owned_by(beat), ("ActiveTasks", "StandbyTasks", "WarmupTasks"), strict=True):
        if tasks is None or tasks:
            raise invalid_request(f"{name} must be empty when (re-)joining.")
    if beat.topology is None:
        raise invalid_request("Topology must be non-null when (re-)joining.")
    for one in beat.topology.subtopologies:
        for topic in one.state_changelog_topics:
            if topic.partitions:
                raise ApiError(
                    ErrorCode.STREAMS_INVALID_TOPOLOGY,
                    f"Changelog topic {topic.name} must have an undefined partition count,"
                    f" but it is set to {topic.partitions}.",
                )


def owned_by(beat: Request) -> tuple[list[Request.TaskIds] | None, ...]:
    """The tasks that the member reports as owned, by role; None for a role that it does not report."""
    return (beat.active_tasks, beat.standby_tasks, beat.warmup_tasks)


def take_heartbeat(
    groups: Groups, beat: Request, sender: Sender, now_ms: int
) -> tuple[Response, Mapping[str, TopicInfo]]:
    """Handle a heartbeat; returns the response and the missing topics.

    Raises ApiError: GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH,
        FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID, INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY.
    """
    if beat.member_epoch < JOIN_EPOCH:
        group = groups.get_as(StreamsGroup, beat.group_id)
        if beat.shutdown_application and group.shutdown_by is None:
            group.shutdown_by = beat.member_id
        group.leave(beat, now_ms)
        return Response(member_id=beat.member_id, member_epoch=beat.member_epoch, status=[]), {}
    group = groups.find_or_make(StreamsGroup, beat.group_id, create=beat.member_epoch == JOIN_EPOCH)
    return _Beat(groups, group, beat, sender, now_ms).taken()


class _Beat(MemberUpdate[StreamsMember]):
    """A heartbeat that joins or stays."""

    group: StreamsGroup

    def __init__(self, groups: Groups, group: StreamsGroup, beat: Request, sender: Sender, now_ms: int) -> None:
        super().__init__(group, now_ms)
        self.beat, self.sender = beat, sender
        self.joins = beat.member_epoch == JOIN_EPOCH
        self.owned = [None if tasks is None else parts_of(tasks) for tasks in owned_by(beat)]
        self.is_known = groups.find(group.id) is group
        self.statuses: list[Status] = []
        self.metadata_hash = group.metadata_hash

    def taken(self) -> tuple[Response, Mapping[str, TopicInfo]]:
        group = self.group
        before = self._member()
        member = self._updated(before)
        has_changed = self._has_changed(before, member)
        topology = self._topology()
        if group.topology is not None and member.topology_epoch < group.topology.epoch:
            self._add_status(
                StatusCode.STALE_TOPOLOGY,
                f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch"
                f" {group.topology.epoch}.",
            )
        configured = self.configured = self._configured(topology)
        validated = topology.epoch if configured.is_ready else UNKNOWN_EPOCH
        if configured.is_ready:
            for owned in owned_by(self.beat):
                check_tasks(configured, owned or ())
        self._take_offsets()
        configs = self.configs = assignment_configs(group)
        recorded = (group.metadata_hash, group.metadata.validated_topology_epoch, group.assignment_configs)
        recompute = has_changed or (self.metadata_hash, validated, configs) != recorded
        keeps_target = False
        if not recompute and group.state_name == "Stable":
            keeps_target = group.target_of(member.id) != member.assigned.without_epochs
        epoch = group.epoch
        if recompute or keeps_target:
            epoch += 1
            self.records.append(group.metadata_record(epoch, self.metadata_hash, validated, configs))
        self._await_first_members()
        member = self._reconciled(member, *self._assign(member, epoch, keeps_target=keeps_target))
        answer = self._answer(before, member)
        self.write(member)
        if not self.is_known:  # Kafka loads a new group from its records, which lack some fields
            group.forget_unrecorded()
        return answer, configured.missing

    def _add_status(self, code: int, detail: str) -> None:
        self.statuses.append(status(code, detail))

    # the member

    def _member(self) -> StreamsMember:
        """The member before this heartbeat, or a new one if it joins; a static one replaces its predecessor."""
        group, beat = self.group, self.beat
        if self.joins and group.static_member(beat.instance_id) is None:
            group.check_capacity(beat.member_id)
        return self.member(beat.member_id, beat.instance_id, beat.member_epoch, self._holds_owned)

    def _holds_owned(self, member: StreamsMember) -> bool:
        return all(
            owned is not None and owned.issubset(held) for owned, held in zip(self.owned, member.assigned, strict=True)
        )

    def _updated(self, member: StreamsMember) -> StreamsMember:
        beat, endpoint = self.beat, self.beat.user_endpoint
        if self.joins:
            member = replace(member, endpoint=None)
        return member.after_request(
            beat,
            self.sender,
            topology_epoch=None if beat.topology is None else beat.topology.epoch,
            client_tags=None if beat.client_tags is None else {tag.key: tag.value for tag in beat.client_tags},
            endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
        )

    def _has_changed(self, before: StreamsMember, member: StreamsMember) -> bool:
        """True if the member's update requires a new assignment; for a static member only some fields do."""
        if before == member:
            return False
        self.records.append(self.group.member_record(member))
        return self.beat.instance_id is None or counting(before) != counting(member)

    # the topology

    def _topology(self) -> Topology:
        known = self.group.topology
        sent = None
        if self.beat.topology is not None:
            sent = msgspec.convert(self.beat.topology, Topology, from_attributes=True)  # records have the same fields
        if known is None:
            if sent is None:
                raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)  # unreachable in Kafka's code
            self.records.append(self.group.record("Topology", sent))
            return sent
        if sent is not None and sent.epoch >= known.epoch and not are_equal(sent, known):
            raise invalid_request("Topology updates are not supported yet.")
        return known

    def _configured(self, topology: Topology) -> ConfiguredTopology:
        """The topology with partition counts from the current topics."""
        group = self.group
        if group.topology is not None and group.configured is not None and not group.metadata_expired():
            return group.configured
        self.metadata_hash = group.groups.topics.hash_of(required_topics(topology))
        is_same = group.topology is not None and self.metadata_hash == group.metadata_hash
        if not is_same or group.configured is None:
            group.configured = configure(topology, group.groups.topics)
        group.metadata_refreshed()
        return group.configured

    def _take_offsets(self) -> None:
        group, beat = self.group, self.beat
        offsets, ends = (None if sent is None else by_task(sent) for sent in (beat.task_offsets, beat.task_end_offsets))
        if offsets is not None:
            group.task_offsets[beat.member_id] = offsets
        if ends is not None:
            group.task_end_offsets[beat.member_id] = ends

    # the assignment

    def _await_first_members(self) -> None:
        group = self.group
        delay_ms = group.config("streams.initial.rebalance.delay.ms")
        if not group.members and delay_ms > 0 and not group.has_timer(GroupTimer.INITIAL_REBALANCE, ""):
            group.set_timer(GroupTimer.INITIAL_REBALANCE, "", self.now_ms + delay_ms)

    def _assign(self, member: StreamsMember, epoch: int, *, keeps_target: bool) -> tuple[int, TaskSet]:
        """The epoch of the target, and the member's part; computed again unless a delay or interval postpones it.

        ``keeps_target``: the epoch was raised for members that have not reached their targets, which do not change.
        """
        group = self.group
        if group.has_timer(GroupTimer.INITIAL_REBALANCE, ""):
            delay = "Assignment delayed due to the configured initial rebalance delay."
            self._add_status(StatusCode.ASSIGNMENT_DELAYED, delay)
            return group.assignment_epoch, NO_TASKS
        if keeps_target and group.assignment_epoch == group.epoch:
            self.records.append(group.target_epoch_record(epoch, group.assignment_timestamp_ms))
            return epoch, group.target_of((self.replaced or member).id)
        target_epoch, target = self.assign(
            member, epoch, lambda members, _: computed_targets(group, members, self.configured, self.configs)
        )
        if target_epoch < epoch:
            delay = "Assignment delayed due to the configured assignment interval."
            self._add_status(StatusCode.ASSIGNMENT_DELAYED, delay)
        return target_epoch, target

    def _reconciled(self, member: StreamsMember, target_epoch: int, target: TaskSet) -> StreamsMember:
        owned = None if None in self.owned else self.owned
        return self.moved(member, StreamsStep(self.group, member, target_epoch, target, owned).reconciled())

    # the response

    def _answer(self, before: StreamsMember, member: StreamsMember) -> Response:
        group, beat = self.group, self.beat
        if beat.shutdown_application and group.shutdown_by is None:
            group.shutdown_by = beat.member_id
        has_other_tasks = before.assigned != member.assigned
        if before.endpoint != member.endpoint or (has_other_tasks and member.endpoint is not None):
            group.endpoint_epoch += 1
        endpoints = None
        if group.endpoint_epoch != beat.endpoint_information_epoch:
            endpoints = partitions_by_endpoint(group, self.configured, member, self.replaced)
        if self.configured.problem is not None:
            self._add_status(self.configured.problem.status_code, self.configured.problem.status_detail)
        if group.shutdown_by is not None:
            self._add_status(
                StatusCode.SHUTDOWN_APPLICATION,
                f"Streams group member {group.shutdown_by} encountered a fatal error and requested a shutdown for the"
                " entire application.",
            )
        self._check_tags(member, self.configs.get(RACK_TAGS, ""))
        tasks: dict[str, Any] = {}
        if self.joins or has_other_tasks:
            order = partial(hash_order, hash_of=string_hash)
            tasks = tasks_as(Response.TaskIds, member.assigned.without_epochs, order=order)
        return Response(
            member_id=member.id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=group.config("streams.heartbeat.interval.ms"),
            task_offset_interval_ms=group.config("streams.task.offset.interval.ms"),
            acceptable_recovery_lag=group.config("streams.acceptable.recovery.lag"),
            status=self.statuses,
            endpoint_information_epoch=group.endpoint_epoch if self.is_known else 0,
            partitions_by_user_endpoint=endpoints,
            **tasks,
        )

    def _check_tags(self, member: StreamsMember, tags: str) -> None:
        """Add a status if the member lacks client tags for rack-aware assignment."""
        if self.sender.version < TAGS_VERSION or not tags:
            return
        missing = [tag for tag in tags.split(",") if tag not in member.client_tags]
        if missing:
            self._add_status(
                StatusCode.MISSING_CLIENT_TAGS,
                f"Missing required client tags for rack-aware standby assignment: [{', '.join(missing)}]."
                " Configure them via 'client.tag.<tagKey>' in your Streams config.",
            )


def counting(member: StreamsMember) -> tuple[int, str | None, Mapping[str, str], str]:
    """The fields of a static member whose change requires a new assignment."""
    return member.topology_epoch, member.rack, member.client_tags, member.process_id


def check_tasks(configured: ConfiguredTopology, owned: Iterable[Request.TaskIds]) -> None:
    """Raises ApiError: INVALID_REQUEST for tasks that the topology does not have."""
    assert configured.subtopologies is not None
    for one in owned:
        name = one.subtopology_id
        subtopology = configured.subtopologies.get(name)
        if subtopology is None:
            raise invalid_request(f"Subtopology {name} does not exist in the topology.")
        for number in one.partitions:
            if not 0 <= number < subtopology.tasks:
                raise invalid_request(
                    f"Task {number} for subtopology {name} is invalid."
                    f" Number of tasks for this subtopology: {subtopology.tasks}"
                )


def by_task(sent: Iterable[Request.TaskOffset]) -> TaskOffsets:
    """Offsets by task. Raises ApiError: INVALID_REQUEST for a repeated task."""
    found: dict[Task, int] = {}
    for one in sent:
        if (one.subtopology_id, one.partition) in found:
            raise invalid_request(
                f"Task offsets contain a duplicate entry for subtopology {one.subtopology_id}"
                f" and partition {one.partition}."
            )
        found[one.subtopology_id, one.partition] = one.offset
    return found
