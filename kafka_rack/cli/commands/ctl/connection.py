"""The control API as `kafka-rack ctl` asks it: HTTP from the standard library, problems as one line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, Self
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from kafka_rack.cli import FINDINGS, CommandError, UsageError
from kafka_rack.cli.options.control_token import CONTROL, CONTROL_TOKEN

ASSERTION_FAILED = 417
UNAUTHORIZED = 401
CONNECT_S = 10.0


class RefusedError(CommandError):
    """The cluster refused it; ``status`` is HTTP's."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        if status == ASSERTION_FAILED:
            self.exit_code = FINDINGS  # type: ignore[misc] # click reads it of the instance


class ControlConnection:
    """One connection to the control API at ``http://HOST:PORT``, or at HOST:PORT.

    ``token`` is shown with each request; one that stands in the URL, as `kafka-rack serve` prints it, goes before it.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        try:
            parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or parts.scheme != "http" or parts.path.strip("/"):
            raise UsageError(f"--url: expected http://HOST:PORT, got {url!r}")
        self._token = parse_qs(parts.query).get("token", [token])[0]
        self.url = f"http://{parts.netloc}"
        self._connection = HTTPConnection(host, port or 80, timeout=CONNECT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, *path: str, query: Mapping[str, Sequence[Any]] | None = None) -> Any:
        """The JSON at a path, whose parts may hold any characters."""
        asked = f"{path_of(path)}?{urlencode(query, doseq=True)}" if query else path_of(path)
        return json.loads(self._ask("GET", asked).read())

    def get_text(self, *path: str) -> str:
        return self._ask("GET", path_of(path)).read().decode()

    def post(self, *path: str, body: Any = None) -> Any:
        """The JSON that a command is answered with."""
        return json.loads(self._ask("POST", path_of(path), body).read())

    def delete(self, *path: str) -> Any:
        return json.loads(self._ask("DELETE", path_of(path)).read())

    def events(self) -> Iterator[tuple[str, Any]]:
        """Kind and data of each event, until the cluster ends."""
        response = self._ask("GET", "/events")
        kind, data = "", ""
        while line := response.readline():
            text = line.decode().rstrip("\n")
            if text.startswith("event: "):
                kind = text.removeprefix("event: ")
            elif text.startswith("data: "):
                data = text.removeprefix("data: ")
            elif not text and data:
                yield kind, json.loads(data)
                kind, data = "", ""

    def _ask(self, method: str, path: str, body: Any = None) -> HTTPResponse:
        text = None if body is None else json.dumps(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            if self._connection.sock is None:
                self._connection.connect()
                connected: Any = self._connection.sock
                connected.settimeout(None)  # a cluster may take its time, and events come when they come
            self._connection.request(method, path, text, headers)
            response = self._connection.getresponse()
        except (OSError, HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise CommandError(
                f"no control API at {self.url}: {reason}; start `kafka-rack serve`, or set --url or {CONTROL}"
            ) from None
        if response.status == UNAUTHORIZED:
            raise RefusedError(
                UNAUTHORIZED,
                f"the control API at {self.url} requires {'another' if self._token else 'a'} token: "
                f"expected it in {CONTROL_TOKEN}, in the file of --token-file, or in --url as http://HOST:PORT/?token=TOKEN",
            )
        if response.status >= 400:
            raise RefusedError(response.status, problem_of(response))
        return response


def path_of(parts: Sequence[str]) -> str:
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def problem_of(response: HTTPResponse) -> str:
    """The sentence of an RFC 9457 problem, or what else stands there."""
    text = response.read().decode(errors="replace").strip()
    try:
        return str(json.loads(text)["detail"])
    except (ValueError, KeyError, TypeError):
        first = text.splitlines()[0] if text else response.reason
        return f"HTTP {response.status}: {first}"
