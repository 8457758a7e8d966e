"""ElectLeaders (key 43): elects preferred leaders, or any live replica for partitions without a leader.

Writes partitions' leaders. Errors, per partition: UNKNOWN_TOPIC_OR_PARTITION, ELECTION_NOT_NEEDED,
PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE; at the top INVALID_REQUEST.
Source: KIP-183, KIP-460; ReplicationControlManager.electLeaders, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.controlled import check_controller, check_deadline
from mockbroker.handlers.error_responses import reported
from mockbroker.state.errors import ApiError
from protocol.apis.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from protocol.error_codes import ErrorCode

PREFERRED, UNCLEAN = 0, 1  # election types
Result = ElectLeadersResponse.Topic


@handles(ElectLeadersRequest, access=Needs(cluster="Alter", in_words=True), errors=Errors(parts="0+"))
def elect_leaders(call: Call, request: ElectLeadersRequest) -> ElectLeadersResponse:
    """The result per partition. A request for all partitions returns only those that needed an election."""
    check_controller(call)
    if request.topic_partitions is not None and not request.topic_partitions and call.cluster.support.is_kraft:
        return ElectLeadersResponse()
    check_deadline(call, request.timeout_ms)
    if request.election_type not in (PREFERRED, UNCLEAN):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"expected election type 0 or 1, got {request.election_type}")
    wanted: list[tuple[str, list[int]]]
    if request.topic_partitions is None:
        wanted = [(topic.name, list(range(len(topic.partitions)))) for topic in call.cluster.topics.values()]
    else:
        wanted = [(topic.topic, topic.partitions) for topic in request.topic_partitions]
    topics = []
    for name, indexes in wanted:
        results = [result(call, name, index, unclean=request.election_type == UNCLEAN) for index in indexes]
        if request.topic_partitions is None:
            results = [one for one in results if one.error_code != ErrorCode.ELECTION_NOT_NEEDED]
        topics.append(Result(topic=name, partition_result=results))
    return ElectLeadersResponse(replica_election_results=topics)


def result(call: Call, topic: str, index: int, *, unclean: bool) -> Result.Partition:
    entry = Result.Partition(partition_id=index, error_message=None)
    with reported(entry):
        partition = call.cluster.find_partition(topic, index)
        if partition.topic.diskless:
            raise ApiError(ErrorCode.ELECTION_NOT_NEEDED)
        call.cluster.replication_control.leaders.elect_leader(partition, unclean=unclean)
    if entry.error_code:
        entry.error_message = entry.error_message or ErrorCode(entry.error_code).meaning
    return entry
