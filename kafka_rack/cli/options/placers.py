"""``--placer`` of the commands that place replicas."""

from __future__ import annotations

from kafka_rack.placement import ENTRY_POINT_GROUP

PLACER_MEANINGS = {
    "rack-aware": "KIP-36: each partition over as many racks as it can be",
    "striped": "Kafka's own since 4.0: stripes over racks, and inside each over its brokers",
    "unaware": "round robin, racks do not count",
    "broker-replica": "groups of brokers that replicate each other (KAFKA-1736)",
    "copyset": "the same with more groups, by --scatter-width",
    "new-brokers": "KIP-660's scenarios: on the new brokers of a rack alone",
    "decommissioned-brokers": "nothing new on brokers that are to go",
    "capacity": "brokers near their capacity are avoided",
}
"""Name -> what it does, of all that are built in."""


def placer_help() -> str:
    """The help of ``--placer``: what is built in, and how to name another."""
    width = max(map(len, PLACER_MEANINGS))
    lines = [f"  {name:{width}}  {meaning}" for name, meaning in PLACER_MEANINGS.items()]
    return "\n".join(
        [
            "who places the replicas; default: rack-aware. One of",
            *lines,
            f"or module:Class, or the name of an entry point of {ENTRY_POINT_GROUP} (docs/plan.md)",
        ]
    )
