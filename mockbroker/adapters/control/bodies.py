"""The bodies of requests: read up to a limit, and checked against the type that an operation expects."""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request

from mockbroker.adapters.control.problems import ControlProblem, bad_request

MAX_BODY_BYTES = 1 << 20
MAX_DISCARDED = 1 << 24  # of a body that is too large, read to its end so that the client gets its answer
MAX_SECONDS = 30.0
MAX_SHOWN = 100  # bytes of a wrong value in an error's text
JSON_TYPES = ("application/json", "application/x-www-form-urlencoded")  # the second is what `curl -d` says of any text


async def read_body(request: Request) -> bytes:
    """A body of at most ``MAX_BODY_BYTES``. Raises ControlProblem: 413, 408."""
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(MAX_SECONDS):
            async for piece in request.stream():
                size += len(piece)
                if size > MAX_DISCARDED:
                    break
                if size <= MAX_BODY_BYTES:
                    body += piece
    except TimeoutError:
        raise ControlProblem(
            HTTPStatus.REQUEST_TIMEOUT,
            f"expected the whole body within {MAX_SECONDS:.0f} s, got {size} bytes of it",
            headers={"connection": "close"},
        ) from None
    except ClientDisconnect:
        raise bad_request(f"the connection ended after {size} bytes of the body") from None
    if size > MAX_BODY_BYTES:
        raise ControlProblem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the body has more than {MAX_BODY_BYTES} bytes",
            headers={"connection": "close"} if size > MAX_DISCARDED else {},
        )
    return bytes(body)


def check_content_type(request: Request) -> None:
    """Refuse a body that says that it is anything but JSON. Raises ControlProblem: 415."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given and given not in JSON_TYPES and not given.endswith("+json"):
        raise ControlProblem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"Content-Type: expected application/json, got {given}",
            headers={"accept-post": "application/json"},
        )


def typed_body(body: bytes, expected: Any) -> Any:
    """The JSON of a body as a value of the type; an empty body is an empty object.

    Raises ControlProblem: 400, in msgspec's words, with the path of the invalid field and its value.
    """
    try:
        given = msgspec.json.decode(body or b"{}")
        return msgspec.convert(given, expected)
    except msgspec.ValidationError as error:
        text, _, place = str(error).partition(" - at `")
        path = place.rstrip("`").removeprefix("key in ").lstrip("$.")
        if text.startswith("Expected "):
            value = msgspec.json.encode(value_at(given, path))
            shown = value if len(value) <= MAX_SHOWN else value[:MAX_SHOWN] + b"..."
            text = f"{text.partition(', got ')[0]}, got {shown.decode(errors='ignore')}"
        fault = f"{path or 'the body'}: {text[0].lower()}{text[1:]}"
        raise bad_request(fault, **({"field": path} if path else {})) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request(f"the body is no JSON: {error}") from None
    except RecursionError:
        raise bad_request("the body is no JSON that can be read: too deeply nested") from None


def value_at(value: Any, path: str) -> Any:
    """The value at a path of msgspec's, or the last one on the way there.

    >>> value_at({"match": {"broker": [1, "b"]}}, "match.broker[1]")
    'b'
    """
    for name in re.findall(r"[^.\[\]]+", path):
        try:
            value = value[int(name)] if isinstance(value, list) else value[name]
        except (KeyError, IndexError, TypeError, ValueError):
            break
    return value
