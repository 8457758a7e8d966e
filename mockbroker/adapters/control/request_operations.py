"""Operations of the journal: the last calls, their number, and assertions about them."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, get_type_hints

import msgspec

from mockbroker.adapters.control.operations import ControlCall, Parameter, operation
from mockbroker.adapters.control.problems import ASSERTION_FAILED, ControlProblem, bad_request
from mockbroker.core.journal import JournalEntry
from mockbroker.core.journal.assertions import CLAIMS, check
from mockbroker.core.journal.filters import JournalFilters

DEFAULT_LIMIT, MAX_LIMIT = 1000, 10_000
SEPARATED = frozenset({"api", "broker", "partition", "locality", "error"})
"""Filters whose values never have a comma in them, so that one may stand between values."""
FILTERS = (
    Parameter("api", "Kafka's name of the API, as Fetch.", list[str]),
    Parameter("client_id", "As the client says it; * matches anything.", list[str]),
    Parameter("client_rack", "The client's rack, as far as it is known.", list[str]),
    Parameter("client_address", "An address, or a range as 10.0.0.0/8.", list[str]),
    Parameter("principal", "Who logged in, such as User:alice; * matches anything.", list[str]),
    Parameter("topic", "A topic that the request names.", list[str]),
    Parameter("partition", "A partition that the request names.", list[int]),
    Parameter("group", "A group that the request names.", list[str]),
    Parameter("broker", "The broker that got the request.", list[int]),
    Parameter("rack", "That broker's rack.", list[str]),
    Parameter("locality", "local, cross or unknown.", list[str]),
    Parameter("error", "An error in the answer, as NOT_LEADER_OR_FOLLOWER.", list[str]),
    Parameter("fault", "A fault that hit the call.", list[str]),
    Parameter("since", "Only calls after the one with this sequence.", int),
    Parameter("limit", f"How many at most: the last ones, with since the first; default: {DEFAULT_LIMIT}.", int),
)

FilterBody = dict[str, Any]


RequestView: Any = msgspec.defstruct(
    "RequestView",
    [(name, kind) for name, kind in get_type_hints(JournalEntry).items() if name != "shares"],
    module=__name__,
    namespace={"__doc__": "One call: client, broker, request, outcome, and whether its bytes crossed racks."},
)


class RequestsView(msgspec.Struct):
    """Calls in the order of their ends; ``next`` goes into ``since``, ``dropped`` no longer fitted."""

    requests: list[RequestView]
    next: int
    dropped: int


class CountView(msgspec.Struct):
    """The number of calls."""

    count: int


class RequestsDeleted(msgspec.Struct):
    """How many calls were forgotten."""

    deleted: int


class AssertionHolds(msgspec.Struct):
    """The answer to an assertion that holds."""

    ok: bool


@operation("GET", "/requests", "The last calls", answer=RequestsView, parameters=FILTERS)
async def requests(call: ControlCall) -> Any:
    """A filter may be repeated: one of its values has to match. Poll with `since`."""
    filters = filters_in(call.query)
    wanted = JournalFilters.of(filters)
    limit = min(wanted.limit or DEFAULT_LIMIT, MAX_LIMIT)
    journal = call.cluster.journal
    mark = journal.mark()
    found = journal.find(**{**filters, "limit": limit})
    if wanted.since is not None and len(found) == limit:
        mark = found[-1].sequence
    return {"requests": [entry.to_json() for entry in found], "next": mark, "dropped": journal.dropped}


@operation("POST", "/requests/count", "Count calls", body=FilterBody, answer=CountView)
async def count_requests(call: ControlCall) -> Any:
    """With the filters of `GET /requests` as members of an object: values or lists of them."""
    return CountView(call.cluster.journal.count(**call.body))


@operation("DELETE", "/requests", "Forget all calls", answer=RequestsDeleted)
async def delete_requests(call: ControlCall) -> Any:
    """The journal is empty afterwards."""
    count = len(call.cluster.journal)
    call.cluster.journal.clear()
    return RequestsDeleted(count)


@operation(
    "POST", "/assertions", "Check a claim about the calls", body=FilterBody, answer=AssertionHolds, statuses=(417,)
)
async def check_assertion(call: ControlCall) -> Any:
    """`{"assert": "rack_local", "topic": "orders"}`: rack_local, served_by, cross_rack_bytes, no_errors or consistent.

    Its other members are the claim's own (`at_most`, `rack`) and the filters of `GET /requests`. 417 has the sentence
    that says why it does not hold.
    """
    name, arguments = claim_of(call.body)
    try:
        check(name, arguments, call.cluster.journal)
    except AssertionError as error:
        raise ControlProblem(
            HTTPStatus.EXPECTATION_FAILED, str(error), type=ASSERTION_FAILED, title="Assertion failed", claim=name
        ) from None
    return AssertionHolds(True)


def claim_of(body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A claim's name and its arguments. Raises ControlProblem: 400.

    >>> claim_of({"assert": "served_by", "rack": "a"})
    ('served_by', {'rack': 'a'})
    """
    arguments = dict(body)
    name = arguments.pop("assert", None)
    if isinstance(name, str):
        return name, arguments
    raise bad_request(
        f'assert: expected one of {", ".join(CLAIMS)}, as in {{"assert": "rack_local", "topic": "orders"}}',
        field="assert",
    )


def filters_in(query: Mapping[str, Any]) -> dict[str, Any]:
    """The filters in a query."""
    return {name: ",".join(given).split(",") if name in SEPARATED else given for name, given in query.items()}
