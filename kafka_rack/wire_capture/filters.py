"""Which frames of captures are wanted: of which APIs and clients, and of which time."""

from __future__ import annotations

import msgspec

from kafka_rack.wire_capture.frames import Frame, PendingRequest


class FrameFilters(msgspec.Struct, frozen=True):
    """Which frames are wanted; what is None does not count. Times are microseconds since 1970, ``until`` excluded.

    ``by_request``: a response's time is that of its request.
    """

    apis: frozenset[str] | None = None
    clients: frozenset[str] | None = None
    since: int | None = None
    until: int | None = None
    by_request: bool = False

    def want(self, frame: Frame) -> bool:
        """Whether a frame is wanted; a response counts by its request's API and client, and by its own time."""
        asked = frame.asked
        if self.apis is not None and (asked.kind.api_name if asked is not None else "unknown") not in self.apis:
            return False
        if self.clients is not None and (asked is None or asked.kind.client_id not in self.clients):
            return False
        return self.in_time(asked.ts if self.by_request and asked is not None else frame.ts)

    def want_unanswered(self, asked: PendingRequest) -> bool:
        """Whether a request that no answer comes for is wanted."""
        if self.apis is not None and asked.kind.api_name not in self.apis:
            return False
        if self.clients is not None and asked.kind.client_id not in self.clients:
            return False
        return self.in_time(asked.ts)

    def in_time(self, ts: int) -> bool:
        return (self.since is None or ts >= self.since) and (self.until is None or ts < self.until)

    @property
    def take_all(self) -> bool:
        return all(limit is None for limit in (self.apis, self.clients, self.since, self.until))
