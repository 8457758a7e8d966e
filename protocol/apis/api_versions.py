"""ApiVersions (key 18): what a broker serves. A client asks this first."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int16, Int32, Int64, String


@request(key=18, versions="0-4", flexible="3+")
class ApiVersionsRequest:
    """Who asks, since version 3 (KIP-511)."""

    client_software_name: str = field(String, versions="3+", ignorable=True)
    client_software_version: str = field(String, versions="3+", ignorable=True)


@response(key=18, versions="0-4", flexible="3+")
class ApiVersionsResponse:
    """The versions of each API, and the features of the cluster (KIP-584). An asker of an unknown version gets version
    0.
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
