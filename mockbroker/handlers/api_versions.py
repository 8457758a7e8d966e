"""ApiVersions (key 18): every version of every API that has a handler.

Errors: UNSUPPORTED_VERSION, in version 0 form with this API's own range, for a version that is not known (KIP-511).
Source: KIP-35, KIP-511, KIP-584; ApiVersionsRequest.getErrorResponse, Apache Kafka.
"""

from __future__ import annotations

from mockbroker.call import Call, handles
from mockbroker.handlers import MODULE_OF_API
from protocol.apis.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.error_codes import ErrorCode
from protocol.registry import message_class

API_VERSIONS_KEY = 18


@handles(ApiVersionsRequest)
def api_versions(_call: Call, _request: ApiVersionsRequest) -> ApiVersionsResponse:
    """What this cluster serves."""
    return ApiVersionsResponse(api_keys=[served(api_key) for api_key in sorted(MODULE_OF_API)])


def refuse_version() -> ApiVersionsResponse:
    """The answer, in version 0 form, to a version that is not known."""
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[served(API_VERSIONS_KEY)])


def served(api_key: int) -> ApiVersionsResponse.ApiVersion:
    versions = message_class(api_key, "request").valid_versions
    return ApiVersionsResponse.ApiVersion(api_key=api_key, min_version=versions.lowest, max_version=versions.highest)
