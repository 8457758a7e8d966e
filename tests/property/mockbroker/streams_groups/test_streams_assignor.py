"""The sticky assignor of tasks, held to what it promises for any topology and members."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mockbroker.streams_groups.group import HeldTasks, StreamsMember, TaskSet
from mockbroker.streams_groups.sticky_assignor import assign_tasks
from mockbroker.streams_groups.topology import ConfiguredSubtopology, Subtopology

STATELESS, STATEFUL = Subtopology(), Subtopology(state_changelog_topics=[Subtopology.TopicInfo(name="counts")])
TOPOLOGIES = st.dictionaries(
    st.sampled_from("0123"),
    st.builds(ConfiguredSubtopology, st.integers(1, 9), st.sampled_from((STATELESS, STATEFUL))),
    min_size=1,
)
PROCESSES = st.dictionaries(st.sampled_from([f"member-{n}" for n in range(8)]), st.sampled_from("pqrs"), min_size=1)


def again(assigned: dict[str, TaskSet], processes: dict[str, str]) -> dict[str, StreamsMember]:
    """Members that have what they were given."""
    held = {member: HeldTasks(dict.fromkeys(found.active, 1), found.standby) for member, found in assigned.items()}
    return {
        member: StreamsMember(id=member, process_id=process, assigned=held.get(member, HeldTasks()))
        for member, process in processes.items()
    }


@given(TOPOLOGIES, PROCESSES, st.integers(0, 3))
def test_each_task_is_active_once_and_standbys_are_in_processes_of_their_own(topology, processes, replicas):
    found = assign_tasks(topology, again({}, processes), {}, replicas)
    assert found.keys() == processes.keys()
    everything = [(name, number) for name, one in topology.items() for number in range(one.tasks)]
    assert sorted(task for one in found.values() for task in one.active) == sorted(everything)
    for name, number in everything:
        at = [
            processes[member]
            for member, one in found.items()
            for role in (one.active, one.standby)
            if (name, number) in role
        ]
        assert len(at) == len(set(at)), f"{name}_{number} is at {at}"
        wanted = 1 + replicas if topology[name].is_stateful else 1
        assert len(at) == min(wanted, len(set(processes.values())))


@given(TOPOLOGIES, st.sets(st.sampled_from([f"member-{n}" for n in range(8)]), min_size=1))
def test_members_in_processes_of_their_own_have_equally_many_active_tasks(topology, members):
    found = assign_tasks(topology, again({}, {member: member for member in members}), {}, 0)
    counts = [len(one.active) for one in found.values()]
    assert max(counts) - min(counts) <= 1


@given(TOPOLOGIES, PROCESSES)
def test_nothing_moves_while_nothing_changes(topology, processes):
    first = assign_tasks(topology, again({}, processes), {}, 0)
    second = assign_tasks(topology, again(first, processes), {}, 0)
    third = assign_tasks(topology, again(second, processes), {}, 0)
    assert third == second


@given(TOPOLOGIES, st.sets(st.sampled_from([f"member-{n}" for n in range(8)]), min_size=2))
def test_when_one_leaves_the_others_keep_what_they_have(topology, members):
    processes = {member: member for member in members}
    before = assign_tasks(topology, again({}, processes), {}, 0)
    gone = min(members)
    after = assign_tasks(topology, again(before, {one: one for one in members if one != gone}), {}, 0)
    assert all(before[one].active <= after[one].active for one in after)
