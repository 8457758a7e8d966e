"""The commands on a cluster's state, by the names that they have everywhere: on ``MockCluster``, on
``BlockingMockCluster`` and on ``Simulation``.

Each of the three says with ``_change`` how a command reaches the state, and when. Commands that end connections stand
with whoever has connections.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics.topic import Topic

Result = TypeVar("Result")


class BrokerCommand(NamedTuple):
    """A command on a broker, as the control API and ``kafka-rack ctl`` have it.

    ``POST /brokers/{id}/NAME`` and ``kafka-rack ctl NAME broker ID`` call it; with ``on_rack``, which describes it for
    a rack, there are ``POST /racks/{rack}/NAME`` and ``NAME rack RACK`` too. ``unchanged`` is the refusal if there was
    nothing to change, with the broker or rack as ``{target}``; empty if that is no error.
    """

    name: str
    summary: str
    description: str
    unchanged: str = ""
    on_rack: str = ""

    def method(self, kind: str = "broker") -> str:
        """The name of the method that it calls.

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
    """What changes a cluster without ending connections.

    All of them raise KeyError for a broker or a rack that is not there, and ApiError for what Kafka refuses, each with
    a sentence. Where they give a bool, False says that there was nothing to change.
    """

    @abstractmethod
    def _change(self, command: Callable[[Cluster, int], Result]) -> Result:
        """What ``command(state, now_ms)`` gives at the state's present time; all that follows from it is done then."""

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
        """Have another replica that is in sync lead a partition, whenever it can, until the leader is moved again.

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
        """Take these followers out of a partition's ISR; they stay out until ``grow_isr``, whatever they have.

        Raises ApiError: one of them leads the partition, or has no replica of it.
        """
        return self._change(
            lambda state, _: state.replication_control.keep_out_of_isr(state.find_partition(topic, partition), brokers)
        )

    def grow_isr(self, topic: str, partition: int, brokers: Iterable[int]) -> bool:
        """Let these followers into a partition's ISR again.

        Raises ApiError: one of them is down, lacks records, or has no replica of it.
        """
        return self._change(
            lambda state, _: state.replication_control.let_into_isr(state.find_partition(topic, partition), brokers)
        )

    def set_isr(self, topic: str, partition: int, brokers: Iterable[int]) -> bool:
        """Shrink and grow a partition's ISR until it is this one. Raises ApiError, as both do."""
        return self._change(
            lambda state, _: state.replication_control.set_isr(state.find_partition(topic, partition), brokers)
        )

    # brokers

    def set_follower_lag(self, broker_id: int, records: int) -> None:
        """Have the followers on a broker lag by this many records; 0 ends it. Raises KeyError, ValueError."""
        self._change(lambda state, now_ms: state.cluster_control.set_follower_lag(broker_id, records, now_ms))

    def fence_broker(self, broker_id: int) -> bool:
        """Have the controller fence a broker that runs, until ``unfence_broker`` or its next start.

        It leads nothing and is shown to nobody, but clients that know it still reach it. Raises ValueError: there is
        no fencing in ZooKeeper mode.
        """
        return self._change(lambda state, now_ms: state.cluster_control.fence_broker(broker_id, now_ms))

    def unfence_broker(self, broker_id: int) -> bool:
        """Let a broker that was fenced serve again."""
        return self._change(lambda state, now_ms: state.cluster_control.unfence_broker(broker_id, now_ms))

    def fill_disk(self, broker_id: int) -> bool:
        """Fill the disk with a broker's log directory: what it has replicas of fails there.

        It answers KAFKA_STORAGE_ERROR for these partitions, and others lead them. The broker stays up, as one with a
        second log directory does, to which new partitions go; without a second one Kafka's halts: ``crash_broker``.
        """
        return self._change(lambda state, now_ms: state.cluster_control.fill_disk(broker_id, now_ms))

    def empty_disk(self, broker_id: int) -> bool:
        """Empty a broker's full disk: its replicas catch up and are in sync again."""
        return self._change(lambda state, now_ms: state.cluster_control.empty_disk(broker_id, now_ms))

    def move_coordinator(self, group: str, broker: int) -> bool:
        """Have a broker coordinate a group, or a transactional id, for as long as it is up.

        Raises ApiError: it is not up.
        """
        return self._change(
            lambda state, _: state.internal_topics.move_coordinator(group, state.liveness.broker(broker))
        )

    # links

    def cut_link(self, broker: int, other: int) -> None:
        """Cut the link between two running brokers; -1 is the controller.

        A follower that does not reach its leader falls out of the ISR after ``replica.lag.time.max.ms``, a broker that
        does not reach the controller counts as gone after ``broker.session.timeout.ms``.
        """
        self._change(lambda state, now_ms: state.cluster_control.cut_link(broker, other, now_ms))

    def restore_link(self, broker: int, other: int) -> None:
        """Restore the link between two brokers; -1 is the controller."""
        self._change(lambda state, now_ms: state.cluster_control.restore_link(broker, other, now_ms))

    def isolate_broker(self, broker_id: int) -> None:
        """Cut a broker off from every other and from the controller. Clients still reach it."""
        self._change(lambda state, now_ms: state.cluster_control.isolate(broker_id, now_ms))

    def rejoin_broker(self, broker_id: int) -> None:
        """Restore every link of a broker."""
        self._change(lambda state, now_ms: state.cluster_control.rejoin(broker_id, now_ms))

    # time

    def jump_clock(self, ms: int) -> None:
        """Move the wall clock of all brokers forward, or back by a negative number of ms.

        LogAppendTime goes by it, and what has become too old is dropped: records by ``retention.ms``, offsets of
        groups without members, producers' ids. Sessions and timeouts go by a monotonic clock and notice nothing.
        """
        self._change(lambda state, now_ms: state.jump_clock(ms, now_ms))
