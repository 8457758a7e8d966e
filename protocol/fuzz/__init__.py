"""Compatibility fuzzing: hypothesis strategies and cross-version rules, both drawn from the declarations.

>>> from hypothesis import given
>>> import protocol
>>> from protocol.apis.metadata import MetadataRequest
>>> from protocol.fuzz import messages
>>> @given(messages(MetadataRequest, 12))
... def a_message_survives_its_bytes(message):
...     assert protocol.decode(3, "request", 12, protocol.encode(message, 12)) == message
>>> a_message_survives_its_bytes()

The strategies need ``hypothesis``, which the ``fuzz`` extra brings; the rules, ``mutated`` and the oracles do not.
``docs/codec.md`` shows each at work.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .crossing import Refusal, cross
    from .damage import damaged, huge_lengths, prefixes
    from .mutation import mutated, random_bytes
    from .strategies import Draws, messages, versioned_messages, versions, wild_messages

_HOMES = {
    "Draws": "strategies",
    "Refusal": "crossing",
    "cross": "crossing",
    "damaged": "damage",
    "huge_lengths": "damage",
    "messages": "strategies",
    "mutated": "mutation",
    "prefixes": "damage",
    "random_bytes": "mutation",
    "versioned_messages": "strategies",
    "versions": "strategies",
    "wild_messages": "strategies",
}
__all__ = [
    "Draws",
    "Refusal",
    "cross",
    "damaged",
    "huge_lengths",
    "messages",
    "mutated",
    "prefixes",
    "random_bytes",
    "versioned_messages",
    "versions",
    "wild_messages",
]


def __getattr__(name: str) -> Any:
    """Load what is asked for, so that what needs no hypothesis runs without it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
