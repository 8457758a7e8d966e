"""DescribeConfigs (key 32), AlterConfigs (33), IncrementalAlterConfigs (44), ListConfigResources (74)."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int8, Int16, Int32, String


@request(key=32, versions="0-4", flexible="4+")
class DescribeConfigsRequest:
    """Settings to show (KIP-133)."""

    @record
    class Resource:
        resource_type: int = field(Int8)  # 2: topic; 4: broker; 8: broker logger; 16: client metrics; 32: group
        resource_name: str = field(String)
        configuration_keys: list[str] | None = field(Array(String), nullable="0+")  # null: all

    resources: list[Resource] = field(Array(Resource))
    include_synonyms: bool = field(Bool, versions="1+")
    include_documentation: bool = field(Bool, versions="3+")


@response(key=32, versions="0-4", flexible="4+")
class DescribeConfigsResponse:
    """Those settings, and where each value comes from (KIP-226)."""

    @record
    class Result:
        @record
        class Config:
            @record
            class Synonym:
                name: str = field(String, versions="1+")
                value: str | None = field(String, versions="1+", nullable="0+")
                source: int = field(Int8, versions="1+")

            name: str = field(String)
            value: str | None = field(String, nullable="0+")  # null where it is secret
            read_only: bool = field(Bool)
            config_source: int = field(Int8, versions="1+", default=-1, ignorable=True)
            is_default: bool = field(Bool, versions="0")
            is_sensitive: bool = field(Bool)
            synonyms: list[Synonym] = field(Array(Synonym), versions="1+", ignorable=True)
            config_type: int = field(Int8, versions="3+", ignorable=True)
            documentation: str | None = field(String, versions="3+", nullable="0+", ignorable=True)

        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+")
        resource_type: int = field(Int8)
        resource_name: str = field(String)
        configs: list[Config] = field(Array(Config))

    throttle_time_ms: int = field(Int32)
    results: list[Result] = field(Array(Result))


@request(key=33, versions="0-2", flexible="2+")
class AlterConfigsRequest:
    """Sets all settings of a resource: what is left out goes back to its default. IncrementalAlterConfigs has come
    instead.
    """

    @record
    class Resource:
        @record
        class Config:
            name: str = field(String)
            value: str | None = field(String, nullable="0+")

        resource_type: int = field(Int8)
        resource_name: str = field(String)
        configs: list[Config] = field(Array(Config))

    resources: list[Resource] = field(Array(Resource))
    validate_only: bool = field(Bool)


@response(key=33, versions="0-2", flexible="2+")
class AlterConfigsResponse:
    """How that went, for each resource."""

    @record
    class Resource:
        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+")
        resource_type: int = field(Int8)
        resource_name: str = field(String)

    throttle_time_ms: int = field(Int32)
    responses: list[Resource] = field(Array(Resource))


@request(key=44, versions="0-1", flexible="1+")
class IncrementalAlterConfigsRequest:
    """Changes single settings (KIP-339)."""

    @record
    class Resource:
        @record
        class Config:
            name: str = field(String)
            config_operation: int = field(Int8)  # 0: set; 1: delete; 2: append; 3: subtract
            value: str | None = field(String, nullable="0+")

        resource_type: int = field(Int8)
        resource_name: str = field(String)
        configs: list[Config] = field(Array(Config))

    resources: list[Resource] = field(Array(Resource))
    validate_only: bool = field(Bool)


@response(key=44, versions="0-1", flexible="1+")
class IncrementalAlterConfigsResponse:
    """How that went, for each resource."""

    @record
    class Resource:
        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+")
        resource_type: int = field(Int8)
        resource_name: str = field(String)

    throttle_time_ms: int = field(Int32)
    responses: list[Resource] = field(Array(Resource))


@request(key=74, versions="0-1", flexible="0+")
class ListConfigResourcesRequest:
    """Which kinds of resources to list (KIP-1142); version 0 lists client metrics subscriptions alone."""

    resource_types: list[int] = field(Array(Int8), versions="1+")


@response(key=74, versions="0-1", flexible="0+")
class ListConfigResourcesResponse:
    """The resources that have settings."""

    @record
    class ConfigResource:
        resource_name: str = field(String)
        resource_type: int = field(Int8, versions="1+", default=16, ignorable=True)

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    config_resources: list[ConfigResource] = field(Array(ConfigResource))


@request(key=74, versions="0", flexible="0+")
class ListClientMetricsResourcesRequest:
    """The name of ListConfigResources v0 up to Kafka 4.0 (KIP-714)."""


@response(key=74, versions="0", flexible="0+")
class ListClientMetricsResourcesResponse:
    """The names of the client metrics subscriptions."""

    @record
    class ClientMetricsResource:
        name: str = field(String)

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    client_metrics_resources: list[ClientMetricsResource] = field(Array(ClientMetricsResource))
