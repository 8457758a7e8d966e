"""Errors between bytes and messages. Everything here is a :class:`ProtocolError`."""


class ProtocolError(Exception):
    """Base of every error that :mod:`protocol` raises for its input."""


class DecodeError(ProtocolError):
    """Bytes that are not the message they claim to be.

    ``offset`` counts bytes from the start of the body; ``path`` reads like ``topics[4].name`` and is
    empty where the fault lies between fields.
    """

    def __init__(self, reason: str, message: str, version: int, offset: int, path: str = "") -> None:
        super().__init__(reason, message, version, offset, path)  # as args, so it pickles for Spark
        self.reason, self.message, self.version, self.offset, self.path = reason, message, version, offset, path

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{self.message} v{self.version}, byte {self.offset}, {where}{self.reason}"


class EncodeError(ProtocolError):
    """A message that cannot be written in the version asked for; ``path`` reads like ``topics[4].name``."""

    def __init__(self, reason: str, message: str, version: int, path: str = "") -> None:
        super().__init__(reason, message, version, path)
        self.reason, self.message, self.version, self.path = reason, message, version, path

    def __str__(self) -> str:
        where = f", {self.path}" if self.path else ""
        return f"{self.message} v{self.version}{where}: {self.reason}"


class UnsupportedVersionError(ProtocolError):
    """A version that the message does not have, or an api key or name that no message has."""


class FrameError(ProtocolError):
    """A length prefix that no frame can have: negative, or over the frame-size limit."""
