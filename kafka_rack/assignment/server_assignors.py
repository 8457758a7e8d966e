"""The assignors that a group coordinator can be configured with, ``group.consumer.assignors``, by name or class.

Apache Kafka has ``uniform`` and ``range``; ``rack-uniform`` is a proposal and has no class there.

Source: GroupCoordinatorConfig.consumerGroupAssignors, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kafka_rack.assignment.members import Assignment, Member
from kafka_rack.assignment.rack_uniform import assign_rack_uniform
from kafka_rack.assignment.server_range import assign_server_range
from kafka_rack.assignment.server_uniform import assign_uniform
from kafka_rack.assignment.topology import Topology
from kafka_rack.errors import InputError

ServerAssignor = Callable[[Topology, Sequence[Member]], Assignment]
"""Returns the target assignment; ``owned`` of each member is its current one. Members are in Java's map order."""

SERVER_ASSIGNORS: Mapping[str, ServerAssignor] = {
    "uniform": assign_uniform,
    "range": assign_server_range,
    "rack-uniform": assign_rack_uniform,
}
"""Name in ``group.consumer.assignors`` and in heartbeats -> assignor."""
DEFAULT_SERVER_ASSIGNORS = ("uniform", "range")
"""The default assignors of a coordinator; members that name none get the first."""
CLASS_NAMES: Mapping[str, str] = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}
"""Kafka's classes, which may be used instead of names."""


def server_assignors(configured: Iterable[str]) -> dict[str, ServerAssignor]:
    """The assignors of a coordinator by name, in the order of ``group.consumer.assignors``.

    Args:
        configured: names and class names, as the setting lists them.

    Raises: InputError: an unknown or repeated one.

    >>> list(server_assignors(["rack-uniform", "org.apache.kafka.coordinator.group.assignor.RangeAssignor"]))
    ['rack-uniform', 'range']
    """
    found: dict[str, ServerAssignor] = {}
    for text in configured:
        name = CLASS_NAMES.get(text, text)
        if name not in SERVER_ASSIGNORS:
            raise InputError(f"expected one of {', '.join(SERVER_ASSIGNORS)} or a class of Kafka's, got {text!r}")
        if name in found:
            raise InputError(f"expected each assignor once, got {text!r} where {name} is there already")
        found[name] = SERVER_ASSIGNORS[name]
    return found
