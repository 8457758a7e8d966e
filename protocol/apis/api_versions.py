"""ApiVersions (key 18): what a broker serves. A client asks this first."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int16, Int32, Int64, String


@request(key=18, versions="0-5", flexible="3+")
class ApiVersionsRequest:
    """The client's software, since version 3 (KIP-511), and since version 5 the broker and cluster meant (KIP-1242)."""

    client_software_name: str = field(String, versions="3+", ignorable=True)
    client_software_version: str = field(String, versions="3+", ignorable=True)
    # both or neither: null and -1 as long as the client does not know them
    cluster_id: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)
    node_id: int = field(Int32, versions="5+", default=-1, ignorable=True)


@response(key=18, versions="0-5", flexible="3+")
class ApiVersionsResponse:
    """The versions of each API, and the features of the cluster (KIP-584). An asker of an unknown version gets version
    0. Since version 5 the error may be REBOOTSTRAP_REQUIRED: this is another broker or cluster than was meant.
    """

    @record
    class ApiVersion:
        api_key: int = field(Int16)
        min_version: int = field(Int16)
        max_version: int = field(Int16)

    @record
    class SupportedFeature:
        name: str = field(String, versions="3+")
        min_version: int = field(Int16, versions="3+")
        max_version: int = field(Int16, versions="3+")

    @record
    class FinalizedFeature:
        name: str = field(String, versions="3+")
        max_version_level: int = field(Int16, versions="3+")
        min_version_level: int = field(Int16, versions="3+")

    error_code: int = field(Int16)
    api_keys: list[ApiVersion] = field(Array(ApiVersion))
    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    supported_features: list[SupportedFeature] = field(Array(SupportedFeature), versions="3+", ignorable=True, tag=0)
    finalized_features_epoch: int = field(Int64, versions="3+", default=-1, ignorable=True, tag=1)  # -1: not known
    finalized_features: list[FinalizedFeature] = field(Array(FinalizedFeature), versions="3+", ignorable=True, tag=2)
    # for the way from Zookeeper to KRaft (KIP-866)
    zk_migration_ready: bool = field(Bool, versions="3+", ignorable=True, tag=3)
