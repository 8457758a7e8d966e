"""DescribeCluster (key 60), UnregisterBroker (64), UpdateFeatures (57): the cluster as a whole."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int8, Int16, Int32, String


@request(key=60, versions="0-2", flexible="0+")
class DescribeClusterRequest:
    """Which nodes to list (KIP-700), brokers or since version 1 controllers (KIP-919)."""

    include_cluster_authorized_operations: bool = field(Bool)
    endpoint_type: int = field(Int8, versions="1+", default=1)  # 1: brokers; 2: controllers
    include_fenced_brokers: bool = field(Bool, versions="2+")


@response(key=60, versions="0-2", flexible="0+")
class DescribeClusterResponse:
    """The nodes with their racks; since version 2 fenced ones too (KIP-1073)."""

    @record
    class Broker:
        broker_id: int = field(Int32)
        host: str = field(String)
        port: int = field(Int32)
        rack: str | None = field(String, nullable="0+", default=None)
        is_fenced: bool = field(Bool, versions="2+")

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+", default=None)
    endpoint_type: int = field(Int8, versions="1+", default=1)
    cluster_id: str = field(String)
    controller_id: int = field(Int32, default=-1)
    brokers: list[Broker] = field(Array(Broker))
    # a bit set (KIP-430); this default: not asked for
    cluster_authorized_operations: int = field(Int32, default=-2147483648)


@request(key=64, versions="0", flexible="0+")
class UnregisterBrokerRequest:
    """Strikes a broker that is gone for good from the cluster (KIP-500)."""

    broker_id: int = field(Int32)


@response(key=64, versions="0", flexible="0+")
class UnregisterBrokerResponse:
    """How that went."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")


@request(key=57, versions="0-2", flexible="0+")
class UpdateFeaturesRequest:
    """Features to raise or lower for the whole cluster (KIP-584)."""

    @record
    class FeatureUpdate:
        feature: str = field(String)
        max_version_level: int = field(Int16)  # 0 removes the feature
        allow_downgrade: bool = field(Bool, versions="0")
        # 1: upgrade; 2: safe downgrade; 3: downgrade that may lose metadata
        upgrade_type: int = field(Int8, versions="1+", default=1)

    timeout_ms: int = field(Int32, default=60000)
    feature_updates: list[FeatureUpdate] = field(Array(FeatureUpdate))
    validate_only: bool = field(Bool, versions="1+")


@response(key=57, versions="0-2", flexible="0+")
class UpdateFeaturesResponse:
    """How that went; up to version 1 for each feature, then for all or none (KIP-1022)."""

    @record
    class Result:
        feature: str = field(String)
        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+")

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    results: list[Result] = field(Array(Result), versions="0-1", ignorable=True)
