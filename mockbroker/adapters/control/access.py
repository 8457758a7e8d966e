"""Access to the control API: its token, and a request's ``Host``, ``Origin`` and similar headers.

A page in a browser somewhere else must not command the cluster, nor read it. It can make requests to loopback, so what
the browser says about it is looked at. ``Origin`` has to be the API's own. ``Host`` has to be a name that nobody else
can have pointed at this machine while the page is open (DNS rebinding): on loopback the machine's own names, and with
a token also those that no public DNS answers, as a page that came by such a name does not have the token.

Who comes from elsewhere shows the token: programs as ``Authorization: Bearer TOKEN``, the dashboard by a cookie that
it is given for ``/?token=TOKEN``, as Jupyter does. The cookie is not the token, and ends with it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

from starlette.requests import cookie_parser
from starlette.responses import Response

from mockbroker.adapters.control.problems import ControlProblem

PRIVATE_SUFFIXES = (".localhost", ".local", ".internal", ".test", ".home.arpa")
"""Ends of names that the public DNS never answers: RFC 6761, RFC 6762, RFC 8375, and ICANN's .internal."""
LEGAL_NAME = re.compile(r"[a-z0-9_.-]+")
OPEN_PATHS = ("/healthz",)
"""Paths that need no token: probes have none, and learn only that the cluster runs."""
TOKEN = re.compile(r"[!-~]{16,512}")
RULE = "16 to 512 visible ASCII characters without a space"
TOKEN_BYTES = 32
COOKIE_PURPOSE = b"kafka-rack dashboard"
SAME_SITE_VALUES = ("none", "same-origin")  # of Sec-Fetch-Site: what a person typed, and the dashboard itself
HEADERS = {
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""The headers of every answer that does not set others."""
SIGN_IN = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>kafka-rack: token</title></head>
<body><h1>kafka-rack</h1>
<p>This control API asks for its token. <code>kafka-rack serve</code> has printed it, or has it in the file of
<code>--control-token-file</code>.</p>
<form action="/" method="get"><label>Token <input name="token" type="password" autocomplete="off" required autofocus>
</label> <button>Open the dashboard</button></form></body></html>
"""
SIGN_IN_POLICY = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"


def new_token() -> str:
    """A random token."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def is_loopback(host: str) -> bool:
    """True if only this machine reaches a listener there.

    >>> [host for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "", "0.0.0.0", "kafka") if is_loopback(host)]
    ['127.0.0.1', '127.9.9.9', '::1', 'localhost']
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


class ControlAccess:
    """The access rules of one server.

    Args:
        host: where it listens.
        names: further names of the server.
        token: what clients have to show; one is made for an address that others reach, where it is None.

    Raises ValueError: a token that could be guessed, or sent in no header.
    """

    def __init__(self, host: str, names: Iterable[str], token: str | None) -> None:
        if token is None and not is_loopback(host):
            token = new_token()
        if token is not None and TOKEN.fullmatch(token) is None:
            raise ValueError(f"the token: expected {RULE}, got {len(token)} characters")
        self.token = token
        self.names = frozenset(name.lower().rstrip(".") for name in (*names, host) if name)
        key = (token or "").encode()
        self._bearer = key
        self._cookie = hmac.new(key, COOKIE_PURPOSE, hashlib.sha256).hexdigest().encode()

    def refusal(self, method: str, path: str, headers: Mapping[str, str], cookie_name: str) -> ControlProblem | None:
        """Why a request is not carried out: 403 or 401; None if it is."""
        return (
            self._refused_host(headers)
            or refused_origin(headers)
            or refused_page(method, headers)
            or (None if path in OPEN_PATHS else self._refused_token(headers, cookie_name))
        )

    def sign_in(self, query: bytes, cookie_name: str) -> Response | None:
        """The answer to ``/?token=...``: a cookie and the way to ``/``; None where the token is wrong or not there."""
        given = parse_qs(query.decode("latin-1")).get("token", [""])[0]
        if self.token is None or not hmac.compare_digest(given.encode(), self._bearer):
            return None
        cookie = f"{cookie_name}={self._cookie.decode()}; Path=/; HttpOnly; SameSite=Lax"
        return Response(status_code=HTTPStatus.SEE_OTHER, headers={"location": "/", "set-cookie": cookie})

    def _refused_host(self, headers: Mapping[str, str]) -> ControlProblem | None:
        """403 where ``Host`` is a name that someone else could have pointed here."""
        host = headers.get("host")
        if host is None:  # HTTP/1.0, which no browser speaks
            return None
        name = name_of(host)
        if name and (name in self.names or is_own(name) or (self.token is not None and is_private(name))):
            return None
        right = "an IP address, localhost" if self.token is not None else "localhost, 127.0.0.1"
        return ControlProblem(
            HTTPStatus.FORBIDDEN,
            f"Host: expected {right} or a name that --control-name allows, got {host!r}",
        )

    def _refused_token(self, headers: Mapping[str, str], cookie_name: str) -> ControlProblem | None:
        """401 where neither the token nor the dashboard's cookie is shown."""
        if self.token is None:
            return None
        given = headers.get("authorization", "")
        scheme, _, shown = given.partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(shown.strip().encode("latin-1"), self._bearer):
            return None
        cookie = cookie_parser(headers.get("cookie", "")).get(cookie_name, "")
        if not given and hmac.compare_digest(cookie.encode("latin-1"), self._cookie):
            return None
        got = "another one" if scheme.lower() == "bearer" else f"{scheme[:20]!r}" if scheme else "none"
        return ControlProblem(
            HTTPStatus.UNAUTHORIZED,
            f"expected the token of this control API as Authorization: Bearer TOKEN, got {got}; kafka-rack serve has "
            "printed it, or has it in the file of --control-token-file",
            headers={"www-authenticate": 'Bearer realm="kafka-rack"'},
        )


def sign_in_page() -> Response:
    """401 for browsers: a form for the token."""
    return Response(
        SIGN_IN,
        HTTPStatus.UNAUTHORIZED,
        {
            "content-type": "text/html; charset=utf-8",
            "content-security-policy": SIGN_IN_POLICY,
            "cache-control": "no-store",
            "www-authenticate": 'Bearer realm="kafka-rack"',
        },
    )


def name_of(host: str) -> str:
    """The name in a ``Host`` header, in lower case and without its port; empty if there is none.

    >>> name_of("LocalHost.:80"), name_of("[::1]:80"), name_of("a b"), name_of("x@127.0.0.1"), name_of("[::1")
    ('localhost', '::1', '', '', '')
    """
    if not re.fullmatch(r"[A-Za-z0-9_.:\[\]-]*", host):
        return ""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


def is_own(name: str) -> bool:
    """True if a name means this machine to every browser: loopback's addresses, and localhost (RFC 6761)."""
    return is_loopback(name) or name.endswith(".localhost")


def is_private(name: str) -> bool:
    """True if the public DNS cannot point this name anywhere.

    >>> [name for name in ("127.0.0.1", "::1", "localhost", "kafka", "x.internal", "evil.example") if is_private(name)]
    ['127.0.0.1', '::1', 'localhost', 'kafka', 'x.internal']
    """
    try:
        ip_address(name)
    except ValueError:
        return LEGAL_NAME.fullmatch(name) is not None and ("." not in name or name.endswith(PRIVATE_SUFFIXES))
    return True


def refused_origin(headers: Mapping[str, str]) -> ControlProblem | None:
    """403 where a page of another origin asks; programs say no origin."""
    origin, host = headers.get("origin"), headers.get("host")
    if origin is None or origin in {f"http://{host}", f"https://{host}"}:
        return None
    return ControlProblem(HTTPStatus.FORBIDDEN, f"Origin: expected none or http://{host}, got {origin!r}")


def refused_page(method: str, headers: Mapping[str, str]) -> ControlProblem | None:
    """403 where a browser says that another page asks without an origin, unless a person goes to look at something."""
    site = headers.get("sec-fetch-site", "none")
    if site in SAME_SITE_VALUES:
        return None
    is_visit = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    if method in {"GET", "HEAD"} and is_visit:
        return None
    return ControlProblem(HTTPStatus.FORBIDDEN, f"Sec-Fetch-Site: expected same-origin or none, got {site!r}")
