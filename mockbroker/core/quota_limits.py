"""Client quotas: Produce and Fetch return a throttle time, and the connection is not read for that time.

The answer is complete and comes at once. Kafka answers a fetch above the limit without its records.
Source: KIP-219; KafkaApis.handleProduceRequest and handleFetchRequest, ClientQuotaManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import Any

from mockbroker.call import Call

PRODUCE, FETCH = 0, 1
PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE = "producer_byte_rate", "consumer_byte_rate"


def check_quotas(call: Call) -> None:
    """Throttle a client that writes or reads more than its quota; runs only if a cluster has quotas."""
    if call.api_key == PRODUCE:
        throttle_ms = throttle_of(call, PRODUCER_BYTE_RATE, len(call.frame))
        call.effects().mute(throttle_ms)  # even without an answer
        call.amend(lambda response: throttle(call, response, throttle_ms))
    elif call.api_key == FETCH:
        call.amend(lambda response: throttle_reader(call, response))


def throttle_reader(call: Call, response: Any) -> None:
    size_bytes = sum(len(partition.records or b"") for topic in response.responses for partition in topic.partitions)
    if call.replica_id < 0:
        throttle(call, response, throttle_of(call, CONSUMER_BYTE_RATE, size_bytes))


def throttle_of(call: Call, key: str, size_bytes: int) -> int:
    """Count bytes of a client; returns its throttle time in ms."""
    session, cluster = call.session, call.cluster
    user = session.principal.partition(":")[2]
    return cluster.quota_usages.throttle_ms(
        call.broker.id, key, (user, session.client_id or ""), cluster.image.client_quotas, size_bytes, call.now_ms
    )


def throttle(call: Call, response: Any, throttle_ms: int) -> None:
    """Mute the connection, and set the throttle time in versions that have it: all but version 0."""
    call.effects().mute(throttle_ms)
    if call.version:
        response.throttle_time_ms = max(response.throttle_time_ms, throttle_ms)
