"""What a handler is given, what it may give back, and the table of handlers.

A handler is a function ``(call, request) -> response``. It may also return a ``Wait``, to be asked again later,
or None where the protocol has no answer (Produce with acks=0).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from protocol.codec import codec
from protocol.registry import message_class

if TYPE_CHECKING:
    from mockbroker.session import Session
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.metadata.kraft import DeposedPartition
    from mockbroker.state.metadata.view import KnownPartition, MetadataView
    from mockbroker.state.topics.topic import Partition

Response = Any
Handler = Callable[["Call", Any], Any]
AnyHandler = TypeVar("AnyHandler", bound=Callable[..., Any])

NO_API = -1


@dataclass(slots=True, eq=False)
class Call:
    """One request on its way: where it arrived, from whom, and when it is now.

    The path of a call fills in ``api_key``, ``version``, ``correlation_id`` and ``body_start`` from the frame's header;
    ``request`` is read when somebody asks for it, and ``finish`` gets the call's outcome. Handlers put down for the
    journal what they did: ``traffic``, the record bytes of each topic that was written or read here, and ``redirects``,
    the brokers that readers of a topic were sent to. ``diskless_turn`` holds the rack whose turn an answer with
    diskless topics took, and the broker that it named. ``close_reason`` has the connection closed in place of an
    answer, which is how acks=0 learns of errors.
    """

    cluster: Cluster
    session: Session
    frame: bytes
    now_ms: int
    rng: Random
    api_key: int = NO_API
    version: int = 0
    correlation_id: int = 0
    body_start: int = 0
    arrived_ms: int = field(init=False)
    was_parked: bool = False
    traffic: dict[str, int] | None = None
    redirects: dict[str, list[int]] | None = None
    diskless_turn: tuple[str | None, int] | None = None
    close_reason: str | None = None
    finish: Callable[[Any], None] | None = None
    _request: Any = None

    def __post_init__(self) -> None:
        self.arrived_ms = self.now_ms

    @property
    def broker(self) -> Broker:
        """The broker that was called."""
        return self.session.broker

    @property
    def view(self) -> MetadataView:
        """What the broker that was called knows of the cluster."""
        return self.cluster.support.view(self.session.broker.id)

    def leadership(self, partition: Partition) -> KnownPartition:
        """Who leads a partition, as the broker that was called knows."""
        return self.cluster.support.leadership(self.session.broker.id, partition)

    def deposed(self, partition: Partition) -> DeposedPartition | None:
        """The partition, where the broker that was called leads it in its own eyes alone."""
        return self.cluster.support.deposed(self.session.broker.id, partition)

    @property
    def request(self) -> Any:
        """The request's message. Bytes that are left over behind it are ignored, as in Kafka.

        Raises: DecodeError, which does not say where: to find that out would hold up everybody else.
        """
        if self._request is None:
            decode = codec(message_class(self.api_key, "request"), self.version).brief_decoder()
            self._request, _ = decode(self.frame, self.body_start)
        return self._request


@dataclass(slots=True, eq=False)
class Wait:
    """An answer put off: ``then(call)`` runs when a key of ``on`` is notified or the time ``until_ms`` is reached.

    ``call.now_ms`` is brought up to date first. ``then`` gives what a handler gives: a response, None, or another Wait.
    """

    until_ms: int | None
    on: tuple[Hashable, ...]
    then: Callable[[Call], Any]


_handlers: dict[int, Handler] = {}


def handles(request_class: type) -> Callable[[AnyHandler], AnyHandler]:
    """Register a function as the handler of one API: ``@handles(MetadataRequest)``."""
    api_key: int = request_class.api_key  # type: ignore[attr-defined]

    def register(handler: AnyHandler) -> AnyHandler:
        assert api_key not in _handlers or _handlers[api_key].__qualname__ == handler.__qualname__, api_key
        _handlers[api_key] = handler
        return handler

    return register


def registered_handler(api_key: int) -> Handler | None:
    """The handler of an API key whose module was imported already, else None."""
    return _handlers.get(api_key)
