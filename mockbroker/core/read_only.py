"""Refuses what would write, where a cluster serves a data directory that is to stay as it is: a stage among ``limits``.

Kafka has no such mode, so that the error is chosen by what clients make of it. POLICY_VIOLATION is what Kafka answers
where a broker's operator does not want something; no client tries again after it, and answers with room for words say
why. A producer that asks for an id takes nothing but an authorization error as final, and is given that one.

Groups may be joined, since consumers that subscribe do not read without; that lasts as long as the process, and no
offset is committed.
"""

from __future__ import annotations

from mockbroker.call import Call
from mockbroker.core.path import Close, Respond, Verdict
from mockbroker.handlers.error_responses import error_response
from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError

INIT_PRODUCER_ID = 22
READS = frozenset(
    {
        1,  # Fetch
        2,  # ListOffsets
        3,  # Metadata
        9,  # OffsetFetch
        10,  # FindCoordinator
        11,  # JoinGroup
        12,  # Heartbeat
        13,  # LeaveGroup
        14,  # SyncGroup
        15,  # DescribeGroups
        16,  # ListGroups
        17,  # SaslHandshake
        18,  # ApiVersions
        23,  # OffsetForLeaderEpoch
        29,  # DescribeAcls
        32,  # DescribeConfigs
        35,  # DescribeLogDirs
        36,  # SaslAuthenticate
        41,  # DescribeDelegationToken
        46,  # ListPartitionReassignments
        48,  # DescribeClientQuotas
        50,  # DescribeUserScramCredentials
        55,  # DescribeQuorum
        60,  # DescribeCluster
        61,  # DescribeProducers
        65,  # DescribeTransactions
        66,  # ListTransactions
        68,  # ConsumerGroupHeartbeat
        69,  # ConsumerGroupDescribe
        71,  # GetTelemetrySubscriptions
        72,  # PushTelemetry
        74,  # ListConfigResources
        75,  # DescribeTopicPartitions
        77,  # ShareGroupDescribe
        84,  # ReadShareGroupState
        87,  # ReadShareGroupStateSummary
        89,  # StreamsGroupDescribe
        90,  # DescribeShareGroupOffsets
    }
)
"""The APIs that are served; all others write."""
REFUSAL = "the data directory is served read-only"


def refuse_writes(call: Call) -> Verdict | None:
    """Answer with an error unless the API only reads; a producer that waits for no answer loses its connection."""
    if call.api_key in READS:
        return None
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED if call.api_key == INIT_PRODUCER_ID else ErrorCode.POLICY_VIOLATION
    try:
        response = error_response(call.request, call.version, ApiError(code, REFUSAL))
    except ProtocolError as error:
        return Close(str(error))
    return Close(REFUSAL) if response is None else Respond(response)
