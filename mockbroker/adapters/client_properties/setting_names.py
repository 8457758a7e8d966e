"""The settings that clients of Kafka know."""

from __future__ import annotations

from pathlib import Path

NAMES = frozenset(Path(__file__).with_suffix(".txt").read_text(encoding="ascii").split())
"""What AdminClientConfig, ConsumerConfig and ProducerConfig of Kafka 4.4 know, and what older ones knew beside."""
