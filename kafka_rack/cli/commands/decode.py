"""Show what is in the bytes of a Kafka message, as the JSON that Kafka's own tools print.

Examples:
  kafka-rack decode --message MetadataRequest --version 1 --hex 0000000100066576656e7473
  kafka-rack decode --message MetadataRequest --version 1 --explain body.bin
  kafka-rack decode --frame request --hex 00030001000000070004746573740000000100066576656e7473
  kafka-rack decode --frame response --message MetadataResponse --version 12 - < frame.bin
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

import protocol
from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.options.messages import add_bytes_arguments, message_named, read_bytes, version_of
from kafka_rack.printable import UNPRINTABLE_IN_LINES, printable

COLOURS = {"offset": "\033[2m", "data": "\033[36m", "path": "\033[33m", "fault": "\033[1;31m", "end": "\033[0m"}
BYTES_A_LINE = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--message", metavar="NAME", help="MetadataRequest, ConsumerProtocolSubscription, ...")
    parser.add_argument("--version", type=int, metavar="N", help="its version; default: the highest")
    parser.add_argument(
        "--frame",
        choices=["request", "response"],
        help="the bytes have a header before the body; a request's says which message it is",
    )
    parser.add_argument("--explain", action="store_true", help="every byte: offset, hex, field and value")
    parser.add_argument(
        "--color",
        choices=["auto", "always", "never"],
        default="auto",
        help="of --explain; default: auto, on a terminal where NO_COLOR is not set",
    )
    parser.add_argument("--ignore-trailing", action="store_true", help="let bytes left over be, as brokers do")
    add_bytes_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    data = read_bytes(arguments)
    if arguments.frame != "request" and arguments.message is None:
        raise UsageError("--message says what the bytes are; only a request's header tells by itself (--frame request)")
    try:
        parts = split(arguments, data)
        if arguments.explain:
            return explain_parts(parts, coloured(arguments.color), ignore_trailing=arguments.ignore_trailing)
        trailing = "ignore" if arguments.ignore_trailing else "error"
        shown = {}
        for name, message, version, body in parts:
            last = name == parts[-1][0]
            decoded = protocol.decode_named(message.name, version, body, trailing=trailing if last else "error")
            shown[name] = protocol.to_json(decoded, version)
    except protocol.ProtocolError as error:
        raise CommandError(str(error)) from None
    text = json.dumps(shown if len(shown) > 1 else shown["body"], indent=2, ensure_ascii=False)
    print(UNPRINTABLE_IN_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text))  # an escape in JSON too
    return 0


def split(arguments: argparse.Namespace, data: bytes) -> list[tuple[str, Any, int, bytes]]:
    """The parts of what was given: label, message class, version and bytes; a header only where there is one."""
    from protocol.codec import codec
    from protocol.headers import read_request_header, request_header_version, response_header_version

    if arguments.frame == "request":
        header, start = read_request_header(data)
        version = header.request_api_version
        header_version = request_header_version(header.request_api_key, version)
        message = protocol.message_class(header.request_api_key, "request")
        header_class = protocol.named_class("RequestHeader")
    else:
        message = message_named(arguments.message)
        version = version_of(message, arguments.version)
        if arguments.frame is None:
            return [("body", message, version, data)]
        if message.kind != "response":
            raise UsageError(f"--frame response goes with a response, {message.name} is a {message.kind}")
        header_version = response_header_version(message.api_key, version)
        header_class = protocol.named_class("ResponseHeader")
        _, start = codec(header_class, header_version).decode(data)
    return [("header", header_class, header_version, data[:start]), ("body", message, version, data[start:])]


def coloured(wish: str) -> bool:
    """Whether to use colours."""
    return wish == "always" or (wish == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))


def explain_parts(parts: list[tuple[str, Any, int, bytes]], colour: bool, *, ignore_trailing: bool) -> int:
    """Print every span of every part; give 1 where one is broken."""
    from protocol.explain import explain

    paint = COLOURS if colour else dict.fromkeys(COLOURS, "")
    start = 0
    for _, message, version, data in parts:
        found = explain(message, version, data)
        print(f"{message.name} v{version}, {len(data)} bytes")
        for span in found.spans:
            print_bytes(start + span.offset, span.data, span.path, span.text, paint)
        if found.fault is not None:
            at = start + found.fault.offset
            print_bytes(
                at, data[found.fault.offset :][:BYTES_A_LINE], found.fault.path, "<- broken here", paint, "fault"
            )
            raise CommandError(str(found.fault))
        if found.rest:
            print_bytes(start + len(data) - len(found.rest), found.rest, "", "left over", paint, "fault")
            if not ignore_trailing:
                raise CommandError(f"{message.name} v{version}: {len(found.rest)} bytes left over at the end")
        start += len(data)
    return 0


def print_bytes(offset: int, data: bytes, path: str, text: str, paint: dict[str, str], style: str = "data") -> None:
    """A span in lines of a few bytes; the first says what it is."""
    for i in range(0, max(len(data), 1), BYTES_A_LINE):
        chunk = data[i : i + BYTES_A_LINE]
        meaning = f"{paint['path']}{path}{paint['end']}{' ' if path else ''}{printable(text)}" if i == 0 else ""
        number = f"{paint['offset']}{offset + i:6}{paint['end']}"
        shown = f"{paint[style]}{chunk.hex(' '):{3 * BYTES_A_LINE}}{paint['end']}"
        print(f"{number}  {shown} {meaning}".rstrip())
