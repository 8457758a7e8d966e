"""The types of numbers in a capture's lines: what no column or date can hold makes a line unreadable."""

from __future__ import annotations

from typing import Annotated

import msgspec

Int32 = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
LATEST = 253_402_300_799_999_999
"""Microseconds since 1970 at the end of the year 9999, behind which there are no dates in Python."""
Time = Annotated[int, msgspec.Meta(ge=0, le=LATEST)]
