"""Handlers: one module per API family, loaded at the family's first request (``mockbroker/api.py``)."""
