"""Moves of replicas: Kafka's own proposal, and the fewest moves that repair rack violations."""

from __future__ import annotations

from kafka_rack.reassignment.generate import propose
from kafka_rack.reassignment.plan import Entry, current_plan_of, entries_of, plan_json
from kafka_rack.reassignment.repair import Repair, ReplicaMove, repair

__all__ = [
    "Entry",
    "Repair",
    "ReplicaMove",
    "current_plan_of",
    "entries_of",
    "plan_json",
    "propose",
    "repair",
]
