"""The bodies of requests: read up to a limit, and checked against the type that an operation expects."""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request

from mockbroker.adapters.control.problems import ControlProblem, bad_request, named

MAX_BODY_BYTES = 1 << 16
MAX_DISCARDED = 1 << 24  # of a body that is too large, read to its end so that the client gets its answer
MAX_SECONDS = 30.0
MAX_SHOWN = 100  # characters of a wrong value in an error's text
JSON_TYPES = ("application/json", "application/x-www-form-urlencoded")  # the second is what `curl -d` says of any text
PLACE = re.compile(r"^(?P<text>.*?)(?: - at `(?:key in )?\$(?P<path>.*)`)?$", re.DOTALL)
STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\.\.\.)\]")
PLAIN = {"object": "an object", "array": "an array", "int": "a whole number", "str": "text", "bool": "true or false"}


async def read_body(request: Request, limit: int = MAX_BODY_BYTES) -> bytes:
    """A body of at most ``limit`` bytes. Raises ControlProblem: 413, 408."""
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(MAX_SECONDS):
            async for piece in request.stream():
                size += len(piece)
                if size > MAX_DISCARDED:
                    break
                if size <= limit:
                    body += piece
    except TimeoutError:
        raise ControlProblem(
            HTTPStatus.REQUEST_TIMEOUT,
            f"expected the whole body within {MAX_SECONDS:.0f} s, got {size} bytes of it",
            headers={"connection": "close"},
        ) from None
    except ClientDisconnect:
        raise bad_request(f"the connection ended after {size} bytes of the body") from None
    if size > limit:
        raise ControlProblem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the body has more than {limit} bytes",
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


def json_of(body: bytes) -> Any:
    """The JSON value of a body; an empty one is an empty object. Raises ControlProblem: 400."""
    try:
        return msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request(f"the body is no JSON: {error}") from None
    except RecursionError:
        raise bad_request("the body is no JSON that can be read: too deeply nested") from None


def typed_body(body: bytes, expected: Any) -> Any:
    """The body as a value of the type. Raises ControlProblem: 400, with the path of the invalid field."""
    given = json_of(body)
    try:
        return msgspec.convert(given, expected)
    except msgspec.ValidationError as error:
        raise refusal(str(error), given, expected) from None
    except RecursionError:
        raise bad_request("the body is no JSON that can be read: too deeply nested") from None


def refusal(text: str, given: Any, expected: Any) -> ControlProblem:
    """The problem that msgspec reports of a wrong value, with the field first and the value met.

    >>> class Lag(msgspec.Struct):
    ...     records: int
    >>> refusal("Expected `int`, got `str` - at `$.records`", {"records": "5"}, Lag).detail
    'records: expected a whole number, got "5"'
    >>> refusal("Object missing required field `records`", {}, Lag).detail
    'records: expected a value, got none; the body: {"records": ...}'
    """
    match = PLACE.match(text)
    assert match is not None
    said, path = match["text"], (match["path"] or "").lstrip(".")
    missing = re.fullmatch(r"Object missing required field `(.*)`", said)
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", said)
    fields = [field.encode_name for field in msgspec.structs.fields(expected)] if is_struct(expected) else []
    if missing or unknown:
        name = (missing or unknown)[1]  # type: ignore[index]
        field = f"{path}.{name}".lstrip(".")
        if missing:
            shape = ", ".join(f'"{one}": ...' for one in fields)
            hint = f"; the body: {{{shape}}}" if fields and not path else ""
            return bad_request(f"{field}: expected a value, got none{hint}", field=field)
        hint = f"; the fields: {named(fields)}" if fields and not path else ""
        return bad_request(f"{field}: expected no such field{hint}", field=field)
    wanted = re.sub(r", got .*$", "", said).replace("Expected ", "expected ")
    wanted = re.sub(r"`([^`]*)`", lambda found: " or ".join(PLAIN.get(p, p) for p in found[1].split(" | ")), wanted)
    shown = shortened(value_at(given, path))
    subject = f"{path}: " if path else "the body: "
    return bad_request(f"{subject}{wanted}, got {shown}", **({"field": path} if path else {}))


def is_struct(expected: Any) -> bool:
    return isinstance(expected, type) and issubclass(expected, msgspec.Struct)


def value_at(given: Any, path: str) -> Any:
    """The value at a path like ``match.broker[0]``, or the last one on the way there."""
    value = given
    for name, index in STEP.findall(path):
        try:
            value = value[name] if name else value[int(index)]
        except (KeyError, IndexError, TypeError, ValueError):
            return value
    return value


def shortened(value: object) -> str:
    """A value as JSON, cut to a length that fits a line."""
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        text = str(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
