"""Removes secrets from frames before they are recorded: SASL tokens, passwords, keys of tokens.

A frame that cannot be decoded loses all after its first eight bytes. The frames stay valid.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from msgspec.structs import replace

from mockbroker.call import Call
from mockbroker.core.response_errors import nested_record
from protocol.codec import codec
from protocol.declare import Field, declaration_of
from protocol.errors import ProtocolError
from protocol.headers import read_request_header, read_response
from protocol.registry import APIS, message_class

SASL_AUTHENTICATE = 36
SECRETS = ("auth_bytes", "hmac", "salted_password")
"""The secret bytes fields, in any message."""
SECRET_CONFIGS = ("password", "jaas.config", "keystore.key", "secret", "secret.key")
HIDDEN = "hidden"
START_BYTES = 8
NO_API = -1


def is_bare_token(call: Call) -> bool:
    """True if a call is a SASL token without a header, or is about to be treated as one."""
    authenticator = call.session.authenticator
    if call.api_key == NO_API:
        return authenticator is not None and authenticator.takes_bare_tokens
    return call.api_key == SASL_AUTHENTICATE and not call.body_start


def redacted_request(frame: bytes) -> bytes:
    """A request without its secrets."""
    api_key, version = int.from_bytes(frame[:2]), int.from_bytes(frame[2:4], signed=True)
    if not has_secrets(api_key, "request"):
        return frame
    try:
        _, body_start = read_request_header(frame)
        own = codec(message_class(api_key, "request"), version)
        message, _ = own.brief_decoder()(frame, body_start)
        return frame[:body_start] + own.encode(without_secrets(message))
    except ProtocolError:
        return frame[:START_BYTES] + bytes(max(0, len(frame) - START_BYTES))


def redacted_response(call: Call, data: bytes) -> bytes:
    """An answer without its secrets; ``data`` does not contain the length."""
    if not has_secrets(call.api_key, "response"):
        return data
    try:
        _, message = read_response(data, call.api_key, call.version)
        body = codec(type(message), call.version).encode(message)
        start = data[: len(data) - len(body)]
        return start + codec(type(message), call.version).encode(without_secrets(message))
    except ProtocolError:
        return data[:4] + bytes(max(0, len(data) - 4))


@lru_cache(maxsize=256)
def has_secrets(api_key: int, kind: str) -> bool:
    """True if a message may contain a secret, by its declaration."""
    return api_key in APIS and bool(places(message_class(api_key, kind)))


@cache
def places(record: Any) -> tuple[tuple[Field, type | None], ...]:
    """The fields of a record that are secret, with None, or that contain secrets, with their record class."""
    found: list[tuple[Field, type | None]] = []
    for field in declaration_of(record).fields:
        inner = nested_record(field)
        if field.name in SECRETS:
            found.append((field, None))
        elif inner is not None and (places(inner) or (field.name == "configs" and hasattr(record, "resource_name"))):
            found.append((field, inner))
    return tuple(found)


def without_secrets(record: Any) -> Any:
    """A record whose secrets are replaced by zeros or hidden."""
    changes: dict[str, Any] = {}
    own: Any = type(record)
    for field, inner in places(own):
        value = getattr(record, field.name)
        if inner is None:
            changes[field.name] = bytes(len(value))
        else:
            hide = without_secrets if places(inner) else without_secret
            changes[field.name] = [hide(one) for one in value]
    return replace(record, **changes)


def without_secret(config: Any) -> Any:
    is_secret = config.value is not None and config.name.endswith(SECRET_CONFIGS)
    return replace(config, value=HIDDEN) if is_secret else config
