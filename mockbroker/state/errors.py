"""The errors of state: wrong requests, and unknown brokers and racks."""

from __future__ import annotations

from protocol.error_codes import ErrorCode

MAX_MESSAGE_LETTERS = 1000


class ApiError(Exception):
    """An error with Kafka's error code; the handler puts it into the response's narrowest error field.

    ``code`` is a number of ``protocol.error_codes.ErrorCode``; ``message`` is for the response's error message, if
    it has one, and is cut off at a maximum length, because it may repeat parts of the request.
    """

    def __init__(self, code: int, message: str | None = None) -> None:
        if message is not None and len(message) > MAX_MESSAGE_LETTERS:
            message = f"{message[:MAX_MESSAGE_LETTERS]}... ({len(message):,} letters)"
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"error {int(self.code)}" + (f": {self.message}" if self.message else "")


def invalid_request(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)


class UnknownNameError(KeyError):
    """A command names a broker or a rack that does not exist.

    >>> print(UnknownNameError("expected a rack of a, b; got 'z'"))
    expected a rack of a, b; got 'z'
    """

    def __str__(self) -> str:
        return str(self.args[0])
