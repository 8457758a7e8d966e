"""What a classic group's deadlines are about."""

from __future__ import annotations

from enum import Enum


class GroupTimer(Enum):
    """What a group's deadline is about."""

    SESSION = "a member's next sign of life"
    JOIN = "all members have joined"
    SYNC = "all members have asked for their assignment"


TimerKey = tuple[str, GroupTimer, str]  # group id, what for, member id or empty
