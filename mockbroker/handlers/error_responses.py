"""The answer to a request whose handler raised an error."""

from __future__ import annotations

from typing import Any

from mockbroker.state.errors import ApiError
from protocol.registry import message_class


def error_response(request: Any, version: int, error: Exception) -> Any:
    """A response with nothing but an ApiError's code, None where the message has no field for it."""
    response_class = message_class(type(request).api_key, "response")
    if not isinstance(error, ApiError) or "error_code" not in response_class.__struct_fields__:
        return None
    return response_class(error_code=int(error.code))
