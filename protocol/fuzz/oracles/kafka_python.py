"""kafka-python 3 as an oracle."""

from functools import cache
from importlib import import_module
from typing import Any

from ...registry import named_class
from .base import Unfit

MODULES = ("admin", "consumer", "metadata", "producer", "sasl", "consumer.group")


class KafkaPythonOracle:
    """kafka-python reads into classes that it makes of Kafka's schemas.

    Raises: ImportError: kafka-python is not installed, or older than 3.
    """

    name = "kafka-python"

    def __init__(self) -> None:
        classes()

    def supports(self, message: str, version: int) -> bool:
        found = classes().get(message)
        if found is None:
            return False
        lowest, highest = getattr(found, "valid_versions", None) or getattr(found, "_valid_versions", None) or (0, -1)
        return bool(lowest <= version <= highest)

    def rewritten(self, message: str, version: int, data: bytes) -> bytes:
        from kafka.protocol.api_message import ApiMessage

        found = classes()[message]
        try:
            if named_class(message).kind in ("request", "response"):
                return bytes(ApiMessage.encode(found.decode(data, version=version)))  # classes may insist on a header
            return bytes(found.decode(data, version=version, header=False).encode(version=version, header=False))
        except Exception as error:
            raise Unfit(f"{type(error).__name__}: {error}") from error


@cache
def classes() -> dict[str, Any]:
    """kafka-python's message classes by Kafka's names."""
    found: dict[str, Any] = {}
    for module in MODULES:
        for name, value in vars(import_module(f"kafka.protocol.{module}")).items():
            if isinstance(value, type) and hasattr(value, "decode"):
                found.setdefault(name, value)
    return found
