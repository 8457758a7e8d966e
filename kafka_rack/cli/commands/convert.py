"""Write a capture in another form: lines of JSON as Arrow, which is smaller and read faster, or Arrow as lines.

IN is one capture, plain or gzip, OUT a file of this machine: .arrow is Arrow's stream format, .jsonl lines of JSON.
Both hold the same frames and events, and give the same tables. Packets are not converted: they are read as they are.
Exit code 1: not all of IN could be read; what could be is in OUT. docs/pipeline.md has both forms.

Examples:
  kafka-rack convert trace.jsonl trace.arrow
  kafka-rack convert fixtures/captures/kafkajs.jsonl.gz kafkajs.arrow
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from kafka_rack.cli import DONE, FAILED, CommandError, UsageError
from kafka_rack.cli.options.places import not_read
from kafka_rack.printable import printable
from kafka_rack.storage import named_url

if TYPE_CHECKING:
    from kafka_rack.wire_capture.conversion import Converted
    from kafka_rack.wire_capture.files import CaptureFile

MAX_SHOWN = 10
"""Of problems that are printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("capture", metavar="IN", help="a capture: lines of JSON or Arrow, a path or URL")
    parser.add_argument("out", metavar="OUT", help="where it goes, as its name says: .arrow or .jsonl")


def run(arguments: argparse.Namespace) -> int:
    target = Path(arguments.out)
    if named_url(arguments.out):
        raise UsageError(f"{arguments.out}: expected a file of this machine")
    if target.suffix not in (".arrow", ".jsonl"):
        raise UsageError(f"{arguments.out}: expected a name that ends with .arrow or .jsonl")
    file = capture_of(arguments.capture)
    wanted = "lines" if target.suffix == ".arrow" else "arrow"
    if file.kind != wanted:
        expected = "lines of JSON" if wanted == "lines" else "a capture in Arrow's format"
        raise UsageError(f"{arguments.capture}: expected {expected} to write {target.suffix}, got {file.kind}")
    part = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        converted = write(file, part)
        size = part.stat().st_size
        part.replace(target)
    except OSError as error:
        raise CommandError(f"cannot write {target}: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)
    print(f"{target}: {converted.frames:,} frames, {converted.events:,} events, {size:,} bytes of {file.size:,}")
    for problem in converted.problems[:MAX_SHOWN]:
        sys.stderr.write(f"kafka-rack convert: {printable(file.path)}, byte {problem.offset}: {problem.reason}\n")
    if len(converted.problems) > MAX_SHOWN:
        sys.stderr.write(f"kafka-rack convert: {len(converted.problems) - MAX_SHOWN} more\n")
    return FAILED if converted.problems else DONE


def capture_of(given: str) -> CaptureFile:
    """Raises UsageError, CommandError."""
    from kafka_rack.wire_capture.files import arrow_missing, find_files

    if (missing := arrow_missing()) is not None:
        raise CommandError(missing)
    try:
        found, refused = find_files([given])
    except (ValueError, OSError) as error:
        raise not_read(error) from None
    if len(found) == 1:
        return found[0]
    reason = refused[0][1] if refused else f"expected one capture, got {len(found)}"
    raise CommandError(f"{given}: {reason}")


def write(file: CaptureFile, target: Path) -> Converted:
    """Raises OSError."""
    from kafka_rack.wire_capture.conversion import to_arrow, to_lines

    with target.open("wb", buffering=1 << 20) as opened:
        return to_arrow(file, opened, uuid4().hex) if file.kind == "lines" else to_lines(file, opened)
