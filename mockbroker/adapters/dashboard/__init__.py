"""The dashboard: a page, a style sheet and ES modules that show the cluster in a browser.

The files in ``static`` are served unchanged: no build, no other origin. ``/`` is ``index.html``, ``/dashboard/NAME``
each file. The page calls the control API, like any other client. Names that clients choose reach the page as text:
``HEADERS`` makes browsers refuse inline scripts, inline styles and HTML from strings.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

STATIC = Path(__file__).with_name("static")
FOLDER = "/dashboard/"
"""Path of the files on the control port; the page is at ``/`` too."""
CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "content-security-policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; "
        "require-trusted-types-for 'script'; trusted-types kafka-rack"
    ),
    "cache-control": "no-cache",
    "cross-origin-opener-policy": "same-origin",
}
"""Headers of each file, beside those of every answer."""


class StaticFile(NamedTuple):
    """A file of the dashboard: its bytes and content type."""

    body: bytes
    content_type: str


@cache
def static_files() -> dict[str, StaticFile]:
    """Each file by its path on the control port; read once.

    >>> static_files()["/"] is static_files()["/dashboard/index.html"]
    True
    >>> static_files()["/dashboard/app.js"].content_type
    'text/javascript; charset=utf-8'
    """
    found = {
        FOLDER + path.name: StaticFile(path.read_bytes(), CONTENT_TYPES[path.suffix])
        for path in sorted(STATIC.iterdir())
        if path.suffix in CONTENT_TYPES
    }
    found[FOLDER + "names.json"] = StaticFile(json.dumps(names()).encode(), CONTENT_TYPES[".json"])
    return {"/": found[FOLDER + "index.html"], **found}


def names() -> dict[str, Any]:
    """Names for the page: served APIs, Kafka's errors, effects of faults, the reasons of the locality table.

    >>> names()["reasons"]["redirect"]["action"]
    'Nothing to do.'
    """
    from kafka_rack.locality import REASONS
    from mockbroker.api import SERVED
    from mockbroker.core.faults.effects import EFFECTS
    from protocol.error_codes import ErrorCode
    from protocol.registry import APIS

    return {
        "apis": sorted(APIS[key][1] for key in SERVED),
        "errors": sorted(error.name for error in ErrorCode if error != ErrorCode.NONE),
        "effects": {
            name: {"does": effect.does, "example": json.loads(effect.example)[name]} for name, effect in EFFECTS.items()
        },
        "reasons": {
            reason.name: {"what": reason.what, "action": reason.action, "avoidable": reason.avoidable}
            for reason in REASONS.values()
        },
    }
