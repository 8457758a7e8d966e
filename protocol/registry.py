"""The module that declares each message, so that a module is imported only when one of its messages is used.

A test holds this table equal to the declarations.
"""

from importlib import import_module
from typing import Any

from .errors import UnsupportedVersionError

# The APIs by key: module under protocol.apis, and the name without Request or Response.
APIS: dict[int, tuple[str, str]] = {
    0: ("produce", "Produce"),
    1: ("fetch", "Fetch"),
    2: ("list_offsets", "ListOffsets"),
    3: ("metadata", "Metadata"),
    4: ("controller", "LeaderAndIsr"),
    5: ("controller", "StopReplica"),
    6: ("controller", "UpdateMetadata"),
    7: ("controller", "ControlledShutdown"),
    8: ("group_offsets", "OffsetCommit"),
    9: ("group_offsets", "OffsetFetch"),
    10: ("find_coordinator", "FindCoordinator"),
    11: ("classic_group", "JoinGroup"),
    12: ("classic_group", "Heartbeat"),
    13: ("classic_group", "LeaveGroup"),
    14: ("classic_group", "SyncGroup"),
    15: ("groups", "DescribeGroups"),
    16: ("groups", "ListGroups"),
    17: ("sasl", "SaslHandshake"),
    18: ("api_versions", "ApiVersions"),
    19: ("topics", "CreateTopics"),
    20: ("topics", "DeleteTopics"),
    21: ("delete_records", "DeleteRecords"),
    22: ("producer_ids", "InitProducerId"),
    23: ("leader_epochs", "OffsetForLeaderEpoch"),
    24: ("transactions", "AddPartitionsToTxn"),
    25: ("transactions", "AddOffsetsToTxn"),
    26: ("transactions", "EndTxn"),
    27: ("transactions", "WriteTxnMarkers"),
    28: ("transactions", "TxnOffsetCommit"),
    29: ("acls", "DescribeAcls"),
    30: ("acls", "CreateAcls"),
    31: ("acls", "DeleteAcls"),
    32: ("configs", "DescribeConfigs"),
    33: ("configs", "AlterConfigs"),
    34: ("log_dirs", "AlterReplicaLogDirs"),
    35: ("log_dirs", "DescribeLogDirs"),
    36: ("sasl", "SaslAuthenticate"),
    37: ("topics", "CreatePartitions"),
    38: ("delegation_tokens", "CreateDelegationToken"),
    39: ("delegation_tokens", "RenewDelegationToken"),
    40: ("delegation_tokens", "ExpireDelegationToken"),
    41: ("delegation_tokens", "DescribeDelegationToken"),
    42: ("groups", "DeleteGroups"),
    43: ("elect_leaders", "ElectLeaders"),
    44: ("configs", "IncrementalAlterConfigs"),
    45: ("reassignments", "AlterPartitionReassignments"),
    46: ("reassignments", "ListPartitionReassignments"),
    47: ("group_offsets", "OffsetDelete"),
    48: ("quotas", "DescribeClientQuotas"),
    49: ("quotas", "AlterClientQuotas"),
    50: ("scram", "DescribeUserScramCredentials"),
    51: ("scram", "AlterUserScramCredentials"),
    52: ("raft", "Vote"),
    53: ("raft", "BeginQuorumEpoch"),
    54: ("raft", "EndQuorumEpoch"),
    55: ("raft", "DescribeQuorum"),
    56: ("leadership", "AlterPartition"),
    57: ("cluster", "UpdateFeatures"),
    58: ("envelope", "Envelope"),
    59: ("raft_snapshot", "FetchSnapshot"),
    60: ("cluster", "DescribeCluster"),
    61: ("transaction_admin", "DescribeProducers"),
    62: ("brokers", "BrokerRegistration"),
    63: ("brokers", "BrokerHeartbeat"),
    64: ("cluster", "UnregisterBroker"),
    65: ("transaction_admin", "DescribeTransactions"),
    66: ("transaction_admin", "ListTransactions"),
    67: ("producer_ids", "AllocateProducerIds"),
    68: ("consumer_group", "ConsumerGroupHeartbeat"),
    69: ("consumer_group", "ConsumerGroupDescribe"),
    70: ("brokers", "ControllerRegistration"),
    71: ("telemetry", "GetTelemetrySubscriptions"),
    72: ("telemetry", "PushTelemetry"),
    73: ("log_dirs", "AssignReplicasToDirs"),
    74: ("configs", "ListConfigResources"),
    75: ("metadata", "DescribeTopicPartitions"),
    76: ("share_group", "ShareGroupHeartbeat"),
    77: ("share_group", "ShareGroupDescribe"),
    78: ("share_fetch", "ShareFetch"),
    79: ("share_fetch", "ShareAcknowledge"),
    80: ("raft_voters", "AddRaftVoter"),
    81: ("raft_voters", "RemoveRaftVoter"),
    82: ("raft_voters", "UpdateRaftVoter"),
    83: ("share_state", "InitializeShareGroupState"),
    84: ("share_state", "ReadShareGroupState"),
    85: ("share_state", "WriteShareGroupState"),
    86: ("share_state", "DeleteShareGroupState"),
    87: ("share_state", "ReadShareGroupStateSummary"),
    88: ("streams_group", "StreamsGroupHeartbeat"),
    89: ("streams_group", "StreamsGroupDescribe"),
    90: ("share_offsets", "DescribeShareGroupOffsets"),
    91: ("share_offsets", "AlterShareGroupOffsets"),
    92: ("share_offsets", "DeleteShareGroupOffsets"),
    93: ("streams_topology", "StreamsGroupTopologyDescriptionUpdate"),
    94: ("brokers", "UnregisterController"),
}

# Messages without an API key of their own, or that share one: module under protocol, and the full names.
OTHERS: dict[str, tuple[str, ...]] = {
    "apis.configs": (
        "ListClientMetricsResourcesRequest",
        "ListClientMetricsResourcesResponse",
    ),
    "apis.headers": (
        "RequestHeader",
        "ResponseHeader",
    ),
    "apis.topic_metadata": (
        "TopicMetadataRequest",
        "TopicMetadataResponse",
    ),
    "embedded.broker": ("Broker",),
    "embedded.consumer_group_log": (
        "ConsumerGroupMetadataKey",
        "ConsumerGroupMetadataValue",
        "ConsumerGroupPartitionMetadataKey",
        "ConsumerGroupPartitionMetadataValue",
        "ConsumerGroupMemberMetadataKey",
        "ConsumerGroupMemberMetadataValue",
        "ConsumerGroupTargetAssignmentMetadataKey",
        "ConsumerGroupTargetAssignmentMetadataValue",
        "ConsumerGroupTargetAssignmentMemberKey",
        "ConsumerGroupTargetAssignmentMemberValue",
        "ConsumerGroupCurrentMemberAssignmentKey",
        "ConsumerGroupCurrentMemberAssignmentValue",
        "ConsumerGroupRegularExpressionKey",
        "ConsumerGroupRegularExpressionValue",
    ),
    "embedded.consumer_protocol": (
        "ConsumerProtocolSubscription",
        "ConsumerProtocolAssignment",
    ),
    "embedded.control_records": (
        "ControlRecordTypeSchema",
        "EndTxnMarker",
        "LeaderChangeMessage",
        "SnapshotHeaderRecord",
        "SnapshotFooterRecord",
        "KRaftVersionRecord",
        "VotersRecord",
    ),
    "embedded.group_log": (
        "LegacyOffsetCommitKey",
        "LegacyOffsetCommitValue",
        "OffsetCommitKey",
        "OffsetCommitValue",
        "GroupMetadataKey",
        "GroupMetadataValue",
    ),
    "embedded.metadata_acls": (
        "AccessControlEntryRecord",
        "RemoveAccessControlEntryRecord",
    ),
    "embedded.metadata_brokers": (
        "RegisterBrokerRecord",
        "UnregisterBrokerRecord",
        "FenceBrokerRecord",
        "UnfenceBrokerRecord",
        "BrokerRegistrationChangeRecord",
        "RegisterControllerRecord",
        "UnregisterControllerRecord",
    ),
    "embedded.metadata_security": (
        "DelegationTokenRecord",
        "RemoveDelegationTokenRecord",
        "UserScramCredentialRecord",
        "RemoveUserScramCredentialRecord",
    ),
    "embedded.metadata_settings": (
        "ConfigRecord",
        "FeatureLevelRecord",
        "ClientQuotaRecord",
        "ProducerIdsRecord",
        "ZkMigrationStateRecord",
        "NoOpRecord",
        "BeginTransactionRecord",
        "EndTransactionRecord",
        "AbortTransactionRecord",
    ),
    "embedded.metadata_topics": (
        "TopicRecord",
        "RemoveTopicRecord",
        "PartitionRecord",
        "PartitionChangeRecord",
        "ClearElrRecord",
    ),
    "embedded.principal": ("DefaultPrincipalData",),
    "embedded.producer_snapshot": ("ProducerSnapshot",),
    "embedded.quorum_state": ("QuorumStateData",),
    "embedded.remote_log": (
        "RemoteLogSegmentMetadataRecord",
        "RemoteLogSegmentMetadataUpdateRecord",
        "RemotePartitionDeleteMetadataRecord",
        "RemoteLogSegmentMetadataSnapshotRecord",
    ),
    "embedded.share_group_log": (
        "ShareGroupMemberMetadataKey",
        "ShareGroupMemberMetadataValue",
        "ShareGroupMetadataKey",
        "ShareGroupMetadataValue",
        "ShareGroupTargetAssignmentMetadataKey",
        "ShareGroupTargetAssignmentMetadataValue",
        "ShareGroupTargetAssignmentMemberKey",
        "ShareGroupTargetAssignmentMemberValue",
        "ShareGroupCurrentMemberAssignmentKey",
        "ShareGroupCurrentMemberAssignmentValue",
        "ShareGroupStatePartitionMetadataKey",
        "ShareGroupStatePartitionMetadataValue",
        "ShareGroupPartitionMetadataKey",
        "ShareGroupPartitionMetadataValue",
    ),
    "embedded.share_state_log": (
        "ShareSnapshotKey",
        "ShareSnapshotValue",
        "ShareUpdateKey",
        "ShareUpdateValue",
    ),
    "embedded.streams_group_log": (
        "StreamsGroupMetadataKey",
        "StreamsGroupMetadataValue",
        "StreamsGroupMemberMetadataKey",
        "StreamsGroupMemberMetadataValue",
        "StreamsGroupTopologyKey",
        "StreamsGroupTopologyValue",
        "StreamsGroupTargetAssignmentMetadataKey",
        "StreamsGroupTargetAssignmentMetadataValue",
        "StreamsGroupTargetAssignmentMemberKey",
        "StreamsGroupTargetAssignmentMemberValue",
        "StreamsGroupCurrentMemberAssignmentKey",
        "StreamsGroupCurrentMemberAssignmentValue",
    ),
    "embedded.transaction_index": ("AbortedTxn",),
    "embedded.transaction_log": (
        "TransactionLogKey",
        "TransactionLogValue",
    ),
}

KINDS = {"request": "Request", "response": "Response"}


def message_class(api_key: int, kind: str) -> Any:
    """The class of an API's ``"request"`` or ``"response"``.

    Raises: UnsupportedVersionError: no API has this key. ValueError: another kind.
    """
    found = _BY_API.get((api_key, kind))
    if found is None:
        found = _BY_API[api_key, kind] = loaded_class(api_key, kind)
    return found


def api_key_of(name: str) -> int:
    """The key of an API by its name, as ``ShareFetch``. Raises StopIteration: no API has this name."""
    return next(key for key, (_, known) in APIS.items() if known == name)


def loaded_class(api_key: int, kind: str) -> Any:
    """The same, out of the module that declares it."""
    if kind not in KINDS:
        raise ValueError(f'kind is "request" or "response", not {kind!r}')
    if api_key not in APIS:
        raise UnsupportedVersionError(f"no API has key {api_key}")
    module, stem = APIS[api_key]
    return getattr(import_module(f"{__package__}.apis.{module}"), stem + KINDS[kind])


def named_class(name: str) -> Any:
    """The class of a message by Kafka's name, as ``MetadataRequest``.

    Raises: UnsupportedVersionError: unknown message.
    """
    module = modules_by_name().get(name)
    if module is None:
        raise UnsupportedVersionError(f"no message is called {name!r}")
    return getattr(import_module(f"{__package__}.{module}"), name)


def messages() -> list[Any]:
    """Every message class, sorted by name; imports all the declarations."""
    return [named_class(name) for name in sorted(modules_by_name())]


def modules_by_name() -> dict[str, str]:
    """Each message's name with its module."""
    if not _BY_NAME:
        for module, stem in APIS.values():
            _BY_NAME.update({stem + suffix: f"apis.{module}" for suffix in KINDS.values()})
        for module, names in OTHERS.items():
            _BY_NAME.update(dict.fromkeys(names, module))
    return _BY_NAME


_BY_NAME: dict[str, str] = {}
_BY_API: dict[tuple[int, str], Any] = {}
