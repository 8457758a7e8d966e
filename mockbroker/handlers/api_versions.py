"""ApiVersions (key 18): every version of every API that has a handler; in ZooKeeper mode those of the broker's release.

Errors: UNSUPPORTED_VERSION, in version 0 form with this API's own range, for an unknown version (KIP-511);
INVALID_REQUEST for a client name or version with characters that Kafka rejects, and for a cluster id without a node id
or the reverse; REBOOTSTRAP_REQUIRED if the client expects another cluster or broker (KIP-1242). The last two contain no
versions. The listener makes no difference: a broker has the same id on all of them.
Source: KIP-35, KIP-511, KIP-584, KIP-1242; KafkaApis.handleApiVersionsRequest, ApiVersionsRequest.isValid and
getErrorResponse, Apache Kafka 4.4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mockbroker.api import SERVED, Needs, handles
from mockbroker.call import Call
from mockbroker.state.features import finalized_levels
from mockbroker.state.releases import supported_levels
from protocol.apis.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.error_codes import ErrorCode

API_VERSIONS_KEY = 18
TELEMETRY_KEYS = (71, 72)  # Kafka lists them only if it has a receiver of client metrics
PRODUCE = 0
"""Listed from version 0 even if versions below 3 are refused: librdkafka would not compress (KAFKA-18659)."""
KIP_511_VERSION = 3
FEATURE_LEVEL_0_VERSION = 4
UNKNOWN_NODE = -1
SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""Pattern of a client's name and version: ``SOFTWARE_NAME_VERSION_PATTERN`` of ApiVersionsRequest."""
ApiVersion = ApiVersionsResponse.ApiVersion


@handles(ApiVersionsRequest, access=Needs(note="Nothing: it comes before the login"))
def api_versions(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """The versions that the broker serves, and its features."""
    if not is_valid(request, call.version):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    authenticator = call.session.authenticator
    if authenticator is not None and not authenticator.is_complete:
        authenticator.versions_sent()  # before the login Kafka does not check the node id
    elif request.cluster_id is not None and (request.cluster_id, request.node_id) != (call.cluster.id, call.broker.id):
        return ApiVersionsResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
    response = ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=api_key, min_version=0 if api_key == PRODUCE else lowest, max_version=highest)
            for api_key, (lowest, highest) in call.session.served_versions.items()
            if api_key not in TELEMETRY_KEYS
        ]
    )
    return with_features(call, response) if call.cluster.support.is_kraft else response


def with_features(call: Call, response: ApiVersionsResponse) -> ApiVersionsResponse:
    """The response with the features of the cluster (KIP-584), since v3.

    Before v4 it omits features that support level 0: Java clients up to 3.8 fail on them.
    Source: ApiVersionsResponse.maybeFilterSupportedFeatureKeys, Apache Kafka 4.4 (KAFKA-17011).
    """
    for name, (lowest, highest) in sorted(supported_levels(call.cluster.release).items()):
        if lowest or call.version >= FEATURE_LEVEL_0_VERSION:
            supported = ApiVersionsResponse.SupportedFeature(name=name, min_version=lowest, max_version=highest)
            response.supported_features.append(supported)
    response.finalized_features = [
        ApiVersionsResponse.FinalizedFeature(name=name, max_version_level=level, min_version_level=level)
        for name, level in finalized_levels(call.cluster).items()
    ]
    response.finalized_features_epoch = call.cluster.version
    return response


def is_valid(request: ApiVersionsRequest, version: int) -> bool:
    """True if Kafka accepts the client's name and version, and both or neither of cluster id and node id are set."""
    if (request.cluster_id is None) != (request.node_id == UNKNOWN_NODE):
        return False
    return version < KIP_511_VERSION or all(
        SOFTWARE.fullmatch(text) for text in (request.client_software_name, request.client_software_version)
    )


def refuse_version(served: Mapping[int, tuple[int, int]] = SERVED) -> ApiVersionsResponse:
    """The answer, in version 0 form, to an unknown version. Before KIP-511 (2.4) the answer had no versions."""
    lowest, highest = served[API_VERSIONS_KEY]
    own = ApiVersion(api_key=API_VERSIONS_KEY, min_version=lowest, max_version=highest)
    return ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[own] if highest >= KIP_511_VERSION else []
    )
