"""Compatibility fuzzing: hypothesis strategies and cross-version rules, both drawn from the declarations.

>>> from hypothesis import given
>>> from protocol.apis.metadata import MetadataRequest
>>> import protocol
>>> @given(messages(MetadataRequest, 12))
... def a_message_survives_its_bytes(message):
...     assert protocol.decode(3, "request", 12, protocol.encode(message, 12)) == message
>>> a_message_survives_its_bytes()

Needs ``hypothesis``, which the ``dev`` extra brings.
"""

from .crossing import Refusal, cross
from .damage import damaged, huge_lengths, prefixes
from .strategies import messages, versioned_messages, versions, wild_messages

__all__ = [
    "Refusal",
    "cross",
    "damaged",
    "huge_lengths",
    "messages",
    "prefixes",
    "versioned_messages",
    "versions",
    "wild_messages",
]
