"""Captures to tables."""
