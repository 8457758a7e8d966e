"""Removes secrets from frames before they are recorded: SASL tokens, passwords, keys of tokens.

A frame that cannot be decoded loses all after its first eight bytes. The frames stay valid.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mockbroker.call import NO_API, Call
from mockbroker.core.response_errors import fields_where
from protocol.codec import codec
from protocol.declare import Field
from protocol.errors import ProtocolError
from protocol.headers import read_request_header, read_response
from protocol.registry import APIS, message_class

SASL_AUTHENTICATE = 36
SECRETS = ("auth_bytes", "hmac", "salted_password")
"""The secret bytes fields, in any message."""
CONFIGS = "configs"
SECRET_CONFIGS = ("password", "jaas.config", "keystore.key", "secret", "secret.key")
HIDDEN = "hidden"
START_BYTES = 8


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


def has_secrets(api_key: int, kind: str) -> bool:
    """True if a message may contain a secret, by its declaration."""
    return api_key in APIS and any(fields_where(message_class(api_key, kind), is_secret))


def is_secret(field: Field) -> bool:
    """True for secret bytes, and for configs, of which some are secret."""
    return field.name == CONFIGS or field.name in SECRETS


def without_secrets(record: Any) -> Any:
    """A record whose secrets are replaced by zeros or hidden."""
    kind: Any = type(record)
    own, nested = fields_where(kind, is_secret)
    changes: dict[str, Any] = {name: [without_secrets(one) for one in getattr(record, name)] for name in nested}
    for name in own:
        value = getattr(record, name)
        changes[name] = bytes(len(value)) if name != CONFIGS else value and [without_secret(one) for one in value]
    return replace(record, **changes)


def without_secret(config: Any) -> Any:
    hides = config.value is not None and config.name.endswith(SECRET_CONFIGS)
    return replace(config, value=HIDDEN) if hides else config
