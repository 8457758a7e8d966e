"""The commands on a cluster's state, with the same names on ``MockCluster``, ``BlockingMockCluster`` and
``Simulation``.

Each of the three implements ``_change``, which applies a command to the state. Commands that end connections are in the
classes that have connections.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import msgspec

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics.topic import Topic

Result = TypeVar("Result")


class BrokerCommand(NamedTuple):
    """A command on a broker, in the control API and ``kafka-rack ctl``.

    ``POST /brokers/{id}/NAME`` and ``kafka-rack ctl NAME broker ID`` call it; with ``on_rack``, its description for a
    rack, ``POST /racks/{rack}/NAME`` and ``NAME rack RACK`` exist too. ``unchanged`` is the error if there was nothing
    to change, with the broker or rack as ``{target}``; empty if that is not an error.
    """

    name: str
    summary: str
    description: str
    unchanged: str = ""
    on_rack: str = ""

    def method(self, kind: str = "broker") -> str:
        """The name of the method that the command calls.

        >>> BrokerCommand("stop", "Stop a broker", "").method("rack"), BrokerCommand("fill-disk", "", "").method()
        ('stop_rack', 'fill_disk')
        """
        return self.name.replace("-", "_") if "-" in self.name else f"{self.name}_{kind}"


STOPPED, RUNNING = "{target} is stopped already", "{target} is running already"
BROKER_COMMANDS = (
    BrokerCommand(
        "stop",
        "Stop a broker",
        "Its partitions have new leaders.",
        STOPPED,
        "Stops each broker of the rack that is up.",
    ),
    BrokerCommand(
        "start",
        "Start a broker",
        "It listens on its old ports.",
        RUNNING,
        "Starts each broker of the rack that is down.",
    ),
    BrokerCommand("restart", "Restart a broker", "One that is down is started.", on_rack="Those down are started."),
    BrokerCommand("crash", "Crash a broker", "The others notice when its session has expired.", STOPPED),
    BrokerCommand(
        "fence",
        "Fence a broker",
        "Clients that know its address still reach it.",
        "{target} is fenced already, or down",
    ),
    BrokerCommand("unfence", "Let a fenced broker serve again", "Metadata has it again.", "{target} is not fenced"),
    BrokerCommand("fill-disk", "Fill a broker's disk", "Its replicas fail.", "the disk of {target} is full already"),
    BrokerCommand("empty-disk", "Empty a broker's disk", "Its replicas catch up.", "the disk of {target} is not full"),
    BrokerCommand("isolate", "Cut a broker off from all others and the controller", "Clients still reach it."),
    BrokerCommand("rejoin", "Restore every link of a broker", "The others and the controller reach it again."),
)


class StateCommands(ABC):
    """The commands that change a cluster without ending connections.

    All raise KeyError for an unknown broker or rack, and ApiError for what Kafka refuses, each with a message. Those
    that return a bool return False if there was nothing to change.
    """

    @abstractmethod
    def _change(self, command: Callable[[Cluster, int], Result]) -> Result:
        """The result of ``command(state, now_ms)`` at the state's current time, after all its consequences."""

    # topics

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        *,
        diskless: bool = False,
        configs: Mapping[str, Any] | None = None,
    ) -> Topic:
        """Create a topic, as ``ReplicationControl.create`` does. Raises ApiError."""
        given = dict(configs or {})
        if diskless:
            given["diskless.enable"] = True
        return self._change(
            lambda state, _: state.replication_control.create(name, partitions, replication_factor, configs=given)
        )

    def delete_topic(self, name: str) -> None:
        """Delete a topic, its records and its committed offsets. Raises ApiError: UNKNOWN_TOPIC_OR_PARTITION."""
        self._change(lambda state, _: state.replication_control.delete(state.find_topic(name)))

    def move_leader(self, topic: str, partition: int, broker: int) -> bool:
        """Make another in-sync replica the leader of a partition, whenever it can lead, until the leader moves again.

        Raises ApiError: the broker has no replica of it, or is not in its ISR.
        """
        return self._change(
            lambda state, _: state.replication_control.move_leader(
                state.find_partition(topic, partition), state.liveness.broker(broker).id
            )
        )

    def move_replicas(self, topic: str, partition: int, brokers: Iterable[int]) -> None:
        """Move a partition to these brokers at once, the preferred leader first. Raises ApiError."""
        self._change(lambda state, _: state.replication_control.reassign(topic, partition, list(brokers)))

    def shrink_isr(self, topic: str, partition: int, brokers: Iterable[int]) -> bool:
        """Remove these followers from a partition's ISR; they stay out until ``grow_isr``, even if they catch up.

        Raises ApiError: one of them leads the partition, or has no replica of it.
        """
        return self._change(
            lambda state, _: state.replication_control.change_isr(state.find_partition(topic, partition), out=brokers)
        )

    def grow_isr(self, topic: str, partition: int, brokers: Iterable[int]) -> bool:
        """Add these followers to a partition's ISR again.

        Raises ApiError: one of them is down, lacks records, or has no replica of it.
        """
        return self._change(
            lambda state, _: state.replication_control.change_isr(state.find_partition(topic, partition), into=brokers)
        )

    def set_isr(self, topic: str, partition: int, brokers: Iterable[int]) -> bool:
        """Set a partition's ISR to these brokers. The others stay out, even if they catch up. Raises ApiError."""
        return self._change(
            lambda state, _: state.replication_control.set_isr(state.find_partition(topic, partition), brokers)
        )

    # brokers

    def set_follower_lag(self, broker_id: int, records: int) -> None:
        """Make the followers on a broker lag by this many records. 0 ends it. Raises KeyError, ValueError."""
        self._change(lambda state, now_ms: state.cluster_control.set_follower_lag(broker_id, records, now_ms))

    def fence_broker(self, broker_id: int) -> bool:
        """Fence a running broker, until ``unfence_broker`` or its next start.

        It leads no partition and Metadata omits it, but clients that know it still reach it. Raises ValueError:
        ZooKeeper mode has no fencing.
        """
        return self._change(lambda state, now_ms: state.cluster_control.fence_broker(broker_id, now_ms))

    def unfence_broker(self, broker_id: int) -> bool:
        """Unfence a broker."""
        return self._change(lambda state, now_ms: state.cluster_control.unfence_broker(broker_id, now_ms))

    def fill_disk(self, broker_id: int) -> bool:
        """Fill the disk with a broker's log directory, so that its replicas there fail.

        It answers KAFKA_STORAGE_ERROR for these partitions, and other brokers lead them. The broker stays up, as one
        with a second log directory, which gets new partitions; with only one directory Kafka halts: ``crash_broker``.
        """
        return self._change(lambda state, now_ms: state.cluster_control.set_disk(broker_id, now_ms, full=True))

    def empty_disk(self, broker_id: int) -> bool:
        """Empty a broker's full disk; its replicas catch up and join the ISR again."""
        return self._change(lambda state, now_ms: state.cluster_control.set_disk(broker_id, now_ms, full=False))

    def move_coordinator(self, group: str, broker: int) -> bool:
        """Make a broker the coordinator of a group, or of a transactional id, while it is up.

        Raises ApiError: the broker is down.
        """
        return self._change(
            lambda state, _: state.internal_topics.move_coordinator(group, state.liveness.broker(broker))
        )

    # links

    def cut_link(self, broker: int, other: int) -> None:
        """Cut the link between two running brokers; -1 is the controller.

        A follower that does not reach its leader leaves the ISR after ``replica.lag.time.max.ms``; a broker that does
        not reach the controller is fenced after ``broker.session.timeout.ms``.
        """
        self._change(lambda state, now_ms: state.cluster_control.cut_link(broker, other, now_ms))

    def restore_link(self, broker: int, other: int) -> None:
        """Restore the link between two brokers; -1 is the controller."""
        self._change(lambda state, now_ms: state.cluster_control.restore_link(broker, other, now_ms))

    def isolate_broker(self, broker_id: int) -> None:
        """Cut the links of a broker to every other broker and to the controller. Clients still reach it."""
        self._change(lambda state, now_ms: state.cluster_control.isolate(broker_id, now_ms))

    def rejoin_broker(self, broker_id: int) -> None:
        """Restore all links of a broker."""
        self._change(lambda state, now_ms: state.cluster_control.rejoin(broker_id, now_ms))

    # time

    def jump_clock(self, ms: int) -> None:
        """Move the wall clock of all brokers forward, or back by a negative number of ms.

        LogAppendTime uses it, and old data expire: records by ``retention.ms``, offsets of groups without members,
        producers' ids. Sessions and timeouts use a monotonic clock and do not change.
        """
        self._change(lambda state, now_ms: state.jump_clock(ms, now_ms))


class CommandWithArgument(NamedTuple):
    """A command with an argument, in the control API and ``kafka-rack ctl``; its words are the method's docstring.

    ``POST`` to ``path`` calls the method with the names in the path and with ``argument``, the name and type of the
    body's only field. A path of ``{kind}s/{target}`` is for a broker, and for each broker of a rack. ``text`` is what
    ``kafka-rack ctl`` prints; it shows partitions.
    """

    name: str
    path: str
    method: str
    argument: tuple[str, Any]
    text: str = ""

    @property
    def words(self) -> tuple[str, str]:
        """The method's summary, and the rest of its docstring without its errors.

        >>> CommandWithArgument("clock", "/clock", "jump_clock", ("jump_ms", int)).words[0]
        'Move the wall clock of all brokers forward, or back by a negative number of ms'
        """
        text = " ".join((getattr(StateCommands, self.method).__doc__ or "").replace("``", "`").split())
        summary, _, description = text.partition(" Raises ")[0].partition(". ")
        return summary.rstrip("."), description


BrokerId = Annotated[int, msgspec.Meta(ge=0)]
BrokerIds = Annotated[list[BrokerId], msgspec.Meta(min_length=1, max_length=32767)]
Node = Annotated[int, msgspec.Meta(ge=-1)]
Records = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Jump = Annotated[int, msgspec.Meta(ge=-(10**14), le=10**14)]  # some three thousand years
ENDS = ("between", tuple[Node, Node])
PARTITION, GROUP = "/topics/{topic}/partitions/{partition}", "/groups/{group}"
COORDINATES = "broker {broker} coordinates {group}"
LAGS = "followers on {kind} {target} lag by {records} records"
COMMANDS = (
    CommandWithArgument("lag", "/{kind}s/{target}/lag", "set_follower_lag", ("records", Records), LAGS),
    CommandWithArgument("cut", "/links/cut", "cut_link", ENDS, "cut: the link between {between[0]} and {between[1]}"),
    CommandWithArgument(
        "restore", "/links/restore", "restore_link", ENDS, "restore: the link between {between[0]} and {between[1]}"
    ),
    CommandWithArgument("leader", PARTITION + "/leader", "move_leader", ("broker", BrokerId)),
    CommandWithArgument("replicas", PARTITION + "/replicas", "move_replicas", ("brokers", BrokerIds)),
    CommandWithArgument("isr", PARTITION + "/isr", "set_isr", ("brokers", BrokerIds)),
    CommandWithArgument("coordinator", GROUP + "/coordinator", "move_coordinator", ("broker", BrokerId), COORDINATES),
    CommandWithArgument("clock", "/clock", "jump_clock", ("jump_ms", Jump), "the wall clock has moved by {jump_ms} ms"),
)
