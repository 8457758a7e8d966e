"""What a client is sent when its whole request fails, held against Kafka's own getErrorResponse."""

from __future__ import annotations

from typing import Any

from mockbroker.api import MODULES, RELEASED
from mockbroker.handlers.error_responses import error_response
from mockbroker.state.errors import ApiError
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.apis.produce import ProduceRequest
from protocol.codec import codec
from protocol.error_codes import ErrorCode
from protocol.registry import message_class
from tests.cases import for_each
from tests.fixture_data import error_response_vectors

SERVED = sorted(MODULES)
ERRORS = {
    "unexpected": ZeroDivisionError("a handler failed"),
    "refused": ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "not for you"),
    "refused without words": ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
}
KAFKAS_OWN_SENTENCE = {  # Kafka describes the error in general
    "AddRaftVoterResponse",
    "AlterClientQuotasResponse",
    "DescribeQuorumResponse",
    "UnregisterBrokerResponse",
    "UnregisterControllerResponse",
    "AlterShareGroupOffsetsResponse",
    "DeleteShareGroupOffsetsResponse",
    "DescribeConfigsResponse",
    "DescribeShareGroupOffsetsResponse",
    "FindCoordinatorResponse",
    "ReadShareGroupStateResponse",
    "ReadShareGroupStateSummaryResponse",
    "RemoveRaftVoterResponse",
    "WriteShareGroupStateResponse",
}


def test_there_are_vectors_of_every_served_version_that_kafka_has():
    for api_key in SERVED:
        found = {vector["version"] for vector in error_response_vectors() if vector["api_key"] == api_key}
        proposed = {3: {14}, 75: {1}}.get(api_key, set())  # of the diskless proposal
        lowest, _ = RELEASED.get(api_key, (0, 0))
        served = {one for one in message_class(api_key, "request").valid_versions if one >= lowest}
        assert served - proposed <= found


@for_each(lambda: [(f"API {api_key}, {kind}", (api_key, kind)) for api_key in SERVED for kind in ERRORS])
def test_errors_reach_clients_in_the_shape_that_kafka_gives_them(api_key, kind):
    request_class, response_class = message_class(api_key, "request"), message_class(api_key, "response")
    vectors = [vector for vector in error_response_vectors() if vector["api_key"] == api_key]
    assert vectors
    for vector in vectors:
        version, expected = vector["version"], vector["responses"][kind]
        if version not in request_class.valid_versions:
            continue
        request, _ = codec(request_class, version).decode(bytes.fromhex(vector["request"]), 0)
        response = error_response(request, version, ERRORS[kind])
        if expected is None:
            assert response is None
            continue
        sent, _ = codec(response_class, version).decode(codec(response_class, version).encode(response), 0)
        kafkas, _ = codec(response_class, version).decode(bytes.fromhex(expected), 0)
        assert comparable(sent) == comparable(kafkas), vector


def comparable(response: Any) -> Any:
    """A response without what Kafka leaves to chance or to its own words.

    Produce, OffsetFetch and WriteTxnMarkers come in the order of a hash map; before 4.x a failed fetch had null for no
    records.
    """
    name = type(response).__name__
    if name == "ProduceResponse":
        response.responses.sort(key=lambda topic: (topic.name, topic.topic_id))
        for topic in response.responses:
            topic.partition_responses.sort(key=lambda partition: partition.index)
    elif name == "WriteTxnMarkersResponse":
        response.markers.sort(key=lambda marker: marker.producer_id)
        for marker in response.markers:
            marker.topics.sort(key=lambda topic: topic.name)
            for topic in marker.topics:
                topic.partitions.sort(key=lambda partition: partition.partition_index)
    elif name == "OffsetFetchResponse":
        response.topics.sort(key=lambda topic: topic.name)
    elif name == "FetchResponse":
        for topic in response.responses:
            for partition in topic.partitions:
                partition.records = partition.records or b""
    elif name in KAFKAS_OWN_SENTENCE:
        entries = [response]
        for field in ("coordinators", "results", "groups", "entries"):
            entries += getattr(response, field, ())
        for entry in [*entries, *(one for topic in entries for one in getattr(topic, "partitions", ()))]:
            if hasattr(entry, "error_message"):
                entry.error_message = bool(entry.error_message)
    return response


def test_where_kafka_says_a_sentence_of_its_own_the_refusal_says_why():
    refused = error_response(FindCoordinatorRequest(key="g"), 2, ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "none"))
    assert refused.error_message == "none"
    failed = error_response(FindCoordinatorRequest(key="g"), 2, KeyError("a secret"))
    assert failed.error_message == ErrorCode.UNKNOWN_SERVER_ERROR.meaning


def test_a_producer_that_wants_no_answer_gets_none():
    assert error_response(ProduceRequest(acks=0), 9, ValueError()) is None
