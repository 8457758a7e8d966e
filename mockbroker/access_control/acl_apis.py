"""DescribeAcls (key 29), CreateAcls (30), DeleteAcls (31): the entries of access control.

They read and change the entries in the image. Errors: SECURITY_DISABLED without ``authorizer.class.name``;
INVALID_REQUEST per entry or filter. A request with a number 0, for unknown, closes the connection.
Source: KIP-140, KIP-290; AclApis, CreateAclsRequest, DescribeAclsRequest and DeleteAclsRequest, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import msgspec
from msgspec.structs import astuple

from mockbroker.access_control.acls import (
    ANY,
    LITERAL,
    MATCH,
    NUMBERS,
    UNKNOWN,
    Acl,
    AclFilter,
    check_acl,
    create_acls,
    delete_acls,
    find_acls,
)
from mockbroker.api import Needs, handles
from mockbroker.call import Call, Verdict
from mockbroker.handlers.controlled import check_controller
from mockbroker.handlers.error_responses import reported
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
    if end := unreadable(call, [filter_]):
        return end
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
    acls = [Acl(*fields_of(one)) for one in request.creations]
    if end := unreadable(call, acls):
        return end
    check_controller(call)
    check_authorizer(call)
    if any(ANY in numbers_of(acl) or acl.pattern_type == MATCH for acl in acls):
        # Kafka fails on these for all entries, before it checks any.
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "expected entries without 'any' and 'match'")
    response, valid = CreateAclsResponse(), list[Acl]()
    for acl in acls:
        result = CreateAclsResponse.Result(error_message="")
        response.results.append(result)
        with reported(result):
            check_acl(acl)
            valid.append(acl)
    create_acls(call.cluster.writer, call.cluster.rng, valid)
    return response


@handles(DeleteAclsRequest, access=Needs(cluster="Alter", in_words=True))
def delete(call: Call, request: DeleteAclsRequest) -> DeleteAclsResponse | Verdict:
    """Delete the entries that match any filter; an entry that matches two filters is in the results of both."""
    filters = [filter_of(call, wanted) for wanted in request.filters]
    if end := unreadable(call, filters):
        return end
    check_controller(call)
    check_authorizer(call)
    response, valid = DeleteAclsResponse(), list[AclFilter]()
    for filter_ in filters:
        result = FilterResult(error_message=None)
        response.filter_results.append(result)
        with reported(result):
            filter_.check()
            valid.append(filter_)
            found = find_acls(call.cluster.image, filter_)
            result.matching_acls = [FilterResult.MatchingAcl(error_message=None, **acl._asdict()) for acl in found]
    delete_acls(call.cluster.writer, valid)
    return response


def filter_of(call: Call, wanted: DescribeAclsRequest | DeleteAclsRequest.Filter) -> AclFilter:
    """The filter of a request."""
    found = AclFilter(*fields_of(wanted))
    if call.version == LITERAL_ONLY_VERSION and found.pattern_type == ANY:
        found = found._replace(pattern_type=LITERAL)
    return found


def fields_of(wanted: Any) -> tuple[Any, ...]:
    """The fields of an entry or a filter of a request, which are declared in the order of ``Acl``."""
    return astuple(wanted)[:-1]  # without unknown tagged fields


def numbers_of(acl: Acl | AclFilter) -> tuple[int, ...]:
    return tuple(getattr(acl, field) for field, *_ in NUMBERS)


def unreadable(call: Call, acls: Sequence[Acl | AclFilter]) -> Verdict | None:
    """The end of the connection if Kafka could not parse one of these entries or filters."""
    for acl in acls:
        if UNKNOWN in numbers_of(acl) or (call.version == LITERAL_ONLY_VERSION and acl.pattern_type != LITERAL):
            place = "an entry" if isinstance(acl, Acl) else "a filter"
            return Verdict(closes=f"expected known numbers in {place}, got {numbers_of(acl)}")
    return None


def check_authorizer(call: Call) -> None:
    """Raises ApiError: SECURITY_DISABLED, if no authorizer is configured."""
    if not call.cluster.configs.broker(None, "authorizer.class.name"):
        raise ApiError(ErrorCode.SECURITY_DISABLED, "expected authorizer.class.name among the settings, got none")
