"""An S3 endpoint on loopback: moto's server behind a gate that tests close at a moment of their choice.

It runs as a process of its own, with packages of its own (see conftest.py), says its port in the first line that it
prints, and ends when its standard input does. ``/_gate`` is the gate:

    PUT /_gate?after=3&matching=COPY&how=hold    the third such change, and each one after it, waits
    PUT /_gate                                   the gate is open again; what waited is refused
    GET /_gate                                   {"changes": 3, "closed": true}

A change is named by its kind and path, as ``PUT /bucket/key``, ``COPY /bucket/key``, ``DELETE /bucket/key``. With
``how=refuse`` what would wait is refused at once, as to one who has lost the right to write. Reading goes on.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

CHANGES = ("PUT", "POST", "DELETE")
DENIED = b"<Error><Code>AccessDenied</Code><Message>the gate is closed</Message></Error>"


class Gate:
    """Lets changes through, up to a moment."""

    def __init__(self) -> None:
        self._turned = threading.Condition()
        self._round = 0
        self._open()

    def _open(self) -> None:
        self.after, self.matching, self.holds = 0, re.compile(""), False
        self.changes, self.closed = 0, False

    def turn(self, after: int, matching: str, how: str) -> None:
        """Open, and close at the change with number ``after`` among those that match; 0 is never."""
        with self._turned:
            self._open()
            self.after, self.matching, self.holds = after, re.compile(matching), how == "hold"
            self._round += 1
            self._turned.notify_all()

    def lets_through(self, change: str) -> bool:
        with self._turned:
            if not self.closed and self.after and self.matching.search(change):
                self.changes += 1
                self.closed = self.changes >= self.after
            if not self.closed:
                return True
            begun = self._round
            if self.holds:
                self._turned.wait_for(lambda: self._round != begun)
            return False


class Application:
    """moto's, with the gate before it."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.moto = DomainDispatcherApplication(create_backend_app)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if path == "/_gate":
            if method == "PUT":
                given = {name: values[-1] for name, values in parse_qs(environ.get("QUERY_STRING", "")).items()}
                self.gate.turn(int(given.get("after", 0)), given.get("matching", ""), given.get("how", "hold"))
            start_response("200 OK", [("Content-Type", "application/json")])
            return [json.dumps({"changes": self.gate.changes, "closed": self.gate.closed}).encode()]
        if method in CHANGES:
            kind = "COPY" if "HTTP_X_AMZ_COPY_SOURCE" in environ else method
            if not self.gate.lets_through(f"{kind} {path}"):
                environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
                start_response("403 Forbidden", [("Content-Type", "application/xml")])
                return [DENIED]
        found: Iterable[bytes] = self.moto(environ, start_response)
        return found


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, Application(), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
