"""The file ``quorum-state`` of a controller: the JSON form, with its version as ``data_version`` (KIP-595)."""

from ..declare import data, field, record
from ..wire import Array, Int32, Int64, String, Uuid


@data(versions="0-1", flexible="0+")
class QuorumStateData:
    """The epoch, its leader and the vote given in it. Version 1 left the voters to the log (KIP-853)."""

    @record
    class Voter:
        voter_id: int = field(Int32, versions="0")

    cluster_id: str = field(String, versions="0")
    leader_id: int = field(Int32, default=-1)
    leader_epoch: int = field(Int32, default=-1)
    voted_id: int = field(Int32, default=-1)  # -1: none
    voted_directory_id: bytes = field(Uuid, versions="1+")
    applied_offset: int = field(Int64, versions="0")
    current_voters: list[Voter] | None = field(Array(Voter), versions="0", nullable="0")
