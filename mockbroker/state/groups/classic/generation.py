"""A group's generation: who belongs to it and by which protocol, and what each member is told of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mockbroker.state.groups.classic.answers import NO_LEADER, JoinAnswer, JoinedMember, SyncAnswer
from mockbroker.state.groups.classic.members import ClassicGroupMember
from mockbroker.state.groups.classic.states import ClassicGroupState
from protocol.error_codes import ErrorCode


@dataclass(slots=True, eq=False, kw_only=True)
class Generation:
    """The generation that a group is in; members in the order they joined."""

    state: ClassicGroupState = ClassicGroupState.EMPTY
    state_since_ms: int = 0
    generation: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    members: dict[str, ClassicGroupMember] = field(default_factory=dict)

    def answer_for(self, member: ClassicGroupMember) -> JoinAnswer:
        """The generation that runs; until the assignment is there the leader is told the members too."""
        tells_members = member.id == self.leader_id and self.state is ClassicGroupState.COMPLETING
        return self.join_answer(member, members=self.joined_members() if tells_members else ())

    def join_answer(self, member: ClassicGroupMember, leader: str | None = None, **more: Any) -> JoinAnswer:
        """The generation that runs, with another leader if one is given."""
        return JoinAnswer(
            member.id,
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=leader or self.leader_id or NO_LEADER,
            **more,
        )

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """The members with what they said for the protocol that was chosen."""
        return tuple(
            JoinedMember(member.id, member.instance_id, member.metadata(self.protocol_name))
            for member in self.members.values()
        )

    def assignment_of(self, member: ClassicGroupMember) -> SyncAnswer:
        """What the leader assigned to a member."""
        return SyncAnswer(ErrorCode.NONE, self.protocol_type, self.protocol_name, member.assignment)
