"""The methods of every oracle."""

from typing import Protocol


class Unfit(Exception):
    """The oracle knows the message version but cannot hold these values; the text says why."""


class Oracle(Protocol):
    """Another codec; messages go by Kafka's names."""

    name: str

    def supports(self, message: str, version: int) -> bool:
        """True if it knows this version of the message."""

    def rewritten(self, message: str, version: int, data: bytes) -> bytes:
        """Read a body, all of it, and write what was read.

        Raises: Unfit.
        """
