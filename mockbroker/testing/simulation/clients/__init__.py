"""Kafka clients without sockets or threads: each a few tasks on the simulation's time, by our own codec."""
