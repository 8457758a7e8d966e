"""Changes that in Zookeeper mode the controller alone carries out, answered once it was told of them itself.

In KRaft mode any broker takes them, as it forwards to the controller (KIP-590), and they are done at once.
Source: KafkaApis.handleCreateTopicsRequest, AdminManager, DelayedCreatePartitions, Kafka 0.10.1 to 3.9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mockbroker.call import Call, Wait
from mockbroker.handlers.metadata_told import cache_of
from mockbroker.state.errors import ApiError
from mockbroker.state.zookeeper.metadata_cache import MetadataCache
from protocol.error_codes import ErrorCode

Answer = TypeVar("Answer")


def check_controller(call: Call) -> None:
    """Raises ApiError: NOT_CONTROLLER, in Zookeeper mode at a broker that is not the controller."""
    if call.cluster.zookeeper is not None and call.cluster.controller_id() != call.broker.id:
        raise ApiError(ErrorCode.NOT_CONTROLLER, f"broker {call.broker.id} is not the controller")


def when_told(
    call: Call,
    answer: Answer,
    timeout_ms: int,
    is_told: Callable[[MetadataCache], bool],
    late: Callable[[Answer], None],
) -> Answer | Wait:
    """The answer, in Zookeeper mode put off until the broker's cache satisfies ``is_told``, or ``late`` was applied."""
    if call.cluster.zookeeper is None:
        return answer
    cache = cache_of(call)
    until_ms = call.now_ms + max(0, timeout_ms)

    def again(later: Call) -> Answer | Wait:
        if is_told(cache):
            return answer
        if later.now_ms >= until_ms:
            late(answer)
            return answer
        return Wait(until_ms=until_ms, on=(cache,), then=again)

    return again(call)
