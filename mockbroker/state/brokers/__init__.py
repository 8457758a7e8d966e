"""Brokers, where they listen, and which of them are up."""
