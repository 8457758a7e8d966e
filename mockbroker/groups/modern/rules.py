"""The differences between releases in groups whose coordinator assigns.

Source: ModernGroup, ConsumerGroup, CurrentAssignmentBuilder and GroupMetadataManager of Apache Kafka 4.0.1, 4.1.0,
4.2.0, 4.3.0 and 4.4.0.
"""

from __future__ import annotations

from dataclasses import dataclass

from mockbroker.state.releases import is_since


@dataclass(slots=True, frozen=True)
class GroupRules:
    """The rules of the emulated release; the defaults are the newest release's.

    Attributes:
        first_epoch: the epoch of a new group without members; the first heartbeat always increments 0.
        unsubscribing_counts_at_once: a member revokes the partitions of topics that it leaves within its epoch, and
            can get partitions again that it has just revoked; in earlier releases its epoch advances as it revokes.
        commits_by_assignment_epoch: an older epoch can commit the partitions held since then (KIP-1251).
        assignor_counts: a change of the assignor that most members prefer takes effect at once.
        static_members_replace_in_full_groups: a static member can replace itself in a full group.
        empty_groups_are_assigned: when the last member leaves, the target's epoch follows the group's.
    """

    first_epoch: int = 1
    unsubscribing_counts_at_once: bool = True
    commits_by_assignment_epoch: bool = True
    assignor_counts: bool = True
    static_members_replace_in_full_groups: bool = True
    empty_groups_are_assigned: bool = True


def rules_of(release: str | None) -> GroupRules:
    """The rules of a release, by default of the newest.

    >>> rules_of("4.1").first_epoch, rules_of(None).first_epoch
    (0, 1)
    """
    since_42, since_43, since_44 = (is_since(release, one) for one in ("4.2", "4.3", "4.4"))
    return GroupRules(int(since_43), since_42, since_43, since_44, since_44, since_44)
