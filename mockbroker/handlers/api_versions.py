"""ApiVersions (key 18): every version of every API that has a handler; in ZooKeeper mode those of the broker's release.

Errors: UNSUPPORTED_VERSION, in version 0 form with this API's own range, for a version that is not known (KIP-511);
INVALID_REQUEST for a client's name or version of other characters than Kafka takes, and for a cluster id without a node
id or the reverse; REBOOTSTRAP_REQUIRED for a client that means another cluster or broker (KIP-1242). The last two come
without any versions. On which listener a client came in makes no difference: a broker has one id on all of them.
Source: KIP-35, KIP-511, KIP-584, KIP-1242; KafkaApis.handleApiVersionsRequest, ApiVersionsRequest.isValid and
getErrorResponse, Apache Kafka 4.4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mockbroker.call import Call, handles
from mockbroker.handlers import MODULE_OF_API
from protocol.apis.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.error_codes import ErrorCode
from protocol.registry import message_class

API_VERSIONS_KEY = 18
KIP_511_VERSION = 3
KIP_1242_VERSION = 5
UNKNOWN_NODE = -1
SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""What a client's name and version may look like: ``SOFTWARE_NAME_VERSION_PATTERN`` of ApiVersionsRequest."""

# Oldest and newest version by API, to answer a client's first question without importing every declaration. What is
# not here is looked up; a test holds what is here equal to the declarations.
VERSIONS: dict[int, tuple[int, int]] = {
    0: (0, 13),
    1: (0, 18),
    2: (0, 11),
    3: (0, 14),
    8: (0, 10),
    9: (0, 10),
    10: (0, 6),
    11: (0, 9),
    12: (0, 4),
    13: (0, 5),
    14: (0, 5),
    15: (0, 6),
    16: (0, 5),
    18: (0, 5),
    19: (0, 7),
    20: (0, 6),
    22: (0, 6),
    23: (0, 4),
    32: (0, 4),
    37: (0, 3),
    42: (0, 3),
    45: (0, 1),
    46: (0, 0),
    47: (0, 0),
    60: (0, 2),
    75: (0, 1),
}


@handles(ApiVersionsRequest)
def api_versions(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """What the broker serves, to a client that means it."""
    if not is_valid(request, call.version):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    if is_misdirected(call, request):
        return ApiVersionsResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
    limits = call.cluster.support.served_versions(call.broker.id)
    if limits is None:
        return ApiVersionsResponse(api_keys=[served(api_key) for api_key in sorted(MODULE_OF_API)])
    return ApiVersionsResponse(
        api_keys=[
            ApiVersionsResponse.ApiVersion(api_key=api_key, min_version=lowest, max_version=highest)
            for api_key, (lowest, highest) in limits.items()
        ]
    )


def is_valid(request: ApiVersionsRequest, version: int) -> bool:
    """Whether the client gives a name and a version as Kafka takes them, and both of cluster and node or neither."""
    if version >= KIP_1242_VERSION and (request.cluster_id is None) != (request.node_id == UNKNOWN_NODE):
        return False
    return version < KIP_511_VERSION or all(
        SOFTWARE.fullmatch(text) for text in (request.client_software_name, request.client_software_version)
    )


def is_misdirected(call: Call, request: ApiVersionsRequest) -> bool:
    """Whether the client means another cluster, or another broker of this one."""
    if call.version < KIP_1242_VERSION or request.cluster_id is None:
        return False
    return (request.cluster_id, request.node_id) != (call.cluster.id, call.broker.id)


def refuse_version(limits: Mapping[int, tuple[int, int]] | None = None) -> ApiVersionsResponse:
    """The answer, in version 0 form, to a version that is not known.

    Args:
        limits: what a broker in ZooKeeper mode serves; before KIP-511, in 2.4, the answer had no versions.
    """
    known = [served(API_VERSIONS_KEY)]
    if limits is not None:
        lowest, highest = limits[API_VERSIONS_KEY]
        own = ApiVersionsResponse.ApiVersion(api_key=API_VERSIONS_KEY, min_version=lowest, max_version=highest)
        known = [own] if highest >= KIP_511_VERSION else []
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=known)


def served(api_key: int) -> ApiVersionsResponse.ApiVersion:
    lowest, highest = VERSIONS.get(api_key) or declared_versions(api_key)
    return ApiVersionsResponse.ApiVersion(api_key=api_key, min_version=lowest, max_version=highest)


def declared_versions(api_key: int) -> tuple[int, int]:
    """Oldest and newest version of an API, as its request is declared."""
    versions = message_class(api_key, "request").valid_versions
    return (versions.lowest, versions.highest)
