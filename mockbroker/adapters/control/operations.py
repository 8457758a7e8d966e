"""The operations of the control API, as a table: each with its path, its words and its types.

The routes of the server, ``GET /openapi.json`` and the tests are made from this table, so that none of them can say
something else than the others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_origin

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from mockbroker.adapters.control.problems import bad_request, conflict, named, not_found

if TYPE_CHECKING:
    from mockbroker.adapters.control.server import ControlServer
    from mockbroker.adapters.served_cluster import ServedCluster
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics.topic import Partition, Topic

JSON = "application/json"
TAGS = ("brokers", "racks", "links", "topics", "groups", "faults", "requests")
TAG_OF = dict.fromkeys(("assertions", "metrics", "traffic"), "requests")
"""The tag of a path that does not begin with it; of all others it is cluster."""


@dataclass(slots=True)
class ControlCall:
    """One request of the control API, as its operation gets it: ``body`` has the type that the operation names."""

    server: ControlServer
    request: Request
    names: dict[str, str]  # of the path
    query: dict[str, Any]
    body: Any = None

    @property
    def cluster(self) -> ServedCluster:
        return self.server.cluster

    @property
    def state(self) -> Cluster:
        return self.server.cluster.state

    def broker_id(self) -> int:
        """The broker that the path names. Raises ControlProblem: 404."""
        return known_broker(self.state, self.names["id"])

    def rack(self) -> str:
        """The rack that the path names. Raises ControlProblem: 404."""
        return known("rack", self.names["rack"], self.state.liveness.racks())

    def must_be_ours(self, instead: str) -> None:
        """Refuse what only a cluster of ours knows. Raises ControlProblem: 409, with what a real one is asked by."""
        if self.state.is_mirror:
            raise conflict(f"a proxy follows neither groups nor what clients report: {instead}")

    def with_internal(self) -> bool:
        """True if the coordinators' topics are included. Raises ControlProblem: 400."""
        text: str = self.query.get("internal", "false")
        if text not in ("true", "false"):
            raise bad_request(f"internal: expected true or false, got {text!r}", field="internal")
        return text == "true"


Handler = Callable[[ControlCall], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter; one that may have several values has a list of them."""

    name: str
    meaning: str
    kind: Any


INTERNAL = Parameter("internal", "true shows the coordinators' topics too", bool)


@dataclass(frozen=True, slots=True)
class ControlOperation:
    """One thing that can be asked.

    Args:
        summary: one line; the handler's docstring has the rest.
        answer: the type of the answer's JSON, of which the schema is made, or several; None for what is no JSON.
        body: the type of the body, None without one.
        body_schema: its JSON Schema, where that says more than the type does.
        statuses: which of the problems can come of it, beside those that come of any, and 404 of a name in the path.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    answer: Any = None
    status: int = 200
    media_type: str = JSON
    body: Any = None
    body_schema: Mapping[str, Any] | None = None
    parameters: tuple[Parameter, ...] = ()
    statuses: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return self.handler.__name__

    @property
    def tag(self) -> str:
        first = self.path.split("/")[1]
        return first if first in TAGS else TAG_OF.get(first, "cluster")


@dataclass(slots=True)
class Operations:
    """The table, in the order in which the operations are declared."""

    table: dict[tuple[str, str], ControlOperation] = field(default_factory=dict)

    def __call__(self, method: str, path: str, summary: str, **details: Any) -> Callable[[Handler], Handler]:
        """Declare what a function does: ``@operation("POST", "/brokers/{id}/stop", "Stop a broker", ...)``."""

        def declare(handler: Handler) -> Handler:
            self.table[method, path] = ControlOperation(method, path, handler, summary, **details)
            return handler

        return declare

    def by_path(self) -> dict[str, dict[str, ControlOperation]]:
        """The operations of each path by method."""
        found: dict[str, dict[str, ControlOperation]] = {}
        for (method, path), one in self.table.items():
            found.setdefault(path, {})[method] = one
        return found


operation = Operations()


def query_of(request: Request, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The value of each query parameter, or the list of its values.

    Raises ControlProblem: 400 for an unknown one, and for several values of one that takes one.
    """
    kinds = {one.name: one.kind for one in parameters}
    given: dict[str, Any] = {}
    for name in request.query_params:
        if name not in kinds:
            raise bad_request(f"{name}: expected no such parameter; there are: {named(kinds)}", field=name)
        given[name] = values = request.query_params.getlist(name)
        if get_origin(kinds[name]) is not list:
            if len(values) > 1:
                raise bad_request(f"{name}: expected one value, got {len(values)}", field=name)
            given[name] = values[0]
    return given


def known(kind: str, name: str, there: Sequence[str]) -> str:
    """A name that is there. Raises ControlProblem: 404, with the existing ones."""
    if name not in there:
        raise not_found(f"there is no {kind} {name!r}; the {kind}s: {named(there)}")
    return name


def known_broker(state: Cluster, text: str) -> int:
    """The id of a broker. Raises ControlProblem: 404."""
    return int(known("broker", text, [str(broker_id) for broker_id in state.brokers]))


def known_partition(call: ControlCall) -> tuple[Topic, Partition]:
    """The partition that the path names. Raises ControlProblem: 404."""
    topic, text = known_topic(call), call.names["partition"]
    if text not in map(str, range(len(topic.partitions))):
        raise not_found(
            f"there is no partition {text!r} of {topic.name}; its partitions: 0 to {len(topic.partitions) - 1}"
        )
    return topic, topic.partitions[int(text)]


def known_topic(call: ControlCall) -> Topic:
    """The topic that the path names. Raises ControlProblem: 404."""
    return call.state.topics[known("topic", call.names["topic"], sorted(call.state.topics))]


def as_response(answered: Any, status: int) -> Response:
    """The result of an operation as a response: bytes are JSON already."""
    if isinstance(answered, Response):
        return answered
    body = answered if isinstance(answered, bytes) else msgspec.json.encode(answered)
    return Response(body + b"\n", status, {"content-type": JSON, "cache-control": "no-store"})
