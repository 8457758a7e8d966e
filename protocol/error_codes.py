"""Every error that a Kafka response can carry: number, name, whether to try again, meaning.

One table. Numbers, names and retriability are those of Apache Kafka 4.4.0's ``Errors`` class; a test holds them to
what that class prints. The meanings are ours, written as the end of a sentence that starts with the name.
``retriable`` is Kafka's: the exception behind the error extends RetriableException, so that a client may send the
same request again, where other errors need a change first (REBALANCE_IN_PROGRESS, say, needs a new JoinGroup).

>>> ErrorCode(16)
<ErrorCode.NOT_COORDINATOR: 16>
>>> ErrorCode.NOT_COORDINATOR.retriable, ErrorCode.NOT_COORDINATOR.meaning
(True, 'another broker coordinates this group or transactional id')
>>> error_name(16), error_name(31_000)
('NOT_COORDINATOR', 'error 31000')
"""

from __future__ import annotations

from enum import IntEnum
from typing import Self

RETRIABLE, FINAL = True, False


class ErrorCode(IntEnum):
    """An error's number; an int wherever one is wanted, with ``.name``, ``.retriable`` and ``.meaning``."""

    retriable: bool
    meaning: str

    # The defaults are never used: they tell type checkers that ErrorCode(16) is a look-up and needs no more.
    def __new__(cls, number: int, retriable: bool = FINAL, meaning: str = "") -> Self:
        code = int.__new__(cls, number)
        code._value_ = number
        code.retriable = retriable
        code.meaning = meaning
        return code

    UNKNOWN_SERVER_ERROR = -1, FINAL, "the broker failed in a way it did not foresee"
    NONE = 0, FINAL, "no error"
    OFFSET_OUT_OF_RANGE = 1, FINAL, "the offset lies before the log's start or past its end"
    CORRUPT_MESSAGE = 2, RETRIABLE, "a record's checksum or size is wrong, or it lacks the key that compaction needs"
    UNKNOWN_TOPIC_OR_PARTITION = 3, RETRIABLE, "this broker knows no such topic or partition"
    INVALID_FETCH_SIZE = 4, FINAL, "the number of bytes asked for makes no sense"
    LEADER_NOT_AVAILABLE = 5, RETRIABLE, "the partition has no leader at the moment"
    NOT_LEADER_OR_FOLLOWER = 6, RETRIABLE, "this broker does not lead the partition, or holds no replica to read"
    REQUEST_TIMED_OUT = 7, RETRIABLE, "the time that the request allowed ran out"
    BROKER_NOT_AVAILABLE = 8, FINAL, "the broker asked about is not there"
    REPLICA_NOT_AVAILABLE = 9, RETRIABLE, "the replica asked for is not there"
    MESSAGE_TOO_LARGE = 10, FINAL, "a record or batch is larger than the topic allows"
    STALE_CONTROLLER_EPOCH = 11, FINAL, "the sender has been replaced as controller"
    OFFSET_METADATA_TOO_LARGE = 12, FINAL, "the text beside a committed offset is too long"
    NETWORK_EXCEPTION = 13, RETRIABLE, "the connection closed before the answer came"
    COORDINATOR_LOAD_IN_PROGRESS = 14, RETRIABLE, "the coordinator is still reading its log"
    COORDINATOR_NOT_AVAILABLE = 15, RETRIABLE, "no broker can coordinate at the moment"
    NOT_COORDINATOR = 16, RETRIABLE, "another broker coordinates this group or transactional id"
    INVALID_TOPIC_EXCEPTION = 17, FINAL, "the topic's name is not allowed, or clients may not do this to it"
    RECORD_LIST_TOO_LARGE = 18, FINAL, "the batch does not fit into a log segment"
    NOT_ENOUGH_REPLICAS = 19, RETRIABLE, "fewer replicas are in sync than min.insync.replicas; nothing was written"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, RETRIABLE, "written, but to fewer replicas than min.insync.replicas"
    INVALID_REQUIRED_ACKS = 21, FINAL, "acks is none of -1, 0 and 1"
    ILLEGAL_GENERATION = 22, FINAL, "the group has moved on to another generation"
    INCONSISTENT_GROUP_PROTOCOL = 23, FINAL, "the member shares no protocol with the group, or named none"
    INVALID_GROUP_ID = 24, FINAL, "the group id is empty or otherwise unfit"
    UNKNOWN_MEMBER_ID = 25, FINAL, "the group has no such member"
    INVALID_SESSION_TIMEOUT = 26, FINAL, "the session timeout is outside the range that the broker allows"
    REBALANCE_IN_PROGRESS = 27, FINAL, "the group is rebalancing, so the member must join again"
    INVALID_COMMIT_OFFSET_SIZE = 28, FINAL, "what is to be committed is too large to store"
    TOPIC_AUTHORIZATION_FAILED = 29, FINAL, "the client may not do this to the topic"
    GROUP_AUTHORIZATION_FAILED = 30, FINAL, "the client may not do this to the group"
    CLUSTER_AUTHORIZATION_FAILED = 31, FINAL, "the client may not do this to the cluster"
    INVALID_TIMESTAMP = 32, FINAL, "a record's timestamp is too far from the broker's time"
    UNSUPPORTED_SASL_MECHANISM = 33, FINAL, "the broker does not offer this SASL mechanism"
    ILLEGAL_SASL_STATE = 34, FINAL, "the request does not belong at this point of authentication"
    UNSUPPORTED_VERSION = 35, FINAL, "the broker does not serve this version of the API"
    TOPIC_ALREADY_EXISTS = 36, FINAL, "a topic of this name is there already"
    INVALID_PARTITIONS = 37, FINAL, "the number of partitions is below 1, or below what there is"
    INVALID_REPLICATION_FACTOR = 38, FINAL, "the replication factor is below 1 or above the number of brokers"
    INVALID_REPLICA_ASSIGNMENT = 39, FINAL, "the list of replicas names a broker twice, or one that is not there"
    INVALID_CONFIG = 40, FINAL, "a setting's name or value is not allowed"
    NOT_CONTROLLER = 41, RETRIABLE, "another node is the controller"
    INVALID_REQUEST = 42, FINAL, "the request contradicts itself or breaks the API's rules"
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, FINAL, "the topic's record format cannot do this"
    POLICY_VIOLATION = 44, FINAL, "a policy of the cluster forbids it"
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, FINAL, "the producer's batch does not follow the last one"
    DUPLICATE_SEQUENCE_NUMBER = 46, FINAL, "the producer's batch is in the log already"
    INVALID_PRODUCER_EPOCH = 47, FINAL, "the producer's epoch is older than the last one seen"
    INVALID_TXN_STATE = 48, FINAL, "the transaction is not in a state that allows this"
    INVALID_PRODUCER_ID_MAPPING = 49, FINAL, "the producer id does not belong to the transactional id"
    INVALID_TRANSACTION_TIMEOUT = 50, FINAL, "the transaction timeout is above transaction.max.timeout.ms"
    CONCURRENT_TRANSACTIONS = 51, RETRIABLE, "the transaction's previous step has not finished"
    TRANSACTION_COORDINATOR_FENCED = 52, FINAL, "the sender of the marker has been replaced as coordinator"
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, FINAL, "the client may not use this transactional id"
    SECURITY_DISABLED = 54, FINAL, "the cluster runs without an authorizer"
    OPERATION_NOT_ATTEMPTED = 55, FINAL, "left undone, because another part of the request failed"
    KAFKA_STORAGE_ERROR = 56, RETRIABLE, "the log's disk failed"
    LOG_DIR_NOT_FOUND = 57, FINAL, "the broker has no such log directory"
    SASL_AUTHENTICATION_FAILED = 58, FINAL, "the credentials were refused"
    UNKNOWN_PRODUCER_ID = 59, FINAL, "the log no longer remembers this producer"
    REASSIGNMENT_IN_PROGRESS = 60, FINAL, "the partition's replicas are being moved"
    DELEGATION_TOKEN_AUTH_DISABLED = 61, FINAL, "the cluster does not use delegation tokens"
    DELEGATION_TOKEN_NOT_FOUND = 62, FINAL, "the cluster knows no such delegation token"
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, FINAL, "the client neither owns nor may renew the delegation token"
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, FINAL, "tokens are not given out on this kind of connection"
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, FINAL, "the client may not do this to the delegation token"
    DELEGATION_TOKEN_EXPIRED = 66, FINAL, "the delegation token's time is over"
    INVALID_PRINCIPAL_TYPE = 67, FINAL, "principals of this type are not supported"
    NON_EMPTY_GROUP = 68, FINAL, "the group still has members"
    GROUP_ID_NOT_FOUND = 69, FINAL, "there is no such group"
    FETCH_SESSION_ID_NOT_FOUND = 70, RETRIABLE, "the broker has forgotten the fetch session"
    INVALID_FETCH_SESSION_EPOCH = 71, RETRIABLE, "the fetch session is at another epoch"
    LISTENER_NOT_FOUND = 72, RETRIABLE, "the leader lacks the listener that the client came in by"
    TOPIC_DELETION_DISABLED = 73, FINAL, "delete.topic.enable is false"
    FENCED_LEADER_EPOCH = 74, RETRIABLE, "the client's leader epoch is older than the broker's"
    UNKNOWN_LEADER_EPOCH = 75, RETRIABLE, "the client's leader epoch is newer than the broker's"
    UNSUPPORTED_COMPRESSION_TYPE = 76, FINAL, "records are compressed in a way that this version does not carry"
    STALE_BROKER_EPOCH = 77, FINAL, "the broker has registered anew since"
    OFFSET_NOT_AVAILABLE = 78, RETRIABLE, "a new leader does not know the high watermark yet"
    MEMBER_ID_REQUIRED = 79, FINAL, "join again with the member id that this answer gives"
    PREFERRED_LEADER_NOT_AVAILABLE = 80, RETRIABLE, "the preferred replica cannot lead at the moment"
    GROUP_MAX_SIZE_REACHED = 81, FINAL, "the group has as many members as group.max.size allows"
    FENCED_INSTANCE_ID = 82, FINAL, "another member has taken over this group.instance.id"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, RETRIABLE, "no replica that may lead is online"
    ELECTION_NOT_NEEDED = 84, RETRIABLE, "the partition already has the leader that the election would give"
    NO_REASSIGNMENT_IN_PROGRESS = 85, FINAL, "the partition's replicas are not being moved"
    GROUP_SUBSCRIBED_TO_TOPIC = 86, FINAL, "the group still reads the topic, so its offsets stay"
    INVALID_RECORD = 87, FINAL, "a record breaks the broker's rules"
    UNSTABLE_OFFSET_COMMIT = 88, RETRIABLE, "offsets of an unfinished transaction are pending"
    THROTTLING_QUOTA_EXCEEDED = 89, RETRIABLE, "the client has used up its quota for now"
    PRODUCER_FENCED = 90, FINAL, "a newer producer uses the same transactional id"
    RESOURCE_NOT_FOUND = 91, FINAL, "the request names something that is not there"
    DUPLICATE_RESOURCE = 92, FINAL, "the request names the same thing twice"
    UNACCEPTABLE_CREDENTIAL = 93, FINAL, "the new credential does not meet the cluster's demands"
    INCONSISTENT_VOTER_SET = 94, FINAL, "sender or receiver is not among the expected voters"
    INVALID_UPDATE_VERSION = 95, FINAL, "the version of the update does not fit"
    FEATURE_UPDATE_FAILED = 96, FINAL, "the finalized features could not be changed"
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, FINAL, "a forwarded request's principal could not be read"
    SNAPSHOT_NOT_FOUND = 98, FINAL, "there is no such snapshot"
    POSITION_OUT_OF_RANGE = 99, FINAL, "the position lies outside the snapshot"
    UNKNOWN_TOPIC_ID = 100, RETRIABLE, "this broker knows no topic of this id"
    DUPLICATE_BROKER_REGISTRATION = 101, FINAL, "another running broker has this id"
    BROKER_ID_NOT_REGISTERED = 102, FINAL, "no broker of this id is registered"
    INCONSISTENT_TOPIC_ID = 103, RETRIABLE, "the log belongs to a topic of another id"
    INCONSISTENT_CLUSTER_ID = 104, FINAL, "the request is meant for another cluster"
    TRANSACTIONAL_ID_NOT_FOUND = 105, FINAL, "the coordinator knows no such transactional id"
    FETCH_SESSION_TOPIC_ID_ERROR = 106, RETRIABLE, "the fetch session mixes topic names and topic ids"
    INELIGIBLE_REPLICA = 107, FINAL, "a replica of the new ISR may not be in it"
    NEW_LEADER_ELECTED = 108, FINAL, "the change was made, and with it came a new leader"
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, FINAL, "the offset is no longer on the broker's own disk"
    FENCED_MEMBER_EPOCH = 110, FINAL, "the member must drop its partitions and join again"
    UNRELEASED_INSTANCE_ID = 111, FINAL, "the member that holds this instance id has not left"
    UNSUPPORTED_ASSIGNOR = 112, FINAL, "the group cannot use this assignor"
    STALE_MEMBER_EPOCH = 113, FINAL, "the member's epoch is behind; its next heartbeat brings the new one"
    MISMATCHED_ENDPOINT_TYPE = 114, FINAL, "a broker was asked what a controller answers, or the reverse"
    UNSUPPORTED_ENDPOINT_TYPE = 115, FINAL, "endpoints of this type are not supported"
    UNKNOWN_CONTROLLER_ID = 116, FINAL, "there is no controller of this id"
    UNKNOWN_SUBSCRIPTION_ID = 117, FINAL, "the telemetry subscription is unknown or out of date"
    TELEMETRY_TOO_LARGE = 118, FINAL, "the telemetry is larger than the broker takes"
    INVALID_REGISTRATION = 119, FINAL, "the controller refuses this broker's registration"
    TRANSACTION_ABORTABLE = 120, FINAL, "the transaction must be aborted; the producer may then go on"
    INVALID_RECORD_STATE = 121, FINAL, "a record to be acknowledged is not held by this share consumer"
    SHARE_SESSION_NOT_FOUND = 122, RETRIABLE, "the broker has forgotten the share session"
    INVALID_SHARE_SESSION_EPOCH = 123, RETRIABLE, "the share session is at another epoch"
    FENCED_STATE_EPOCH = 124, FINAL, "the coordinator refused the request, since the state is at another epoch"
    INVALID_VOTER_KEY = 125, FINAL, "the voter key is another replica's"
    DUPLICATE_VOTER = 126, FINAL, "the voter is one already"
    VOTER_NOT_FOUND = 127, FINAL, "there is no such voter"
    INVALID_REGULAR_EXPRESSION = 128, FINAL, "the subscription's regular expression cannot be read"
    REBOOTSTRAP_REQUIRED = 129, FINAL, "the client should start again from its bootstrap servers"
    STREAMS_INVALID_TOPOLOGY = 130, FINAL, "the Streams topology contradicts itself"
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, FINAL, "the Streams topology's epoch does not fit"
    STREAMS_TOPOLOGY_FENCED = 132, FINAL, "the Streams topology is older than the group's"
    SHARE_SESSION_LIMIT_REACHED = 133, RETRIABLE, "the broker holds as many share sessions as it may"
    GROUP_DELETION_FAILED = 134, FINAL, "the group could not be deleted; the error message beside it says why"
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135, FINAL, "the broker could not take the topology description"
    CONTROLLER_ID_NOT_REGISTERED = 136, FINAL, "no controller of this id is registered"

    # KIP-660 never gave its error a number. This one stands far from Kafka's, which count upwards; a cluster whose
    # clients expect another one sets it, and sends that in this one's place.
    REPLICA_PLACEMENT_FAILED = 10_660, FINAL, "the replica placer could not place the partition"


def error_name(number: int) -> str:
    """Kafka's name for an error number, or ``error N`` for one that is not in the table; never raises."""
    try:
        return ErrorCode(number).name
    except ValueError:
        return f"error {number}"
