"""Control records: what Kafka itself writes among the records of a partition.

Keys and values begin with their version, int16. Before ControlRecordTypeSchema and EndTxnMarker it stands apart, in the
others it is the first field.
"""

from ..declare import data, field, record
from ..wire import Array, Int16, Int32, Int64, String, UInt16, Uuid


@data(versions="0")
class ControlRecordTypeSchema:
    """The key: 0: abort; 1: commit; 2: leader change; 3, 4: snapshot header, footer; 5: KRaft version; 6: voters."""

    type: int = field(Int16)


@data(versions="0")
class EndTxnMarker:
    """The value of a commit or abort (KIP-98)."""

    coordinator_epoch: int = field(Int32)


@data(versions="0-1", flexible="0+")
class LeaderChangeMessage:
    """A new leader of the metadata quorum, and who voted for it (KIP-595)."""

    @record
    class Voter:
        voter_id: int = field(Int32)
        voter_directory_id: bytes = field(Uuid, versions="1+")

    version: int = field(Int16)
    leader_id: int = field(Int32)
    voters: list[Voter] = field(Array(Voter))
    granting_voters: list[Voter] = field(Array(Voter))


@data(versions="0", flexible="0+")
class SnapshotHeaderRecord:
    """The first record of a snapshot (KIP-630)."""

    version: int = field(Int16)
    last_contained_log_timestamp: int = field(Int64)


@data(versions="0", flexible="0+")
class SnapshotFooterRecord:
    """The last record of a snapshot (KIP-630)."""

    version: int = field(Int16)


@data(versions="0", flexible="0+")
class KRaftVersionRecord:
    """The version of KRaft that the quorum works in (KIP-853)."""

    version: int = field(Int16)  # of this record; KRaftVersion is what it says
    kraft_version: int = field(Int16, json="kRaftVersion")


@data(versions="0", flexible="0+")
class VotersRecord:
    """The voters, and where they listen (KIP-853)."""

    @record
    class Voter:
        @record
        class Endpoint:
            name: str = field(String)
            host: str = field(String)
            port: int = field(UInt16)

        @record
        class KRaftVersionFeature:
            min_supported_version: int = field(Int16)
            max_supported_version: int = field(Int16)

        voter_id: int = field(Int32)
        voter_directory_id: bytes = field(Uuid)
        endpoints: list[Endpoint] = field(Array(Endpoint))
        kraft_version_feature: KRaftVersionFeature = field(KRaftVersionFeature, json="kRaftVersionFeature")

    version: int = field(Int16)
    voters: list[Voter] = field(Array(Voter))
