"""What a capture says besides its frames, as lines of JSON; and the form that is all lines."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafka_rack.wire_capture.recording import Recording

if TYPE_CHECKING:
    from mockbroker.adapters.capture import Tap, UnansweredRequests

Fields = dict[str, Any]


class EventLines:
    """A form that has events as lines."""

    format = 2

    def event(self, line: bytes) -> list[bytes]:
        """A line with its end that is no frame; gives what is to be written by now."""
        raise NotImplementedError

    def head_events(self, told: Sequence[Fields], conversations: Sequence[UnansweredRequests]) -> list[bytes]:
        """The first line and the topics, the connections that are open with their requests, and at last a gap."""
        gap = [one for one in told if one["ev"] == "gap"]
        pieces = [piece for one in told if one["ev"] != "gap" for piece in self.event(json_line(one))]
        for conversation in conversations:
            pieces += self.opened(conversation.tap)
            number = conversation.tap.number
            for at_us, data in conversation.unanswered():
                asked = {"t": at_us, "ev": "asked", "conn": number, "data": b64encode(data).decode()}
                pieces += self.event(json_line(asked))
        return pieces + [piece for one in gap for piece in self.event(json_line(one))]

    def opened(self, tap: Tap) -> list[bytes]:
        """A connection begins."""
        fields = {"t": tap.opened, "ev": "open", "conn": tap.number, "broker": tap.broker, "listener": tap.listener}
        return self.event(json_line({**fields, "client": tap.client}))

    def closed(self, at_us: int, tap: Tap, unread_bytes: int) -> list[bytes]:
        """A connection ends; the bytes are those that did not become calls."""
        fields = {"t": at_us, "ev": "close", "conn": tap.number, "partial_req": unread_bytes, "partial_resp": 0}
        return self.event(json_line(fields))

    def ended(self, at_us: int) -> list[bytes]:
        """The recording ends."""
        return self.event(json_line({"t": at_us, "ev": "end"}))


class LineForm(EventLines):
    """Turns what is noted into lines of JSON, each with its end."""

    def __init__(self) -> None:
        self._recording = Recording()

    def file_start(self, told: Sequence[Fields], conversations: Sequence[UnansweredRequests]) -> list[bytes]:
        """The head of a file, and the connections that are open with the requests that wait for their answers."""
        self._recording = Recording()
        return self.head_events(told, conversations)

    def event(self, line: bytes) -> list[bytes]:
        self._recording.event(line)
        return [line]

    def frame(self, at_us: int, tap: Tap, is_request: bool, data: bytes) -> list[bytes]:
        """A frame passes."""
        direction = b"req" if is_request else b"resp"
        values = at_us, tap.number, direction, len(data), b64encode(data)
        line = b'{"t":%d,"conn":%d,"dir":"%b","n":%d,"data":"%b"}\n' % values
        self._recording.frame(at_us, tap.number, is_request, data, len(line))
        return [line]

    def checkpoint(self, at_us: int) -> list[bytes]:
        """What the file has told so far, if it is time to repeat it."""
        line = self._recording.checkpoint(at_us)
        return [line] if line is not None else []

    def flush(self) -> list[bytes]:
        """Nothing is held back."""
        return []

    def lines_in(self, _piece: bytes) -> int:
        """A piece is a line."""
        return 1


def json_line(value: Fields) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
