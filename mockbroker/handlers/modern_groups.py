"""What the APIs of groups whose coordinator assigns have in common: of the consumer, share and streams protocols.

Reads cluster.groups.
Errors: UNSUPPORTED_VERSION where the cluster has no such groups; of each described group INVALID_GROUP_ID,
NOT_COORDINATOR, GROUP_ID_NOT_FOUND, which has a message; of share groups the one before it has one too.
Source: KIP-848, KIP-932, KIP-1071; KafkaApis and GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol, TypeVar

from mockbroker.call import Call
from mockbroker.handlers.find_coordinator import check_coordinator
from mockbroker.handlers.groups import ALL_GROUP_OPERATIONS
from mockbroker.state.errors import ApiError
from mockbroker.state.features import feature_level
from mockbroker.state.groups.coordinator import check_group_id
from mockbroker.state.groups.modern.group import ModernGroup
from protocol.error_codes import ErrorCode

SomeGroup = TypeVar("SomeGroup", bound=ModernGroup[Any])
Entry = TypeVar("Entry", bound="GroupEntry")


class GroupEntry(Protocol):
    """What the three responses to Describe requests have of a group, as far as it is set here."""

    authorized_operations: int


class GroupDescribeRequest(Protocol):
    """What the three Describe requests have."""

    group_ids: list[str]
    include_authorized_operations: bool


def check_protocol(call: Call, feature: str, protocol: str) -> None:
    """Raises ApiError: UNSUPPORTED_VERSION, where the cluster has no groups of this protocol."""
    protocols = call.cluster.configs.broker(None, "group.coordinator.rebalance.protocols")
    if feature_level(call.cluster, feature) < 1 or protocol not in protocols:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)


def described_groups(
    call: Call,
    request: GroupDescribeRequest,
    kind: type[SomeGroup],
    entry_class: Callable[..., Entry],
    complete: Callable[[SomeGroup, Entry], None],
    *,
    errors_with_message: Collection[int] = (ErrorCode.GROUP_ID_NOT_FOUND,),
) -> list[Entry]:
    """An entry a group, in the order asked for; ``complete`` adds members, and what only groups of its kind have."""
    entries: list[Entry] = []
    for group_id in request.group_ids:
        try:
            check_group_id(group_id)
            check_coordinator(call, group_id)
            group = call.cluster.groups.get_as(kind, group_id)
        except ApiError as error:
            message = error.message if error.code in errors_with_message else None
            entries.append(entry_class(group_id=group_id, error_code=error.code, error_message=message))
            continue
        entry = entry_class(
            group_id=group_id,
            group_state=group.state_name,
            group_epoch=group.epoch,
            assignment_epoch=group.assignment_epoch,
            assignor_name=group.assignor_name,
        )
        if request.include_authorized_operations:
            entry.authorized_operations = ALL_GROUP_OPERATIONS
        complete(group, entry)
        entries.append(entry)
    return entries
