"""DescribeAcls (key 29), CreateAcls (30), DeleteAcls (31): who may do what (KIP-140).

The numbers of resource types, operations and so on are those of Kafka's enums: 1 stands for any, and as a pattern
type 3 for a literal name (KIP-290).
"""

from ..declare import field, record, request, response
from ..wire import Array, Int8, Int16, Int32, String


@request(key=29, versions="0-3", flexible="2+")
class DescribeAclsRequest:
    """A filter; null matches anything."""

    resource_type_filter: int = field(Int8)
    resource_name_filter: str | None = field(String, nullable="0+")
    pattern_type_filter: int = field(Int8, versions="1+", default=3)
    principal_filter: str | None = field(String, nullable="0+")
    host_filter: str | None = field(String, nullable="0+")
    operation: int = field(Int8)
    permission_type: int = field(Int8)


@response(key=29, versions="0-3", flexible="2+")
class DescribeAclsResponse:
    """The entries that match, by resource."""

    @record
    class Resource:
        @record
        class Acl:
            principal: str = field(String)
            host: str = field(String)
            operation: int = field(Int8)
            permission_type: int = field(Int8)

        resource_type: int = field(Int8)
        resource_name: str = field(String)
        pattern_type: int = field(Int8, versions="1+", default=3)
        acls: list[Acl] = field(Array(Acl))

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    resources: list[Resource] = field(Array(Resource))


@request(key=30, versions="0-3", flexible="2+")
class CreateAclsRequest:
    """Entries to add."""

    @record
    class Creation:
        resource_type: int = field(Int8)
        resource_name: str = field(String)
        resource_pattern_type: int = field(Int8, versions="1+", default=3)
        principal: str = field(String)
        host: str = field(String)
        operation: int = field(Int8)
        permission_type: int = field(Int8)

    creations: list[Creation] = field(Array(Creation))


@response(key=30, versions="0-3", flexible="2+")
class CreateAclsResponse:
    """How that went, in the order of the request."""

    @record
    class Result:
        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+")

    throttle_time_ms: int = field(Int32)
    results: list[Result] = field(Array(Result))


@request(key=31, versions="0-3", flexible="2+")
class DeleteAclsRequest:
    """Filters; all that any of them matches goes."""

    @record
    class Filter:
        resource_type_filter: int = field(Int8)
        resource_name_filter: str | None = field(String, nullable="0+")
        pattern_type_filter: int = field(Int8, versions="1+", default=3)
        principal_filter: str | None = field(String, nullable="0+")
        host_filter: str | None = field(String, nullable="0+")
        operation: int = field(Int8)
        permission_type: int = field(Int8)

    filters: list[Filter] = field(Array(Filter))


@response(key=31, versions="0-3", flexible="2+")
class DeleteAclsResponse:
    """The ACLs that were deleted, for each filter."""

    @record
    class FilterResult:
        @record
        class MatchingAcl:
            error_code: int = field(Int16)
            error_message: str | None = field(String, nullable="0+")
            resource_type: int = field(Int8)
            resource_name: str = field(String)
            pattern_type: int = field(Int8, versions="1+", default=3)
            principal: str = field(String)
            host: str = field(String)
            operation: int = field(Int8)
            permission_type: int = field(Int8)

        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+")
        matching_acls: list[MatchingAcl] = field(Array(MatchingAcl))

    throttle_time_ms: int = field(Int32)
    filter_results: list[FilterResult] = field(Array(FilterResult))
