"""Rewrites of messages, without a proxy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from mockbroker.proxy.rewrites import Rewrites


def call_of(
    api_key: int,
    version: int,
    rack: str | None,
    racks: Mapping[int, str | None] | None = None,
    diskless: Iterable[str] = (),
) -> Any:
    """A call of a client in a rack, to a cluster with online brokers in these racks and these diskless topics."""
    cluster = SimpleNamespace(
        liveness=SimpleNamespace(rack_by_online_broker=racks or {}),
        topics={name: SimpleNamespace(diskless=True) for name in diskless},
    )
    session = SimpleNamespace(rack=rack)
    return SimpleNamespace(api_key=api_key, version=version, session=session, cluster=cluster)


def rewrite(rewrites: Rewrites, request: Any, version: int, rack: str | None) -> bool:
    """Rewrite a request in place; True if it changed."""
    call = call_of(type(request).api_key, version, rack)
    return rewrites.takes_request(call) and rewrites.rewrite_request(call, request)
