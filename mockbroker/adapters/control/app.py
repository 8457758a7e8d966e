"""The control API as an ASGI application: who may ask, routes from the table of operations, problems, the dashboard."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mockbroker.adapters import dashboard
from mockbroker.adapters.control import (  # noqa: F401 - each declares its operations
    broker_operations,
    cluster_operations,
    events,
    fault_operations,
    group_operations,
    metrics,
    openapi,
    request_operations,
    topic_operations,
)
from mockbroker.adapters.control.access import HEADERS, sign_in_page
from mockbroker.adapters.control.bodies import check_content_type, read_body, typed_body
from mockbroker.adapters.control.operations import ControlCall, ControlOperation, as_response, operation, query_of
from mockbroker.adapters.control.problems import (
    ControlProblem,
    bad_request,
    conflict,
    named,
    not_found,
    refusal_of,
    wrong_filter,
)
from mockbroker.core.faults.fault import FaultExistsError
from mockbroker.core.faults.reading import FaultError
from mockbroker.core.journal.filters import FilterError
from mockbroker.state.errors import ApiError, UnknownNameError

if TYPE_CHECKING:
    from mockbroker.adapters.control.server import ControlServer

log = logging.getLogger("mockbroker")
PROBLEMS: dict[type[Exception], Callable[[Any], ControlProblem]] = {
    ControlProblem: lambda error: error,
    UnknownNameError: lambda error: not_found(str(error)),
    ApiError: refusal_of,
    FaultExistsError: lambda error: conflict(str(error)),
    FaultError: lambda error: bad_request(str(error), field=error.path),
    FilterError: wrong_filter,
    OSError: lambda error: conflict(error.strerror or str(error)),
}


def control_app(server: ControlServer) -> ASGIApp:
    """The application for one server."""
    app = Starlette(routes=routes_of(server), exception_handlers={HTTPException: no_operation})
    app.router.redirect_slashes = False
    return guarded(app, server)


def routes_of(server: ControlServer) -> list[Route]:
    """The operations, and the files of the dashboard."""
    routes = [Route(path, endpoint(server, one), methods=list(one)) for path, one in operation.by_path().items()]
    return routes + [Route(path, static_file) for path in dashboard.static_files()]


def guarded(app: ASGIApp, server: ControlServer) -> ASGIApp:
    """An application that checks the host, the origin and the token of every request first."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        scope = {**scope, "path": "/" + raw_path.decode("latin-1").strip("/")}
        answer = refusal(server, scope) or app
        await answer(scope, receive, with_headers(send))

    return serve


def refusal(server: ControlServer, scope: Scope) -> Response | None:
    """The answer to those who may not ask, and to who has just brought the token; None for all others."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    access, cookie_name = server.access, f"kafka-rack-{server.port}"
    problem = access.refusal(scope["method"], scope["path"], headers, cookie_name)
    is_page = scope["method"] == "GET" and scope["path"] == "/"
    if is_page and (problem is None or problem.status == HTTPStatus.UNAUTHORIZED):
        signed_in = access.sign_in(scope["query_string"], cookie_name)
        if signed_in is not None:
            return signed_in
    if problem is None:
        return None
    if is_page and problem.status == HTTPStatus.UNAUTHORIZED and "text/html" in headers.get("accept", ""):
        return sign_in_page()
    return problem.to_response()


def with_headers(send: Send) -> Send:
    """A ``send`` that adds the headers that each answer has."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                given.setdefault(name, value)
        await send(message)

    return send_with_headers


def endpoint(server: ControlServer, methods: dict[str, ControlOperation]) -> Callable[[Request], Awaitable[Response]]:
    """The operations of one path, by method."""

    async def answer(request: Request) -> Response:
        """The answer to a request, or its problem."""
        try:
            return await answered(request)
        except Exception as error:  # noqa: BLE001 - each is a problem of the request
            return problem_of(request, error).to_response()

    async def answered(request: Request) -> Response:
        wanted = methods["GET" if request.method == "HEAD" else request.method]
        # paths are matched as they were sent, so that a name may hold an encoded slash
        names = {place: unquote(name) for place, name in request.path_params.items()}
        call = ControlCall(server, request, names, query_of(request, wanted.parameters))
        body = await read_body(request)
        if wanted.method != "GET":
            check_content_type(request)
        if wanted.body is not None:
            call.body = typed_body(body, wanted.body)
        return as_response(await wanted.handler(call), wanted.status)

    return answer


async def static_file(request: Request) -> Response:
    """One file of the dashboard."""
    file = dashboard.static_files()[request.scope["path"]]
    return Response(file.body, headers={**dashboard.HEADERS, "content-type": file.content_type})


async def no_operation(request: Request, error: Exception) -> Response:
    """405, with the methods that are possible in ``Allow``; or 404, with the paths that begin alike, or else with what
    paths begin with.
    """
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = sorted((error.headers or {})["Allow"].split(", "))
        text = f"expected {' or '.join(one for one in allowed if one != 'HEAD')}, got {request.method}"
        problem = ControlProblem(HTTPStatus.METHOD_NOT_ALLOWED, text, headers={"allow": ", ".join(allowed)})
        return problem.to_response()
    paths = list(operation.by_path())
    first = request.url.path.split("/")[1]
    near = [path for path in paths if path.split("/")[1] == first]
    there = named(near or dict.fromkeys(f"/{path.split('/')[1]}" for path in paths))
    return not_found(
        f"there is nothing at {unquote(request.url.path)}; there is {there}; see /openapi.json"
    ).to_response()


def problem_of(request: Request, error: Exception) -> ControlProblem:
    """The problem by the table; else 500: an internal error, which is logged, with its first line."""
    for kind, problem in PROBLEMS.items():
        if isinstance(error, kind):
            return problem(error)
    log.error("the control API failed on %s %s", request.method, request.url.path, exc_info=error)
    return ControlProblem(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}".splitlines()[0])
