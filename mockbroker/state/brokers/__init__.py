"""Brokers, their listeners and their liveness."""
