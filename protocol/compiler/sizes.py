"""How many bytes a construct takes at the least, and exactly where that is fixed."""

import struct
from typing import Any

from construct import Construct

from ..wire import Absent, CountedArray, Fixed, NullableRecord, RecordStruct, UuidConstruct


def min_size(construct: Construct) -> int:
    """The fewest bytes that any value of ``construct`` takes."""
    if isinstance(construct, RecordStruct):
        return sum(min_size(sub.subcon) for sub in construct.subcons)
    if isinstance(construct, Absent):
        return 0
    if isinstance(construct, Fixed):
        return int(construct.length)
    if isinstance(construct, UuidConstruct):
        return 16
    if isinstance(construct, (CountedArray, NullableRecord)) or hasattr(construct, "length"):
        prefix: Any = construct.marker if isinstance(construct, NullableRecord) else construct.length.subcon
        return int(getattr(prefix, "length", 1))
    return 1  # a varint: the count of tagged fields


def width(codes: str) -> int:
    """The bytes that a run of ``struct`` codes takes."""
    return struct.calcsize(">" + codes)
