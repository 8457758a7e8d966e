"""Frames without the secrets that they carry, for whoever writes them down: tokens of SASL, passwords, keys of tokens.

What cannot be read is left out as a whole behind the first eight bytes. The frames stay frames of their kind.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mockbroker.call import Call
from protocol.codec import codec
from protocol.errors import ProtocolError
from protocol.headers import read_request_header, read_response
from protocol.registry import message_class

ALTER_CONFIGS, SASL_AUTHENTICATE, RENEW_TOKEN, EXPIRE_TOKEN, INCREMENTAL_ALTER_CONFIGS, ALTER_SCRAM = (
    33,
    36,
    39,
    40,
    44,
    51,
)
WITH_SECRETS = frozenset(
    api_key.to_bytes(2)
    for api_key in (
        ALTER_CONFIGS,
        SASL_AUTHENTICATE,
        RENEW_TOKEN,
        EXPIRE_TOKEN,
        INCREMENTAL_ALTER_CONFIGS,
        ALTER_SCRAM,
    )
)
"""How requests begin that may hold a secret."""
SECRET_CONFIGS = ("password", "jaas.config", "keystore.key", "secret", "secret.key")
CREATE_TOKEN, DESCRIBE_TOKENS = 38, 41
ANSWERS_WITH_SECRETS = (SASL_AUTHENTICATE, CREATE_TOKEN, DESCRIBE_TOKENS)
HIDDEN = "hidden"
START_BYTES = 8
NO_API = -1


def is_bare_token(call: Call) -> bool:
    """Whether a call is, or is about to be taken for, a token of SASL without a header."""
    authenticator = call.session.authenticator
    if call.api_key == NO_API:
        return authenticator is not None and authenticator.takes_bare_tokens
    return call.api_key == SASL_AUTHENTICATE and not call.body_start


def redacted_request(frame: bytes) -> bytes:
    """A request without its secrets."""
    if frame[:2] not in WITH_SECRETS:
        return frame
    api_key, version = int.from_bytes(frame[:2]), int.from_bytes(frame[2:4], signed=True)
    try:
        _, body_start = read_request_header(frame)
        own = codec(message_class(api_key, "request"), version)
        message, _ = own.brief_decoder()(frame, body_start)
        return frame[:body_start] + own.encode(without_secrets(message))
    except ProtocolError:
        return frame[:START_BYTES] + bytes(max(0, len(frame) - START_BYTES))


def redacted_response(call: Call, data: bytes) -> bytes:
    """An answer without its secrets; ``data`` has no length in front."""
    if call.api_key not in ANSWERS_WITH_SECRETS:
        return data
    try:
        _, message = read_response(data, call.api_key, call.version)
        body = codec(type(message), call.version).encode(message)
        start = data[: len(data) - len(body)]
        return start + codec(type(message), call.version).encode(answer_without_secrets(message))
    except ProtocolError:
        return data[:4] + bytes(max(0, len(data) - 4))


def without_secrets(message: Any) -> Any:
    """A message whose secrets are zeros, or hidden."""
    api_key = type(message).api_key
    if api_key == SASL_AUTHENTICATE:
        return blank(message, "auth_bytes")
    if api_key in (RENEW_TOKEN, EXPIRE_TOKEN):
        return blank(message, "hmac")
    if api_key == ALTER_SCRAM:
        return replace(message, upsertions=[blank(one, "salted_password") for one in message.upsertions])
    resources = [replace(one, configs=[without_secret(config) for config in one.configs]) for one in message.resources]
    return replace(message, resources=resources)


def answer_without_secrets(message: Any) -> Any:
    """An answer whose secrets are zeros."""
    api_key = type(message).api_key
    if api_key == DESCRIBE_TOKENS:
        return replace(message, tokens=[blank(one, "hmac") for one in message.tokens])
    return blank(message, "hmac" if api_key == CREATE_TOKEN else "auth_bytes")


def without_secret(config: Any) -> Any:
    is_secret = config.value is not None and config.name.endswith(SECRET_CONFIGS)
    return replace(config, value=HIDDEN) if is_secret else config


def blank(message: Any, field: str) -> Any:
    """The same with a field of zeros."""
    return replace(message, **{field: bytes(len(getattr(message, field)))})
