"""What ``access_requests.py`` is for topics and groups, for transactions and the cluster."""

from __future__ import annotations

from tests.answers.access_requests import NO_ID, REQUESTS, UNKNOWN_ID, Present, Request, request
from tests.answers.story import Fields

# transactions


@request("InitProducerId")
def idempotent(_there: Present) -> tuple[int, Fields]:
    return 0, {"transactionalId": None, "transactionTimeoutMs": 60_000, "producerId": -1, "producerEpoch": -1}


@request("InitProducerId", "of a transactional id")
def init_producer_id(there: Present) -> tuple[int, Fields]:
    return there.id_at, {**there.who, "transactionTimeoutMs": 60_000}


def adding(there: Present, *, verify: bool) -> Fields:
    topics = [{"name": name, "partitions": [0]} for name in (there.topic.name, there.missing)]
    one = {**there.who, "verifyOnly": verify, "topics": topics}
    old = {f"v3AndBelow{name[0].upper()}{name[1:]}": value for name, value in {**there.who, "topics": topics}.items()}
    return {**old, "transactions": [one]}


@request("AddPartitionsToTxn")
def add_partitions(there: Present) -> tuple[int, Fields]:
    return there.id_at, adding(there, verify=True)


@request("AddOffsetsToTxn")
def add_offsets(there: Present) -> tuple[int, Fields]:
    return there.id_at, {**there.who, "groupId": there.group}


@request("EndTxn")
def end(there: Present) -> tuple[int, Fields]:
    return there.id_at, {**there.who, "committed": True}


@request("TxnOffsetCommit")
def commit_offsets(there: Present) -> tuple[int, Fields]:
    partition = {"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}
    topics = [{"name": there.topic.name, "topicId": there.topic.id, "partitions": [partition]}]
    member = {"generationId": 3, "generationIdOrMemberEpoch": 3, "memberId": "nobody", "groupInstanceId": None}
    return there.group_at, {**there.who, **member, "groupId": there.group, "topics": topics}


@request("WriteTxnMarkers")
def markers(there: Present) -> tuple[int, Fields]:
    topics = [{"name": there.missing, "partitionIndexes": [0]}]
    marker = {"producerId": 9_000_000, "producerEpoch": 0, "transactionResult": True, "topics": topics}
    return 0, {"markers": [{**marker, "coordinatorEpoch": 0, "transactionVersion": 0}]}


@request("DescribeTransactions")
def describe_transactions(there: Present) -> tuple[int, Fields]:
    return there.id_at, {"transactionalIds": [there.id]}


@request("ListTransactions")
def list_transactions(there: Present) -> tuple[int, Fields]:
    return there.id_at, {"stateFilters": [], "producerIdFilters": [], "transactionalIdPattern": None}


# access control and passwords


@request("DescribeAcls")
def describe_acls(_there: Present) -> tuple[int, Fields]:
    names = {"resourceNameFilter": "nothing", "principalFilter": "User:nobody", "hostFilter": None}
    return 0, {"resourceTypeFilter": 1, "patternTypeFilter": 1, **names, "operation": 1, "permissionType": 1}


@request("CreateAcls")
def create_acls(_there: Present) -> tuple[int, Fields]:
    names = {"resourceName": "x", "resourcePatternType": 3, "principal": "nobody", "host": "*"}  # no type of principal
    return 0, {"creations": [{"resourceType": 2, **names, "operation": 3, "permissionType": 3}]}


@request("DeleteAcls")
def delete_acls(_there: Present) -> tuple[int, Fields]:
    names = {"resourceNameFilter": "nothing", "principalFilter": "User:nobody", "hostFilter": None}
    kinds = {"resourceTypeFilter": 1, "patternTypeFilter": 1, "operation": 1, "permissionType": 1}
    return 0, {"filters": [{**kinds, **names}]}


@request("DescribeUserScramCredentials")
def describe_scram(_there: Present) -> tuple[int, Fields]:
    return 0, {"users": [{"name": "nobody"}]}


@request("AlterUserScramCredentials")
def alter_scram(_there: Present) -> tuple[int, Fields]:
    return 0, {"deletions": [{"name": "nobody", "mechanism": 1}], "upsertions": []}


@request("CreateDelegationToken")
def create_token(_there: Present) -> tuple[int, Fields]:
    owner = {"ownerPrincipalType": "", "ownerPrincipalName": ""}
    return 0, {**owner, "renewers": [], "maxLifetimeMs": -1}


@request("CreateDelegationToken", "for another")
def create_token_for_another(_there: Present) -> tuple[int, Fields]:
    owner = {"ownerPrincipalType": "User", "ownerPrincipalName": "nobody"}
    return 0, {**owner, "renewers": [], "maxLifetimeMs": -1}


@request("RenewDelegationToken")
def renew_token(_there: Present) -> tuple[int, Fields]:
    return 0, {"hmac": b"x", "renewPeriodMs": 1}


@request("ExpireDelegationToken")
def expire_token(_there: Present) -> tuple[int, Fields]:
    return 0, {"hmac": b"x", "expiryTimePeriodMs": -1}


@request("DescribeDelegationToken")
def describe_tokens(_there: Present) -> tuple[int, Fields]:
    return 0, {"owners": None}


# the cluster


@request("DescribeCluster")
def describe_cluster(_there: Present) -> tuple[int, Fields]:
    return 0, {"includeClusterAuthorizedOperations": True, "endpointType": 1, "includeFencedBrokers": False}


@request("DescribeLogDirs")
def describe_log_dirs(there: Present) -> tuple[int, Fields]:
    return 0, {"topics": [{"topic": there.topic.name, "partitions": [0]}]}


@request("AlterReplicaLogDirs")
def alter_log_dirs(there: Present) -> tuple[int, Fields]:
    topics = [{"name": there.topic.name, "partitions": [0]}]
    return 0, {"dirs": [{"path": "/no/such/directory", "topics": topics}]}


@request("ElectLeaders")
def elect_leaders(there: Present) -> tuple[int, Fields]:
    topics = [{"topic": there.topic.name, "partitions": [0]}]
    return 0, {"electionType": 0, "topicPartitions": topics, "timeoutMs": 5000}


@request("AlterPartitionReassignments")
def reassign(there: Present) -> tuple[int, Fields]:
    topics = [{"name": there.topic.name, "partitions": [{"partitionIndex": 0, "replicas": None}]}]
    return 0, {"timeoutMs": 5000, "allowReplicationFactorChange": True, "topics": topics}


@request("ListPartitionReassignments")
def list_reassignments(there: Present) -> tuple[int, Fields]:
    return 0, {"timeoutMs": 5000, "topics": [{"name": there.topic.name, "partitionIndexes": [0]}]}


@request("DescribeClientQuotas")
def describe_quotas(_there: Present) -> tuple[int, Fields]:
    component = {"entityType": "user", "matchType": 0, "match": "nobody"}
    return 0, {"components": [component], "strict": True}


@request("AlterClientQuotas")
def alter_quotas(_there: Present) -> tuple[int, Fields]:
    entity = [{"entityType": "user", "entityName": "nobody"}]
    ops = [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}]
    return 0, {"entries": [{"entity": entity, "ops": ops}], "validateOnly": True}


@request("DescribeQuorum")
def describe_quorum(_there: Present) -> tuple[int, Fields]:
    return 0, {"topics": [{"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0}]}]}


@request("UpdateFeatures")
def update_features(_there: Present) -> tuple[int, Fields]:
    update = {"feature": "no.such.feature", "maxVersionLevel": 1, "allowDowngrade": False, "upgradeType": 1}
    return 0, {"timeoutMs": 5000, "featureUpdates": [update], "validateOnly": True}


@request("UnregisterBroker")
def unregister_broker(_there: Present) -> tuple[int, Fields]:
    return 0, {"brokerId": 99}


@request("UnregisterController")
def unregister_controller(_there: Present) -> tuple[int, Fields]:
    return 0, {"controllerId": 99}


@request("AddRaftVoter")
def add_voter(_there: Present) -> tuple[int, Fields]:
    listener = {"name": "CONTROLLER", "host": "127.0.0.1", "port": 9999}
    return 0, {
        "clusterId": "another",
        "timeoutMs": 1000,
        "voterId": 7,
        "voterDirectoryId": UNKNOWN_ID,
        "listeners": [listener],
        "ackWhenCommitted": True,
    }


@request("RemoveRaftVoter")
def remove_voter(_there: Present) -> tuple[int, Fields]:
    return 0, {"clusterId": "another", "voterId": 7, "voterDirectoryId": UNKNOWN_ID}


@request("ApiVersions")
def api_versions(_there: Present) -> tuple[int, Fields]:
    return 0, {"clientSoftwareName": "answers", "clientSoftwareVersion": "1"}


@request("GetTelemetrySubscriptions")
def telemetry(_there: Present) -> tuple[int, Fields]:
    return 0, {"clientInstanceId": NO_ID}


@request("PushTelemetry")
def push(_there: Present) -> tuple[int, Fields]:
    body = {"clientInstanceId": UNKNOWN_ID, "subscriptionId": 1, "terminating": False, "compressionType": 0}
    return 0, {**body, "metrics": b""}


def all_requests() -> dict[tuple[str, str], Request]:
    """Those of both modules."""
    return REQUESTS
