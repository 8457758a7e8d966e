"""Changes that the controller carries out, answered once the broker that was called knows of them itself.

In KRaft mode any broker takes them, as it forwards to the controller (KIP-590), and knows at once. In ZooKeeper mode
the controller alone takes them, and is told as every broker is.
Source: KafkaApis.handleCreateTopicsRequest, AdminManager, DelayedCreatePartitions, Kafka 0.10.1 to 3.9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mockbroker.call import Call, Wait
from mockbroker.state.errors import ApiError
from mockbroker.state.metadata.view import MetadataView
from mockbroker.state.replicas.network import CONTROLLER
from protocol.error_codes import ErrorCode

Answer = TypeVar("Answer")


def check_controller(call: Call, *, forwarding: bool = False) -> None:
    """Nothing where the broker that was called can have a change carried out.

    Args:
        forwarding: the broker asks for the change itself, which is possible in both modes.

    Raises ApiError: NOT_CONTROLLER, in ZooKeeper mode at a broker that is not the controller; REQUEST_TIMED_OUT at one
        that is cut off from it, without the wait that a real broker makes.
    """
    cluster = call.cluster
    if not cluster.network.connects(call.broker.id, CONTROLLER):
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT, f"broker {call.broker.id} does not reach the controller")
    if not (forwarding or cluster.support.forwards) and cluster.support.controller_id != call.broker.id:
        raise ApiError(ErrorCode.NOT_CONTROLLER, f"broker {call.broker.id} is not the controller")


def check_deadline(call: Call, timeout_ms: int) -> None:
    """In KRaft mode the controller does not begin with what has no time left. Raises ApiError: REQUEST_TIMED_OUT."""
    if timeout_ms <= 0 and call.cluster.support.is_kraft:
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT)


def when_known(
    call: Call,
    answer: Answer,
    timeout_ms: int,
    is_known: Callable[[MetadataView], bool],
    late: Callable[[Answer], None],
) -> Answer | Wait:
    """The answer, put off until the broker's view satisfies ``is_known``, or until ``late`` was applied to it."""
    view = call.view
    until_ms = call.now_ms + max(0, timeout_ms)

    def again(later: Call) -> Answer | Wait:
        if is_known(view):
            return answer
        if later.now_ms >= until_ms:
            late(answer)
            return answer
        return Wait(until_ms=until_ms, on=(view,), then=again)

    return again(call)
