"""kafka-rack decode: bytes of Kafka's protocol to JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import IO, Any

import protocol
from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.command import Arguments, argument, command, flag, option
from kafka_rack.cli.options.messages import message_named, message_option, version_of, version_option
from kafka_rack.cli.options.types import Words, shown
from kafka_rack.printable import UNPRINTABLE_IN_LINES, printable

COLOURS = {"offset": "\033[2m", "data": "\033[36m", "path": "\033[33m", "fault": "\033[1;31m", "end": "\033[0m"}
BYTES_A_LINE = 12
MAX_BYTES = 256 << 20
"""Of one message: more than twice the default of ``socket.request.max.bytes``."""
LENGTH_BYTES = 4


@command(paints=True)
@argument("file", required=False, metavar="[FILE|-]", type=Words("FILE|-"))
@message_option(required=False)
@version_option
@option("--hex", Words("DIGITS"), "Decode these bytes, in hex; blanks are skipped.")
@flag("--frame", "Read the header before the body; the 4 bytes of the frame's length may precede it.")
@flag("--explain", "Show every byte: offset, hex, field and value.")
@flag("--ignore-trailing", "Accept bytes after the message, as brokers do.")
def decode(arguments: Arguments) -> int:
    """Decode a Kafka message to the JSON that Kafka's own tools print.

    FILE has the raw bytes; - is standard input. The header of a request's frame says which message it is; name the
    message of any other bytes with --message.

    Examples:
      kafka-rack decode --message MetadataRequest --version 1 --hex 0000000100066576656e7473
      kafka-rack decode --message MetadataRequest --version 1 --explain body.bin
      kafka-rack decode --frame --hex 00030001000000070004746573740000000100066576656e7473
      kafka-rack decode --frame --message MetadataResponse --version 12 - < frame.bin
    """
    data = bytes_given(arguments)
    if arguments.message is None and not arguments.frame:
        raise UsageError("expected --message: only the frame of a request (--frame) says which message it is")
    try:
        parts = split(arguments, data)
        if arguments.explain:
            return explain_parts(parts, ignore_trailing=arguments.ignore_trailing)
        decoded = {}
        for name, message, version, body in parts:
            trailing = "ignore" if arguments.ignore_trailing and name == "body" else "error"
            found = protocol.decode_named(message.name, version, body, trailing=trailing)
            decoded[name] = protocol.to_json(found, version)
    except protocol.ProtocolError as error:
        raise CommandError(str(error)) from None
    text = json.dumps(decoded if len(decoded) > 1 else decoded["body"], indent=2, ensure_ascii=False)
    print(UNPRINTABLE_IN_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text))  # an escape in JSON too
    return DONE


def bytes_given(arguments: Arguments) -> bytes:
    """The bytes of --hex, a file or standard input."""
    if (arguments.hex is None) == (arguments.file is None):
        raise UsageError("expected the bytes once: --hex DIGITS, a FILE, or - for standard input")
    if arguments.hex is not None:
        try:
            return bytes.fromhex(arguments.hex)
        except ValueError:
            raise UsageError(f"--hex: expected pairs of hex digits, got {shown(arguments.hex)!r}") from None
    if arguments.file == "-":
        return bounded(sys.stdin.buffer, "standard input")
    try:
        with Path(arguments.file).open("rb") as file:
            return bounded(file, arguments.file)
    except OSError as error:
        raise UsageError(f"{arguments.file}: {error.strerror}") from None


def bounded(file: IO[bytes], name: str) -> bytes:
    """All of a file, if that is no more than a message can be. Raises CommandError, OSError."""
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise CommandError(f"{name}: expected at most {MAX_BYTES >> 20} MiB, got more: that is no single message")
    return data


def split(arguments: Arguments, data: bytes) -> list[tuple[str, Any, int, bytes]]:
    """The parts of the input: label, message class, version and bytes; a header only with --frame."""
    from protocol.codec import codec
    from protocol.headers import read_request_header, request_header_version, response_header_version

    named = None if arguments.message is None else message_named(arguments.message)
    if not arguments.frame:
        version = version_of(named, arguments.version)
        return [("body", named, version, data)]
    if int.from_bytes(data[:LENGTH_BYTES], "big") == len(data) - LENGTH_BYTES and not is_response(
        named, arguments, data
    ):
        data = data[LENGTH_BYTES:]
    if named is None or named.kind == "request":
        header, start = read_request_header(data)
        version = header.request_api_version
        header_version = request_header_version(header.request_api_key, version)
        message = protocol.message_class(header.request_api_key, "request")
        if named not in (None, message):
            raise UsageError(f"--message: expected {message.name} as the header says, got {named.name}")
        header_class = protocol.named_class("RequestHeader")
    elif named.kind == "response":
        message, version = named, version_of(named, arguments.version)
        header_version = response_header_version(message.api_key, version)
        header_class = protocol.named_class("ResponseHeader")
        _, start = codec(header_class, header_version).decode(data)
    else:
        raise UsageError(f"--frame: expected a request or a response, got {named.name}")
    return [("header", header_class, header_version, data[:start]), ("body", message, version, data[start:])]


def is_response(message: Any, arguments: Arguments, frame: bytes) -> bool:
    """True if the bytes are a whole response, whose correlation id only looks like the length of a frame."""
    if message is None or message.kind != "response":
        return False
    try:
        protocol.read_response(frame, message.api_key, version_of(message, arguments.version))
    except protocol.ProtocolError:
        return False
    return True


def explain_parts(parts: list[tuple[str, Any, int, bytes]], *, ignore_trailing: bool) -> int:
    """Print every span of every part, in colours on a terminal unless NO_COLOR is set.

    Raises: CommandError: a part is broken.
    """
    from protocol.explain import explain

    paint = COLOURS if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else dict.fromkeys(COLOURS, "")
    start = 0
    for _, message, version, data in parts:
        found = explain(message, version, data)
        print(f"{message.name} v{version}, {len(data)} bytes")
        for span in found.spans:
            print_bytes(start + span.offset, span.data, span.path, span.text, paint)
        if found.fault is not None:
            broken = data[found.fault.offset :][:BYTES_A_LINE]
            print_bytes(start + found.fault.offset, broken, found.fault.path, "<- broken here", paint, "fault")
            raise CommandError(str(found.fault))
        if found.rest:
            print_bytes(start + len(data) - len(found.rest), found.rest, "", "left over", paint, "fault")
            if not ignore_trailing:
                raise CommandError(f"{message.name} v{version}: {len(found.rest)} bytes left over at the end")
        start += len(data)
    return DONE


def print_bytes(offset: int, data: bytes, path: str, text: str, paint: dict[str, str], style: str = "data") -> None:
    """A span in lines of a few bytes; the first has its meaning."""
    for i in range(0, max(len(data), 1), BYTES_A_LINE):
        chunk = data[i : i + BYTES_A_LINE]
        meaning = f"{paint['path']}{path}{paint['end']}{' ' if path else ''}{printable(text)}" if i == 0 else ""
        number = f"{paint['offset']}{offset + i:6}{paint['end']}"
        digits = f"{paint[style]}{chunk.hex(' '):{3 * BYTES_A_LINE}}{paint['end']}"
        print(f"{number}  {digits} {meaning}".rstrip())
