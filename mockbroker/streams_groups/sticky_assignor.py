"""Kafka's ``sticky`` assignor of tasks: balances load, and leaves tasks where they were as far as that allows.

An active task goes to its previous owner, else to a member with its standby, else to the least loaded process. Standbys
of stateful tasks go to processes that do not have the task.

Source: StickyTaskAssignor and ProcessState, Apache Kafka 4.4. Its choices among equals depend on Java's hash tables
and heaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kafka_rack.java import HashTable, hash_order, string_hash
from mockbroker.streams_groups.group import StreamsMember, Task, TaskSet
from mockbroker.streams_groups.topology import ConfiguredSubtopology

Item = TypeVar("Item")


def assign_tasks(
    subtopologies: Mapping[str, ConfiguredSubtopology],
    members: Mapping[str, StreamsMember],
    offsets: Mapping[str, Mapping[Task, int]],
    standby_replicas: int,
) -> dict[str, TaskSet]:
    """The tasks by member id, of at least one member; includes members without tasks.

    ``offsets`` are those of members' stores, by member id and task.

    >>> from mockbroker.streams_groups.topology import Subtopology
    >>> members = {name: StreamsMember(id=name, process_id=name) for name in ("p", "q")}
    >>> found = assign_tasks({"0": ConfiguredSubtopology(3, Subtopology())}, members, {}, standby_replicas=0)
    >>> sorted(found["p"].active), sorted(found["q"].active)
    ([('0', 0), ('0', 2)], [('0', 1)])
    """
    assignment = _Assignment(subtopologies, members, offsets, standby_replicas)
    tasks = [(name, number) for name, one in subtopologies.items() for number in range(one.tasks)]
    assignment.assign_active(sorted(tasks, key=lambda task: (task[1], task[0])))
    if standby_replicas:
        assignment.assign_standbys([task for task in tasks if subtopologies[task[0]].is_stateful])
    return {
        member_id: TaskSet(frozenset(assignment.active[member_id]), frozenset(assignment.standby[member_id]))
        for member_id in members
    }


class JavaHeap(Generic[Item]):
    """``java.util.PriorityQueue``: the order of equal items depends on how the heap has grown.

    >>> heap = JavaHeap(len, ("aa", "b", "c"))
    >>> heap.poll(), heap.poll(), heap.poll(), heap.poll()
    ('b', 'c', 'aa', None)
    """

    def __init__(self, key: Callable[[Item], float], items: Iterable[Item] = ()) -> None:
        self.key = key
        self.items: list[Item] = []
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        items, at = self.items, len(self.items)
        items.append(item)
        while at:
            parent = (at - 1) // 2
            if self.key(item) >= self.key(items[parent]):
                break
            items[at] = items[parent]
            at = parent
        items[at] = item

    def poll(self) -> Item | None:
        """Remove and return the least item, None if the heap is empty."""
        items = self.items
        if len(items) < 2:
            return items.pop() if items else None
        least, last = items[0], items.pop()
        at = 0
        while children := range(2 * at + 1, min(2 * at + 3, len(items))):
            child = min(children, key=lambda place: self.key(items[place]))
            if self.key(last) <= self.key(items[child]):
                break
            items[at] = items[child]
            at = child
        items[at] = last
        return least


@dataclass(slots=True, eq=False)
class _Process:
    """The members of one process, with the number of tasks assigned to each."""

    counts: dict[str, int] = field(default_factory=dict)
    tasks: set[Task] = field(default_factory=set)
    by_load: JavaHeap[str] | None = None

    @property
    def load(self) -> float:
        return sum(self.counts.values()) / len(self.counts)


@dataclass(slots=True, eq=False)
class _Quota:
    """The tasks of the members that may get more: one that reaches its share no longer counts."""

    tasks: int
    members: int

    @property
    def each(self) -> int:
        """The maximum number of tasks per member."""
        return -(-self.tasks // self.members) if self.members else 0

    def reached(self, tasks: int) -> None:
        """Record that a member has this number of tasks now."""
        if tasks == self.each:
            self.members -= 1
            self.tasks -= tasks


class _Assignment:
    """An assignment in progress."""

    def __init__(
        self,
        subtopologies: Mapping[str, ConfiguredSubtopology],
        members: Mapping[str, StreamsMember],
        offsets: Mapping[str, Mapping[Task, int]],
        standby_replicas: int,
    ) -> None:
        self.members, self.standby_replicas = members, standby_replicas
        active = sum(one.tasks for one in subtopologies.values())
        standbys = sum(one.tasks for one in subtopologies.values() if one.is_stateful) * standby_replicas
        self.active_quota = _Quota(active, len(members))
        self.quota = _Quota(active + standbys, len(members))
        self.active: dict[str, set[Task]] = {member_id: set() for member_id in members}
        self.standby: dict[str, set[Task]] = {member_id: set() for member_id in members}
        self.processes: dict[str, _Process] = {}
        self.had_active: dict[Task, str] = {}
        in_order: HashTable[str] = HashTable(string_hash, len(members))
        candidates: dict[Task, list[tuple[bool, int, str]]] = {}
        for member_id in hash_order(members, string_hash):
            member = members[member_id]
            in_order.add_first(member.process_id)
            self.processes.setdefault(member.process_id, _Process()).counts[member_id] = 0
            self.had_active.update(dict.fromkeys(member.assigned.active, member_id))
            sent, standby = offsets.get(member_id, {}), member.assigned.standby
            for task in standby.union(sent):
                candidates.setdefault(task, []).append((task not in standby, -sent.get(task, 0), member_id))
        self.process_order = [self.processes[process_id] for process_id in in_order]
        for process in self.processes.values():
            process.counts = dict.fromkeys(hash_order(process.counts, string_hash), 0)
        self.had_standby = {
            task: [member_id for _, _, member_id in sorted(found, key=lambda one: one[:2])]
            for task, found in candidates.items()
        }

    def assign_active(self, tasks: list[Task]) -> None:
        rest = [task for task in tasks if not self._return_to(task, self.had_active.get(task))]
        rest = [task for task in rest if not self._return_to(task, self._least_loaded(self.had_standby.get(task, ())))]
        queue = self._by_load()
        for task in sorted(rest):
            process = queue.poll()
            assert process is not None, "there are members, so there is a process"
            self._reached(self._assign_to_process(process, task, is_active=True))
            queue.add(process)

    def assign_standbys(self, tasks: list[Task]) -> None:
        rest: list[tuple[Task, int]] = []
        for task in sorted(tasks, key=lambda task: (task[1], task[0]), reverse=True):
            assigned = 0
            while assigned < self.standby_replicas and self._retain_standby(task):
                assigned += 1
            if assigned < self.standby_replicas:
                rest.append((task, self.standby_replicas - assigned))
        queue = self._by_load()
        for task, missing in sorted(rest, key=lambda one: one[0], reverse=True):
            for _ in range(missing):
                if not self._assign_standby(queue, task):
                    break

    def _by_load(self) -> JavaHeap[_Process]:
        return JavaHeap(lambda process: process.load, self.process_order)

    def _process_of(self, member_id: str) -> _Process:
        return self.processes[self.members[member_id].process_id]

    def _return_to(self, task: Task, member_id: str | None) -> bool:
        """Assign an active task to a previous owner that is below its quota; returns False otherwise."""
        if member_id is None or self._process_of(member_id).counts[member_id] >= self.active_quota.each:
            return False
        self._reached(self._assign(member_id, task, is_active=True))
        return True

    def _reached(self, count: int) -> None:
        self.active_quota.reached(count)
        self.quota.reached(count)

    def _retain_standby(self, task: Task) -> bool:
        """Assign a standby to the task's previous active owner, else to a previous standby owner."""
        member_id = self.had_active.get(task)
        if member_id is None or not self._may_retain(member_id, task):
            others = [one for one in self.had_standby.get(task, ()) if task not in self._process_of(one).tasks]
            member_id = self._least_loaded(others)
            if member_id is None or not self._may_retain(member_id, task):
                return False
        self.quota.reached(self._assign(member_id, task, is_active=False))
        return True

    def _may_retain(self, member_id: str, task: Task) -> bool:
        process = self._process_of(member_id)
        return task not in process.tasks and process.counts[member_id] < self.quota.each

    def _least_loaded(self, member_ids: list[str] | tuple[str, ...]) -> str | None:
        """The first member, unless another has less load, by its process and then by itself."""
        best: str | None = None
        best_load = (0.0, 0)
        for member_id in member_ids:
            process = self._process_of(member_id)
            load = (process.load, process.counts[member_id])
            if best is None or (load[0] < best_load[0] and load[1] < best_load[1]):
                best, best_load = member_id, load
        return best

    def _assign(self, member_id: str, task: Task, *, is_active: bool) -> int:
        """Assign a task to a member; returns the member's number of tasks."""
        process = self._process_of(member_id)
        process.by_load = None
        return self._add(process, member_id, task, is_active=is_active)

    def _add(self, process: _Process, member_id: str, task: Task, *, is_active: bool) -> int:
        process.tasks.add(task)
        (self.active if is_active else self.standby)[member_id].add(task)
        process.counts[member_id] += 1
        return process.counts[member_id]

    def _assign_to_process(self, process: _Process, task: Task, *, is_active: bool) -> int:
        """Assign a task to the least loaded member of a process."""
        if process.by_load is None:
            process.by_load = JavaHeap(process.counts.__getitem__, process.counts)
        member_id = process.by_load.poll()
        assert member_id is not None, "there are members"
        count = self._add(process, member_id, task, is_active=is_active)
        process.by_load.add(member_id)
        return count

    def _assign_standby(self, queue: JavaHeap[_Process], task: Task) -> bool:
        """Assign a standby to the least loaded process that does not have the task; False if all have it."""
        passed: list[_Process] = []
        process = queue.poll()
        while process is not None and task in process.tasks:
            passed.append(process)
            process = queue.poll()
        if process is not None:
            self.quota.reached(self._assign_to_process(process, task, is_active=False))
            passed.append(process)
        for one in reversed(passed):
            queue.add(one)
        return process is not None
