"""Attacks on `kafka-rack serve` that one client can make, each measured: ``python -m tests.torture``."""
