"""Problems, as RFC 9457 has them: ``application/problem+json`` with type, title, status and detail."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

if TYPE_CHECKING:
    from mockbroker.core.journal.filters import FilterError
    from mockbroker.state.errors import ApiError

MEDIA_TYPE = "application/problem+json"
NOT_FOUND = frozenset({"UNKNOWN_TOPIC_OR_PARTITION", "GROUP_ID_NOT_FOUND"})
INVALID = "INVALID_"
"""The beginning of the names of Kafka's errors for what never can be."""
ASSERTION_FAILED = "urn:kafka-rack:assertion-failed"


class ProblemDetails(msgspec.Struct, kw_only=True):
    """The details of a problem, as RFC 9457 has them: ``detail`` has what was met and what would be right, in one line.

    ``type`` is a URI for programs, ``about:blank`` where the status says all. ``field`` is the path of the invalid
    value, ``error_code`` Kafka's name of the error, and ``claim`` that of an assertion that does not hold.
    """

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    field: str | msgspec.UnsetType = msgspec.UNSET
    error_code: str | msgspec.UnsetType = msgspec.UNSET
    claim: str | msgspec.UnsetType = msgspec.UNSET


class ControlProblem(Exception):
    """A request that is not carried out.

    Args:
        status: its HTTP status.
        detail: what was met and what would be right, in one line.
        headers: what else the answer carries, as ``Allow``.
        members: what else the problem carries, as the ``field`` of a body.
    """

    def __init__(
        self, status: HTTPStatus, detail: str, *, headers: Mapping[str, str] | None = None, **members: str
    ) -> None:
        super().__init__(status, detail)
        self.status = status
        self._shown = ProblemDetails(status=int(status), detail=detail, **{"title": status.phrase, **members})
        self._headers = {"content-type": MEDIA_TYPE, "cache-control": "no-store", **(headers or {})}

    def to_response(self) -> Response:
        """The problem as it is sent."""
        return Response(msgspec.json.encode(self._shown) + b"\n", int(self.status), self._headers)


def not_found(detail: str) -> ControlProblem:
    """404: unknown name; the text lists the existing ones."""
    return ControlProblem(HTTPStatus.NOT_FOUND, detail)


def conflict(detail: str) -> ControlProblem:
    """409: the cluster is not in a state for it."""
    return ControlProblem(HTTPStatus.CONFLICT, detail)


def bad_request(detail: str, **members: Any) -> ControlProblem:
    """400: the request does not say what can be done."""
    return ControlProblem(HTTPStatus.BAD_REQUEST, detail, **members)


def wrong_filter(error: FilterError) -> ControlProblem:
    """400: the journal has no such filter, or the filter no such value."""
    field, colon, _ = str(error).partition(":")
    return bad_request(str(error), **({"field": field} if colon and field.isidentifier() else {}))


def named(names: object, limit: int = 20) -> str:
    """Names for an error's text, shortened: ``a, b and 7 more``.

    >>> named(["a", "b", "c"], limit=2), named([])
    ('a, b and 1 more', 'none')
    """
    texts = [str(name) for name in names]  # type: ignore[attr-defined]
    if len(texts) > limit:
        return f"{', '.join(texts[:limit])} and {len(texts) - limit} more"
    return ", ".join(texts) or "none"


def refusal_of(error: ApiError) -> ControlProblem:
    """Kafka's refusal of a command: 404 for what is not there, 400 for what never can be, else 409."""
    from protocol.error_codes import ErrorCode

    name = ErrorCode(error.code).name
    status = HTTPStatus.BAD_REQUEST if name.startswith(INVALID) else HTTPStatus.CONFLICT
    if name in NOT_FOUND:
        status = HTTPStatus.NOT_FOUND
    return ControlProblem(status, f"{name}: {error.message}" if error.message else name, error_code=name)
