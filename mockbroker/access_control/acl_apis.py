"""DescribeAcls (key 29), CreateAcls (30), DeleteAcls (31): the entries of access control.

They read and change the entries in the image. Errors: SECURITY_DISABLED without ``authorizer.class.name``;
INVALID_REQUEST per entry or filter. A request with a number 0, for unknown, closes the connection.
Source: KIP-140, KIP-290; AclApis, CreateAclsRequest, DescribeAclsRequest and DeleteAclsRequest, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import msgspec

from mockbroker.access_control.acls import (
    ANY,
    LITERAL,
    MATCH,
    UNKNOWN,
    Acl,
    AclFilter,
    create_acls,
    delete_acls,
    find_acls,
)
from mockbroker.api import Needs, handles
from mockbroker.call import Call, Verdict
from mockbroker.handlers.controlled import check_controller
from mockbroker.state.errors import ApiError
from protocol.apis.acls import (
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from protocol.error_codes import ErrorCode

LITERAL_ONLY_VERSION = 0
Resource = DescribeAclsResponse.Resource
FilterResult = DeleteAclsResponse.FilterResult


@handles(DescribeAclsRequest, access=Needs(cluster="Describe", in_words=True))
def describe_acls(call: Call, request: DescribeAclsRequest) -> DescribeAclsResponse | Verdict:
    """The entries that a filter matches, by resource."""
    filter_ = filter_of(call, request)
    if isinstance(filter_, Verdict):
        return filter_
    check_authorizer(call)
    found = find_acls(call.cluster.image, filter_)
    return DescribeAclsResponse(
        resources=[
            Resource(
                resource_type=resource_type,
                resource_name=name,
                pattern_type=pattern_type,
                acls=[msgspec.convert(acl._asdict(), Resource.Acl) for acl in acls],
            )
            for (resource_type, name, pattern_type), acls in groupby(found, lambda acl: acl[:3])
        ],
    )


@handles(CreateAclsRequest, access=Needs(cluster="Alter", in_words=True))
def create(call: Call, request: CreateAclsRequest) -> CreateAclsResponse | Verdict:
    """Add the entries; the result per entry."""
    acls = [
        Acl(
            one.resource_type,
            one.resource_name,
            one.resource_pattern_type,
            one.principal,
            one.host,
            one.operation,
            one.permission_type,
        )
        for one in request.creations
    ]
    for acl in acls:
        if UNKNOWN in (acl.resource_type, acl.pattern_type, acl.operation, acl.permission_type) or (
            call.version == LITERAL_ONLY_VERSION and acl.pattern_type != LITERAL
        ):
            return Verdict(closes=f"expected known numbers in an entry, got {tuple(acl)}")
    check_controller(call)
    check_authorizer(call)
    if any(ANY in (acl.resource_type, acl.pattern_type, acl.operation, acl.permission_type) for acl in acls) or any(
        acl.pattern_type == MATCH for acl in acls
    ):
        # Kafka fails on these for all entries, before it checks any.
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "expected entries without 'any' and 'match'")
    return CreateAclsResponse(
        results=[
            CreateAclsResponse.Result(
                error_code=0 if error is None else error.code, error_message="" if error is None else error.message
            )
            for error in create_acls(call.cluster.writer, call.cluster.rng, acls)
        ]
    )


@handles(DeleteAclsRequest, access=Needs(cluster="Alter", in_words=True))
def delete(call: Call, request: DeleteAclsRequest) -> DeleteAclsResponse | Verdict:
    """Delete the entries that match any filter; an entry that matches two filters is in the results of both."""
    filters = []
    for wanted in request.filters:
        filter_ = filter_of(call, wanted)
        if isinstance(filter_, Verdict):
            return filter_
        filters.append(filter_)
    check_controller(call)
    check_authorizer(call)
    results = delete_acls(call.cluster.writer, filters)
    return DeleteAclsResponse(filter_results=[filter_result(result) for result in results])


def filter_result(result: Iterable[Acl] | ApiError) -> FilterResult:
    if isinstance(result, ApiError):
        return FilterResult(error_code=result.code, error_message=result.message)
    return FilterResult(
        error_message=None,
        matching_acls=[FilterResult.MatchingAcl(error_message=None, **acl._asdict()) for acl in result],
    )


def filter_of(call: Call, wanted: DescribeAclsRequest | DeleteAclsRequest.Filter) -> AclFilter | Verdict:
    """The filter of a request, or the end of the connection if Kafka could not parse it."""
    pattern_type = wanted.pattern_type_filter
    if call.version == LITERAL_ONLY_VERSION and pattern_type == ANY:
        pattern_type = LITERAL
    numbers = (wanted.resource_type_filter, pattern_type, wanted.operation, wanted.permission_type)
    if UNKNOWN in numbers or (call.version == LITERAL_ONLY_VERSION and pattern_type != LITERAL):
        return Verdict(closes=f"expected known numbers in a filter, got {numbers}")
    return AclFilter(
        wanted.resource_type_filter,
        wanted.resource_name_filter,
        pattern_type,
        wanted.principal_filter,
        wanted.host_filter,
        wanted.operation,
        wanted.permission_type,
    )


def check_authorizer(call: Call) -> None:
    """Raises ApiError: SECURITY_DISABLED, if no authorizer is configured."""
    if not call.cluster.configs.broker(None, "authorizer.class.name"):
        raise ApiError(ErrorCode.SECURITY_DISABLED, "expected authorizer.class.name among the settings, got none")
