"""Where each message is declared, so that a module is imported only when one of its messages is asked for.

A test holds this table equal to the declarations.
"""

from importlib import import_module
from typing import Any

from .errors import UnsupportedVersionError

# The APIs by key: module under protocol.apis, and the name without Request or Response.
APIS: dict[int, tuple[str, str]] = {
}

# Messages without an API key of their own, or that share one: module under protocol, and the full names.
OTHERS: dict[str, tuple[str, ...]] = {
    "apis.headers": ("RequestHeader", "ResponseHeader"),
}

KINDS = {"request": "Request", "response": "Response"}


def message_class(api_key: int, kind: str) -> Any:
    """The class of an API's ``"request"`` or ``"response"``.

    Raises: UnsupportedVersionError: no API has this key. ValueError: another kind.
    """
    if kind not in KINDS:
        raise ValueError(f'kind is "request" or "response", not {kind!r}')
    found = APIS.get(api_key)
    if found is None:
        raise UnsupportedVersionError(f"no API has key {api_key}")
    module, stem = found
    return getattr(import_module(f"{__package__}.apis.{module}"), stem + KINDS[kind])


def named_class(name: str) -> Any:
    """The class of a message by Kafka's name, as ``MetadataRequest``.

    Raises: UnsupportedVersionError: there is no such message.
    """
    module = modules_by_name().get(name)
    if module is None:
        raise UnsupportedVersionError(f"no message is called {name!r}")
    return getattr(import_module(f"{__package__}.{module}"), name)


def messages() -> list[Any]:
    """Every message class, sorted by name; imports all the declarations."""
    return [named_class(name) for name in sorted(modules_by_name())]


def modules_by_name() -> dict[str, str]:
    """Each message's name with its module."""
    if not _BY_NAME:
        for module, stem in APIS.values():
            _BY_NAME.update({stem + suffix: f"apis.{module}" for suffix in KINDS.values()})
        for module, names in OTHERS.items():
            _BY_NAME.update(dict.fromkeys(names, module))
    return _BY_NAME


_BY_NAME: dict[str, str] = {}
