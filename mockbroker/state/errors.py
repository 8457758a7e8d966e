"""The one error that state raises for what a peer asked wrongly."""

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
