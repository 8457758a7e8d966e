"""A capture as lines of JSON."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mockbroker.adapters.capture import Tap, UnansweredRequests

Fields = dict[str, Any]


class LineForm:
    """Turns notes into lines of JSON, each with its end."""

    def file_start(self, told: Sequence[Fields], conversations: Sequence[UnansweredRequests]) -> list[bytes]:
        """The first line and the topics, and the open connections with their requests."""
        lines = [json_line(one) for one in told]
        for conversation in conversations:
            lines += self.opened(conversation.tap)
            number = conversation.tap.number
            for at_us, data in conversation.unanswered():
                asked = {"t": at_us, "ev": "asked", "conn": number, "data": b64encode(data).decode()}
                lines.append(json_line(asked))
        return lines

    def opened(self, tap: Tap) -> list[bytes]:
        """A connection begins."""
        fields = {"t": tap.opened, "ev": "open", "conn": tap.number, "broker": tap.broker, "listener": tap.listener}
        return [json_line({**fields, "client": tap.client})]

    def frame(self, at_us: int, tap: Tap, is_request: bool, data: bytes) -> list[bytes]:
        """A frame passes."""
        direction = b"req" if is_request else b"resp"
        values = at_us, tap.number, direction, len(data), b64encode(data)
        return [b'{"t":%d,"conn":%d,"dir":"%b","n":%d,"data":"%b"}\n' % values]

    def closed(self, at_us: int, tap: Tap, unread_bytes: int) -> list[bytes]:
        """A connection ends; the bytes are those that did not become calls."""
        fields = {"t": at_us, "ev": "close", "conn": tap.number, "partial_req": unread_bytes, "partial_resp": 0}
        return [json_line(fields)]

    def ended(self, at_us: int) -> list[bytes]:
        """The recording ends."""
        return [json_line({"t": at_us, "ev": "end"})]


def json_line(value: Fields) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
