"""The settings that clients of Kafka know."""

from __future__ import annotations

from pathlib import Path

NAMES = frozenset(Path(__file__).with_suffix(".txt").read_text(encoding="ascii").split())
"""The settings of AdminClientConfig, ConsumerConfig and ProducerConfig in Kafka 4.4, and those of older releases."""
