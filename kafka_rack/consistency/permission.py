"""Which anomalies Kafka permits under which settings, each with the reason in a sentence.

Source: Kafka's documentation of acks, enable.idempotence, max.in.flight.requests.per.connection, isolation.level,
auto.offset.reset, unclean.leader.election.enable and cleanup.policy; KIP-98, KIP-101, KIP-320.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

ACKS_NAMES = {-1: "acks=all", 0: "acks=0", 1: "acks=1"}


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """What clients and topics were set to, Kafka's defaults; an operation that says its own goes before.

    Args:
        acks: -1 (all), 0 or 1.
        is_idempotent: enable.idempotence.
        max_in_flight: max.in.flight.requests.per.connection.
        isolation_level: of polls.
        auto_offset_reset: what a consumer does whose position is no longer in the log.
        unclean_leader_election: whether a replica outside the ISR may lead.
        deletes_records: whether retention or DeleteRecords may remove records while the history runs.
        compacts: whether a topic's cleanup.policy has compact.
        reads_to_end: whether readers went on until nothing more came; then nothing acknowledged may stay unseen.
        shows_retries: whether each attempt is a Send, as on the wire; a client's own history has one Send a record.
    """

    acks: int = -1
    is_idempotent: bool = True
    max_in_flight: int = 5
    isolation_level: Literal["read_uncommitted", "read_committed"] = "read_uncommitted"
    auto_offset_reset: Literal["latest", "earliest", "none"] = "latest"
    unclean_leader_election: bool = False
    deletes_records: bool = False
    compacts: bool = False
    reads_to_end: bool = False
    shows_retries: bool = False

    def __post_init__(self) -> None:
        if self.acks not in ACKS_NAMES:
            raise ValueError(f"acks: expected -1, 0 or 1, got {self.acks!r}")
        if self.isolation_level not in {"read_uncommitted", "read_committed"}:
            raise ValueError(
                f"isolation_level: expected 'read_uncommitted' or 'read_committed', got {self.isolation_level!r}"
            )
        if self.auto_offset_reset not in {"latest", "earliest", "none"}:
            raise ValueError(
                f"auto_offset_reset: expected 'latest', 'earliest' or 'none', got {self.auto_offset_reset!r}"
            )


class Permission(NamedTuple):
    """Whether Kafka permits it, and why or why not."""

    is_permitted: bool
    reason: str


def permitted(reason: str) -> Permission:
    return Permission(True, reason)


def forbidden(reason: str) -> Permission:
    return Permission(False, reason)


UNCLEAN = permitted("unclean.leader.election.enable=true: a leader without them drops acknowledged records")


def of_lost_write(settings: HistorySettings, acks: int | None, *, is_below_log_start: bool = False) -> Permission:
    if is_below_log_start:
        return permitted("the log starts behind it: retention or DeleteRecords removed it")
    acks = settings.acks if acks is None else acks
    if acks != -1:
        return permitted(
            f"{ACKS_NAMES[acks]}: acknowledged before the in-sync replicas had it, so a failover may drop it"
        )
    if settings.unclean_leader_election:
        return UNCLEAN
    if settings.deletes_records:
        return permitted("retention or DeleteRecords may have removed it")
    if settings.compacts:
        return permitted("cleanup.policy=compact: a later record of its key replaces it")
    return forbidden("acks=all without unclean leader election: acknowledged records stay")


def of_unseen(settings: HistorySettings, acks: int | None, *, is_below_log_start: bool) -> Permission:
    if not settings.reads_to_end:
        return permitted("no reader came so far")
    return of_lost_write(settings, acks, is_below_log_start=is_below_log_start)


def of_duplicate(settings: HistorySettings, is_idempotent: bool | None, *, attempts: int, places: int) -> Permission:
    if settings.is_idempotent if is_idempotent is None else is_idempotent:
        return forbidden("enable.idempotence=true: a broker stores a retried batch once")
    if settings.shows_retries and 0 < attempts < places:
        return forbidden(f"it was sent {attempts} time{'s' if attempts > 1 else ''} and stored {places} times")
    return permitted("enable.idempotence=false: a retry is stored again")


def of_inconsistent_offsets(settings: HistorySettings, *, acks: int | None, both_read: bool) -> Permission:
    """``acks`` is that of the record that was acknowledged there and not read; ``both_read``: both were read."""
    if settings.unclean_leader_election:
        return UNCLEAN
    acks = settings.acks if acks is None else acks
    if not both_read and acks != -1:
        return permitted(
            f"{ACKS_NAMES[acks]}: a failover may give the offset of what was acknowledged to another record"
        )
    return forbidden("without unclean leader election what is below the high watermark keeps its offset")


def of_aborted_read(isolation_level: str, *, is_transactional: bool) -> Permission:
    if not is_transactional:
        return forbidden("a send that failed leaves no record")
    if isolation_level == "read_uncommitted":
        return permitted("isolation.level=read_uncommitted: aborted records are read too")
    return forbidden("isolation.level=read_committed: records of aborted transactions are not read")


def of_precommitted_read(isolation_level: str) -> Permission:
    if isolation_level == "read_uncommitted":
        return permitted("isolation.level=read_uncommitted: records are read before their transaction ends")
    return forbidden("isolation.level=read_committed: records are read once their transaction is committed")


def of_poll_skip(settings: HistorySettings, *, is_internal: bool) -> Permission:
    if settings.compacts:
        return permitted("cleanup.policy=compact: a later record of its key replaces it")
    if settings.deletes_records and not is_internal and settings.auto_offset_reset != "none":
        return permitted(
            f"auto.offset.reset={settings.auto_offset_reset}: the position was before the start of the log"
        )
    if settings.unclean_leader_election and not is_internal and settings.auto_offset_reset == "latest":
        return permitted("unclean.leader.election.enable=true and auto.offset.reset=latest: the position was lost")
    return forbidden("a consumer that does not seek is given each record from its position on")


def of_nonmonotonic_poll(settings: HistorySettings, *, is_internal: bool) -> Permission:
    if is_internal:
        return forbidden("records of a partition come in the order of their offsets")
    if settings.unclean_leader_election:
        return permitted("unclean.leader.election.enable=true: a shorter log takes consumers back")
    return forbidden("a consumer that neither seeks nor loses its partitions does not go back")


SEND_SKIP = permitted("producers write to a partition beside each other, transactional ones too")


def of_nonmonotonic_send(
    settings: HistorySettings, *, acks: int | None, is_idempotent: bool | None, is_concurrent: bool
) -> Permission:
    if settings.unclean_leader_election:
        return UNCLEAN
    acks = settings.acks if acks is None else acks
    if acks != -1:
        return permitted(f"{ACKS_NAMES[acks]}: a failover may drop the earlier record and give lower offsets again")
    if not is_concurrent:
        return forbidden("the earlier one was acknowledged before the later one was sent")
    if settings.is_idempotent if is_idempotent is None else is_idempotent:
        return forbidden("enable.idempotence=true: a producer's batches keep their order")
    if settings.max_in_flight == 1:
        return forbidden("max.in.flight.requests.per.connection=1: one send at a time")
    return permitted("enable.idempotence=false: a retry of one send may come behind another")


DOUBLE_OWNERSHIP = forbidden("a group gives each partition to one member at a time")
