"""The control API: HTTP on loopback, to inspect a running cluster, change it, and see which broker served which client.

docs/http.md is the reference; ``operations`` has the table of it, ``GET /openapi.json`` the same for programs.
Errors are RFC 9457 problems.
"""

from __future__ import annotations

from mockbroker.adapters.control.server import ControlServer

__all__ = ["ControlServer"]
