"""The plan of a certification: the program, the cluster, and for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.proxy.adapters.upstream import UpstreamSettings


class UnfitClusterError(Exception):
    """This real cluster cannot certify a program; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class CertifySecurity:
    """The security that the cluster requires, and the file of Kafka's client properties with which programs meet it.

    Args:
        client_config: the file's path.
        users: who may log in, with passwords.
        settings: the listeners' keys.
    """

    protocol: str
    client_config: str
    users: Mapping[str, str] = field(repr=False)
    settings: Mapping[str, str] = field(repr=False)


NO_SECURITY = CertifySecurity("PLAINTEXT", "", {}, {})


@dataclass(frozen=True, slots=True)
class UpstreamPlan:
    """The real cluster that takes the place of one of certify's own, with a proxy before it.

    Args:
        racks: node id -> rack, in place of what brokers say.
        feeds_named: write records into a topic that is there already, if the program reads it.
        security_dir: where the proxy's test authority goes; None where the proxy speaks no TLS.
    """

    settings: UpstreamSettings
    racks: Mapping[int, str | None] = field(default_factory=dict)
    feeds_named: bool = False
    security_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class CertifyPlan:
    """The plan of a certification.

    Args:
        command: the program and its arguments, with ``{rack}``, ``{bootstrap}``, ``{topic}`` and ``{group}`` in them,
            and ``{config}`` if any.
        racks: those of a cluster of certify's own; with ``upstream`` the real cluster says which there are.
        budget_s: for everything together.
        quiet_s: how long a step may show nothing new.
    """

    command: Sequence[str]
    racks: Sequence[str]
    topic: str = "orders"
    partitions: int = 12
    group: str = "certify"
    budget_s: float = 120.0
    quiet_s: float = 6.0
    capture: Path | None = None
    capture_bytes: int = 1 << 40
    security: CertifySecurity = NO_SECURITY
    upstream: UpstreamPlan | None = None


def replication_factor(racks: int) -> int:
    """Replicas of a partition: fewer than racks, so that an assignment can be local or not.

    >>> [replication_factor(racks) for racks in (1, 2, 3, 4, 6)]
    [1, 2, 2, 3, 3]
    """
    return min(3, racks - 1) if racks > 2 else racks


def layout(racks: int, partitions: int) -> list[list[int]]:
    """Replicas by partition, so that every n-th one, or several in a row, include near and far ones.

    >>> layout(3, 7)
    [[0, 1], [1, 2], [2, 0], [1, 2], [2, 0], [0, 1], [2, 0]]
    """
    factor = replication_factor(racks)
    return [[(index + index // racks + n) % racks for n in range(factor)] for index in range(partitions)]
