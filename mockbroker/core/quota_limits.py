"""Client quotas at work: Produce and Fetch tell a client how long to be quiet, and its connection is not heard so long.

The answer itself is whole and comes at once. A broker of Kafka answers a fetch above the limit without its records.
Source: KIP-219; KafkaApis.handleProduceRequest and handleFetchRequest, ClientQuotaManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mockbroker.call import Call, InjectedFaults
from mockbroker.state.quotas.usage import Usages

PRODUCE, FETCH = 0, 1
PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE = "producer_byte_rate", "consumer_byte_rate"


@dataclass(slots=True, eq=False)
class QuotaLimits:
    """A stage of the path of calls, asked only where a cluster has quotas."""

    usages: Usages = field(default_factory=Usages)

    def check(self, call: Call) -> None:
        """Throttle a client that writes too much, or that is given too much."""
        if call.api_key == PRODUCE:
            throttle_ms = self._throttle_ms(call, PRODUCER_BYTE_RATE, len(call.frame))
            if throttle_ms:
                injected_into(call).amend.append(lambda response: throttle(call, response, throttle_ms))
                mute(call, throttle_ms)
        elif call.api_key == FETCH:
            injected_into(call).amend.append(lambda response: self._given(call, response))

    def _given(self, call: Call, response: Any) -> None:
        size_bytes = sum(
            len(partition.records or b"") for topic in response.responses for partition in topic.partitions
        )
        throttle_ms = self._throttle_ms(call, CONSUMER_BYTE_RATE, size_bytes) if call.replica_id < 0 else 0
        if throttle_ms:
            throttle(call, response, throttle_ms)
            mute(call, throttle_ms)

    def _throttle_ms(self, call: Call, key: str, size_bytes: int) -> int:
        session = call.session
        user = session.principal.partition(":")[2]
        limits = call.cluster.image.client_quotas
        return self.usages.throttle_ms(
            call.broker.id, key, (user, session.client_id or ""), limits, size_bytes, call.now_ms
        )


def injected_into(call: Call) -> InjectedFaults:
    if call.injected is None:
        call.injected = InjectedFaults()
    return call.injected


def throttle(call: Call, response: Any, throttle_ms: int) -> None:
    """Tell the client, in the versions that have a place for it: all of Fetch but the first, and of Produce."""
    if call.version:
        response.throttle_time_ms = max(response.throttle_time_ms, throttle_ms)


def mute(call: Call, throttle_ms: int) -> None:
    injected = injected_into(call)
    injected.mute_ms = max(injected.mute_ms, throttle_ms)
