"""Kafka's client properties: the addresses, TLS and login of a client."""
