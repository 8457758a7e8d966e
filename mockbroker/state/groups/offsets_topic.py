"""The topic that groups' offsets would be in, as far as others speak of its partitions; there is none here.

Source: GroupCoordinatorService.partitionFor, Apache Kafka 4.4.
"""

from __future__ import annotations

OFFSETS_TOPIC = "__consumer_offsets"
SMALLEST_INT = -(2**31)


def offsets_partition(group_id: str, partitions: int) -> int:
    """The partition of ``__consumer_offsets`` that a group's offsets would be in.

    >>> offsets_partition("readers", 50), offsets_partition("payments", 50)
    (28, 13)
    """
    code = java_hash(group_id)
    return 0 if code == SMALLEST_INT else abs(code) % partitions  # as Utils.abs has it


def java_hash(text: str) -> int:
    """Java's ``String.hashCode``.

    >>> java_hash("polygenelubricants")
    -2147483648
    """
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        code = (31 * code + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return code - 2**32 if code >= 2**31 else code
