"""The errors that state raises: for what a peer asked wrongly, and for brokers and racks that are not there."""

from __future__ import annotations


class ApiError(Exception):
    """A refusal with Kafka's error code; the handler puts it into the response's narrowest error field.

    ``code`` is a number of ``protocol.error_codes.ErrorCode``; ``message`` is for the
    response's error message where it has one.
    """

    def __init__(self, code: int, message: str | None = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"error {int(self.code)}" + (f": {self.message}" if self.message else "")


class UnknownNameError(KeyError):
    """A command names a broker or a rack that the cluster does not have.

    >>> print(UnknownNameError("expected a rack of a, b; got 'z'"))
    expected a rack of a, b; got 'z'
    """

    def __str__(self) -> str:
        return str(self.args[0])
