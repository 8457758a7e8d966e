"""Changes by the controller, answered once the broker that serves the request has them in its metadata.

In KRaft mode any broker accepts them: it forwards them to the controller (KIP-590) and knows the result at once. In
ZooKeeper mode only the controller accepts them, and learns the result by UpdateMetadata, as every broker.
Source: KafkaApis.handleCreateTopicsRequest, AdminManager, DelayedCreatePartitions, Kafka 0.10.1 to 3.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from mockbroker.call import Call, Wait
from mockbroker.handlers.leadership import when_done
from mockbroker.state.errors import ApiError
from mockbroker.state.metadata import MetadataView
from mockbroker.state.replicas.network import CONTROLLER
from protocol.error_codes import ErrorCode

Answer = TypeVar("Answer")


def check_controller(call: Call, *, forwarding: bool = False) -> None:
    """Check that the broker can carry out a change, or forward it to the controller.

    Args:
        forwarding: the broker itself requests the change, which is possible in both modes.

    Raises ApiError: NOT_CONTROLLER, in ZooKeeper mode at a broker that is not the controller; REQUEST_TIMED_OUT at a
        broker that is disconnected from the controller, at once, while a real broker waits first.
    """
    cluster = call.cluster
    if not cluster.network.connects(call.broker.id, CONTROLLER):
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT, f"broker {call.broker.id} does not reach the controller")
    if not (forwarding or cluster.support.forwards) and cluster.support.controller_id != call.broker.id:
        raise ApiError(ErrorCode.NOT_CONTROLLER, f"broker {call.broker.id} is not the controller")


def check_deadline(call: Call, timeout_ms: int) -> None:
    """Raises ApiError: REQUEST_TIMED_OUT in KRaft mode if the timeout is not positive."""
    if timeout_ms <= 0 and call.cluster.support.is_kraft:
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT)


def when_known(
    call: Call, answer: Answer, timeout_ms: int, entries: Iterable[Any], is_known: Callable[[MetadataView, Any], bool]
) -> Answer | Wait:
    """The answer, once the broker's view satisfies ``is_known`` for all entries without an error.

    After ``timeout_ms`` these get REQUEST_TIMED_OUT.
    """
    view, done = call.view, [entry for entry in entries if not entry.error_code]

    def time_out(entry: Any) -> None:
        entry.error_code = ErrorCode.REQUEST_TIMED_OUT

    until_ms = call.now_ms + max(0, timeout_ms)
    return when_done(call, answer, done, until_ms, lambda _, entry: is_known(view, entry), time_out, on=view)
