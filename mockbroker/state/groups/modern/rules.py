"""What groups whose coordinator assigns did otherwise in earlier releases.

Source: ModernGroup, ConsumerGroup, CurrentAssignmentBuilder and GroupMetadataManager of Apache Kafka 4.0.1, 4.1.0,
4.2.0, 4.3.0 and 4.4.0.
"""

from __future__ import annotations

from dataclasses import dataclass

from mockbroker.state.kraft_releases import is_since


@dataclass(slots=True, frozen=True)
class GroupRules:
    """How the emulated release has it; the defaults are the newest's.

    Attributes:
        first_epoch: of a group that nobody has joined yet; 0 is raised by the first heartbeat, whatever it says.
        unsubscribing_counts_at_once: a member gives up the partitions of topics that it leaves within its epoch, and
            what it has just given up it can be given again; before, it was one epoch on when it had given up.
        commits_by_assignment_epoch: an older epoch commits what the member has had since then (KIP-1251).
        assignor_counts: another assignor that most members ask for is used at once.
        static_members_replace_in_full_groups: a static member takes its own place in a group that is full.
        empty_groups_are_assigned: when the last member leaves, the target's epoch follows the group's.
    """

    first_epoch: int = 1
    unsubscribing_counts_at_once: bool = True
    commits_by_assignment_epoch: bool = True
    assignor_counts: bool = True
    static_members_replace_in_full_groups: bool = True
    empty_groups_are_assigned: bool = True


def rules_of(release: str | None) -> GroupRules:
    """The rules of a release, the newest's where none is emulated.

    >>> rules_of("4.1").first_epoch, rules_of(None).first_epoch
    (0, 1)
    """
    since_44 = is_since(release, "4.4")
    return GroupRules(
        first_epoch=1 if is_since(release, "4.3") else 0,
        unsubscribing_counts_at_once=is_since(release, "4.2"),
        commits_by_assignment_epoch=is_since(release, "4.3"),
        assignor_counts=since_44,
        static_members_replace_in_full_groups=since_44,
        empty_groups_are_assigned=since_44,
    )
