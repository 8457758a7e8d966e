"""What a handler is given, what it may give back, and the table of handlers.

A handler is a function ``(call, request) -> response``. It may also return a ``Wait``, to be asked again later,
or None where the protocol has no answer (Produce with acks=0).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from mockbroker.state.brokers.broker import DEFAULT_LISTENER

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster

Response = Any
Handler = Callable[["Call", Any], Any]
AnyHandler = TypeVar("AnyHandler", bound=Callable[..., Any])


@dataclass(slots=True, frozen=True)
class Client:
    """The other end of a connection.

    ``rack`` is the rack of the listener it came in by, None unless there is one listener per rack.
    ``address`` is the peer's host, ``connection`` a number that no other connection of the cluster has.
    """

    id: str | None
    rack: str | None
    address: str
    listener: str = DEFAULT_LISTENER
    connection: int = 0


@dataclass(slots=True, eq=False)
class Call:
    """One request on its way through a handler: where it arrived, from whom, and when it is now.

    ``size`` counts the request's bytes, header included. ``traffic`` is filled by Produce and Fetch with the record
    bytes of each topic, ``client_rack`` by whoever learns the client's rack from the request; both go to the journal.
    ``diskless_turn`` holds the rack whose turn an answer with diskless topics took, and the broker that it named.
    ``close_reason`` has the connection closed in place of an answer, which is how acks=0 learns of errors.
    """

    cluster: Cluster
    broker: Broker
    client: Client
    version: int
    now_ms: int
    rng: Random
    api_key: int
    size: int = 0
    traffic: dict[str, int] | None = None
    client_rack: str | None = None
    diskless_turn: tuple[str | None, int] | None = None
    close_reason: str | None = None


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
