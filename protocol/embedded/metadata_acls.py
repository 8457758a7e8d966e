"""The log ``__cluster_metadata`` (KIP-631): access control.

Each value begins with a frame version, the type of the record (its key here) and its version, all unsigned varints.
"""

from ..declare import data, field
from ..wire import Int8, String, Uuid


@data(versions="0", flexible="0+", key=18)
class AccessControlEntryRecord:
    """Someone may, or may not, do something (KIP-801)."""

    id: bytes = field(Uuid)
    resource_type: int = field(Int8)
    resource_name: str = field(String)
    pattern_type: int = field(Int8)
    principal: str = field(String)
    host: str = field(String)
    operation: int = field(Int8)
    permission_type: int = field(Int8)


@data(versions="0", flexible="0+", key=19)
class RemoveAccessControlEntryRecord:
    """That entry is gone."""

    id: bytes = field(Uuid)
