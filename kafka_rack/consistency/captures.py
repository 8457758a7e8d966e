"""Captures to the calls of a history, without Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from heapq import merge
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from kafka_rack.consistency import Checker, Report
from kafka_rack.consistency.wire import PRODUCE, WireCall, WireHistory
from kafka_rack.wire_capture.bodies import asked_message, read_response
from kafka_rack.wire_capture.captures import Options, read_frames
from kafka_rack.wire_capture.files import CaptureFile, capture_name
from kafka_rack.wire_capture.frames import CapturedConnection, Frame, PendingRequest, Problem, acks_of
from protocol.errors import ProtocolError

US_A_MS = 1000
CONTINUED = re.compile(r"-\d{4,}(?=\.pcap|\.pcapng|$)")
"""The suffix that ``serve --capture`` adds to the name of a file that continues another."""


class CheckedCapture(NamedTuple):
    """A recording and its report. ``started_us`` is the time of its first frame, None without one."""

    name: str
    paths: tuple[str, ...]
    started_us: int | None
    report: Report
    problems: tuple[Problem, ...]

    @property
    def started(self) -> str | None:
        """The time of the first frame, as ISO 8601 in UTC."""
        if self.started_us is None:
            return None
        return datetime.fromtimestamp(self.started_us / 1e6, UTC).isoformat(timespec="milliseconds")

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "files": list(self.paths),
            "started": self.started,
            **self.report.to_json(),
            "problems": [problem._asdict() for problem in self.problems],
        }


def check_capture(
    files: Sequence[CaptureFile],
    options: Options,
    *,
    is_lossy: Callable[[str], bool] | None = None,
    max_examples: int,
    beside: bool = False,
) -> CheckedCapture:
    """The check of one recording's history. Its files continue each other, or were recorded ``beside`` each other."""
    problems: list[Problem] = []
    checker = Checker(is_lossy=is_lossy, max_examples=max_examples)
    reading = CaptureReading(files, options, problems, beside=beside)
    for call in reading.calls():
        for operation in reading.history.operations(call):
            checker.add(operation)
    paths = tuple(file.path for file in files)
    name = recording_name(files[0].path)
    return CheckedCapture(name, paths, reading.started_us, checker.report(), tuple(problems))


class CaptureReading:
    """The calls of a recording in the order of their ends; times count from its first frame."""

    def __init__(
        self, files: Sequence[CaptureFile], options: Options, problems: list[Problem], *, beside: bool = False
    ) -> None:
        self._opened = [read_frames(file, options, problems) for file in files]
        self._beside = beside
        self.started_us: int | None = None
        self.history = WireHistory(self._topic_name)

    def calls(self) -> Iterator[WireCall]:
        """Each call once, those without an answer once that is certain."""
        numbered = [numbered_frames(number, frames) for number, (_, frames) in enumerate(self._opened)]
        for _, number, frame in merge(*numbered, key=itemgetter(0)) if self._beside else chain(*numbered):
            if self.started_us is None:
                self.started_us = frame.ts
            for asked in frame.passed_over:
                yield from self._call(number, frame.connection, asked, frame.ts, None)
            asked_now = frame.asked
            if frame.index < 0 or asked_now is None or asked_now.kind.api_key not in self.history.api_keys:
                continue
            if not frame.is_request:
                yield from self._call(number, frame.connection, asked_now, frame.ts, frame)
            elif asked_now.kind.api_key == PRODUCE and needs_no_answer(asked_now):
                yield from self._call(number, frame.connection, asked_now, frame.ts, None)
        for number, (state, _) in enumerate(self._opened):
            if not self._beside and number < len(self._opened) - 1:
                continue  # the next file begins with these
            for connection in state.connections.values():
                for asked in connection.asked.values():
                    yield from self._call(number, connection, asked, asked.ts, None)

    def _call(
        self, number: int, connection: CapturedConnection, asked: PendingRequest, at_us: int, answer: Frame | None
    ) -> Iterator[WireCall]:
        if asked.kind.api_key not in self.history.api_keys:
            return
        request, response = asked_message(asked), None
        if request is None:
            return
        try:
            if answer is not None:
                response = read_response(asked, answer.data)[0]
        except ProtocolError:
            return  # whatever it said
        connection_name: Any = connection.number if not self._beside else f"{number}.{connection.number}"
        server = (number, connection.number) if connection.broker is None else connection.broker
        yield WireCall(
            asked.kind.api_key,
            asked.kind.client_id,
            connection_name,
            self._ms(asked.ts),
            self._ms(at_us),
            request,
            response,
            server,
        )

    def _ms(self, at_us: int) -> float:
        return (at_us - (self.started_us or 0)) / US_A_MS

    def _topic_name(self, topic_id: bytes) -> str | None:
        return next((name for state, _ in self._opened if (name := state.known.topics.get(topic_id))), None)


def numbered_frames(number: int, frames: Iterable[Frame]) -> Iterator[tuple[int, int, Frame]]:
    for frame in frames:
        yield frame.ts, number, frame


def needs_no_answer(asked: PendingRequest) -> bool:
    return acks_of(asked.data, asked.kind.api_version, asked.kind.header_end) == 0


def recordings(files: Iterable[CaptureFile]) -> list[list[CaptureFile]]:
    """The recordings: files that continue each other, in order."""
    found: dict[str, list[CaptureFile]] = {}
    for file in files:
        folder = file.path.removesuffix(file.path.rpartition("/")[2])
        found.setdefault(folder + recording_name(file.path), []).append(file)
    for recording in found.values():
        recording.sort(key=lambda file: part_number(file.path))
    return list(found.values())


def part_number(path: str) -> int:
    """The index of a file in its recording, from 0.

    >>> sorted(["trace-0001.jsonl", "trace-10000.jsonl", "trace.jsonl"], key=part_number)
    ['trace.jsonl', 'trace-0001.jsonl', 'trace-10000.jsonl']
    """
    found = CONTINUED.search(capture_name(path))
    return int(found.group()[1:]) if found is not None else 0


def recording_name(path: str) -> str:
    """The name of the recording to which a file belongs.

    >>> recording_name("traces/trace-0001.jsonl.gz"), recording_name("traces/trace.jsonl")
    ('trace', 'trace')
    """
    return CONTINUED.sub("", capture_name(path))
