"""Partitions' logs and what is appended to them."""
