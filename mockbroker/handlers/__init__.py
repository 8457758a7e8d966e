"""Handlers, one module an API family, each loaded when a request for it first comes (``mockbroker/api.py``)."""
