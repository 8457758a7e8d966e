"""The log ``__cluster_metadata`` (KIP-631): delegation tokens, passwords.

Each value begins with a frame version, the type of the record (its key here) and its version, all unsigned varints.
"""

from ..declare import data, field
from ..wire import Array, Bytes, Int8, Int32, Int64, String


@data(versions="0", flexible="0+", key=10)
class DelegationTokenRecord:
    """A delegation token, but for its secret."""

    owner: str = field(String)
    requester: str = field(String)
    renewers: list[str] = field(Array(String))
    issue_timestamp: int = field(Int64)
    max_timestamp: int = field(Int64)
    expiration_timestamp: int = field(Int64)
    token_id: str = field(String)


@data(versions="0", flexible="0+", key=26)
class RemoveDelegationTokenRecord:
    """That token is gone."""

    token_id: str = field(String)


@data(versions="0", flexible="0+", key=11)
class UserScramCredentialRecord:
    """A credential for SASL/SCRAM (KIP-900)."""

    name: str = field(String)
    mechanism: int = field(Int8)
    salt: bytes = field(Bytes)
    stored_key: bytes = field(Bytes)
    server_key: bytes = field(Bytes)
    iterations: int = field(Int32)


@data(versions="0", flexible="0+", key=22)
class RemoveUserScramCredentialRecord:
    """That credential is gone."""

    name: str = field(String)
    mechanism: int = field(Int8)
