"""Partitions' logs, and appending to them."""
