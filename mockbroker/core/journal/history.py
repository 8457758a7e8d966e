"""The history of a cluster's sends and polls, for kafka_rack.consistency.

It reads each batch as calls end, and stores its offsets, and its producer's numbers or its checksum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_rack.consistency import Checker, Report
from kafka_rack.consistency.wire import NO_ID, WireCall, WireHistory
from mockbroker.call import Outcome
from protocol.errors import ProtocolError

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

MAX_EXAMPLES = 5


class ObservedHistory:
    """Checks what clients send and receive, call by call.

    >>> ObservedHistory().report().is_consistent
    True
    """

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        self._wire = WireHistory(self._topic_name)
        self._checker = Checker(max_examples=MAX_EXAMPLES)
        self._api_keys = self._wire.api_keys

    def call_ended(self, outcome: Outcome) -> None:
        """Add a call that ended to the history."""
        call = outcome.call
        if call.api_key not in self._api_keys or not call.body_start:
            return
        self._cluster = call.cluster
        try:
            request = call.request
        except ProtocolError:
            return
        for part in call.parts or ():
            if part.topic and part.topic_id != NO_ID:
                self._wire.learn_topic(part.topic, part.topic_id)
        session = call.session
        wire_call = WireCall(
            call.api_key,
            session.client_id,
            session.connection,
            call.arrived_ms,
            outcome.at_ms,
            request,
            outcome.response,
            session.broker.id,
        )
        for operation in self._wire.operations(wire_call):
            self._checker.add(operation)

    def report(self) -> Report:
        """The report on the calls so far."""
        return self._checker.report()

    def _topic_name(self, topic_id: bytes) -> str | None:
        topic = self._cluster.topic_by_id.get(topic_id) if self._cluster is not None else None
        return topic.name if topic is not None else None
